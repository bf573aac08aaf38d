//! The program for locks whose kind is chosen while they are in use.

use super::parts::{Outcome, Program, Protected, Seen};
use crate::finding::KINDS;
use lockyard::kind::{Choice, Chooser, ChosenSpinLock, FixedBy, Kind};
use lockyard::platform::HostWithSlots;
use std::cell::Cell;
use std::ptr::{from_ref, null};
use std::sync::atomic::{AtomicU32, Ordering as Plain};

/// Operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceOp {
    /// Takes the lock, stays inside for a while, releases it.
    Use,
    /// Uses the lock like [`Use`](Self::Use), but only if it is free.
    TryUse,
    /// Chooses the queued kind; then uses the lock.
    ChooseQueued,
    /// Chooses the test-and-set kind; then uses the lock.
    ChooseTestAndSet,
    /// Asks for the kind that patched call sites will use; then uses the lock.
    Patch,
}

impl ChoiceOp {
    /// All operations.
    pub const ALL: [ChoiceOp; 5] = [
        ChoiceOp::Use,
        ChoiceOp::TryUse,
        ChoiceOp::ChooseQueued,
        ChoiceOp::ChooseTestAndSet,
        ChoiceOp::Patch,
    ];
}

std::thread_local! {
    /// The choice of the program that this OS thread runs.
    static CHOICE: Cell<*const ()> = const { Cell::new(null()) };
}

/// The choice of the running program. It replaces a static, which models and simulated machines do
/// not have.
pub struct OfProgram;

// SAFETY: a program has one choice and one lock, and sets its choice before each use of the lock
// (`ChoiceProgram::with_choice`). The threads of a model or of a simulated machine share an OS
// thread, and run one program at a time.
unsafe impl<H: HostWithSlots> Chooser<H> for OfProgram {
    fn with<R>(use_choice: impl FnOnce(&Choice<H>) -> R) -> R {
        let choice = CHOICE.get().cast::<Choice<H>>();
        // SAFETY: set by `with_choice` from a reference to this type, which lives while the program
        // does. Only its lock calls this.
        use_choice(unsafe { choice.as_ref() }.expect("a program runs"))
    }
}

/// The kind in force if no thread chooses one.
const DEFAULT: Kind = Kind::Ticket;

/// Threads that use one lock while its kind is chosen.
///
/// Checked, in addition to the checks of every lock:
/// - All threads use the lock as one kind: the chosen one if a choice succeeded, otherwise the
///   default.
/// - At most one choice succeeds.
/// - A thread whose choice is refused, or that patches, learns the kind in force.
pub struct ChoiceProgram<H: HostWithSlots> {
    choice: Choice<H>,
    lock: ChosenSpinLock<OfProgram, H>,
    protected: Protected<H>,
    ops: Vec<ChoiceOp>,
    seen: Seen,
    /// Kinds that were used or reported as being in force: one bit for each. Kept outside the
    /// platform.
    kinds: AtomicU32,
    /// Kinds whose choice succeeded: one bit for each. The upper half counts them.
    chosen: AtomicU32,
}

impl<H: HostWithSlots> ChoiceProgram<H> {
    fn with_choice<R>(&self, body: impl FnOnce() -> R) -> R {
        CHOICE.set(from_ref(&self.choice).cast());
        body()
    }

    fn note(&self, kind: Kind) {
        let kinds = self.kinds.fetch_or(1 << kind as u32, Plain::Relaxed) | 1 << kind as u32;
        assert!(kinds.is_power_of_two(), "{KINDS}a word is used as {kind} and as another kind");
    }

    fn use_lock(&self, thread: usize, waits: bool) {
        self.with_choice(|| {
            let held = if waits { Some(self.lock.acquire()) } else { self.lock.try_acquire() };
            let Some(held) = held else { return self.seen.note(thread, 0) };
            self.note(held.kind());
            self.seen.note(thread, held.kind() as i64 + 1);
            self.protected.section(thread);
            // SAFETY: acquired above.
            unsafe { self.lock.release(held) };
        });
    }

    fn choose(&self, kind: Kind) {
        match self.choice.choose(kind) {
            Ok(()) => {
                let before = self.chosen.fetch_add((1 << 16) | 1 << kind as u32, Plain::Relaxed);
                assert!(before == 0, "{KINDS}{kind} is chosen, and another one was before");
                self.note(kind);
            }
            Err(error) => self.note(error.in_force()),
        }
    }
}

impl<H: HostWithSlots> Program for ChoiceProgram<H>
where
    ChosenSpinLock<OfProgram, H>: Send + Sync,
    Choice<H>: Send + Sync,
{
    type Op = ChoiceOp;

    fn new(ops: &[ChoiceOp], _rounds: u32) -> Self {
        ChoiceProgram {
            choice: Choice::open(DEFAULT),
            lock: ChosenSpinLock::new(),
            protected: Protected::new(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            kinds: AtomicU32::new(0),
            chosen: AtomicU32::new(0),
        }
    }

    fn step(&self, thread: usize, round: u32) {
        let op = self.ops[thread];
        if round == 0 {
            match op {
                ChoiceOp::ChooseQueued => self.choose(Kind::Queued),
                ChoiceOp::ChooseTestAndSet => self.choose(Kind::TestAndSet),
                ChoiceOp::Patch => self.note(self.choice.fix_for_patching()),
                ChoiceOp::Use | ChoiceOp::TryUse => {}
            }
        }
        self.use_lock(thread, op != ChoiceOp::TryUse);
    }

    fn finish(&self) {
        self.protected.finish();
        let (kind, by) = self.choice.in_force().expect("the lock was used");
        self.note(kind);
        let chosen = self.chosen.load(Plain::Relaxed);
        assert!(
            (chosen != 0) == (by == FixedBy::Choice) && (chosen != 0 || kind == DEFAULT),
            "{KINDS}{kind} is in force by {by:?}, and {} choices succeeded",
            chosen >> 16
        );
        self.with_choice(|| assert!(!self.lock.is_held(), "{KINDS}no thread holds it"));
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
