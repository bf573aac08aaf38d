//! A choice of a kind: made once, by whoever comes first.
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
//! The word changes once, by a compare-exchange from 0. So all who read anything but 0 read the same, and whoever reads 0, also
//! an old one, learns the truth from the compare-exchange that he then makes: that two kinds are used with one word needs
//! no ordering to be excluded, and there is none. (The words of locks are 0 until they are used, whatever the kind: there is
//! nothing that a choice would have to publish.)

use super::Kind;
use crate::invariance::Invariant;
use crate::platform::{ConstAtomics, Host, Native, Ordering, U32, Word};
use core::fmt;

/// What has fixed a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum FixedBy {
    /// [`Choice::choose`].
    Choice = 1,
    /// The first use of a lock whose kind had not been chosen: its default is in force.
    FirstUse = 2,
    /// [`Choice::patching`]: call sites were patched for the kind that was the default.
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

/// A choice that came too late, or a second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceError {
    wanted: Kind,
    in_force: Kind,
    by: FixedBy,
}

impl ChoiceError {
    /// The kind that was to be chosen.
    pub fn wanted(&self) -> Kind {
        self.wanted
    }

    /// The kind that all locks of the choice have. It may be the one that was wanted.
    pub fn in_force(&self) -> Kind {
        self.in_force
    }

    /// Why that one.
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
    /// An open choice; `default` comes into force if a lock is used, or call sites are patched, before a kind is chosen.
    pub const fn new(default: Kind) -> Self {
        Choice { state: <H::Atomics as ConstAtomics>::U32_ZERO, default }
    }
}

impl<H: Host> Choice<H> {
    /// The same as [`new`](Self::new), also on platforms without constants (the model checker).
    pub fn open(default: Kind) -> Self {
        Choice { state: Word::new(0), default }
    }

    /// Chooses the kind of all locks of this choice.
    ///
    /// # Errors
    ///
    /// If a kind is in force already: because it was chosen before (also the same one: whoever comes second has not made the
    /// choice, and can ask the error whether he agrees with it), because a lock was used before, or because call sites were
    /// patched before. Nothing changes then.
    pub fn choose(&self, kind: Kind) -> Result<(), ChoiceError> {
        self.fix(kind, FixedBy::Choice).map_err(|(in_force, by)| ChoiceError {
            wanted: kind,
            in_force,
            by,
        })
    }

    /// The kind for which call sites are to be patched: from now on it is in force, and cannot be chosen any more.
    ///
    /// For programs that replace indirect calls of a lock's operations by direct ones: call this before the first of them is replaced.
    pub fn patching(&self) -> Kind {
        self.settle(FixedBy::Patched)
    }

    /// The kind in force and what has fixed it; `None` if it can still be chosen.
    pub fn in_force(&self) -> Option<(Kind, FixedBy)> {
        // Relaxed: the word changes once.
        decode(self.state.load(Ordering::Relaxed))
    }

    /// The kind for a use of a lock; the first use fixes it.
    #[inline(always)]
    pub(super) fn for_use(&self) -> Kind {
        // Relaxed: the word changes once, and says all.
        match Kind::from_code(self.state.load(Ordering::Relaxed) as u8) {
            Some(kind) => kind,
            None => self.settle(FixedBy::FirstUse),
        }
    }

    /// The kind in force; if there is none the default comes into force.
    #[cold]
    #[inline(never)]
    fn settle(&self, by: FixedBy) -> Kind {
        match self.fix(self.default, by) {
            Ok(()) => self.default,
            Err((in_force, _)) => in_force,
        }
    }

    /// Puts `kind` in force; or says which one is, and why.
    fn fix(&self, kind: Kind, by: FixedBy) -> Result<(), (Kind, FixedBy)> {
        let fixed = (kind as u32 + 1) | (by as u32) << u8::BITS;
        // Relaxed: the word changes once, and says all.
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

/// Which [`Choice`] the kind of a lock comes from: a type for each choice. Programs implement
/// [`StaticChoice`], which is safe.
///
/// # Safety
///
/// For any lock: [`with`](Self::with) passes the same choice in every call while the lock is there, on every thread.
pub unsafe trait Chooser<H: Host = Native>: 'static {
    /// Calls `use_choice` with the choice.
    fn with<R>(use_choice: impl FnOnce(&Choice<H>) -> R) -> R;
}

/// A type that names a choice in a `static`: a type for each choice.
pub trait StaticChoice<H: Host = Native>: 'static {
    /// The choice: a reference to a `static`. (To a constant it is refused by the compiler.)
    const CHOICE: &'static Choice<H>;
}

/// The [`Chooser`] of a [`StaticChoice`].
#[derive(Debug)]
pub struct Static<S>(Invariant<S>);

// SAFETY: a constant of a type is one value, and a lock is invariant in its chooser: one lock, one
// type, one value.
unsafe impl<S: StaticChoice<H>, H: Host> Chooser<H> for Static<S> {
    #[inline(always)]
    fn with<R>(use_choice: impl FnOnce(&Choice<H>) -> R) -> R {
        use_choice(S::CHOICE)
    }
}
