//! Safe code that uses an object as one of another host, or as one of another value. As in
//! `variance.rs`, each function below is one type that must refuse it.
#![allow(coherence_leak_check)]

use lockyard::condvar::Condvar;
use lockyard::kind::Choice;
use lockyard::lock::{Queued, Ticket};
use lockyard::lockref::policy::Standard;
use lockyard::lockref::{LockRef, LockRefGuard};
use lockyard::page_ref::{Cmpxchg, PageRef};
use lockyard::platform::{Host, HostWithSlots, Instant, Native, NativeAtomics, NativeCell, NativeWords};
use lockyard::reclaim::{Domain, Guard, Header, Owned};
use lockyard::rwlock::queued::Inside;
use lockyard::rwlock::sharded::Entry;
use lockyard::rwlock::{
    ParkingReadWrite, PthreadReadWrite, RawQRwLock, RawRwLock, RawShardedRwLock, StdReadWrite,
};
use lockyard::seqlock::{SeqLock, SeqLockGuard};
use lockyard::{Held, RawSpinLock};
use std::marker::PhantomData;

struct W<T>(PhantomData<T>);
type General = for<'a> fn(&'a ());
type Narrow = fn(&'static ());

macro_rules! host {
    ($($which:ty),*) => {$(
        // SAFETY: every call goes to the native host.
        unsafe impl Host for W<$which> {
            type Atomics = NativeAtomics;
            const SLOTS: u32 = Native::SLOTS;
            lockyard::forward_to_host!(Native: slots, memory, activity, rest);
        }
        impl HostWithSlots for W<$which> {}
    )*};
}
host!(General, Narrow);

macro_rules! passes_for_another {
    ($($name:ident: $type:ident<$p:ident> = $for:ty;)*) => {$(
        type $type<$p> = $for;
        fn $name(this: &$type<General>) -> &$type<Narrow> {
            this
        }
    )*};
}

passes_for_another! {
    ticket: TicketOn<P> = RawSpinLock<Ticket, W<P>>;
    held: HeldOn<P> = Held<RawSpinLock<Queued, W<P>>>;
    lockref: LockRefOn<P> = LockRef<Queued, Standard, W<P>>;
    lockref_guard: LockRefGuardOn<P> = LockRefGuard<'static, Queued, Standard, W<P>>;
    page: PageOn<P> = PageRef<Cmpxchg, W<P>>;
    condvar: CondvarOn<P> = Condvar<W<P>>;
    read_write: ReadWriteOn<P> = RawRwLock<W<P>>;
    read_write_sharded: ShardedOn<P> = RawShardedRwLock<W<P>>;
    read_write_entry: EntryOn<P> = Entry<W<P>>;
    read_write_queued: QueuedOn<P> = RawQRwLock<W<P>>;
    read_write_std: StdOn<P> = StdReadWrite<W<P>>;
    read_write_parking: ParkingOn<P> = ParkingReadWrite<W<P>>;
    read_write_pthread: PthreadOn<P> = PthreadReadWrite<W<P>>;
    choice: ChoiceOn<P> = Choice<W<P>>;
    domain: DomainOn<P> = Domain<W<P>>;
    guard: GuardOn<P> = Guard<'static, W<P>>;
    owned: OwnedOn<P> = Owned<u32, W<P>>;
    header: HeaderOn<P> = Header<W<P>>;
    instant: InstantOn<P> = Instant<W<P>>;
    cell: CellOf<P> = NativeCell<W<P>>;
    words: WordsOf<P> = NativeWords<W<P>>;
    sequence: SequenceOn<P> = SeqLock<u32, W<P>>;
    sequence_guard: SequenceGuardOn<P> = SeqLockGuard<'static, u32, W<P>>;
}

fn main() {}
