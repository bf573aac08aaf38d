//! The types that may be sent to another thread, and the types that may be shared between threads.
//!
//! The compiler decides all of it. The tests run nothing.

use lockyard::condvar::Condvar;
use lockyard::kind::{Choice, Kind, RawChosenLock, StaticChoice};
use lockyard::lock::{Adaptive, Clh, Mcs, PvQueued, PvTicket, Queued, TestAndSet, Ticket};
use lockyard::lockref::policy::Standard;
use lockyard::lockref::{LockRef, LockRefGuard};
use lockyard::page_ref::{Cmpxchg, LockedBit, PageRef};
use lockyard::platform::{Announcement, NativeAtomics, NativeCell, QueueNode, SlotLeases};
use lockyard::reclaim::{Domain, Guard, Header, Owned};
use lockyard::{Context, Held, Native, RawSpinLock};
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

#[test]
fn locks_counts_and_domains_are_sent_and_shared() {
    has!(Send, Sync;
        Lock<Ticket>, Lock<TestAndSet>, Lock<Queued>, Lock<PvQueued>, Lock<PvTicket>,
        Lock<Mcs>, Lock<Clh>, Lock<Adaptive>, Condvar<Native>,
        Lock<Ticket, Sticky>, RawChosenLock<Chosen, Native>, Choice,
        LockRef<Queued, Standard, Native>, LockRef<Queued, Standard, Native, Sticky>,
        PageRef<Cmpxchg, Native>, PageRef<LockedBit, Native>,
        Domain<Native>, Domain<Native, Sticky>, Header<Native>,
        QueueNode<NativeAtomics>, Announcement<NativeAtomics>, SlotLeases<1>,
    );
}

#[test]
fn data_behind_a_lock_is_shared_if_it_may_be_sent() {
    has!(Send, Sync; Mutex<NotShared<u32>>, NativeCell<NotShared<u32>>);
    lacks!(Sync; Mutex<Rc<u32>>, NativeCell<Rc<u32>>);
    lacks!(Send; Mutex<Rc<u32>>, NativeCell<Rc<u32>>);
}

#[test]
fn an_owned_object_is_as_its_value() {
    has!(Send, Sync; Owned<u32>);
    has!(Send, ; Owned<NotShared<u32>>);
    lacks!(Sync; Owned<NotShared<u32>>);
    lacks!(Send; Owned<Rc<u32>>);
    // Shared, but never sent.
    has!(Sync, ; Owned<std::sync::MutexGuard<'static, u32>>);
    lacks!(Send; Owned<std::sync::MutexGuard<'static, u32>>);
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
