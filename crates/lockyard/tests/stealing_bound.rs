//! How often a waiter of the queued lock that parks is passed: counted, on a host of one thread whose clock, pauses and parks
//! are this test's. A thief acts whenever the waiter pauses, yields or parks: it releases the lock and takes it again at once. So
//! the waiter never finds the lock free until nobody may steal it any more.

use lockyard::RawSpinLock;
use lockyard::lock::PvQueued;
use lockyard::lock::pv::{Hooks, Parks};
use lockyard::platform::{
    Event, Execution, Host, Native, NativeAtomics, NativeU32, NativeU64, QueueNode, Slot,
};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::time::Duration;

/// This machine for one thread, with a clock that goes on as the thread pauses and parks.
struct Alone;

/// Who acts while the thread waits.
type Thief = Box<dyn FnMut()>;

thread_local! {
    static THIEF: RefCell<Option<Thief>> = const { RefCell::new(None) };
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// How long a pause and a park last; nothing without a clock.
    static PAUSE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static PARK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static STEALS: Cell<u32> = const { Cell::new(0) };
    static PARKS: Cell<u32> = const { Cell::new(0) };
    static KICKS: Cell<u32> = const { Cell::new(0) };
    static MAY_PARK: Cell<bool> = const { Cell::new(true) };
}

fn passes(time: Duration) {
    NOW.set(NOW.get() + time);
    // Taken out meanwhile: the thief does not wait, so it is not asked again by itself.
    if let Some(mut thief) = THIEF.take() {
        thief();
        THIEF.set(Some(thief));
    }
}

// SAFETY: all but time and parking is `Native`'s; a park may return for no reason.
unsafe impl Host for Alone {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = Native::SLOTS;

    fn slot() -> Option<Slot> {
        Native::slot()
    }
    fn numa_node() -> u32 {
        0
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        Native::queue_node(slot, level)
    }
    fn announcements(lock: usize, turn: u32) -> &'static [NativeU64] {
        Native::announcements(lock, turn)
    }
    fn relax() {
        passes(PAUSE.get());
    }
    fn yield_now() {
        passes(PAUSE.get());
    }
    fn now() -> Duration {
        NOW.get()
    }
    fn park(_word: &NativeU32, _expected: u32, timeout: Option<Duration>) {
        // Without a timeout it is kicked at once.
        passes(timeout.map_or(Duration::ZERO, |timeout| timeout.min(PARK.get())));
    }
    fn unpark(_word: *const NativeU32, _count: u32) {}
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        Native::allocate(layout, node)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { Native::deallocate(memory, layout) }
    }
    fn count(event: Event) {
        let counter = match event {
            Event::Steal => &STEALS,
            Event::Wait => &PARKS,
            Event::Kick => &KICKS,
            _ => return,
        };
        counter.set(counter.get() + 1);
    }
    fn execution() -> Execution {
        if MAY_PARK.get() { Execution::Thread } else { Execution::Interrupt }
    }
    fn fatal(message: &'static str) -> ! {
        Native::fatal(message)
    }
}

/// What happened to a waiter.
struct Waited {
    steals: u32,
    parks: u32,
    kicks: u32,
    time: Duration,
}

/// A thread waits, as its clock says, while a thief takes the lock whenever it may.
fn wait_beside_a_thief<P: Hooks>(pause: Duration, park: Duration) -> Waited {
    let lock: &'static RawSpinLock<PvQueued<P>, Alone> = Box::leak(Box::new(RawSpinLock::new()));
    let mut held = Some(lock.acquire());
    let thief = move || {
        if let Some(held) = held.take() {
            // SAFETY: it is of this lock.
            unsafe { lock.release(held) };
        }
        held = lock.try_acquire();
    };
    THIEF.set(Some(Box::new(thief)));
    PAUSE.set(pause);
    PARK.set(park);
    let begin = NOW.get();
    let taken = lock.acquire();
    THIEF.set(None);
    assert!(lock.try_acquire().is_none(), "the waiter has it");
    // SAFETY: taken above.
    unsafe { lock.release(taken) };
    assert!(!lock.is_held(), "nobody is left");
    Waited {
        steals: STEALS.take(),
        parks: PARKS.take(),
        kicks: KICKS.take(),
        time: NOW.get() - begin,
    }
}

const NEVER: Duration = Duration::ZERO;

#[test]
fn a_waiter_is_passed_a_thousand_times_and_then_is_next() {
    let waited = wait_beside_a_thief::<Parks>(NEVER, NEVER);
    assert_eq!(waited.steals, 1000);
    assert!(waited.parks > 0 && waited.kicks > 0, "it parked, and was kicked");
}

#[derive(Debug)]
struct Thrice;
impl Hooks for Thrice {
    const MOST_PASSES: u32 = 3;
}

#[test]
fn a_policy_may_have_it_passed_fewer_times() {
    assert_eq!(wait_beside_a_thief::<Thrice>(NEVER, NEVER).steals, 3);
}

/// Whose pauses may be long without its being passed a thousand times.
#[derive(Debug)]
struct SpinsLittle;
impl Hooks for SpinsLittle {
    const SPINS: u32 = 10;
    const NEWCOMER_SPINS: u32 = 10;
}

#[test]
fn a_waiter_that_queues_for_a_millisecond_is_next_though_it_was_passed_fewer_times() {
    NOW.set(Duration::from_secs(1));
    let (pause, park) = (Duration::from_micros(2), Duration::from_micros(20));
    let waited = wait_beside_a_thief::<SpinsLittle>(pause, park);
    assert!((100..900).contains(&waited.steals), "{} steals", waited.steals);
    // It looks at the clock when it has spun, and after a park; and it has spun before it queued, and when it was over.
    let spun = pause * (2 * SpinsLittle::SPINS + SpinsLittle::NEWCOMER_SPINS);
    let latest = Parks::LONGEST_PASSED + spun + park;
    assert!(waited.time <= latest, "{:?} instead of {latest:?}", waited.time);
    assert!(waited.time >= Parks::LONGEST_PASSED, "it was passed for as long: {:?}", waited.time);
}

/// The clock goes on in long parks only: who parks, parks no longer than until its time is over.
#[test]
fn a_parked_waiter_wakes_when_its_time_is_over() {
    NOW.set(Duration::from_secs(1));
    let waited = wait_beside_a_thief::<Parks>(Duration::from_nanos(1), Duration::from_secs(60));
    let spun = Duration::from_nanos(1) * (2 * Parks::SPINS + Parks::NEWCOMER_SPINS + 1);
    assert!(waited.time <= Parks::LONGEST_PASSED + spun, "{:?}", waited.time);
}

#[test]
fn a_waiter_that_cannot_park_is_next_when_it_has_spun() {
    MAY_PARK.set(false);
    let waited = wait_beside_a_thief::<Parks>(NEVER, NEVER);
    assert_eq!(waited.parks, 0);
    assert!(waited.steals <= Parks::SPINS, "{} steals", waited.steals);
}

#[test]
fn a_fair_release_is_not_stolen() {
    let lock: &'static RawSpinLock<PvQueued, Alone> = Box::leak(Box::new(RawSpinLock::new()));
    let mut held = Some(lock.acquire());
    let thief = move || {
        // Once somebody waits in the queue.
        if held.is_some() && format!("{lock:?}").split("bits: ").nth(1).is_some_and(has_tail) {
            // SAFETY: it is of this lock.
            unsafe { lock.release_fair(held.take().expect("it is held")) };
            assert!(lock.try_acquire().is_none(), "the waiter is next");
        }
    };
    THIEF.set(Some(Box::new(thief)));
    let taken = lock.acquire();
    THIEF.set(None);
    assert_eq!(STEALS.take(), 0);
    // SAFETY: taken above.
    unsafe { lock.release(taken) };
    assert!(!lock.is_held());
}

/// Whether the number at the beginning of `text` has a bit in its upper half.
fn has_tail(text: &str) -> bool {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().expect("a number") >> 16 != 0
}
