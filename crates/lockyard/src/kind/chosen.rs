//! The lock whose kind is chosen when the program runs.
//!
//! It stands beside [`RawSpinLock`](crate::RawSpinLock), and is not one over an algorithm that
//! chooses. [`Algorithm::is_held`](crate::lock::Algorithm::is_held) judges the bits of a lane
//! alone, and here they mean nothing without the choice. The kind is read before the context is
//! entered, so a first use settles the choice outside of it; an algorithm is called inside.

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
    /// chosen, the choice's default comes into force.
    #[inline(always)]
    pub fn acquire(&self) -> Held<Self> {
        let kind = S::with(|choice| choice.for_use());
        let context = C::enter();
        // SAFETY: the word is private, and was made with 0. Only the algorithm of the kind of `S`'s
        // choice changes it, here and in `try_acquire` and `release`. The type is invariant in `S`
        // and `H`, so no reference to this lock names another choice. The choice is always the same
        // (`Chooser`), and once it has given a kind it gives no other. So there is one such
        // algorithm.
        let token =
            during::<H, _>(Region::LockWait, || unsafe { table::lock::<H, _>(kind, &self.word) });
        Held::new(token, context)
    }

    /// Enters the context and takes the lock if it is free, like
    /// [`RawSpinLock::try_acquire`](crate::RawSpinLock::try_acquire). If no kind was chosen, the
    /// choice's default comes into force.
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
    /// `held` came from an acquisition of this lock.
    #[inline(always)]
    pub unsafe fn release(&self, held: Held<Self>) {
        // SAFETY: `held` is not `Clone`, so the acquisition that made it has not been given back.
        // The caller says that it was one of this lock.
        unsafe { table::unlock::<H, _>(&self.word, held.token) };
        C::leave(held.context);
    }

    /// Returns true if the lock is held (or, with a queue, is about to be). A snapshot (relaxed),
    /// which may be stale before it is returned. It does not count as a use: it fixes no kind.
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

// SAFETY: exclusion and ordering are `LaneLock`'s, of one algorithm (see `acquire`). The rest is as
// for `RawSpinLock`.
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
        // SAFETY: the caller's promise is the same.
        unsafe { self.release(guard) };
    }
    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
}
