//! The calls that the compiler makes: the same lock and unlock inlined, called directly, and called
//! through a table.
//!
//! Each is a loop over the same section: lock, add one to a word, unlock, on one thread, so that
//! nobody is ever waited for. The lock is the library's; what differs is how its two operations are
//! reached. Two include this file: the lab, which measures the loops, and the example `hot_paths`,
//! so that what they compile to is held against committed listings.

use lockyard::Native;
use lockyard::kind::Kind;
use lockyard::lane::Whole;
use lockyard::lock::{LaneLock, PvQueued, PvTicket, Queued, TestAndSet, Ticket};
use lockyard::platform::NativeU32;

/// A lock algorithm whose token goes through a register, whatever the kind.
pub trait Callable: LaneLock<Native> {
    /// The token as a number.
    fn number(token: Self::Token) -> u32;
    /// The token that [`number`](Self::number) was given.
    fn token(number: u32) -> Self::Token;
}

macro_rules! with_token {
    ($($kind:ty),*) => {$(
        impl Callable for $kind {
            #[inline(always)]
            fn number(token: Self::Token) -> u32 {
                u32::from(token)
            }
            #[inline(always)]
            fn token(number: u32) -> Self::Token {
                number as Self::Token
            }
        }
    )*};
}
with_token!(Ticket, PvTicket, PvQueued);

macro_rules! without_token {
    ($($kind:ty),*) => {$(
        impl Callable for $kind {
            #[inline(always)]
            fn number((): ()) -> u32 {
                0
            }
            #[inline(always)]
            fn token(_: u32) {}
        }
    )*};
}
without_token!(Queued, TestAndSet);

/// What a loop works on. In a line of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Section {
    /// The lock's word. It was 0, and only loops of one kind may use it.
    pub word: NativeU32,
    /// What the lock protects: how many sections there were.
    pub count: u64,
}

/// Takes a lock.
///
/// # Safety
///
/// The word was 0, and only locks of this function's kind have used it since.
pub type Lock = unsafe extern "C" fn(&NativeU32) -> u32;

/// Releases a lock.
///
/// # Safety
///
/// The word is held, and the number is what its acquisition returned.
pub type Unlock = unsafe extern "C" fn(&NativeU32, u32);

/// The operations of a kind, as a table to call through.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Takes the lock.
    pub lock: Lock,
    /// Releases it.
    pub unlock: Unlock,
}

/// A loop of so many sections.
///
/// # Safety
///
/// The section's word was 0, and only loops of this kind have used it.
pub type Loop = unsafe fn(&mut Section, u64);

/// What the compiler made for one kind.
#[derive(Clone, Copy, Debug)]
pub struct Compiled {
    /// Lock and unlock inlined into the loop.
    pub inlined: Loop,
    /// Lock and unlock called, by direct calls.
    pub direct: Loop,
    /// The functions that these call.
    pub table: Table,
}

impl Compiled {
    /// Of this kind.
    pub fn of(kind: Kind) -> Compiled {
        fn all<K: Callable>() -> Compiled {
            let table = Table { lock: lock::<K>, unlock: unlock::<K> };
            Compiled { inlined: inlined::<K>, direct: direct::<K>, table }
        }
        match kind {
            Kind::Ticket => all::<Ticket>(),
            Kind::Queued => all::<Queued>(),
            Kind::PvTicket => all::<PvTicket>(),
            Kind::PvQueued => all::<PvQueued>(),
            Kind::TestAndSet => all::<TestAndSet>(),
        }
    }
}

/// The function that is called.
///
/// # Safety
///
/// As of [`Lock`].
#[inline(never)]
pub unsafe extern "C" fn lock<K: Callable>(word: &NativeU32) -> u32 {
    // SAFETY: the caller's promise.
    K::number(unsafe { K::lock(Whole(word)) })
}

/// The function that is called.
///
/// # Safety
///
/// As of [`Unlock`].
#[inline(never)]
pub unsafe extern "C" fn unlock<K: Callable>(word: &NativeU32, number: u32) {
    // SAFETY: the caller's promise.
    unsafe { K::unlock(Whole(word), K::token(number)) };
}

/// # Safety
///
/// As of [`Loop`].
#[inline]
pub unsafe fn inlined<K: Callable>(section: &mut Section, times: u64) {
    for _ in 0..times {
        // SAFETY: the caller's promise.
        let token = unsafe { K::lock(Whole(&section.word)) };
        section.count += 1;
        // SAFETY: locked above.
        unsafe { K::unlock(Whole(&section.word), token) };
    }
}

/// # Safety
///
/// As of [`Loop`].
#[inline]
pub unsafe fn direct<K: Callable>(section: &mut Section, times: u64) {
    for _ in 0..times {
        // SAFETY: the caller's promise.
        let number = unsafe { lock::<K>(&section.word) };
        section.count += 1;
        // SAFETY: locked above.
        unsafe { unlock::<K>(&section.word, number) };
    }
}

/// # Safety
///
/// As of [`Loop`], of the kind whose functions are in the table. Nobody writes the table meanwhile.
#[inline]
pub unsafe fn indirect(table: *const Table, section: &mut Section, times: u64) {
    for _ in 0..times {
        // SAFETY: the caller's promise. Volatile: the table is read for each call, as it is where
        // somebody may change it.
        let lock = unsafe { (&raw const (*table).lock).read_volatile() };
        // SAFETY: the caller's promise.
        let number = unsafe { lock(&section.word) };
        section.count += 1;
        // SAFETY: as above.
        let unlock = unsafe { (&raw const (*table).unlock).read_volatile() };
        // SAFETY: locked above.
        unsafe { unlock(&section.word, number) };
    }
}
