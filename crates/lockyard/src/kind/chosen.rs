//! The lock whose kind is chosen at run time.
//!
//! It is a separate type, and not a [`RawSpinLock`](crate::RawSpinLock) with an algorithm that
//! chooses. The reason is [`Algorithm::is_held`](crate::lock::Algorithm::is_held): that function
//! gets only a lane's bits, and these mean nothing without the choice. This lock reads the kind
//! before it enters the context, so the first use also settles the choice outside the context. An
//! algorithm would run inside it.

use super::{Chooser, ChosenToken, FixedBy, Kind, Static, table};
use crate::context::{Context, NoContext};
use crate::invariance::Invariant;
use crate::platform::{ConstAtomics, HostWithSlots, Native, Ordering, Region, U32, Word, during};
use crate::raw::{Acquired, Held, sealed};
use core::fmt;
use core::marker::PhantomData;
use lock_api::RawMutex;

/// A spinlock in 4 bytes on host `H`, with context `C` and the kind of `S`'s
/// [`Choice`](super::Choice). See the [module documentation](super). Usually written through an
/// alias such as [`RawChosenLock`]. Invariant in each parameter.
#[repr(transparent)]
pub struct ChosenSpinLock<S: Chooser<H>, H: HostWithSlots, C: Context = NoContext> {
    word: U32<H>,
    _choice: Invariant<(S, C)>,
}

/// The lock of a [`ChosenLock`](crate::ChosenLock).
pub type RawChosenLock<S, H = Native, C = NoContext> = ChosenSpinLock<Static<S>, H, C>;

impl<S: Chooser<H>, H: HostWithSlots, C: Context> sealed::Lock for ChosenSpinLock<S, H, C> {}

impl<S: Chooser<H>, H: HostWithSlots, C: Context> Acquired for ChosenSpinLock<S, H, C> {
    type Token = ChosenToken;
    type State = C::State;
}

impl<S: Chooser<H>, H: HostWithSlots, C: Context> Held<ChosenSpinLock<S, H, C>> {
    /// Returns the kind of the lock.
    pub fn kind(&self) -> Kind {
        self.token.kind()
    }
}

impl<S: Chooser<H>, H: HostWithSlots, C: Context> ChosenSpinLock<S, H, C> {
    /// Makes a free lock, without choosing a kind. Statics use [`RawMutex::INIT`].
    #[inline]
    pub fn new() -> Self {
        ChosenSpinLock { word: Word::new(0), _choice: PhantomData }
    }

    /// Enters the context and takes the lock, waiting until it is free. Acquire. If no kind was
    /// chosen, puts the choice's default in force.
    #[inline(always)]
    pub fn acquire(&self) -> Held<Self> {
        let kind = S::with(|choice| choice.for_use());
        let context = C::enter();
        // SAFETY: the word is private, and starts as 0. Only the algorithm of the kind that `S`'s
        // choice gives changes it, here and in `try_acquire` and `release`. The type is invariant
        // in `S` and `H`, so no reference to this lock names another choice. The choice is always
        // the same (`Chooser`), and always gives the same kind. So one algorithm makes all changes.
        let token =
            during::<H, _>(Region::LockWait, || unsafe { table::lock::<H, _>(kind, &self.word) });
        Held::new(token, context)
    }

    /// Enters the context and takes the lock if it is free, like
    /// [`RawSpinLock::try_acquire`](crate::RawSpinLock::try_acquire). If no kind was chosen, puts
    /// the choice's default in force.
    #[inline(always)]
    pub fn try_acquire(&self) -> Option<Held<Self>> {
        let kind = S::with(|choice| choice.for_use());
        let context = C::enter();
        // SAFETY: as in `acquire`.
        match unsafe { table::try_lock::<H, _>(kind, &self.word) } {
            Some(token) => Some(Held::new(token, context)),
            None => {
                C::leave(context);
                None
            }
        }
    }

    /// Releases the lock (release), and leaves the context.
    ///
    /// # Safety
    ///
    /// `held` must come from an acquisition of this lock.
    #[inline(always)]
    pub unsafe fn release(&self, held: Held<Self>) {
        // SAFETY: `held` is not `Clone`, so the acquisition that made it has not been given back.
        // The caller promises that the acquisition was of this lock.
        unsafe { table::unlock::<H, _>(&self.word, held.token) };
        C::leave(held.context);
    }

    /// Returns true if the lock is held (or, with a queue, is about to be). The result is a
    /// snapshot (relaxed), and may already be stale when the function returns. The call does not
    /// count as a use, and fixes no kind.
    pub fn is_held(&self) -> bool {
        let bits = self.word.load(Ordering::Relaxed);
        self.in_force().is_some_and(|(kind, _)| table::is_held::<U32<H>>(kind, bits))
    }

    fn in_force(&self) -> Option<(Kind, FixedBy)> {
        S::with(|choice| choice.in_force())
    }
}

impl<S: Chooser<H>, H: HostWithSlots, C: Context> Default for ChosenSpinLock<S, H, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Chooser<H>, H: HostWithSlots, C: Context> fmt::Debug for ChosenSpinLock<S, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.in_force().map(|(kind, _)| kind);
        let bits = self.word.load(Ordering::Relaxed);
        let mut lock = f.debug_struct("ChosenSpinLock");
        lock.field("kind", &kind).field("bits", &bits).field("held", &self.is_held()).finish()
    }
}

// SAFETY: exclusion and ordering follow from `LaneLock`, for one algorithm (see `acquire`). The
// rest is as for `RawSpinLock`.
unsafe impl<S, H, C> RawMutex for ChosenSpinLock<S, H, C>
where
    S: Chooser<H>,
    H: HostWithSlots<Atomics: ConstAtomics>,
    C: Context,
{
    #[allow(clippy::declare_interior_mutable_const)] // as `RawMutex` has it
    const INIT: Self =
        ChosenSpinLock { word: <H::Atomics as ConstAtomics>::U32_ZERO, _choice: PhantomData };

    type Guard = Held<Self>;

    #[inline(always)]
    fn lock(&self) -> Self::Guard {
        self.acquire()
    }
    #[inline(always)]
    fn try_lock(&self) -> Option<Self::Guard> {
        self.try_acquire()
    }
    #[inline(always)]
    unsafe fn unlock(&self, guard: Self::Guard) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release(guard) };
    }
    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
}
