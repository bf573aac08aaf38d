//! Ways to call a lock: the same lock and unlock inlined, called directly, and called through a
//! table.
//!
//! Each way is a loop over the same section: lock, add one to a word, unlock. It runs on one
//! thread, so the lock is never contended. The lock is the library's; the ways differ only in the
//! calls of its two operations. Two programs include this file: the lab, which measures the loops,
//! and the example `hot_paths`, whose code is compared with committed listings.

use lockyard::Native;
use lockyard::kind::Kind;
use lockyard::lane::Whole;
use lockyard::lock::{LaneLock, PvQueued, PvTicket, Queued, TestAndSet, Ticket};
use lockyard::platform::NativeU32;

/// A lock algorithm whose token fits in a register, for every kind.
pub trait Callable: LaneLock<Native> {
    /// Converts the token to a number.
    fn number(token: Self::Token) -> u32;
    /// Converts a result of [`number`](Self::number) back to the token.
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

/// The data of a loop, in a separate line.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Section {
    /// The lock's word. It starts as 0, and only loops of one kind may use it.
    pub word: NativeU32,
    /// The data that the lock protects: the number of finished sections.
    pub count: u64,
}

/// Takes a lock.
///
/// # Safety
///
/// The word must have been 0 at first, and since then only locks of this function's kind may have
/// used it.
pub type Lock = unsafe extern "C" fn(&NativeU32) -> u32;

/// Releases a lock.
///
/// # Safety
///
/// The lock in the word must be held, and the number must be the result of its acquisition.
pub type Unlock = unsafe extern "C" fn(&NativeU32, u32);

/// The operations of a kind, as a table to call through.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Takes the lock.
    pub lock: Lock,
    /// Releases the lock.
    pub unlock: Unlock,
}

/// A loop that runs this number of sections.
///
/// # Safety
///
/// The section's word must have started as 0, and only loops of this kind may have used it.
pub type Loop = unsafe fn(&mut Section, u64);

/// The compiled code of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Compiled {
    /// The loop with lock and unlock inlined.
    pub inlined: Loop,
    /// The loop with direct calls of lock and unlock.
    pub direct: Loop,
    /// The functions of the direct calls, as a table.
    pub table: Table,
}

impl Compiled {
    /// Returns the compiled code of this kind.
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

/// Takes the lock; the loops call this function.
///
/// # Safety
///
/// The same as for [`Lock`].
#[inline(never)]
pub unsafe extern "C" fn lock<K: Callable>(word: &NativeU32) -> u32 {
    // SAFETY: the caller's promise.
    K::number(unsafe { K::lock(Whole(word)) })
}

/// Releases the lock; the loops call this function.
///
/// # Safety
///
/// The same as for [`Unlock`].
#[inline(never)]
pub unsafe extern "C" fn unlock<K: Callable>(word: &NativeU32, number: u32) {
    // SAFETY: the caller's promise.
    unsafe { K::unlock(Whole(word), K::token(number)) };
}

/// # Safety
///
/// The same as for [`Loop`].
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
/// The same as for [`Loop`].
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
/// The same as for [`Loop`], with the functions of this kind in the table. No other thread may
/// write the table during the call.
#[inline]
pub unsafe fn indirect(table: *const Table, section: &mut Section, times: u64) {
    for _ in 0..times {
        // SAFETY: the caller's promise. Volatile: the loop reads the table for each call, as real
        // code must if the table may change.
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
