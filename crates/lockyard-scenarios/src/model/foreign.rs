//! Locks from outside the library.
//!
//! A foreign lock can replace a lock of a script. Then the same interpreter measures both it and
//! the library's locks. The crate `lockyard-peers` has the table of foreign locks. This crate has
//! none.
//!
//! A foreign lock is a Rust type, or functions that were loaded while the program runs.
//!
//! Only a real host can run foreign locks. On a simulated machine, threads are coroutines. A thread
//! that waits outside the platform's `wait_until` would wait for ever.

use super::loaded::{LoadedAt, LoadedLock};
use super::lock_object::LockObject;
use std::alloc::Layout;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// A description of a foreign lock. A marker type implements it, because a crate can implement
/// another crate's trait only for its own types.
///
/// # Safety
///
/// [`make`](Self::make) must return its argument, initialised. [`locked`](Self::locked) must
/// provide mutual exclusion: at most one call on a lock is in `body` at a time, and each `body`
/// sees all writes of earlier bodies. Callers change non-atomic data in `body`.
/// [`locked_shared`](Self::locked_shared) must provide the same between its own calls and calls of
/// `locked`; several of its own calls may be inside together.
pub unsafe trait Foreign: 'static {
    /// The lock. It does not move between `make` and its destructor.
    type Lock: Send + Sync;

    /// Makes a free lock in `place`. Returns `None` if a resource that it needs is not available.
    fn make(place: &mut MaybeUninit<Self::Lock>) -> Option<&mut Self::Lock>;

    /// Runs `body` with the lock held. The function is inlined into its caller, as the library's
    /// locks are. The call of `body`, and the call that leads here, belong to the interpreter and
    /// are the same for all locks.
    fn locked(lock: &Self::Lock, body: &mut dyn FnMut());

    /// `true` if the lock has a shared mode: `locked_shared` lets readers in together.
    const HAS_SHARED: bool = false;

    /// Runs `body` as a reader. A lock without a shared mode is held.
    fn locked_shared(lock: &Self::Lock, body: &mut dyn FnMut()) {
        Self::locked(lock, body);
    }

    /// Returns `true` if a thread holds the lock. Called only while no thread acquires or releases
    /// the lock.
    fn is_held(lock: &Self::Lock) -> bool;
}

/// A foreign lock and its name.
#[derive(Clone, Copy)]
pub struct ForeignLock {
    name: &'static str,
    layout: Layout,
    has_shared: bool,
    make: Make,
}

/// Way to make a lock.
#[derive(Clone, Copy)]
enum Make {
    Of(unsafe fn(NonNull<u8>) -> Option<Box<dyn LockObject>>),
    Loaded(LoadedLock),
}

impl ForeignLock {
    /// Returns the lock that `F` describes. Each lock needs a different name.
    pub const fn of<F: Foreign>(name: &'static str) -> ForeignLock {
        let (layout, has_shared) = (Layout::new::<F::Lock>(), F::HAS_SHARED);
        ForeignLock { name, layout, has_shared, make: Make::Of(make::<F>) }
    }

    /// Returns the lock that loaded functions provide. Each lock needs a different name.
    ///
    /// # Safety
    ///
    /// On memory of this layout, the functions must do what [`LoadedLock`] says, and they must stay
    /// loaded.
    pub const unsafe fn loaded(
        name: &'static str,
        layout: Layout,
        functions: LoadedLock,
    ) -> ForeignLock {
        ForeignLock { name, layout, has_shared: false, make: Make::Loaded(functions) }
    }

    /// Name of the lock.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns `true` if the lock has a shared mode: it is a reader-writer lock.
    pub const fn has_shared(&self) -> bool {
        self.has_shared
    }

    /// Size and alignment of a lock.
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Makes a free lock in `memory`.
    ///
    /// # Safety
    ///
    /// `memory` must be valid for the layout, and must outlive the returned object.
    pub(crate) unsafe fn make(&self, memory: NonNull<u8>) -> Option<Box<dyn LockObject>> {
        match self.make {
            // SAFETY: the caller upholds the contract of `make`.
            Make::Of(make) => unsafe { make(memory) },
            Make::Loaded(lock) => {
                // SAFETY: the caller upholds the contract; the functions are for this layout.
                let made = unsafe { LoadedAt::make(lock, memory, self.layout) };
                Some(Box::new(made))
            }
        }
    }
}

impl PartialEq for ForeignLock {
    fn eq(&self, other: &ForeignLock) -> bool {
        self.name == other.name
    }
}

impl Eq for ForeignLock {}

impl fmt::Debug for ForeignLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignLock").field("name", &self.name).finish_non_exhaustive()
    }
}

/// # Safety
///
/// `memory` must be valid for `F::Lock`, and must outlive the returned object.
unsafe fn make<F: Foreign>(memory: NonNull<u8>) -> Option<Box<dyn LockObject>> {
    // SAFETY: the caller provides memory that nothing else uses. The memory outlives this
    // reference, which becomes the object's pointer. Uninitialised memory is a valid `MaybeUninit`.
    let place = unsafe { memory.cast::<MaybeUninit<F::Lock>>().as_mut() };
    let lock = NonNull::from(F::make(place)?);
    Some(Box::new(ForeignAt::<F>(lock)))
}

/// A foreign lock in place. Dropping this value drops that lock.
struct ForeignAt<F: Foreign>(NonNull<F::Lock>);

impl<F: Foreign> ForeignAt<F> {
    fn lock(&self) -> &F::Lock {
        // SAFETY: `make` initialised the lock, and the memory outlives `self`. Until `self` is
        // dropped, only shared references are made from the pointer.
        unsafe { self.0.as_ref() }
    }
}

impl<F: Foreign> Drop for ForeignAt<F> {
    fn drop(&mut self) {
        // SAFETY: the lock was initialised in `make`, and is dropped once. No reference is left,
        // because all are borrowed from `self`.
        unsafe { self.0.drop_in_place() };
    }
}

impl<F: Foreign> LockObject for ForeignAt<F> {
    fn locked(&self, body: &mut dyn FnMut()) {
        F::locked(self.lock(), body);
    }
    fn locked_shared(&self, body: &mut dyn FnMut()) {
        F::locked_shared(self.lock(), body);
    }
    fn is_held(&self) -> bool {
        F::is_held(self.lock())
    }
    fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }
}
