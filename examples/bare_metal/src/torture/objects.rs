//! Objects that readers find without a lock, and that go away: a domain protects whoever looks, a
//! lockref keeps an object for longer, and whoever drops the last reference retires it.

use super::{Part, check};
use crate::console::fail;
use crate::cpu::Cpu;
use crate::host::Kernel;
use crate::memory;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use lockyard::on;
use lockyard::platform::{NativeU64, Ordering, Word};
use lockyard::reclaim::Owned;

const NAME: &str = "reclaim";

/// Content of an object that lives.
const ALIVE: u64 = 0xa11f_e000_a11f_e000;

struct Object {
    /// One reference is the table's.
    life: on::LockRef<Kernel>,
    content: AtomicU64,
}

impl Object {
    fn check(&self) {
        let content = self.content.load(Ordering::Relaxed);
        check!(content == ALIVE, "{NAME}: an object was freed under its user: {content:#x}");
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.check();
        self.content.store(0, Ordering::Relaxed);
        FREED.fetch_add(1, Ordering::Relaxed);
    }
}

static DOMAIN: on::Domain<Kernel> = on::Domain::new();

/// The objects that can be found, as the bits of an `Owned<Object>`, or 0.
static TABLE: [NativeU64; 8] = [const { NativeU64::new(0) }; 8];

/// True if no reader is waited for: a fault that readers must notice.
static FREES_AT_ONCE: AtomicBool = AtomicBool::new(false);

static MADE: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);
/// Bytes of the heap that were in use before the first object.
static USED_BEFORE: AtomicUsize = AtomicUsize::new(0);

/// Puts a new object, or none, in the place of another, and drops the table's reference to that.
fn replace(place: &NativeU64, new: u64) {
    // Release: pairs with the acquire of whoever finds the object, here or as a reader, so that it
    // finds it made.
    let old = place.swap(new, Ordering::AcqRel);
    if old != 0 {
        // SAFETY: the table's reference to it was this one, which keeps it.
        unsafe { put(old) };
    }
}

/// Drops a reference, and retires the object if it was the last.
///
/// # Safety
///
/// The caller has a reference to the object with these bits, and does not use it any more.
unsafe fn put(bits: u64) {
    // SAFETY: the reference keeps it.
    let object = unsafe { Owned::<Object, Kernel>::deref_bits(bits) };
    let Some(object) = object else { return };
    let Some(mut last) = object.life.put_or_lock() else { return };
    last.mark_dead();
    drop(last);
    // SAFETY: no reference is left and none can be taken, so the table has none either: the object
    // is out of reach. Only this processor found the last reference.
    let object = unsafe { Owned::<Object, Kernel>::from_bits(bits) };
    if FREES_AT_ONCE.load(Ordering::Relaxed) {
        drop(object); // readers may have it, which is the fault
        return;
    }
    // SAFETY: as above.
    unsafe { DOMAIN.retire_owned(object) };
}

/// Looks at an object without a reference. For handlers: it takes no memory and frees none.
pub(super) fn look(cpu: &Cpu) {
    let guard = DOMAIN.enter();
    let bits = TABLE[cpu.random() as usize % TABLE.len()].load(Ordering::Acquire); // see `replace`
    // SAFETY: the table's objects are `Owned`, and retired to the guard's domain.
    if let Some(object) = unsafe { guard.deref_bits::<Object>(bits) } {
        object.check();
        pause(cpu.random() & 31);
        object.check();
    }
}

/// Gives others time to take away what this processor uses.
fn pause(work: u64) {
    for _ in 0..work {
        spin_loop();
    }
}

/// Takes a reference to an object, and uses it after the look-up has ended.
fn keep(place: &NativeU64, work: u64) {
    let guard = DOMAIN.enter();
    let bits = place.load(Ordering::Acquire); // see `replace`
    // SAFETY: as in `look`.
    let found = unsafe { guard.deref_bits::<Object>(bits) };
    let Some(object) = found else { return };
    pause(work);
    object.check();
    if !object.life.get_not_dead() {
        return;
    }
    drop(guard);
    // SAFETY: the reference keeps it.
    if let Some(object) = unsafe { Owned::<Object, Kernel>::deref_bits(bits) } {
        pause(work);
        object.check();
    }
    // SAFETY: the reference is the one above.
    unsafe { put(bits) };
}

fn round(cpu: &Cpu) {
    for _ in 0..8 {
        let random = cpu.random();
        let place = &TABLE[random as usize % TABLE.len()];
        if random >> 16 & 3 != 0 {
            keep(place, random >> 8 & 31);
            continue;
        }
        let object = Object { life: on::LockRef::new(1), content: AtomicU64::new(ALIVE) };
        let Ok(new) = Owned::<_, Kernel>::allocate(object, None) else {
            fail(format_args!("{NAME}: the heap is full: {} objects wait", DOMAIN.pending()));
        };
        MADE.fetch_add(1, Ordering::Relaxed);
        replace(place, new.into_bits());
    }
}

/// Makes the records of all processors. Handlers look from the first tick on, and a handler must
/// not be the first to enter.
pub(super) fn prepare(cpus: u32, frees_at_once: bool) {
    FREES_AT_ONCE.store(frees_at_once, Ordering::Relaxed);
    let reserved = DOMAIN.reserve(cpus);
    check!(reserved.is_ok(), "{NAME}: there is no memory for the domain");
}

fn begin() {
    USED_BEFORE.store(memory::used(), Ordering::Relaxed);
}

fn end() {
    TABLE.iter().for_each(|place| replace(place, 0));
    DOMAIN.barrier();
    check!(DOMAIN.pending() == 0, "{NAME}: {} objects wait after a barrier", DOMAIN.pending());
    let (made, freed) = (MADE.load(Ordering::Relaxed), FREED.load(Ordering::Relaxed));
    check!(made == freed && made > 0, "{NAME}: {freed} of {made} objects were freed");
    let (used, before) = (memory::used(), USED_BEFORE.load(Ordering::Relaxed));
    check!(used == before, "{NAME}: {before} bytes in use before, {used} after");
}

pub(super) const PART: Part = Part { name: NAME, begin, round, end };
