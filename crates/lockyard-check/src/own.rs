//! Checks of a lock of a user's crate, for that crate's tests. The programs are the same that check
//! the library's locks.
//!
//! ```
//! # use lockyard::lock::Ticket as Mine;
//! use lockyard_check::own;
//!
//! let checks = own::check_model::<Mine>();
//! assert!(checks.are_clean(), "{checks}");
//! ```
//!
//! [`check`] runs the lock on threads of this host, on a simulated machine, and in two model
//! checkers under weak memory. [`mutate`] weakens each ordering of the lock's source, one at a
//! time. The model checks must notice each. Build these tests with optimisation (`cargo test
//! --release`).
//!
//! On Linux, this crate defines `mmap`, `munmap` and `mprotect` for programs that link it. These
//! functions keep the stacks of model checks, which makes the checks three times as fast. Without
//! the crate's default feature `stacks`, a program has the C library's functions.

use crate::backends::{NATIVE_ROUNDS, SIMULATED_ROUNDS, Verdict, native, simulated};
use crate::dpor::Dpor;
use crate::explore::Bounds;
use crate::few_slots::FewSlots;
use crate::hooks::{NoFault, Scripted, Site, Watched};
use crate::mutation::suites::{self, check as program, every_execution};
use crate::mutation::{Check, Report, Suite, is_in, reach, weaken};
use crate::program::{LockOp, LockProgram};
use crate::sources::Source;
use lockyard::Native;
use lockyard::lock::LaneLock;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_sim::Simulated;
use std::collections::BTreeSet;
use std::fmt;

/// Host of the model checks.
pub type InModel = Hooked<Checked, Scripted>;
/// Host of the model checks on which one thread has queue nodes, and the others have none.
pub type InModelOneSlot = FewSlots<InModel, 1>;
/// Host of the model checks that explore execution graphs.
pub type InGraphs = Hooked<Dpor, Scripted>;
/// Host of the checks on threads. Every wait on it ends.
pub type OnThreads = Hooked<Native, Watched<NoFault>>;

/// A lock algorithm on the hosts of the checks. An algorithm that is implemented for every host has
/// this trait.
pub trait OwnLock:
    LaneLock<InModel>
    + LaneLock<InModelOneSlot>
    + LaneLock<InGraphs>
    + LaneLock<OnThreads>
    + LaneLock<Simulated>
{
}

impl<K> OwnLock for K where
    K: LaneLock<InModel>
        + LaneLock<InModelOneSlot>
        + LaneLock<InGraphs>
        + LaneLock<OnThreads>
        + LaneLock<Simulated>
{
}

/// Results of checks, each with the name of its program.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Name and result of each check.
    pub rows: Vec<(String, Verdict)>,
}

impl Checks {
    /// Returns true if checks ran and found nothing.
    pub fn are_clean(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|(_, verdict)| verdict.caught.is_none())
    }
}

/// One line for each check.
impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, verdict) in &self.rows {
            write!(f, "{name}: {} runs", verdict.runs)?;
            if let Some(caught) = &verdict.caught {
                write!(f, ", found {caught}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Groups of operations that threads perform at the same time on a real or simulated machine.
const MIXES: [&[LockOp]; 2] =
    [&[LockOp::Lock; 3], &[LockOp::Lock, LockOp::LockTwice, LockOp::TryLock, LockOp::TryLock]];

/// Number of attempts of each check on threads and on the simulated machine.
const ATTEMPTS: u64 = 20;

/// Checks the lock on threads of this host: mutual exclusion, lost wake-ups, and lost updates. The
/// threads yield at random operations.
pub fn check_threads<K: OwnLock>() -> Checks {
    let run = |ops: &&[LockOp]| {
        let verdict = native::<LockProgram<K, OnThreads>>(ops, NATIVE_ROUNDS, ATTEMPTS);
        (format!("threads, {ops:?}"), verdict)
    };
    Checks { rows: MIXES.iter().map(run).collect() }
}

/// Checks the same on a simulated machine of two sockets. The result is the same on every host.
pub fn check_simulated<K: OwnLock>() -> Checks {
    let run = |ops: &&[LockOp]| {
        let verdict = simulated::<LockProgram<K, Simulated>>(ops, SIMULATED_ROUNDS, ATTEMPTS);
        (format!("simulated, {ops:?}"), verdict)
    };
    Checks { rows: MIXES.iter().map(run).collect() }
}

/// Checks the lock under weak memory, with two, three and four threads: mutual exclusion, the order
/// of the holders' accesses, lost wake-ups, and accesses to the word after the last release. Stops
/// at the first violation. The checks named `graphs` explore every execution
/// ([`dpor`](crate::dpor)), the other checks explore up to the bound that they name.
///
/// The check of a lock whose waiters only spin on its word takes seconds. A lock with queue nodes
/// takes longer.
pub fn check_model<K: OwnLock>() -> Checks {
    let mut rows = Vec::new();
    for check in model_checks::<K>() {
        let verdict = (check.run)();
        let is_caught = verdict.caught.is_some();
        rows.push((format!("model, {}", check.name), verdict));
        if is_caught {
            break;
        }
    }
    Checks { rows }
}

/// Runs [`check_threads`], [`check_simulated`] and [`check_model`].
pub fn check<K: OwnLock>() -> Checks {
    let parts = [check_threads::<K>(), check_simulated::<K>(), check_model::<K>()];
    Checks { rows: parts.into_iter().flat_map(|checks| checks.rows).collect() }
}

/// Returns the programs of the model checks: all executions of two and three threads, the programs
/// of every library lock, and two programs where only one thread has queue nodes.
fn model_checks<K: OwnLock>() -> Vec<Check> {
    use LockOp::{Lock, LockTwice, TryLock};
    type OneSlot<K> = LockProgram<K, InModelOneSlot>;
    let mut checks: Vec<Check> = [
        &[Lock, Lock][..],
        &[Lock, TryLock],
        &[TryLock, TryLock],
        &[LockTwice, Lock],
        &[Lock, Lock, Lock],
        &[Lock, Lock, TryLock],
    ]
    .into_iter()
    .map(every_execution::<LockProgram<K, InGraphs>>)
    .collect();
    checks.extend(suites::lock::<LockProgram<K, InModel>>());
    for mut check in [
        program::<OneSlot<K>>(&[Lock, Lock], Bounds::ALL),
        program::<OneSlot<K>>(&[Lock, Lock, Lock], Bounds::stepping_back(2)),
    ] {
        check.name.push_str(", one slot");
        checks.push(check);
    }
    checks
}

/// Weakens every ordering in `files`, one at a time, and runs the model checks with each. `files`
/// are absolute paths of the lock's sources ([`source!`](crate::source)).
///
/// [`Report::is_clean`] is true if the checks notice every weakening, and reach every ordering that
/// the files contain outside of test modules.
///
/// # Errors
///
/// If a check fails without any change, or a file cannot be read.
pub fn mutate<K: OwnLock>(files: &'static [&'static str]) -> Result<Report, String> {
    let read = |file: &&str| {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        Ok(Source::of((*file).to_owned(), &text))
    };
    let sources = files.iter().map(read).collect::<Result<Vec<Source>, String>>()?;
    let name = std::any::type_name::<K>();
    let suite = [Suite { name, files, checks: model_checks::<K>() }];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mutants, reached) = weaken(&suite, &[], threads, |_| {})?;
    let mut unreached = Vec::new();
    for source in &sources {
        let seen: BTreeSet<Site> =
            reached.iter().filter(|site| is_in(site, &source.path)).copied().collect();
        unreached.extend(reach::unreached_in(source, &seen, &[]));
    }
    Ok(Report { mutants, complaints: Vec::new(), unreached })
}

/// Returns the absolute path of a file of the crate that calls this macro, for
/// [`mutate`](crate::own::mutate): `source!("src/lib.rs")`.
#[macro_export]
macro_rules! source {
    ($file:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/", $file)
    };
}
