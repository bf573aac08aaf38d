//! The types that may be sent to another thread, and the types that may be shared between threads.
//!
//! The compiler checks everything. The tests execute no code.

use lockyard::condvar::Condvar;
use lockyard::kind::{Choice, Kind, RawChosenLock, Static, StaticChoice};
use lockyard::lock::{Queued, Ticket};
use lockyard::lockref::policy::Standard;
use lockyard::lockref::{LockRef, LockRefGuard};
use lockyard::page_ref::{Cmpxchg, LockedBit, PageRef};
use lockyard::platform::{
    Announcement, BudgetSpent, Instant, NativeAtomics, NativeCell, Portable, QueueNode, SlotLeases,
};
use lockyard::reclaim::{Domain, Guard, Header, Owned};
use lockyard::rwlock::{RawRwLock, Usual};
use lockyard::{Context, Held, Native, RawSpinLock};
use lockyard_testing::{has, lacks};
use std::cell::Cell as NotShared;
use std::rc::Rc;

/// A context whose state can be neither sent nor shared.
struct Sticky;
impl Context for Sticky {
    type State = Rc<u32>;
    fn enter() -> Rc<u32> {
        Rc::new(0)
    }
    fn leave(_: Rc<u32>) {}
}

static CHOICE: Choice = Choice::new(Kind::Ticket);
struct Chosen;
impl StaticChoice for Chosen {
    const CHOICE: &'static Choice = &CHOICE;
}

type Lock<K, C = lockyard::NoContext> = RawSpinLock<K, Native, C>;
type Mutex<T, C = lockyard::NoContext> = lock_api::Mutex<Lock<Ticket, C>, T>;
type Guarded<T> = lock_api::MutexGuard<'static, Lock<Ticket>, T>;
type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
type Read<T> = lockyard::RwLockReadGuard<'static, T>;
type Written<T> = lockyard::RwLockWriteGuard<'static, T>;
type Upgradable<T> = lockyard::RwLockUpgradableReadGuard<'static, T>;
type Chose<T> = lock_api::MutexGuard<'static, RawChosenLock<Chosen, Native>, T>;

#[test]
fn every_lock_is_sent_and_shared() {
    macro_rules! locks {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, $($fact:tt)*
        })*) => {
            has!(Send, Sync; $(Lock<$lock>),*);
        };
    }
    macro_rules! rwlocks {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ident, $($fact:tt)*
        })*) => {
            has!(Send, Sync; $(lockyard::rwlock::$lock),*);
        };
    }
    lockyard::for_each_lock!(locks);
    lockyard::for_each_rwlock!(rwlocks);
}

#[test]
fn locks_counts_and_domains_are_sent_and_shared() {
    has!(Send, Sync;
        Condvar<Native>, Lock<Ticket, Sticky>, RawChosenLock<Chosen, Native>, Choice,
        LockRef<Queued, Standard, Native>, LockRef<Queued, Standard, Native, Sticky>,
        PageRef<Cmpxchg, Native>, PageRef<LockedBit, Native>,
        Domain<Native>, Domain<Native, Sticky>, Header<Native>,
        RawRwLock<Native, Usual, true>,
        QueueNode<NativeAtomics>, Announcement<NativeAtomics>, SlotLeases<1>,
    );
}

/// Values that may be sent and shared, only sent, only shared, or neither.
type Both = u32;
type Sent = NotShared<u32>;
type SharedOnly = std::sync::MutexGuard<'static, u32>;
type Neither = Rc<u32>;

#[test]
fn data_behind_a_lock_is_shared_if_it_may_be_sent() {
    has!(Send, Sync; Mutex<Both>, Mutex<Sent>, NativeCell<Both>, NativeCell<Sent>);
    lacks!(Sync;
        Mutex<SharedOnly>, Mutex<Neither>, NativeCell<SharedOnly>, NativeCell<Neither>,
    );
    lacks!(Send;
        Mutex<SharedOnly>, Mutex<Neither>, NativeCell<SharedOnly>, NativeCell<Neither>,
    );
    // A context does not change these traits, because it is left on the thread where it was
    // entered.
    has!(Send, Sync; Mutex<Both, Sticky>, Mutex<Sent, Sticky>);
    lacks!(Sync; Mutex<SharedOnly, Sticky>, Mutex<Neither, Sticky>);
    lacks!(Send; Mutex<SharedOnly, Sticky>, Mutex<Neither, Sticky>);
}

/// Plain data that may be sent, and data that may not.
#[derive(Clone, Copy)]
struct OfOneThread(std::marker::PhantomData<*const ()>);
// SAFETY: it has no bytes.
unsafe impl lockyard::seqlock::NoUninit for OfOneThread {}

/// Readers have copies, so the value need not be shared. (A lock of data that may not be sent does
/// not compile.)
#[test]
fn data_behind_a_sequence_lock_is_sent() {
    has!(Send, Sync; lockyard::SeqLock<Both>, lockyard::platform::NativeWords<Both>);
    has!(Sync, ; lockyard::SeqLockGuard<'static, Both>);
    lacks!(Send; lockyard::SeqLockGuard<'static, Both>);
    lacks!(Sync; lockyard::platform::NativeWords<OfOneThread>);
    lacks!(Send; lockyard::platform::NativeWords<OfOneThread>);
}

type Sharded<T> = lockyard::ShardedRwLock<T>;
type Queueing<T> = lockyard::QRwLock<T>;
type ShardedRead<T> = lockyard::ShardedRwLockReadGuard<'static, T>;
type QueuedRead<T> = lockyard::QRwLockReadGuard<'static, T>;

/// The same for the locks whose guards have a state.
#[test]
fn data_behind_sharded_and_queued_locks_is_shared_if_it_may_be_sent_and_shared() {
    has!(Send, Sync; Sharded<Both>, Queueing<Both>);
    lacks!(Sync; Sharded<Sent>, Sharded<Neither>, Queueing<Sent>, Queueing<Neither>);
    lacks!(Send; Sharded<SharedOnly>, Sharded<Neither>, Queueing<Neither>);
    has!(Sync, ; ShardedRead<Both>, QueuedRead<Both>);
    lacks!(Sync; ShardedRead<Sent>, QueuedRead<Sent>);
    lacks!(Send; ShardedRead<Both>, QueuedRead<Both>);
}

/// Readers share the value, and a writer may take it.
#[test]
fn data_behind_a_reader_writer_lock_is_shared_if_it_may_be_sent_and_shared() {
    has!(Send, Sync; RwLock<Both>);
    has!(Send, ; RwLock<Sent>);
    lacks!(Sync; RwLock<Sent>, RwLock<SharedOnly>, RwLock<Neither>);
    lacks!(Send; RwLock<SharedOnly>, RwLock<Neither>);
    has!(Sync, ; Read<Both>, Written<Both>, Upgradable<Both>);
    lacks!(Sync; Read<Sent>, Written<Sent>, Upgradable<Sent>);
    lacks!(Sync; Read<Neither>, Written<Neither>, Upgradable<Neither>);
    lacks!(Send; Read<Both>, Written<Both>, Upgradable<Both>);
}

#[test]
fn an_owned_object_is_as_its_value() {
    has!(Send, Sync; Owned<Both>);
    has!(Send, ; Owned<Sent>);
    lacks!(Sync; Owned<Sent>, Owned<Neither>);
    has!(Sync, ; Owned<SharedOnly>);
    lacks!(Send; Owned<SharedOnly>, Owned<Neither>);
}

#[test]
fn a_guard_is_shared_if_its_data_are_sent_and_shared() {
    has!(Sync, ; Guarded<Both>, Chose<Both>);
    lacks!(Sync;
        Guarded<Sent>, Guarded<SharedOnly>, Guarded<Neither>,
        Chose<Sent>, Chose<SharedOnly>, Chose<Neither>,
    );
    lacks!(Send;
        Guarded<Both>, Guarded<Sent>, Guarded<SharedOnly>, Guarded<Neither>,
        Chose<Both>, Chose<Sent>, Chose<SharedOnly>, Chose<Neither>,
    );
}

#[test]
fn names_of_variants_are_sent_and_shared_whatever_they_name() {
    has!(Send, Sync;
        Static<Chosen>, Portable<Native>, Instant<Native>, BudgetSpent<Both>,
    );
    lacks!(Send; BudgetSpent<SharedOnly>, BudgetSpent<Neither>);
    lacks!(Sync; BudgetSpent<Sent>, BudgetSpent<Neither>);
}

#[test]
fn what_holds_something_stays_on_its_thread() {
    lacks!(Send;
        Held<Lock<Ticket>>, Held<RawChosenLock<Chosen, Native>>,
        lock_api::MutexGuard<'static, Lock<Ticket>, u32>,
        LockRefGuard<'static, Queued, Standard, Native>,
        Guard<'static, Native>,
    );
    // A guard shared between threads would share the state of its context.
    lacks!(Sync;
        LockRefGuard<'static, Queued, Standard, Native, Sticky>, Guard<'static, Native, Sticky>,
    );
}
