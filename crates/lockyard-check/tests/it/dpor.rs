//! The checker that explores execution graphs, on programs whose number of executions is known.

use lockyard::platform::{Atomics, DataCell, Host, Ordering, Word};
use lockyard_check::dpor::{Deletions, Dpor, DporAtomics, DporCell, DporWord, Model, explore};
use lockyard_check::finding::{Finding, catching};
use lockyard_check::hooks;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

type X = DporWord<u32>;

/// The words of a program, and the values that its threads saw.
struct Shared {
    words: [X; 3],
    seen: RefCell<Vec<(usize, u32)>>,
}

impl Shared {
    fn store(&self, word: usize, value: u32, order: Ordering) {
        self.words[word].store(value, order);
    }
    fn load(&self, word: usize, order: Ordering) -> u32 {
        self.words[word].load(order)
    }
    fn saw(&self, thread: usize, value: u32) {
        self.seen.borrow_mut().push((thread, value));
    }
}

type Code = fn(&Shared);

/// The values that the threads saw, each with its thread, and the last value of each word.
type Outcomes = BTreeSet<(Vec<(usize, u32)>, Vec<u32>)>;

/// Explores the program. Returns its number of executions, and its outcomes.
fn executions(code: &'static [Code]) -> (u64, Outcomes) {
    let outcomes = Rc::new(RefCell::new(BTreeSet::new()));
    let make = || {
        let words = std::array::from_fn(|_| X::new(0));
        let shared = Rc::new(Shared { words, seen: RefCell::default() });
        let threads = code.iter().map(|code| {
            let shared = Rc::clone(&shared);
            Box::new(move || code(&shared)) as Box<dyn FnOnce()>
        });
        let threads = threads.collect();
        let outcomes = Rc::clone(&outcomes);
        let finish = Box::new(move || {
            let mut seen = shared.seen.take();
            // The order of steps of different threads does not matter.
            seen.sort_by_key(|&(thread, _)| thread);
            let last = shared.words.iter().map(|word| word.load(Relaxed)).collect();
            outcomes.borrow_mut().insert((seen, last));
        });
        Model { threads, finish }
    };
    let needed = explore(Deletions::Needed, 1_000_000, make);
    let few = outcomes.take();
    let all = explore(Deletions::All, 1_000_000, make);
    assert_eq!(needed.executions, all.executions, "executions were lost or repeated");
    assert_eq!(few, outcomes.take());
    (needed.executions, few)
}

fn finding(code: &'static [Code]) -> Finding {
    catching(AssertUnwindSafe(|| executions(code))).expect_err("it fails").finding
}

/// Values that the threads read, thread 0 first.
fn has_seen(outcomes: &Outcomes, values: &[u32]) -> bool {
    outcomes.iter().any(|(seen, _)| seen.iter().map(|(_, value)| *value).eq(values.iter().copied()))
}

#[test]
fn store_buffering_needs_fences() {
    let (number, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Release);
            s.saw(0, s.load(1, Acquire));
        },
        |s| {
            s.store(1, 1, Release);
            s.saw(1, s.load(0, Acquire));
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[0, 0])), (4, true));
    let (number, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            DporAtomics::fence(SeqCst);
            s.saw(0, s.load(1, Relaxed));
        },
        |s| {
            s.store(1, 1, Relaxed);
            DporAtomics::fence(SeqCst);
            s.saw(1, s.load(0, Relaxed));
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[0, 0])), (3, false));
    // A fence in one of the threads is not enough.
    let (number, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            DporAtomics::fence(SeqCst);
            s.saw(0, s.load(1, Relaxed));
        },
        |s| {
            s.store(1, 1, Relaxed);
            s.saw(1, s.load(0, Relaxed));
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[0, 0])), (4, true));
}

#[test]
fn a_message_is_passed_by_release_and_acquire() {
    let (number, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            s.store(1, 1, Release);
        },
        |s| {
            s.saw(1, s.load(1, Acquire));
            s.saw(1, s.load(0, Relaxed));
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[1, 0])), (3, false));
    let (number, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            s.store(1, 1, Release);
        },
        |s| {
            s.saw(1, s.load(1, Relaxed));
            s.saw(1, s.load(0, Relaxed));
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[1, 0])), (4, true));
    // Fences have the same effect for relaxed accesses.
    let (number, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            DporAtomics::fence(Release);
            s.store(1, 1, Relaxed);
        },
        |s| {
            s.saw(1, s.load(1, Relaxed));
            DporAtomics::fence(Acquire);
            s.saw(1, s.load(0, Relaxed));
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[1, 0])), (3, false));
}

#[test]
fn a_release_goes_through_read_modify_writes_of_others() {
    let (_, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            s.store(1, 1, Release);
        },
        |s| {
            s.words[1].fetch_add(1, Relaxed);
        },
        |s| {
            s.saw(2, s.load(1, Acquire));
            s.saw(2, s.load(0, Relaxed));
        },
    ]);
    assert!(has_seen(&outcomes, &[2, 1]) && !has_seen(&outcomes, &[2, 0]));
    // But the sequence does not continue through a store of another thread.
    let (_, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            s.store(1, 1, Release);
        },
        |s| s.store(1, 2, Relaxed),
        |s| {
            s.saw(2, s.load(1, Acquire));
            s.saw(2, s.load(0, Relaxed));
        },
    ]);
    assert!(has_seen(&outcomes, &[2, 0]));
}

#[test]
fn loads_are_not_reordered_with_later_stores() {
    let (number, outcomes) = executions(&[
        |s| {
            s.saw(0, s.load(0, Relaxed));
            s.store(1, 1, Relaxed);
        },
        |s| {
            s.saw(1, s.load(1, Relaxed));
            s.store(0, 1, Relaxed);
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[1, 1])), (3, false));
}

#[test]
fn reads_of_one_word_do_not_go_back() {
    let (number, outcomes) = executions(&[
        |s| s.store(0, 1, Relaxed),
        |s| {
            s.saw(1, s.load(0, Relaxed));
            s.saw(1, s.load(0, Relaxed));
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[1, 0])), (3, false));
}

#[test]
fn writes_of_one_word_have_every_order() {
    let (number, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            s.store(1, 2, Relaxed);
        },
        |s| {
            s.store(1, 1, Relaxed);
            s.store(0, 2, Relaxed);
        },
    ]);
    assert_eq!(number, 4);
    assert!(outcomes.iter().any(|(_, last)| last[..2] == [1, 1]), "{outcomes:?}");
    let store: Code = |s| s.store(0, 1, Relaxed);
    let (number, _) = executions(Box::leak(Box::new([store; 4])));
    assert_eq!(number, 24);
}

#[test]
fn independent_readers_need_fences_to_agree() {
    let (number, _) = executions(&[
        |s| s.store(0, 1, Release),
        |s| s.store(1, 1, Release),
        |s| {
            s.saw(2, s.load(0, Acquire));
            s.saw(2, s.load(1, Acquire));
        },
        |s| {
            s.saw(3, s.load(1, Acquire));
            s.saw(3, s.load(0, Acquire));
        },
    ]);
    assert_eq!(number, 16);
    let (number, outcomes) = executions(&[
        |s| s.store(0, 1, Relaxed),
        |s| s.store(1, 1, Relaxed),
        |s| {
            s.saw(2, s.load(0, Relaxed));
            DporAtomics::fence(SeqCst);
            s.saw(2, s.load(1, Relaxed));
        },
        |s| {
            s.saw(3, s.load(1, Relaxed));
            DporAtomics::fence(SeqCst);
            s.saw(3, s.load(0, Relaxed));
        },
    ]);
    assert_eq!((number, has_seen(&outcomes, &[1, 0, 1, 0])), (15, false));
}

#[test]
fn read_modify_writes_have_every_order_and_lose_nothing() {
    let add: Code = |s| {
        s.words[0].fetch_add(1, AcqRel);
    };
    for (threads, orders) in [(2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
        let code: &'static [Code] = Box::leak(vec![add; threads].into());
        let (number, outcomes) = executions(code);
        assert_eq!((number, outcomes.len()), (orders, 1));
        assert!(outcomes.iter().all(|(_, last)| last[0] == threads as u32));
    }
    let exchange: Code = |s| {
        let won = s.words[0].compare_exchange(0, 1, AcqRel, Acquire).is_ok();
        s.words[1].fetch_add(u32::from(won), Relaxed);
    };
    let (_, outcomes) = executions(Box::leak(Box::new([exchange; 3])));
    assert!(outcomes.iter().all(|(_, last)| last[1] == 1), "{outcomes:?}");
}

#[test]
fn stores_between_read_modify_writes_are_found() {
    let (number, outcomes) = executions(&[
        |s| {
            s.words[0].fetch_add(1, Relaxed);
        },
        |s| s.store(0, 10, Relaxed),
        |s| {
            s.words[0].fetch_add(1, Relaxed);
        },
    ]);
    assert_eq!(number, 6);
    let last: BTreeSet<u32> = outcomes.iter().map(|(_, last)| last[0]).collect();
    assert_eq!(last, BTreeSet::from([10, 11, 12]));
}

fn wait(s: &Shared, word: usize, holds: impl FnMut(u32) -> bool) -> u32 {
    Dpor::wait_until(&s.words[word], Acquire, holds)
}

#[test]
fn a_wait_is_one_read() {
    let (number, _) =
        executions(&[|s| s.store(0, 1, Release), |s| s.saw(1, wait(s, 0, |v| v == 1))]);
    assert_eq!(number, 1);
    let (number, _) =
        executions(&[|s| s.saw(1, wait(s, 0, |v| v == 1)), |s| s.store(0, 1, Release)]);
    assert_eq!(number, 1);
    for code in [
        &[
            |s: &Shared| s.store(0, 1, Release),
            |s: &Shared| s.store(0, 2, Release),
            |s: &Shared| s.saw(2, wait(s, 0, |v| v != 0)),
        ] as &'static [Code],
        &[
            |s: &Shared| s.saw(2, wait(s, 0, |v| v != 0)),
            |s: &Shared| s.store(0, 1, Release),
            |s: &Shared| s.store(0, 2, Release),
        ],
    ] {
        let (number, outcomes) = executions(code);
        assert_eq!((number, outcomes.len()), (4, 4));
    }
}

#[test]
fn a_wait_that_can_miss_its_value_is_stuck() {
    assert_eq!(finding(&[|s| s.saw(0, wait(s, 0, |v| v == 1))]), Finding::Stuck);
    for code in [
        &[
            |s: &Shared| s.store(0, 1, Release),
            |s: &Shared| s.store(0, 2, Release),
            |s: &Shared| s.saw(2, wait(s, 0, |v| v == 1)),
        ] as &'static [Code],
        &[
            |s: &Shared| s.saw(2, wait(s, 0, |v| v == 1)),
            |s: &Shared| {
                s.store(0, 1, Release);
                s.store(0, 2, Release);
            },
        ],
    ] {
        assert_eq!(finding(code), Finding::Stuck);
    }
}

#[test]
fn waits_of_several_threads_in_turn_end() {
    let (number, _) = executions(&[
        |s| {
            wait(s, 0, |v| v == 2);
            s.store(0, 3, Release);
        },
        |s| {
            wait(s, 0, |v| v == 1);
            s.store(0, 2, Release);
        },
        |s| s.store(0, 1, Release),
    ]);
    assert_eq!(number, 1);
}

#[test]
fn a_park_misses_no_unpark() {
    let (_, outcomes) = executions(&[
        |s| {
            while s.load(0, Acquire) == 0 {
                Dpor::park(&s.words[0], 0, None);
            }
            s.saw(0, s.load(1, Relaxed));
        },
        |s| {
            s.store(1, 1, Relaxed);
            s.store(0, 1, Release);
            Dpor::unpark(&s.words[0], 1);
        },
    ]);
    assert!(outcomes.iter().all(|(seen, _)| seen[..] == [(0, 1)]), "{outcomes:?}");
    let forgets: &[Code] = &[
        |s| {
            while s.load(0, Acquire) == 0 {
                Dpor::park(&s.words[0], 0, None);
            }
        },
        |s| s.store(0, 1, Release),
    ];
    assert_eq!(finding(Box::leak(forgets.to_vec().into())), Finding::Stuck);
}

#[test]
fn unordered_accesses_of_plain_data_are_races() {
    let data = |order: Ordering| {
        catching(AssertUnwindSafe(|| {
            explore(Deletions::Needed, 1000, || {
                let shared = Rc::new((X::new(0), DporCell::new(0_u32)));
                let (writer, reader) = (Rc::clone(&shared), shared);
                let write = move || {
                    // SAFETY: the race, if there is one, is only between threads of the model.
                    writer.1.with_mut(|data| unsafe { *data = 1 });
                    writer.0.store(1, Release);
                };
                let read = move || {
                    if reader.0.load(order) == 1 {
                        // SAFETY: as above.
                        assert_eq!(reader.1.with(|data| unsafe { *data }), 1);
                    }
                };
                Model { threads: vec![Box::new(write), Box::new(read)], finish: Box::new(|| ()) }
            })
        }))
    };
    assert_eq!(data(Acquire).expect("no race").executions, 2);
    assert_eq!(data(Relaxed).expect_err("a race").finding, Finding::Race);
}

/// A thread that has written a word cannot read from an older write, before its own in modification
/// order.
#[test]
fn a_read_after_a_write_of_the_same_thread_is_never_older() {
    let (number, outcomes) = executions(&[
        |s| {
            s.store(0, 1, Relaxed);
            s.saw(0, s.load(0, Relaxed));
        },
        |s| s.store(0, 2, Relaxed),
    ]);
    assert_eq!((number, outcomes.len()), (3, 3));
    assert!(!outcomes.iter().any(|(seen, last)| seen[0].1 == 2 && last[0] == 1));
}

/// No code runs in a graph whose fences have no order.
#[test]
fn code_sees_only_executions() {
    executions(&[
        |s| {
            s.store(1, 1, Relaxed);
            DporAtomics::fence(SeqCst);
            let is_late = s.load(2, Relaxed) == 1;
            let value = s.load(0, Relaxed);
            assert!(!is_late || value == 2 || value == 12, "read {value}");
        },
        |s| {
            s.store(0, 2, Relaxed);
            DporAtomics::fence(SeqCst);
            if s.load(1, Relaxed) == 0 {
                s.store(2, 1, Relaxed);
            }
        },
        |s| {
            s.words[0].fetch_add(10, Relaxed);
        },
    ]);
}

#[test]
fn a_thread_that_does_not_sleep_takes_no_wake_up() {
    executions(&[
        |s| Dpor::park(&s.words[0], 0, None),
        |s| {
            s.store(0, 2, Release);
            Dpor::unpark(&s.words[0], 1);
        },
        |s| Dpor::park(&s.words[0], 1, None),
    ]);
}

/// `unpark` does not touch the word, which its last user may have freed.
#[test]
fn a_word_may_be_freed_before_its_unpark() {
    executions(&[
        |s| {
            s.store(0, 1, Release);
            Dpor::unpark(&s.words[0], 1);
        },
        |s| {
            while s.load(0, Acquire) == 0 {
                Dpor::park(&s.words[0], 0, None);
            }
            let start = std::ptr::from_ref(&s.words[0]).addr();
            hooks::free(start..start + size_of::<X>());
        },
    ]);
}
