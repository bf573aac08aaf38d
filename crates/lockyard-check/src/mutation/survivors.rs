//! Weakenings that no model check can notice, with reasons. An unneeded entry is an error.

use super::mutant::Mutant;
use super::reach::function_of;
use super::suite::Suite;
use crate::hooks::Site;
use crate::sources::{Source, workspace};
use lockyard::platform::Ordering;

/// An allowed survivor. A piece of the source line identifies its place, so edits above it do not
/// matter.
#[derive(Clone, Copy, Debug)]
pub struct Survivor {
    /// The suite.
    pub suite: &'static str,
    /// Suffix of the file's path.
    pub file: &'static str,
    /// Name of the function.
    pub function: &'static str,
    /// A piece of the line where the operation begins.
    pub line: &'static str,
    /// The weakened ordering.
    pub weakened: Ordering,
    /// The reason why no check notices.
    pub reason: &'static str,
}

/// Reason for an exchange on a node by another thread, while the owner prepares the node or after
/// the owner has it back.
const NEWEST: &str = "it keeps the successor's exchange of the node apart from the node's former \
                      and next use; the model checker's exchanges always find what was stored \
                      last, in whatever order it may become visible, \
                      so it never explores the execution that the ordering excludes";

/// Reason for the word that tells a waiter of a condition variable that it was notified.
const NOTIFIED: &str = "it keeps the notifier's last accesses of the waiter's node apart from the \
                        end of the node's memory; the model checker does not see where a word ends";

/// Reason for the node state that calls a sleeper of a lock for comparison.
const CALLED_NODE: &str = "the lock's word orders the data; this keeps the node's next use apart \
                           from reads of its link by the thread that calls, which come first in \
                           every execution of a checker";

/// The table of survivors.
pub const SURVIVORS: &[Survivor] = &[
    Survivor {
        suite: "clh",
        file: "lock/queue.rs",
        function: "join",
        line: "lane.swap_upper(name, Ordering::AcqRel)",
        weakened: Ordering::Acquire,
        reason: NEWEST,
    },
    Survivor {
        suite: "clh",
        file: "lock/queue.rs",
        function: "join_if_free",
        line: "tail_only::<L>(Some(me)), Ordering::AcqRel)",
        weakened: Ordering::Acquire,
        reason: NEWEST,
    },
    Survivor {
        suite: "clh",
        file: "lock/queue.rs",
        function: "without_done",
        line: "parked.load(Ordering::Acquire) == DONE_WITH",
        weakened: Ordering::Relaxed,
        reason: NEWEST,
    },
    Survivor {
        suite: "clh",
        file: "lock/queue.rs",
        function: "done_with",
        line: "parked.store(DONE_WITH, Ordering::Release)",
        weakened: Ordering::Relaxed,
        reason: NEWEST,
    },
    Survivor {
        suite: "mutex",
        file: "lock/adaptive_wait.rs",
        function: "compete",
        line: "compare_exchange(old, new, Ordering::AcqRel)",
        weakened: Ordering::Acquire,
        reason: "the thread that removed this one has published links that mean the same: \
                 a removed node links to itself, and its hint, if any, names itself",
    },
    Survivor {
        suite: "mutex",
        file: "lock/adaptive_wait.rs",
        function: "leave",
        line: "H::wait_yielding(ready, Ordering::Acquire, called) == GRANTED",
        weakened: Ordering::Relaxed,
        reason: "this thread has taken the queue lock after the thread that removed it gave the \
                 queue lock back, and that orders the same",
    },
    Survivor {
        suite: "mutex",
        file: "lock/adaptive_wait.rs",
        function: "compete",
        line: "Err(_) => seen = self.lane.load(Ordering::Acquire).to_u64(),",
        weakened: Ordering::Relaxed,
        reason: "it is needed if a thread joins the queue while a woken thread has the queue lock: \
                 four threads with two preemptions, which take too long for a suite",
    },
    Survivor {
        suite: "condition variable",
        file: "src/condvar.rs",
        function: "notify",
        line: "oldest.notified.store(1, Ordering::Release)",
        weakened: Ordering::Relaxed,
        reason: NOTIFIED,
    },
    Survivor {
        suite: "condition variable",
        file: "src/condvar.rs",
        function: "sleep",
        line: "notified.load(Ordering::Acquire) == 0",
        weakened: Ordering::Relaxed,
        reason: NOTIFIED,
    },
    Survivor {
        suite: "rwlock",
        file: "rwlock/queue.rs",
        function: "unlock_queue",
        line: "compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed)",
        weakened: Ordering::Acquire,
        reason: "it publishes links to the next thread with the queue lock; one that misses them \
                 does harm only if a sleeper left the middle of the queue, which takes four \
                 threads and two preemptions: too many to explore",
    },
    Survivor {
        suite: "rwlock",
        file: "rwlock/wait.rs",
        function: "give_up",
        line: "H::wait_yielding(&self.me.node::<H>().ready, Ordering::Acquire, is_admitted)",
        weakened: Ordering::Relaxed,
        reason: "this thread has taken the queue lock after the thread that admits it gave the \
                 queue lock back, and that orders the data; the acquire keeps the node's next use \
                 apart from reads of that thread, which come first in every execution of a checker",
    },
    Survivor {
        suite: "rwlock",
        file: "rwlock/wait.rs",
        function: "look",
        line: "compare_exchange(poked, asleep, of, Ordering::Acquire)",
        weakened: Ordering::Relaxed,
        reason: "a reader that is awake while another one admits it has been poked before; that \
                 takes more preemptions than these models have",
    },
    Survivor {
        suite: "rwlock",
        file: "rwlock/wait.rs",
        function: "join",
        line: "compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed)",
        weakened: Ordering::Release,
        reason: "without the acquire it may not see that the head sleeps, and not poke it; then \
                 the head enters when the lock is empty, at the latest, and no thread is stuck",
    },
    Survivor {
        suite: "std-rwlock",
        file: "rwlock/std_like.rs",
        function: "wake",
        line: "self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)",
        weakened: Ordering::Relaxed,
        reason: "a reader that has left must not count a writer that has come and gone since; for \
                 harm a writer and a reader must wait meanwhile, which takes four threads and \
                 more preemptions than these models have",
    },
    Survivor {
        suite: "parking-rwlock",
        file: "rwlock/parking_like.rs",
        function: "sleep",
        line: "while ready.load(Ordering::Acquire) == asleep {",
        weakened: Ordering::Relaxed,
        reason: CALLED_NODE,
    },
    Survivor {
        suite: "parking-rwlock",
        file: "rwlock/parking_like.rs",
        function: "call",
        line: "called.node::<H>().ready.store(CALLED, Ordering::Release)",
        weakened: Ordering::Relaxed,
        reason: CALLED_NODE,
    },
    Survivor {
        suite: "page-ref xadd",
        file: "page_ref/variant.rs",
        function: "unfreeze_zero",
        line: "word.store(references, Ordering::Release)",
        weakened: Ordering::Relaxed,
        reason: "in this variant a thread takes a reference only if it already has one, \
                 so no thread learns from the count that it was unfrozen; \
                 other variants, where this is not true, share the store",
    },
    Survivor {
        suite: "handle-table",
        file: "handle_table/mod.rs",
        function: "remove_from",
        line: "let removed = slot.generation.compare_exchange(",
        weakened: Ordering::Relaxed,
        reason: "a fence follows, of the thread that begins the object's grace period; the model \
                 checker's fences acquire what any earlier thread has read, not only their own, so \
                 it never explores the execution that the ordering excludes",
    },
];

impl Survivor {
    fn is(&self, suite: &str, site: &Site, weakened: Ordering) -> bool {
        self.suite == suite
            && site.file.ends_with(self.file)
            && self.weakened == weakened
            && self.is_at(site)
    }

    /// Returns true if the site is on the entry's line of its function; false for all sites of an
    /// unreadable file.
    fn is_at(&self, site: &Site) -> bool {
        let text = std::fs::read_to_string(workspace().join(site.file)).unwrap_or_default();
        let line = site.at.0 as usize;
        text.lines().nth(line - 1).is_some_and(|found| found.contains(self.line))
            && function_of(&Source::of(site.file.to_owned(), &text), line) == self.function
    }
}

/// Returns the reason why a weakening may survive.
pub(super) fn reason(
    table: &'static [Survivor],
    suite: &str,
    site: &Site,
    weakened: Ordering,
) -> Option<&'static str> {
    table.iter().find(|s| s.is(suite, site, weakened)).map(|s| s.reason)
}

/// Returns the entries that match no mutant.
pub(super) fn unused(
    table: &'static [Survivor],
    suites: &[Suite],
    mutants: &[Mutant],
) -> Vec<String> {
    let ran = |s: &&Survivor| suites.iter().any(|suite| suite.name == s.suite);
    let unused = table
        .iter()
        .filter(ran)
        .filter(|survivor| !mutants.iter().any(|m| survivor.is(m.suite, &m.site, m.weakened)));
    unused
        .map(|s| {
            format!(
                "a survivor is explained that does not exist: {}, {}, `{}`, `{}`",
                s.suite, s.file, s.function, s.line
            )
        })
        .collect()
}

/// Returns one complaint for each mutant that is killed although the table says that it survives.
pub(super) fn killed(mutants: &[Mutant]) -> Vec<String> {
    let stale = mutants.iter().filter(|m| m.killed.is_some() && m.reason.is_some());
    stale
        .map(|m| {
            format!(
                "a killed mutant is explained as a survivor: {}, {}, {} -> {:?}",
                m.suite, m.site, m.order, m.weakened
            )
        })
        .collect()
}
