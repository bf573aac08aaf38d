//! Time of a recorded program's threads, and use of its locks by the number of threads, as stacked
//! bars.

use crate::fact::Fact;
use crate::svg::bars::{Bar, Block, Segment, Stacked};
use crate::svg::{Chart, Shown, WIDTH};
use crate::text::share;
use lockyard_results::recorded::{LockSaturation, LockToday, LockUse, RecordedProgram, Today};
use lockyard_support::threads;

/// Maximum number of locks in a chart of the recorded run.
const OF_TODAY: usize = 12;

/// Maximum number of locks shown for one machine.
const OF_MACHINE: usize = 3;

/// Returns a part of a bar. `at` is its place in the embedded document.
fn segment(part: usize, name: &str, value: f64, at: String) -> Segment {
    let tip = format!("{name} {}", share(value));
    Segment { part, share: value, shown: Shown::one(Fact { at, value }, tip) }
}

/// Returns the chart of the threads' time in the recorded run: one bar for all threads, and one for
/// each lock.
pub(crate) fn today(of: &Today) -> Chart {
    let parts = of.parts();
    let all = parts.iter().enumerate().map(|(part, (name, value, field))| {
        segment(part, name, *value, format!("/recorded/today/{field}"))
    });
    let lock = |(index, lock): (usize, &LockToday)| {
        let at = |field: &str| format!("/recorded/today/locks/{index}/{field}");
        let segments = vec![
            segment(1, parts[1].0, lock.share_held, at("share_held")),
            segment(2, parts[2].0, lock.share_waited, at("share_waited")),
        ];
        Bar { name: lock.lock.clone(), segments }
    };
    let bar = Bar { name: "all threads".to_owned(), segments: all.collect() };
    let blocks = vec![
        Block { heading: "All of the time".to_owned(), bars: vec![bar] },
        Block {
            heading: "Each lock".to_owned(),
            bars: of.locks.iter().enumerate().take(OF_TODAY).map(lock).collect(),
        },
    ];
    let stacked = Stacked {
        title: "Where the time goes today".to_owned(),
        description: format!(
            "Shares of the recorded threads' time: a bar for all of it, and one for each lock. \
             Parts: {}.",
            parts.map(|(name, ..)| name).join(", ")
        ),
        width: WIDTH,
        parts: parts.iter().map(|(name, ..)| (*name).to_owned()).collect(),
        blocks,
    };
    stacked.draw()
}

/// Returns the chart of the locks' use by the number of threads, a block for each lock of a
/// machine.
pub(crate) fn saturation(of: &RecordedProgram) -> Option<Chart> {
    let mut blocks = Vec::new();
    for machine in of.machines() {
        let on = of.on(machine).take(OF_MACHINE);
        blocks.extend(on.map(|(index, lock)| block(index, lock)));
    }
    if blocks.is_empty() {
        return None;
    }
    let stacked = Stacked {
        title: format!("Which lock saturates{}", of.mark()),
        description: "Shares of time in which a lock is held, and in which it is wanted and not \
                      held: a block for each machine and lock, a bar for each number of threads."
            .to_owned(),
        width: WIDTH,
        parts: vec!["held".to_owned(), "wanted, not held".to_owned()],
        blocks,
    };
    Some(stacked.draw())
}

fn block(index: usize, lock: &LockSaturation) -> Block {
    let bar = |(number, used): (usize, &LockUse)| {
        let at =
            |field: &str| format!("/recorded/saturation/{index}/use_by_threads/{number}/{field}");
        let wanted = used.share_busy - used.share_held;
        let mut shown = Shown::one(
            Fact { at: at("share_busy"), value: used.share_busy },
            format!("wanted, not held {}", share(wanted)),
        );
        shown.facts.push(Fact { at: at("share_held"), value: used.share_held });
        Bar {
            name: threads(used.threads),
            segments: vec![
                segment(0, "held", used.share_held, at("share_held")),
                Segment { part: 1, share: wanted, shown },
            ],
        }
    };
    Block {
        heading: format!("{} on {}", lock.lock, lock.machine),
        bars: lock.use_by_threads.iter().enumerate().map(bar).collect(),
    }
}
