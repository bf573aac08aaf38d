//! Records the hardware counters for a short loop, or why they are not available. The output has
//! the format that the tests replay (`src/host/counters/fixtures/`).

use lockyard_measure::counters::record;

fn main() {
    let recorded = record(|| {
        let mut x = 1u64;
        for i in 0..1_000_000u64 {
            x = std::hint::black_box(x ^ (x << 7) ^ i);
        }
    });
    print!("{}", recorded.text());
}
