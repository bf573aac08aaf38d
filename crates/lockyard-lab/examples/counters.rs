//! Records what the processor's counters say of a short loop, or why they say nothing, in the
//! format in which the tests replay it (`src/host/counters/fixtures/`).

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
