//! Objects of POSIX threads, in the same bytes as the C library's objects. Some bytes stay as the C
//! library writes them: the kind of a mutex, and the attributes of a condition variable.
//!
//! ```text
//!   pthread_mutex_t   0       4            8         16     20      24      28        40
//!                     +-------+------------+---------+------+-------+-------+---------+
//!                     | word  | generation | owner   | kind | count | token | waits.. |
//!                     +-------+------------+---------+------+-------+-------+---------+
//!   pthread_cond_t    0                         24           28      32               48
//!                     +-------------------------+------------+-------+----------------+
//!                     | waiters                 | generation | users | attributes     |
//!                     +-------------------------+------------+-------+----------------+
//! ```
//!
//! When the library starts, it finds where the C library keeps these values, by initialising
//! objects with each attribute and comparing their bytes.

use crate::host::Process;
use crate::{guard, real};
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, offset_of};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use lockyard::on::Condvar;

/// A mutex.
#[repr(C)]
pub(crate) struct Mutex {
    /// The lock.
    pub(crate) word: AtomicU32,
    /// Generation of the process that used it last: see `fork.rs`.
    pub(crate) generation: AtomicU32,
    /// The thread that holds the mutex; 0 for none. Normal mutexes of the default kind do not
    /// record the holder.
    pub(crate) owner: AtomicUsize,
    /// The C library's kind.
    pub(crate) kind: AtomicU32,
    /// Number of acquisitions by the owner after the first.
    pub(crate) count: AtomicU32,
    /// The holder's token.
    pub(crate) token: AtomicU32,
    /// Number of threads that wait for a condition with this mutex.
    pub(crate) waits: AtomicU32,
    /// 1 if a thread waits for the release of this mutex, which it holds itself.
    pub(crate) deadlocks: AtomicU32,
    _unused: u32,
}

/// A condition variable.
#[repr(C)]
pub(crate) struct Condition {
    /// The waiting threads.
    pub(crate) waiters: Condvar<Process>,
    /// Generation of the process that used it last.
    pub(crate) generation: AtomicU32,
    /// Number of calls that may still access it: its destruction waits for them.
    pub(crate) users: AtomicU32,
    /// The C library's attributes are in one of these words.
    attributes: [AtomicU32; 4],
}

const _: () = {
    assert!(size_of::<Mutex>() <= size_of::<libc::pthread_mutex_t>() && size_of::<Mutex>() == 40);
    assert!(size_of::<Condition>() == size_of::<libc::pthread_cond_t>());
    assert!(align_of::<Mutex>() <= align_of::<libc::pthread_mutex_t>());
    assert!(align_of::<Condition>() <= align_of::<libc::pthread_cond_t>());
    assert!(size_of::<libc::pthread_spinlock_t>() == 4);
};

/// Type of a mutex.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Normal,
    Recursive,
    ErrorChecking,
}

/// Kind of a mutex that this library does not replace, or that is destroyed.
pub(crate) enum Other {
    Destroyed,
    Real,
}

/// The C library's kind of mutexes without an attribute. Static initialisers have the same kind.
pub(crate) const PLAIN: u32 = 0;
/// Kind of a destroyed mutex: all bits are 1, as in the C library.
pub(crate) const DESTROYED: u32 = u32::MAX;

/// Kinds by the type attribute: normal, recursive, error-checking, adaptive. Before the library has
/// found them: the kinds of static initialisers, which are a part of the C library's ABI.
static KINDS: [AtomicU32; 4] =
    [AtomicU32::new(PLAIN), AtomicU32::new(1), AtomicU32::new(2), AtomicU32::new(3)];

/// Index of the word with a condition variable's attributes.
static WORD: AtomicUsize = AtomicUsize::new(0);
/// Bits of that word: the condition variable is shared between processes; its clock is monotonic.
static SHARED: AtomicU32 = AtomicU32::new(0);
static MONOTONIC: AtomicU32 = AtomicU32::new(0);

/// Returns the type of a mutex, given its kind.
#[inline]
pub(crate) fn type_of(kind: u32) -> Result<Type, Other> {
    // Relaxed, all: the state of `start.rs` publishes them.
    let is = |index: usize| KINDS[index].load(Ordering::Relaxed) == kind;
    match kind {
        PLAIN => Ok(Type::Normal),
        DESTROYED => Err(Other::Destroyed),
        _ if is(1) => Ok(Type::Recursive),
        _ if is(2) => Ok(Type::ErrorChecking),
        _ if is(0) || is(3) => Ok(Type::Normal),
        _ => Err(Other::Real),
    }
}

impl Condition {
    fn attributes(&self) -> u32 {
        // Relaxed, both: constant since the object and the library exist.
        self.attributes[WORD.load(Ordering::Relaxed) % 4].load(Ordering::Relaxed)
    }

    /// Returns true if the condition variable is shared between processes.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.attributes() & SHARED.load(Ordering::Relaxed) != 0
    }

    /// Returns true if the deadlines of `pthread_cond_timedwait` are on the monotonic clock.
    pub(crate) fn is_monotonic(&self) -> bool {
        self.attributes() & MONOTONIC.load(Ordering::Relaxed) != 0
    }
}

/// Words of an object that the C library has initialised.
type Words<const N: usize> = [u32; N];

/// Index of the word where the C library counts the users of a mutex. Destroying a mutex fails
/// while it has users.
const USERS: usize = 3;

/// True if the word is the user count.
static COUNTS_USERS: AtomicBool = AtomicBool::new(false);

/// Finds whether the C library counts users where it is expected.
fn find_users() {
    let Some(mut mutex) = initialised::<{ guard::WORDS }>(&real::MUTEX_INIT, core::ptr::null())
    else {
        return;
    };
    let at = (&raw mut mutex).expose_provenance();
    // SAFETY: a mutex, which no other thread uses. The C library may have changed it.
    unsafe {
        real::one(&real::MUTEX_LOCK, at);
        let locked = (&raw const mutex).read_volatile();
        real::one(&real::MUTEX_UNLOCK, at);
        let unlocked = (&raw const mutex).read_volatile();
        let is_count = (locked[USERS], unlocked[USERS]) == (1, 0);
        COUNTS_USERS.store(is_count, Ordering::Relaxed);
    }
}

/// Adds a user to a mutex of the C library, or removes one. The thread must hold the mutex.
pub(crate) fn count_user(mutex: &Mutex, change: u32) {
    if COUNTS_USERS.load(Ordering::Relaxed) {
        // SAFETY: a mutex has this many words. The C library changes this word only under the
        // mutex.
        let users = unsafe { &*core::ptr::from_ref(mutex).cast::<AtomicU32>().add(USERS) };
        // Relaxed, both: the mutex orders it.
        users.store(users.load(Ordering::Relaxed).wrapping_add(change), Ordering::Relaxed);
    }
}

/// Initialises an object over bytes that are all 1.
fn initialised<const N: usize>(init: &real::Slot, attribute: *const c_void) -> Option<Words<N>> {
    #[repr(C, align(16))]
    struct Room<const N: usize>(Words<N>);
    let mut room = Room([u32::MAX; N]);
    // SAFETY: the room has the object's size and alignment, and the attribute is initialised.
    let code = unsafe { real::two(init, (&raw mut room).expose_provenance(), attribute.addr()) };
    // SAFETY: the C library may have changed the room.
    (code == 0).then(|| unsafe { (&raw const room.0).read_volatile() })
}

/// Function that sets an attribute.
type Set<A> = unsafe extern "C" fn(*mut A, c_int) -> c_int;

/// Returns the words of a mutex with an attribute, or `None` if the C library has no such mutex.
fn mutex_with(
    set: Set<libc::pthread_mutexattr_t>,
    value: c_int,
) -> Option<Words<{ guard::WORDS }>> {
    let mut attribute = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
    let at = attribute.as_mut_ptr();
    // SAFETY: the attribute is initialised first, and destroyed last.
    unsafe {
        if libc::pthread_mutexattr_init(at) != 0 {
            return None;
        }
        let words = if set(at, value) == 0 {
            initialised(&real::MUTEX_INIT, at.cast_const().cast())
        } else {
            None
        };
        libc::pthread_mutexattr_destroy(at);
        words
    }
}

/// The same as [`mutex_with`], for a condition variable.
fn condition_with(set: Set<libc::pthread_condattr_t>, value: c_int) -> Option<Words<12>> {
    let mut attribute = MaybeUninit::<libc::pthread_condattr_t>::uninit();
    let at = attribute.as_mut_ptr();
    // SAFETY: as in `mutex_with`.
    unsafe {
        if libc::pthread_condattr_init(at) != 0 {
            return None;
        }
        let init = &real::CONDITION_INIT;
        let words =
            if set(at, value) == 0 { initialised(init, at.cast_const().cast()) } else { None };
        libc::pthread_condattr_destroy(at);
        words
    }
}

/// Finds where the C library keeps kinds and attributes. Returns a description of the first
/// unexpected result, if there is one.
pub(crate) fn find() -> Result<(), &'static str> {
    find_kinds()?;
    find_users();
    find_attributes()
}

const KIND: usize = offset_of!(Mutex, kind) / 4;

/// Returns the kind in the words of a mutex, if all other words are 0.
fn only_kind(words: Words<{ guard::WORDS }>) -> Option<u32> {
    let others = words.iter().enumerate().filter(|&(index, _)| index != KIND);
    others.map(|(_, &word)| word).all(|word| word == 0).then_some(words[KIND])
}

fn find_kinds() -> Result<(), &'static str> {
    use libc::{
        PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_NORMAL,
        PTHREAD_MUTEX_RECURSIVE,
    };
    let plain = initialised(&real::MUTEX_INIT, core::ptr::null());
    if plain.and_then(only_kind) != Some(PLAIN) {
        return Err("a plain mutex is not all zeros");
    }
    let types = [
        PTHREAD_MUTEX_NORMAL,
        PTHREAD_MUTEX_RECURSIVE,
        PTHREAD_MUTEX_ERRORCHECK,
        PTHREAD_MUTEX_ADAPTIVE_NP,
    ];
    let mut found = [0; 4];
    for (kind, of) in found.iter_mut().zip(types) {
        let words = mutex_with(libc::pthread_mutexattr_settype, of);
        *kind = words.and_then(only_kind).ok_or("the type of a mutex is not in its kind alone")?;
    }
    for (static_kind, kind) in KINDS.iter().zip(found).skip(1) {
        if static_kind.load(Ordering::Relaxed) != kind {
            return Err("the kind of a mutex is not that of its static initialiser");
        }
    }
    // A C library that refuses an attribute has no mutexes with that attribute.
    let others = [
        mutex_with(libc::pthread_mutexattr_setpshared, 1),
        mutex_with(libc::pthread_mutexattr_setrobust, 1),
        mutex_with(libc::pthread_mutexattr_setprotocol, 1),
        mutex_with(libc::pthread_mutexattr_setprotocol, 2),
    ];
    for words in others.iter().flatten() {
        let kind = words[KIND];
        if found.contains(&kind) || kind == PLAIN || kind == DESTROYED {
            return Err("the kind of a shared, robust or priority mutex is that of others");
        }
    }
    KINDS[0].store(found[0], Ordering::Relaxed);
    if let Some(robust) = others[1] {
        guard::learn(robust);
    }
    Ok(())
}

fn find_attributes() -> Result<(), &'static str> {
    const FIRST: usize = offset_of!(Condition, attributes) / 4;
    let plain: Option<Words<12>> = initialised(&real::CONDITION_INIT, core::ptr::null());
    let plain = plain.filter(|words| words.iter().all(|&word| word == 0));
    let shared = condition_with(libc::pthread_condattr_setpshared, 1);
    let monotonic = condition_with(libc::pthread_condattr_setclock, libc::CLOCK_MONOTONIC);
    let (Some(_), Some(shared), Some(monotonic)) = (plain, shared, monotonic) else {
        return Err("a plain condition variable is not all zeros");
    };
    let only = |words: Words<12>| {
        let mut set = words.iter().enumerate().filter(|&(_, &word)| word != 0);
        let (index, &bits) = set.next()?;
        (set.next().is_none() && index >= FIRST).then_some((index - FIRST, bits))
    };
    let (Some((word, shared)), Some((other, monotonic))) = (only(shared), only(monotonic)) else {
        return Err("the attributes of a condition variable are not in one word");
    };
    if word != other || shared & monotonic != 0 {
        return Err("the attributes of a condition variable are not in one word");
    }
    WORD.store(word, Ordering::Relaxed);
    SHARED.store(shared, Ordering::Relaxed);
    MONOTONIC.store(monotonic, Ordering::Relaxed);
    Ok(())
}
