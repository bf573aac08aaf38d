//! Executions and seconds of the two model checkers, on the same programs: the tables of
//! docs/evidence/proof.md.
//!
//! Each thread takes the lock once. The number of threads rises while a check is likely to end
//! within the limit.
//!
//!     cargo run --release -p lockyard-check --example checkers -- [SECONDS [PRIMITIVE...]]

use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::{graphs, model};
use lockyard_check::dpor::{Deletions, Dpor};
use lockyard_check::explore::Bounds;
use lockyard_check::hooks::Scripted;
use lockyard_check::primitives::Primitive;
use lockyard_check::program::LockOp;
use std::time::{Duration, Instant};

const MOST_THREADS: usize = 6;

/// Factors by which one more thread lengthens a check: of graphs, of loom without a bound, and of
/// loom with a bound. They were seen with locks of few waiters, and only decide where a row ends.
const GROWTH: [u32; 3] = [300, 6000, 40];

fn rows<P: Primitive<Op = LockOp>>(limit: Duration, names: &[String]) {
    if !names.is_empty() && !names.iter().any(|name| name == P::NAME) {
        return;
    }
    // The checks with bounds are the same as in the everyday tests.
    let bounded = Bounds::stepping_back(2);
    let mut go_on = [true; 3];
    for threads in 2..=MOST_THREADS {
        let ops = vec![LockOp::Lock; threads];
        let mut cells = Vec::new();
        for (which, go_on) in go_on.iter_mut().enumerate() {
            if !*go_on || which > 0 && threads > 4 {
                cells.push("-".to_owned());
                continue;
            }
            let began = Instant::now();
            let executions = match which {
                0 => graphs::<P::Program<Hooked<Dpor, Scripted>>>(&ops, Deletions::Needed)
                    .map(|(explored, _)| explored.executions.to_string())
                    .map_err(|failed| failed.caught.to_string()),
                _ => {
                    let bounds = if which == 1 { Bounds::ALL } else { bounded };
                    model::<P::Program<Hooked<Checked, Scripted>>>(&ops, bounds)
                        .map(|(explored, _)| explored.executions.to_string())
                        .map_err(|failed| failed.caught.to_string())
                }
            };
            let seconds = began.elapsed();
            *go_on = executions.is_ok() && seconds * GROWTH[which] < limit;
            let executions = executions.unwrap_or_else(|caught| caught);
            cells.push(format!("{executions}, {:.3} s", seconds.as_secs_f64()));
        }
        println!("| {} | {threads} | {} |", P::NAME, cells.join(" | "));
        if !go_on[0] {
            break;
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(10.0), |text| text.parse());
    let names: Vec<String> = arguments.collect();
    let limit = Duration::from_secs_f64(seconds.expect("a number of seconds"));
    println!(
        "| primitive | threads | graphs | loom, no bound | loom, {} |",
        Bounds::stepping_back(2)
    );
    println!("| --- | ---: | --- | --- | --- |");
    lockyard_check::each_lock!(rows(limit, &names));
}
