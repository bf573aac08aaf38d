//! The number of times that newcomers pass a waiter of the queued lock that parks. The test has a
//! host of one thread, whose clock and parks it controls. A thief acts while the waiter is parked:
//! it releases the lock and immediately takes it again, until stealing is refused. So the waiter
//! finds the lock free only when stealing has ended.

use lockyard::RawSpinLock;
use lockyard::lock::PvQueued;
use lockyard::lock::pv::{Hooks, Parks};
use lockyard::platform::{
    Announcement, Event, Execution, Host, HostWithSlots, Native, NativeAtomics, NativeU32,
    QueueNode, Slot,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// This machine with only one thread, and a clock that advances when the thread parks.
struct Alone;

/// The action of the other thread while this one waits.
type Thief = Box<dyn FnMut()>;

thread_local! {
    static THIEF: RefCell<Option<Thief>> = const { RefCell::new(None) };
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// Duration of a park; zero without a clock.
    static PARK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static STEALS: Cell<u32> = const { Cell::new(0) };
    static PARKS: Cell<u32> = const { Cell::new(0) };
    static KICKS: Cell<u32> = const { Cell::new(0) };
    static MAY_PARK: Cell<bool> = const { Cell::new(true) };
}

fn passes(time: Duration) {
    NOW.set(NOW.get() + time);
    // The thief is taken out of its variable while it runs. It does not wait, so it is not called
    // recursively.
    if let Some(mut thief) = THIEF.take() {
        thief();
        THIEF.set(Some(thief));
    }
}

// SAFETY: `Native` provides everything except time and parking. A park may return spuriously.
unsafe impl Host for Alone {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = Native::SLOTS;

    lockyard::forward_to_host!(Native: slots, memory);

    fn numa_node() -> u32 {
        0
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        Native::queue_node(slot, level)
    }
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
        Native::announcements(lock, turn)
    }
    fn relax() {}
    fn yield_now() {
        passes(Duration::ZERO);
    }
    fn now() -> Duration {
        NOW.get()
    }
    fn park(_word: &NativeU32, _expected: u32, timeout: Option<Duration>) {
        // A park without a timeout is kicked immediately.
        passes(timeout.map_or(Duration::ZERO, |timeout| timeout.min(PARK.get())));
    }
    fn unpark(_word: *const NativeU32, _count: u32) {}
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

impl HostWithSlots for Alone {}

/// The history of a waiter.
struct Waited {
    steals: u32,
    parks: u32,
    kicks: u32,
    time: Duration,
}

/// Makes a thread wait, on the test's clock. Whenever the thread parks, a thief takes the lock
/// `times` times, or as often as it may. During the first `keeps` parks the thief keeps the lock.
fn wait_beside_a_thief<P: Hooks>(times: u32, park: Duration, keeps: u32) -> Waited {
    let lock = Rc::new(RawSpinLock::<PvQueued<P>, Alone>::new());
    let mut held = Some(lock.acquire());
    let wanted = Rc::clone(&lock);
    let thief = move || {
        if MAY_PARK.get() && PARKS.get() <= keeps {
            return;
        }
        for _ in 0..times {
            let Some(taken) = held.take() else { return };
            // SAFETY: `taken` came from this lock.
            unsafe { wanted.release(taken) };
            held = wanted.try_acquire();
        }
    };
    THIEF.set(Some(Box::new(thief)));
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

const AS_OFTEN_AS_IT_MAY: u32 = u32::MAX;

#[test]
fn a_waiter_is_passed_a_thousand_times_while_it_sleeps_and_then_is_next() {
    let waited = wait_beside_a_thief::<Parks>(AS_OFTEN_AS_IT_MAY, Duration::ZERO, 0);
    assert_eq!((waited.steals, waited.parks), (1000, 1));
    assert!(waited.kicks > 0, "it was kicked");
}

#[test]
fn passes_add_up_over_parks() {
    let waited = wait_beside_a_thief::<Parks>(300, Duration::ZERO, 0);
    assert_eq!((waited.steals, waited.parks), (1000, 4));
}

#[derive(Debug)]
struct Thrice;
impl Hooks for Thrice {
    const MOST_PASSES: u32 = 3;
}

#[test]
fn a_policy_may_lower_the_bound() {
    let waited = wait_beside_a_thief::<Thrice>(AS_OFTEN_AS_IT_MAY, Duration::ZERO, 0);
    assert_eq!(waited.steals, 3);
}

#[test]
fn a_waiter_that_has_queued_for_a_millisecond_is_next_after_fewer_passes() {
    NOW.set(Duration::from_secs(1));
    // Seven parks of at most 150 us, with ten passes each. An eighth park, after the time limit,
    // has none.
    let waited = wait_beside_a_thief::<Parks>(10, Duration::from_micros(150), 0);
    assert_eq!((waited.steals, waited.parks), (70, 8));
    assert_eq!(waited.time, Parks::LONGEST_PASSED, "it parked only until its time was over");
}

#[test]
fn a_waiter_whose_time_is_over_before_anybody_passes_is_not_passed() {
    NOW.set(Duration::from_secs(1));
    let waited = wait_beside_a_thief::<Parks>(10, Duration::from_secs(60), 1);
    assert_eq!((waited.steals, waited.parks), (0, 2));
    assert_eq!(waited.time, Parks::LONGEST_PASSED);
}

#[test]
fn a_waiter_that_cannot_park_is_not_passed() {
    MAY_PARK.set(false);
    let waited = wait_beside_a_thief::<Parks>(AS_OFTEN_AS_IT_MAY, Duration::ZERO, 0);
    assert_eq!((waited.steals, waited.parks), (0, 0));
}

#[test]
fn a_fair_release_is_not_stolen() {
    let lock = Rc::new(RawSpinLock::<PvQueued, Alone>::new());
    let mut held = Some(lock.acquire());
    let wanted = Rc::clone(&lock);
    let thief = move || {
        // As soon as a thread waits in the queue.
        if held.is_some() && format!("{wanted:?}").split("bits: ").nth(1).is_some_and(has_tail) {
            // SAFETY: `held` came from this lock.
            unsafe { wanted.release_fair(held.take().expect("it is held")) };
            assert!(wanted.try_acquire().is_none(), "the waiter is next");
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

/// Returns true if the number at the start of `text` has a bit in its upper half.
fn has_tail(text: &str) -> bool {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u32>().expect("a number") >> 16 != 0
}
