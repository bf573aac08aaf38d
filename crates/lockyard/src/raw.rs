//! The raw spinlock: a lock algorithm in a separate word, and its connection to `lock_api`.
//!
//! [`RawSpinLock`] is the type of every lock of this crate that is not part of a larger object. Its
//! algorithm is a [`LaneLock`], which names the [`Width`] of the word. On platforms whose atomics
//! have constants, it implements `lock_api`'s [`RawMutex`], and so provides `Mutex` and
//! `MutexGuard`. The per-acquisition state of `lock_api` 0.5 carries the ticket and the context.
//! Platforms without constants (the model checker) use [`acquire`](RawSpinLock::acquire) and
//! [`release`](RawSpinLock::release) directly.

use crate::context::{Context, NoContext};
use crate::invariance::Invariant;
use crate::lane::{ConstWidth, Whole, Width};
use crate::lock::{Algorithm, FairLock, LaneLock, TimedLock, TokenInLane};
use crate::platform::{ConstAtomics, Host, Instant, Native, Ordering, Region, Word, during};
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use lock_api::{GuardNoSend, RawMutex, RawMutexFair, RawMutexTimed};

pub(crate) mod sealed {
    pub trait Lock {}
}

/// The state of an acquisition of a lock type: the algorithm's token and the context's state.
/// Sealed: this crate's lock types implement it.
pub trait Acquired: sealed::Lock + 'static {
    /// The value that the release passes back to the algorithm.
    type Token: Copy + Send + Sync + fmt::Debug + 'static;
    /// The value that the release passes back to the context.
    type State;
}

/// The value that the holder of a lock of type `L` must give back.
///
/// The value names the type of its lock, so it cannot be given back to a lock of another kind.
/// Dropping or forgetting it leaves the lock held. It stays on the thread that took the lock.
#[must_use = "the lock stays held until this is given back"]
pub struct Held<L: Acquired> {
    pub(crate) token: L::Token,
    pub(crate) context: L::State,
    _on_this_thread: GuardNoSend,
}

impl<L: Acquired> Held<L> {
    #[inline(always)]
    pub(crate) fn new(token: L::Token, context: L::State) -> Self {
        Held { token, context, _on_this_thread: GuardNoSend::new() }
    }
}

impl<L: Acquired<State = ()>> Held<L> {
    /// Returns the token, and leaves the lock held. For callers that cannot keep a value of this
    /// type until the release, such as C.
    #[inline(always)]
    pub fn into_token(self) -> L::Token {
        self.token
    }

    /// Makes the value that the holder gives back, from the holder's token.
    ///
    /// # Safety
    ///
    /// The token must come from [`into_token`](Self::into_token). It must be given back once, by
    /// the thread that took the lock, to the same lock.
    #[inline(always)]
    pub unsafe fn from_token(token: L::Token) -> Self {
        Held::new(token, ())
    }
}

impl<L: Acquired> fmt::Debug for Held<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("token", &self.token).finish_non_exhaustive()
    }
}

/// The word of a separate lock, for algorithm `K` on host `H`.
type WordOf<K, H> = <<K as Algorithm>::Width as Width>::Word<<H as Host>::Atomics>;

/// A spinlock: algorithm `K` on host `H`, with context `C`, in a word of the algorithm's width.
///
/// Usually written through an alias such as [`TicketLock`](crate::TicketLock). The type is
/// invariant in each parameter, because the parameters decide what the word means.
#[repr(transparent)]
pub struct RawSpinLock<K: LaneLock<H>, H: Host = Native, C: Context = NoContext> {
    word: WordOf<K, H>,
    _kind: Invariant<(K, C)>,
}

impl<K: LaneLock<H>, H: Host, C: Context> sealed::Lock for RawSpinLock<K, H, C> {}

impl<K: LaneLock<H>, H: Host, C: Context> Acquired for RawSpinLock<K, H, C> {
    type Token = K::Token;
    type State = C::State;
}

impl<K: LaneLock<H>, H: Host, C: Context> RawSpinLock<K, H, C> {
    /// Makes a free lock. Statics use [`RawMutex::INIT`].
    #[inline]
    pub fn new() -> Self {
        RawSpinLock { word: Word::new(Default::default()), _kind: PhantomData }
    }

    #[inline(always)]
    fn lane(&self) -> Whole<'_, WordOf<K, H>> {
        Whole(&self.word)
    }

    /// Enters the context and takes the lock, waiting until it is free. Acquire.
    #[inline(always)]
    pub fn acquire(&self) -> Held<Self> {
        let context = C::enter();
        // SAFETY: the word is private, and starts as 0. Only `K` on `H` changes it, here and in
        // `try_acquire` and `release`. The type is invariant in `K` and `H`, so every reference to
        // this lock names the same `K` and `H`.
        let token = during::<H, _>(Region::LockWait, || unsafe { K::lock(self.lane()) });
        Held::new(token, context)
    }

    /// Enters the context and takes the lock if it is free (acquire). [`Mcs`](crate::lock::Mcs) and
    /// [`Clh`](crate::lock::Clh) also need a free queue node of the thread. On failure it leaves
    /// the context, and neither the lock nor the context has changed.
    #[inline(always)]
    pub fn try_acquire(&self) -> Option<Held<Self>> {
        let context = C::enter();
        // SAFETY: as in `acquire`.
        match unsafe { K::try_lock(self.lane()) } {
            Some(token) => Some(Held::new(token, context)),
            None => {
                C::leave(context);
                None
            }
        }
    }

    /// The same as [`try_acquire`](Self::try_acquire), but by the first step of
    /// [`acquire`](Self::acquire): it may take the line from the holder to find out whether the
    /// lock is free. It is for callers that then wait by a method of their own.
    #[inline(always)]
    pub fn try_acquire_first(&self) -> Option<Held<Self>> {
        let context = C::enter();
        // SAFETY: as in `acquire`.
        match unsafe { K::try_lock_first(self.lane()) } {
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
        // Callers of `from_token` and `held_by_caller` promise the same. The caller promises that
        // the acquisition was of this lock.
        unsafe { K::unlock(self.lane(), held.token) };
        C::leave(held.context);
    }

    /// Releases the lock as [`release`](Self::release) does. If a waiter is queued, no other thread
    /// takes the lock before it.
    ///
    /// # Safety
    ///
    /// The same as for [`release`](Self::release).
    #[inline(always)]
    pub unsafe fn release_fair(&self, held: Held<Self>)
    where
        K: FairLock<H>,
    {
        // SAFETY: as in `release`.
        unsafe { K::unlock_fair(self.lane(), held.token) };
        C::leave(held.context);
    }

    /// Enters the context and takes the lock, waiting until `until` at most. On a timeout it leaves
    /// the context.
    pub fn acquire_until(&self, until: Instant<H>) -> Option<Held<Self>>
    where
        K: TimedLock<H>,
    {
        let context = C::enter();
        // SAFETY: as in `acquire`.
        let taken =
            during::<H, _>(Region::LockWait, || unsafe { K::lock_until(self.lane(), until) });
        match taken {
            Some(token) => Some(Held { token, context, _on_this_thread: GuardNoSend::new() }),
            None => {
                C::leave(context);
                None
            }
        }
    }

    /// Makes the value that the holder gives back, for a holder that has forgotten it. Reads the
    /// word (relaxed) if the algorithm has tokens.
    ///
    /// # Safety
    ///
    /// The calling thread must hold the lock. It must give back one value for each acquisition.
    #[inline(always)]
    pub unsafe fn held_by_caller(&self) -> Held<Self>
    where
        K: TokenInLane,
        C: Context<State = ()>,
    {
        let bits = if const { size_of::<K::Token>() == 0 } {
            Default::default()
        } else {
            // Relaxed: the caller holds the lock, and only the holder changes the part that is the
            // token.
            self.word.load(Ordering::Relaxed)
        };
        Held::new(K::token_of_holder(bits), ())
    }

    /// Returns true if the lock is held (or, with a queue, is about to be). The result is a
    /// snapshot (relaxed), and may already be stale when the function returns.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        K::is_held(self.word.load(Ordering::Relaxed))
    }
}

impl<K: LaneLock<H>, H: Host, C: Context> Default for RawSpinLock<K, H, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: LaneLock<H>, H: Host, C: Context> fmt::Debug for RawSpinLock<K, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.word.load(Ordering::Relaxed);
        f.debug_struct("RawSpinLock").field("bits", &bits).field("held", &K::is_held(bits)).finish()
    }
}

// SAFETY: exclusion and ordering follow from `LaneLock`. `Held` is the state of one acquisition. It
// is not `Clone`. Only an acquisition makes a `Held`, or unsafe code that promises one `Held` for
// each acquisition. Forgetting it leaves the lock held, which is safe. No operation unwinds while
// the lock is held. The algorithms do not panic (a broken invariant calls `Host::fatal`, which does
// not unwind). `Context::enter` runs before the lock is taken, and `leave` after it was released.
unsafe impl<K, H, C> RawMutex for RawSpinLock<K, H, C>
where
    K: LaneLock<H, Width: ConstWidth<H::Atomics>>,
    H: Host<Atomics: ConstAtomics>,
    C: Context,
{
    const INIT: Self = RawSpinLock { word: K::Width::ZERO, _kind: PhantomData };

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

// SAFETY: `FairLock` provides the release, with release ordering.
unsafe impl<K, H, C> RawMutexFair for RawSpinLock<K, H, C>
where
    K: FairLock<H, Width: ConstWidth<H::Atomics>>,
    H: Host<Atomics: ConstAtomics>,
    C: Context,
{
    #[inline(always)]
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_fair(guard) };
    }
}

/// Instants are points in time on the host's clock.
// SAFETY: `TimedLock` provides the acquisition.
unsafe impl<K, H, C> RawMutexTimed for RawSpinLock<K, H, C>
where
    K: TimedLock<H, Width: ConstWidth<H::Atomics>>,
    H: Host<Atomics: ConstAtomics>,
    C: Context,
{
    type Duration = Duration;
    type Instant = Instant<H>;

    fn try_lock_for(&self, timeout: Duration) -> Option<Self::Guard> {
        self.acquire_until(Instant::now() + timeout)
    }
    fn try_lock_until(&self, until: Instant<H>) -> Option<Self::Guard> {
        self.acquire_until(until)
    }
}
