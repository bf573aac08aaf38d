//! The types that may be sent to another thread, and those that may be shared with one.
//!
//! Compiling this file decides all of it. The tests run nothing.

use lockyard::buffers::{Buffer, BufferCache, Standard as Switches};
use lockyard::connections::{self, Connection, ConnectionTable};
use lockyard::id_table::{self, IdTable};
use lockyard::kind::{Choice, Kind, RawChosenLock, StaticChoice};
use lockyard::lock::{Clh, Mcs, PvQueued, PvTicket, Queued, TestAndSet, Ticket};
use lockyard::lockref::policy::Standard;
use lockyard::lockref::{LockRef, LockRefGuard};
use lockyard::page_ref::{Cmpxchg, LockedBit, PageRef};
use lockyard::platform::{Announcement, NativeAtomics, NativeCell, QueueNode};
use lockyard::reclaim::{Domain, Guard, Header, Owned};
use lockyard::statistics::{PerCpu, PerNode, Shared, Statistics};
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

/// Compiles if the type has the traits.
macro_rules! has {
    ($traits:path, $($others:path)?; $($type:ty),* $(,)?) => {
        const _: () = {
            const fn has<T: $traits $(+ $others)?>() {}
            $(has::<$type>();)*
        };
    };
}

/// Compiles if the type does not have the trait: with it, two implementations would fit.
macro_rules! lacks {
    ($trait:path; $($type:ty),* $(,)?) => {$(
        const _: () = {
            trait Ambiguous<A> {
                fn which() {}
            }
            impl<T> Ambiguous<()> for T {}
            struct WithTrait;
            impl<T: $trait> Ambiguous<WithTrait> for T {}
            const _: fn() = <$type as Ambiguous<_>>::which;
        };
    )*};
}

#[test]
fn locks_counts_and_tables_are_sent_and_shared() {
    has!(Send, Sync;
        Lock<Ticket>, Lock<TestAndSet>, Lock<Queued>, Lock<PvQueued>, Lock<PvTicket>,
        Lock<Mcs>, Lock<Clh>,
        Lock<Ticket, Sticky>, RawChosenLock<Chosen, Native>, Choice,
        LockRef<Queued, Standard, Native>, LockRef<Queued, Standard, Native, Sticky>,
        PageRef<Cmpxchg, Native>, PageRef<LockedBit, Native>,
        Domain<Native>, Domain<Native, Sticky>, Header<Native>,
        QueueNode<NativeAtomics>, Announcement<NativeAtomics>,
        Statistics<PerNode, Queued, Native>, Statistics<PerCpu, Queued, Native>,
        Statistics<Shared, Queued, Native>,
        IdTable<NotShared<u32>, id_table::Rcu, Native>,
        IdTable<NotShared<u32>, id_table::Locked, Native>,
        ConnectionTable<u32, connections::Rcu, Native>,
        Connection<'static, u32, connections::Rcu, Native>,
        BufferCache<u32, Switches, Native>, Buffer<'static, u32, Switches, Native>,
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
}

#[test]
fn what_holds_something_stays_on_its_thread() {
    lacks!(Send;
        Held<Lock<Ticket>>, Held<RawChosenLock<Chosen, Native>>,
        lock_api::MutexGuard<'static, Lock<Ticket>, u32>,
        LockRefGuard<'static, Queued, Standard, Native>,
        Guard<'static, Native>,
        id_table::Entry<'static, u32, id_table::Rcu, Native>,
    );
    // A shared entry gives `&T` to the thread that it is shared with.
    lacks!(Sync; id_table::Entry<'static, NotShared<u32>, id_table::Locked, Native>);
    // A guard shared between threads would share the state of its context.
    lacks!(Sync;
        LockRefGuard<'static, Queued, Standard, Native, Sticky>, Guard<'static, Native, Sticky>,
    );
}
