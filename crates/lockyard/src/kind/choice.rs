//! A choice of a kind. The first thread that chooses or uses a lock makes it.
//!
//! ```text
//!    31               16 15        8 7         0
//!   +-------------------+-----------+-----------+
//!   | 0                 | fixed by  | kind + 1  |     open  <=>  0
//!   +-------------------+-----------+-----------+
//!
//!   open --choose(k)---> (chosen, k)        for good
//!   open --first use---> (first use, default)    for good
//!   open --patching----> (patched, default)      for good
//! ```
//!
//! The word changes once, by a compare-exchange from 0. So all threads that read a nonzero value
//! read the same one. A thread that reads 0, perhaps stale, learns the current value from its own
//! compare-exchange. So one word is never used as two kinds. This argument needs no ordering, so
//! all accesses are relaxed. (A lock of any kind is 0 until its first use, so a choice publishes
//! nothing.)

use super::Kind;
use crate::invariance::Invariant;
use crate::platform::{ConstAtomics, Host, Native, Ordering, U32, Word};
use core::fmt;

/// The event that fixed a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum FixedBy {
    /// [`Choice::choose`].
    Choice = 1,
    /// The first use of a lock before a kind was chosen: the default is in force.
    FirstUse = 2,
    /// [`Choice::fix_for_patching`]: call sites were patched for the default kind.
    Patched = 3,
}

impl FixedBy {
    fn of(code: u8) -> FixedBy {
        match code {
            1 => FixedBy::Choice,
            2 => FixedBy::FirstUse,
            _ => FixedBy::Patched,
        }
    }

    fn because(self) -> &'static str {
        match self {
            FixedBy::Choice => "it was chosen before",
            FixedBy::FirstUse => "a lock was used before a kind was chosen",
            FixedBy::Patched => "call sites were patched before a kind was chosen",
        }
    }
}

/// The error of a choice that came too late, or was the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceError {
    wanted: Kind,
    in_force: Kind,
    by: FixedBy,
}

impl ChoiceError {
    /// Returns the kind that the caller wanted to choose.
    pub fn wanted(&self) -> Kind {
        self.wanted
    }

    /// Returns the kind in force for all locks of the choice. It may be the wanted one.
    pub fn in_force(&self) -> Kind {
        self.in_force
    }

    /// Returns the event that has fixed the kind in force.
    pub fn fixed_by(&self) -> FixedBy {
        self.by
    }
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChoiceError { wanted, in_force, by } = self;
        let because = by.because();
        write!(f, "`{wanted}` cannot be chosen: `{in_force}` is in force, because {because}")
    }
}

impl core::error::Error for ChoiceError {}

/// A kind that is chosen once. See the [module documentation](super).
pub struct Choice<H: Host = Native> {
    state: U32<H>,
    default: Kind,
}

impl<H: Host<Atomics: ConstAtomics>> Choice<H> {
    /// Makes an open choice. `default` comes into force if a lock is used, or call sites are
    /// patched, before a kind is chosen.
    pub const fn new(default: Kind) -> Self {
        Choice { state: <H::Atomics as ConstAtomics>::U32_ZERO, default }
    }
}

impl<H: Host> Choice<H> {
    /// The same as [`new`](Self::new), but not `const`, for platforms without constants (the model
    /// checker).
    pub fn open(default: Kind) -> Self {
        Choice { state: Word::new(0), default }
    }

    /// Chooses the kind of all locks of this choice.
    ///
    /// # Errors
    ///
    /// Returns an error if a kind is already in force, and changes nothing. The kind may have been
    /// chosen before, a lock may have been used, or call sites may have been patched. Choosing the
    /// kind that is already in force is also an error: the caller did not make that choice, and the
    /// error shows whether it agrees.
    pub fn choose(&self, kind: Kind) -> Result<(), ChoiceError> {
        self.fix(kind, FixedBy::Choice).map_err(|(in_force, by)| ChoiceError {
            wanted: kind,
            in_force,
            by,
        })
    }

    /// Puts the default in force unless a kind was chosen, and returns the kind for which to patch
    /// call sites. After this call the kind is fixed.
    ///
    /// For programs that replace indirect calls of a lock's operations with direct calls. Call this
    /// function before replacing the first call.
    pub fn fix_for_patching(&self) -> Kind {
        self.settle(FixedBy::Patched)
    }

    /// Returns the kind in force and the event that has fixed it. Returns `None` if the kind can
    /// still be chosen.
    pub fn in_force(&self) -> Option<(Kind, FixedBy)> {
        // Relaxed: the word changes once.
        decode(self.state.load(Ordering::Relaxed))
    }

    /// Returns the kind for a use of a lock. The first use fixes the kind.
    #[inline(always)]
    pub(super) fn for_use(&self) -> Kind {
        // Relaxed: the word changes once, and a reader uses nothing else.
        match Kind::from_code(self.state.load(Ordering::Relaxed) as u8) {
            Some(kind) => kind,
            None => self.settle(FixedBy::FirstUse),
        }
    }

    /// Returns the kind in force. If there is none, puts the default in force.
    #[cold]
    #[inline(never)]
    fn settle(&self, by: FixedBy) -> Kind {
        match self.fix(self.default, by) {
            Ok(()) => self.default,
            Err((in_force, _)) => in_force,
        }
    }

    /// Puts `kind` in force. The error is the kind already in force, and the event that has fixed
    /// it.
    fn fix(&self, kind: Kind, by: FixedBy) -> Result<(), (Kind, FixedBy)> {
        let fixed = (kind as u32 + 1) | (by as u32) << u8::BITS;
        // Relaxed: the word changes once, and a reader uses nothing else.
        match self.state.compare_exchange(0, fixed, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(actual) => Err(decode(actual).unwrap_or((kind, by))),
        }
    }
}

fn decode(state: u32) -> Option<(Kind, FixedBy)> {
    Some((Kind::from_code(state as u8)?, FixedBy::of((state >> u8::BITS) as u8)))
}

impl<H: Host> fmt::Debug for Choice<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut choice = f.debug_struct("Choice");
        choice.field("default", &self.default).field("in_force", &self.in_force()).finish()
    }
}

/// The source of a lock's [`Choice`], with one type for each choice. Programs implement
/// [`StaticChoice`], which is safe.
///
/// # Safety
///
/// For any lock, every call of [`with`](Self::with) must pass the same choice, on every thread, for
/// the life of the lock.
pub unsafe trait Chooser<H: Host = Native>: 'static {
    /// Calls `use_choice` with the choice.
    fn with<R>(use_choice: impl FnOnce(&Choice<H>) -> R) -> R;
}

/// A type that names a choice in a `static`. Each choice needs a separate type.
pub trait StaticChoice<H: Host = Native>: 'static {
    /// The choice: a reference to a `static`. (The compiler refuses a reference to a constant.)
    const CHOICE: &'static Choice<H>;
}

/// The [`Chooser`] of a [`StaticChoice`].
#[derive(Debug)]
pub struct Static<S>(Invariant<S>);

// SAFETY: an associated constant has one value for each type. A lock is invariant in its chooser,
// so one lock has one chooser type, and one choice.
unsafe impl<S: StaticChoice<H>, H: Host> Chooser<H> for Static<S> {
    #[inline(always)]
    fn with<R>(use_choice: impl FnOnce(&Choice<H>) -> R) -> R {
        use_choice(S::CHOICE)
    }
}
