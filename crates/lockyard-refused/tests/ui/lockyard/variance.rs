//! Safe code that uses a lock as one with other parameters: one word, two meanings.
//!
//! `for<'a> fn(&'a ())` is a subtype of `fn(&'static ())`. So a lock that is covariant in a
//! parameter would pass for one whose parameter implements the same trait differently. Each
//! function below is one type that must refuse it.
#![forbid(unsafe_code)]
#![allow(coherence_leak_check)]

use lockyard::kind::{Choice, Kind, RawChosenLock, StaticChoice};
use lockyard::lock::adaptive::Patience;
use lockyard::lock::pv::Hooks;
use lockyard::lock::{PvQueued, PvTicket, Queued, Ticket};
use lockyard::lockref::policy::{Policy, Standard};
use lockyard::lockref::{LockRef, LockRefGuard};
use lockyard::reclaim::{Domain, Guard};
use lockyard::rwlock::RawRwLock;
use lockyard::{Context, Held, Native, RawSpinLock};
use std::marker::PhantomData;

struct W<T>(PhantomData<T>);
type General = for<'a> fn(&'a ());
type Narrow = fn(&'static ());

impl<T> std::fmt::Debug for W<T> {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

static A: Choice = Choice::new(Kind::Ticket);
static B: Choice = Choice::new(Kind::TestAndSet);
impl StaticChoice for W<General> {
    const CHOICE: &'static Choice = &A;
}
impl StaticChoice for W<Narrow> {
    const CHOICE: &'static Choice = &B;
}

impl Hooks for W<General> {
    const PARK: bool = true;
}
impl Hooks for W<Narrow> {
    const PARK: bool = false;
}

impl Patience for W<General> {
    const SPINNERS: u32 = 1;
}
impl Patience for W<Narrow> {
    const SPINNERS: u32 = 2;
}

impl Policy for W<General> {
    const PAUSE: bool = true;
    const TRYWAIT: bool = true;
}
impl Policy for W<Narrow> {
    const PAUSE: bool = false;
    const TRYWAIT: bool = false;
}

macro_rules! context {
    ($($which:ty),*) => {$(
        impl Context for W<$which> {
            type State = ();
            fn enter() {}
            fn leave(_: ()) {}
        }
    )*};
}
context!(General, Narrow);

macro_rules! passes_for_another {
    ($($name:ident: $type:ident<$p:ident> = $for:ty;)*) => {$(
        type $type<$p> = $for;
        fn $name(this: &$type<General>) -> &$type<Narrow> {
            this
        }
    )*};
}

passes_for_another! {
    chosen_chooser: ChosenChooser<P> = RawChosenLock<W<P>, Native>;
    chosen_context: ChosenContext<P> = RawChosenLock<W<General>, Native, W<P>>;
    lock_hooks: LockHooks<P> = RawSpinLock<PvQueued<W<P>>, Native>;
    ticket_hooks: TicketHooks<P> = RawSpinLock<PvTicket<W<P>>, Native>;
    lock_context: LockContext<P> = RawSpinLock<Ticket, Native, W<P>>;
    mutex_hooks: MutexHooks<P> = lock_api::Mutex<RawSpinLock<PvQueued<W<P>>, Native>, u64>;
    read_write_patience: ReadWritePatience<P> = RawRwLock<Native, W<P>>;
    held: HeldOf<P> = Held<RawSpinLock<PvQueued<W<P>>, Native>>;
    algorithm: Algorithm<P> = PvQueued<W<P>>;
    lockref_hooks: LockRefHooks<P> = LockRef<PvQueued<W<P>>, Standard, Native>;
    lockref_policy: LockRefPolicy<P> = LockRef<Queued, W<P>, Native>;
    lockref_context: LockRefContext<P> = LockRef<Queued, Standard, Native, W<P>>;
    lockref_guard: LockRefGuardOf<P> = LockRefGuard<'static, Queued, W<P>, Native>;
    domain: DomainOf<P> = Domain<Native, W<P>>;
    guard: GuardOf<P> = Guard<'static, Native, W<P>>;
}

fn main() {}
