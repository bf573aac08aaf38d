//! The names at the crate's root that need slots. They use the native host, which has slots with
//! the feature `std`.
//!
//! Without `std` these names are absent. [`on`] has each of them for your own host.

use crate::{Native, on};

/// A value behind a mutex of 4 bytes: for threads of an ordinary program.
///
/// ```
/// use lockyard::Mutex;
///
/// static NAMES: Mutex<Vec<&str>> = Mutex::new(Vec::new());
/// NAMES.lock().push("mutex");
/// assert_eq!(*NAMES.lock(), ["mutex"]);
/// assert_eq!(size_of::<Mutex<()>>(), 4);
/// ```
///
/// A thread that finds it held spins for some microseconds if no other thread spins, and then
/// sleeps. Newcomers may pass sleeping threads. The thread that has slept longest demands the lock
/// once it has waited for a millisecond and wakes from a nap. The next release that sees the demand
/// hands the lock over. Naps grow to 50 milliseconds, so with many waiters a wait may last tens of
/// milliseconds. A holder may sleep. See [`lock::adaptive`](crate::lock::adaptive) for the
/// algorithm, what is not bounded, and the sources.
///
/// Uncontended: one exchange to lock, one load and one plain store to unlock (x86-64). A panic
/// while the lock is held releases it: there is no poisoning.
///
/// - **Signal handlers** must not lock it, as with `pthread_mutex_t`.
/// - **`fork`**: in the child, a mutex that another thread held or waited for stays as it was, and
///   must not be used. All others work.
/// - **Thread exit**: a thread may lock it in destructors of thread-locals. If its slot is gone by
///   then, it yields instead of sleeping.
///
/// For your own host, or with a context: [`on::Mutex`].
pub type Mutex<T> = on::Mutex<T, Native>;
/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = on::MutexGuard<'a, T, Native>;
/// The lock of a [`Mutex`], for `lock_api`: timed and fair.
pub type RawMutex = on::RawMutex<Native>;

/// A value behind a reader-writer lock of 8 bytes: many readers, or one writer.
///
/// ```
/// use lockyard::{RwLock, RwLockUpgradableReadGuard};
///
/// static NAMES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
/// NAMES.write().push("shared");
/// assert_eq!(*NAMES.read(), ["shared"]);
///
/// // A reader that may become the writer. No other thread writes between.
/// let names = NAMES.upgradable_read();
/// if !names.contains(&"upgraded") {
///     RwLockUpgradableReadGuard::upgrade(names).push("upgraded");
/// }
/// assert_eq!(NAMES.read().len(), 2);
/// assert_eq!(size_of::<RwLock<()>>(), 8);
/// ```
///
/// A thread that must wait spins for some microseconds if few others do, and then sleeps. Newcomers
/// may pass sleeping threads. The thread that has slept longest closes the lock once it has waited
/// for half a millisecond and knows that it is the next. After that, only upgrades and
/// [`ReadRecursive`](crate::rwlock::ReadRecursive) enter before it. See [`rwlock`](crate::rwlock)
/// for the algorithm, its bounds and the sources.
///
/// Uncontended: two locked operations, to read or to write. A panic while the lock is held releases
/// it: there is no poisoning.
///
/// - **Reading twice**: a thread that reads must not call `read` again, because a writer may have
///   closed the lock in between. [`ReadRecursive`](crate::rwlock::ReadRecursive) and
///   [`RecursiveRwLock`] allow that.
/// - **Signal handlers**, **`fork`**, **thread exit**: as for [`Mutex`].
/// - **Readers**: at most 2^22 at a time; one more ends the program.
///
/// For your own host: [`on::RwLock`].
pub type RwLock<T> = on::RwLock<T, Native>;
/// The guard of a reader of a [`RwLock`].
pub type RwLockReadGuard<'a, T> = on::RwLockReadGuard<'a, T, Native>;
/// The guard of the writer of a [`RwLock`].
pub type RwLockWriteGuard<'a, T> = on::RwLockWriteGuard<'a, T, Native>;
/// The guard of the upgradable reader of a [`RwLock`].
pub type RwLockUpgradableReadGuard<'a, T> = on::RwLockUpgradableReadGuard<'a, T, Native>;
/// The lock of a [`RwLock`], for `lock_api`: timed, fair, upgradable.
pub type RawRwLock = on::RawRwLock<Native>;

/// A [`RwLock`] whose readers may read again. Readers keep writers waiting while any reader is
/// inside.
///
/// ```
/// use lockyard::RecursiveRwLock;
///
/// let lock = RecursiveRwLock::new(5);
/// let (first, second) = (lock.read(), lock.read());
/// assert_eq!(*first, *second);
/// ```
pub type RecursiveRwLock<T> = lock_api::RwLock<RawRecursiveRwLock, T>;
/// The lock of a [`RecursiveRwLock`].
pub type RawRecursiveRwLock = crate::rwlock::RawRwLock<Native, crate::rwlock::Usual, true>;

/// A value behind a reader-writer lock whose readers spread over lines while they meet: for data
/// that many threads read and few write.
///
/// ```
/// use lockyard::ShardedRwLock;
///
/// static ROUTES: ShardedRwLock<Vec<&str>> = ShardedRwLock::new(Vec::new());
/// ROUTES.write().push("default");
/// std::thread::scope(|s| {
///     for _ in 0..4 {
///         s.spawn(|| for _ in 0..1000 { assert_eq!(ROUTES.read().len(), 1) });
///     }
/// });
/// assert_eq!(size_of::<ShardedRwLock<()>>(), 24);
/// ```
///
/// It is a [`RwLock`] until readers meet inside. Then each reader adds itself to a counter in the
/// line of its thread's slot, and writes no line that another slot writes. A writer ends that: it
/// visits all counters, and the lock is a [`RwLock`] again until readers have met often enough. See
/// [`rwlock::sharded`](crate::rwlock::sharded) for the algorithm, its bounds and the sources.
///
/// **Memory**: 24 bytes, and once readers have met a line of 64 bytes for each slot in use, at most
/// 256; see [`rwlock::sharded`](crate::rwlock::sharded#memory). It comes from the host.
///
/// - **Reading twice**: a thread that reads must not call `read` again.
/// - **Not here**: the upgradable reader, and reads beside a writer that waits; [`RwLock`] has
///   both.
/// - **Signal handlers**, **`fork`**, **thread exit**: as for [`Mutex`].
///
/// For your own host: [`on::ShardedRwLock`].
pub type ShardedRwLock<T> = on::ShardedRwLock<T, Native>;
/// The guard of a reader of a [`ShardedRwLock`].
pub type ShardedRwLockReadGuard<'a, T> = on::ShardedRwLockReadGuard<'a, T, Native>;
/// The guard of the writer of a [`ShardedRwLock`].
pub type ShardedRwLockWriteGuard<'a, T> = on::ShardedRwLockWriteGuard<'a, T, Native>;
/// The lock of a [`ShardedRwLock`], for `lock_api`: timed and fair.
pub type RawShardedRwLock = on::RawShardedRwLock<Native>;

/// A value behind a queued reader-writer spinlock of 8 bytes: readers in batches, waiters in the
/// order of their arrival.
///
/// **For threads that keep their CPUs.** With more threads than CPUs it nearly stops, because the
/// next waiter in line is often not running. In that case use [`RwLock`].
///
/// ```
/// use lockyard::QRwLock;
///
/// static NAMES: QRwLock<Vec<&str>> = QRwLock::new(Vec::new());
/// NAMES.write().push("queued");
/// assert_eq!(*NAMES.read(), ["queued"]);
/// assert_eq!(size_of::<QRwLock<()>>(), 8);
/// ```
///
/// Uncontended: two locked operations to read; a compare-exchange and a plain store to write. It
/// needs no memory, clock or parking. See [`rwlock::queued`](crate::rwlock::queued) for the
/// algorithm, reads in interrupts, the bounds and the sources.
///
/// - **Reading twice**: a thread that reads must not call `read` again. An interruption may.
/// - **Readers**: at most 2^22 at a time; one more ends the program.
///
/// For your own host, or with a context: [`on::QRwLock`].
pub type QRwLock<T> = on::QRwLock<T, Native>;
/// The guard of a reader of a [`QRwLock`].
pub type QRwLockReadGuard<'a, T> = on::QRwLockReadGuard<'a, T, Native>;
/// The guard of the writer of a [`QRwLock`].
pub type QRwLockWriteGuard<'a, T> = on::QRwLockWriteGuard<'a, T, Native>;
/// The lock of a [`QRwLock`].
pub type RawQRwLock = on::RawQRwLock<Native>;

/// A small plain value that readers copy without writing any memory: a sequence lock.
///
/// ```
/// use lockyard::SeqLock;
///
/// static CLOCK: SeqLock<[u64; 2]> = SeqLock::new([0, 0]);
/// {
///     let mut clock = CLOCK.write();
///     clock[0] += 1;
///     clock[1] += 1_000_000;
/// } // here readers see both
/// assert_eq!(CLOCK.read(), [1, 1_000_000]);
/// assert_eq!(size_of::<SeqLock<[u64; 2]>>(), 16 + 16);
/// ```
///
/// A reader makes a copy and repeats it if a writer came between; after
/// [32](crate::seqlock::TRIES) repetitions it waits in turn with the writers. Writers take a
/// [`Mutex`]'s lock, and work on a copy that is published when the guard is dropped. So readers
/// never wait for a writer's code.
///
/// The value is plain data without padding: numbers, arrays, and structs that derive
/// `bytemuck::NoUninit`. Its size is added to 8 bytes for the sequence and 4 for the lock. Keep it
/// small: a copy loads each byte. See [`seqlock`](crate::seqlock) for the algorithm, its bounds and
/// the sources.
///
/// - **Panics** of a writer publish what it has changed: there is no poison.
/// - **Signal handlers** may read, unless they may interrupt the end of a write in their thread.
///
/// For your own host: [`on::SeqLock`].
pub type SeqLock<T> = on::SeqLock<T, Native>;
/// The guard of a writer of a [`SeqLock`].
pub type SeqLockGuard<'a, T> = on::SeqLockGuard<'a, T, Native>;

/// A condition variable of 24 bytes, for [`Mutex`] and every other mutex of `lock_api`.
///
/// ```
/// use lockyard::{Condvar, Mutex};
///
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
///
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         *READY.lock() = true;
///         CHANGED.notify_one();
///     });
///     CHANGED.wait_while(&mut READY.lock(), |ready| !*ready);
/// });
/// assert!(*READY.lock());
/// ```
///
/// It has the interface of `parking_lot`'s condition variable. See [`condvar`](crate::condvar).
///
/// For your own host: [`on::Condvar`].
pub type Condvar = on::Condvar<Native>;
pub use crate::condvar::WaitTimeoutResult;

/// A value behind a queued spinlock of 4 bytes, first in, first out. Each waiter spins on a
/// separate line.
///
/// **For threads that keep their CPUs.** With more threads than CPUs it nearly stops, because the
/// next waiter in line is often preempted. In that case use [`PvQSpinLock`] or a mutex.
///
/// ```
/// use lockyard::QSpinLock;
///
/// static NAMES: QSpinLock<Vec<&str>> = QSpinLock::new(Vec::new());
/// NAMES.lock().push("queued");
/// assert_eq!(*NAMES.lock(), ["queued"]);
/// assert_eq!(size_of::<QSpinLock<()>>(), 4);
/// ```
///
/// Uncontended: one locked compare-exchange, one plain store. A hand-over costs a fixed number of
/// line transfers, however many threads wait.
///
/// A thread without a slot waits outside the queue (see
/// [`HostWithSlots`](crate::platform::HostWithSlots)). A thread has no slot if 16,383 other threads
/// have one, or while it is being torn down. See [`lock::queued`](crate::lock::queued) for the
/// algorithm, its rules for waiting threads, and its source.
///
/// For your own host, or with a context: [`on::QSpinLock`].
pub type QSpinLock<T> = on::QSpinLock<T, Native>;
/// The guard of a [`QSpinLock`].
pub type QSpinLockGuard<'a, T> = on::QSpinLockGuard<'a, T, Native>;
/// The lock of a [`QSpinLock`].
pub type RawQSpinLock = on::RawQSpinLock<Native>;

/// A value behind a queued lock of 4 bytes whose waiters park: for more threads than CPUs, and for
/// guests of a hypervisor.
///
/// ```
/// use lockyard::PvQSpinLock;
///
/// static NAMES: PvQSpinLock<Vec<&str>> = PvQSpinLock::new(Vec::new());
/// NAMES.lock().push("parks");
/// assert_eq!(*NAMES.lock(), ["parks"]);
/// assert_eq!(size_of::<PvQSpinLock<()>>(), 4);
/// ```
///
/// Uncontended: one locked compare-exchange, one locked add. A newcomer may take the lock before
/// waiting threads, within a bound. A thread without a slot yields, and any number of threads may
/// pass it. See [`lock::pv_queued`](crate::lock::pv_queued) for the algorithm, the bound and the
/// sources.
///
/// For your own host, or with a context: [`on::PvQSpinLock`].
pub type PvQSpinLock<T> = on::PvQSpinLock<T, Native>;
/// The guard of a [`PvQSpinLock`].
pub type PvQSpinLockGuard<'a, T> = on::PvQSpinLockGuard<'a, T, Native>;
/// The lock of a [`PvQSpinLock`].
pub type RawPvQSpinLock = on::RawPvQSpinLock<Native>;

/// A value behind a ticket lock of 4 bytes whose waiters park: first come, first served, even if a
/// waiter is preempted.
///
/// ```
/// use lockyard::PvTicketLock;
///
/// let total = PvTicketLock::new(0);
/// std::thread::scope(|s| {
///     for _ in 0..8 {
///         s.spawn(|| for _ in 0..100 { *total.lock() += 1 });
///     }
/// });
/// assert_eq!(*total.lock(), 800);
/// assert_eq!(size_of::<PvTicketLock<()>>(), 4);
/// ```
///
/// Uncontended: two locked adds, one to lock and one to unlock. A hand-over to a parked waiter
/// costs a wake-up. At most 2^14 threads may hold or wait at once; one more ends the program. A
/// thread without a slot keeps its turn, and yields. See
/// [`lock::pv_ticket`](crate::lock::pv_ticket) for the algorithm and its sources.
///
/// For your own host, or with a context: [`on::PvTicketLock`].
pub type PvTicketLock<T> = on::PvTicketLock<T, Native>;
/// The guard of a [`PvTicketLock`].
pub type PvTicketLockGuard<'a, T> = on::PvTicketLockGuard<'a, T, Native>;
/// The lock of a [`PvTicketLock`].
pub type RawPvTicketLock = on::RawPvTicketLock<Native>;

/// A value behind a lock of 4 bytes whose kind is chosen at run time, once and before the first
/// use: see [`kind`](crate::kind).
///
/// For your own host, or with a context: [`on::ChosenLock`].
pub type ChosenLock<T, S> = on::ChosenLock<T, S, Native>;
/// The guard of a [`ChosenLock`].
pub type ChosenLockGuard<'a, T, S> = on::ChosenLockGuard<'a, T, S, Native>;
/// The lock of a [`ChosenLock`].
pub type RawChosenLock<S> = on::RawChosenLock<S, Native>;

/// A reference count with a queued lock, in 8 bytes: [`lockref::LockRef`](crate::lockref::LockRef)
/// in its standard variant.
///
/// ```
/// use lockyard::LockRef;
///
/// static ENTRY: LockRef = LockRef::new(1);
/// assert!(ENTRY.get_not_dead());
/// assert_eq!(ENTRY.put_return(), Some(1));
/// ```
///
/// For your own host, or with a context: [`on::LockRef`].
pub type LockRef = on::LockRef<Native>;
/// The guard of a [`LockRef`].
pub type LockRefGuard<'a> = on::LockRefGuard<'a, Native>;

/// Memory that readers access without a lock. A retired object is freed after the readers that may
/// have it have left: see [`reclaim`](crate::reclaim).
///
/// For your own host, or with a context: [`reclaim::Domain`](crate::reclaim::Domain).
pub type Domain = on::Domain<Native>;
/// Membership in a [`Domain`].
pub type DomainGuard<'d> = on::DomainGuard<'d, Native>;

const _: () = {
    const fn is_of<T>(bytes: usize) -> bool {
        size_of::<T>() == bytes && align_of::<T>() == bytes
    }
    assert!(is_of::<RawMutex>(4));
    assert!(is_of::<RawQSpinLock>(4) && is_of::<RawPvQSpinLock>(4) && is_of::<RawPvTicketLock>(4));
    assert!(is_of::<LockRef>(8));
};
