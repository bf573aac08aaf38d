//! Checks that the checked words extend loom's exploration. A store of one thread and a load of
//! another are explored in both orders, even if the storing thread has loaded the word itself.

use lockyard::platform::Word;
use lockyard::platform::checked::CheckedU32;
use lockyard_check::explore::{Bounds, explore};
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Returns the values that the main thread may load, while another thread loads the word and then
/// stores 1 in it.
fn values_loaded<W: Send + Sync + 'static>(
    new: fn() -> W,
    load: fn(&W) -> u32,
    store: fn(&W, u32),
) -> BTreeSet<u32> {
    let values = Arc::new(Mutex::new(BTreeSet::new()));
    let all = Arc::clone(&values);
    let explored = explore(2, Bounds::ALL, move || {
        let word = Arc::new(new());
        let same = Arc::clone(&word);
        let other = loom::thread::spawn(move || {
            load(&same);
            store(&same, 1);
        });
        all.lock().unwrap().insert(load(&word));
        other.join().unwrap();
    });
    println!("{}", explored.expect("nothing is asserted"));
    let values = values.lock().unwrap();
    values.clone()
}

#[test]
fn checked_words_explore_a_store_after_the_storing_threads_own_load() {
    let values = values_loaded(
        || CheckedU32::new(0),
        |word| Word::load(word, Relaxed),
        |word, value| Word::store(word, value, Relaxed),
    );
    assert_eq!(values, BTreeSet::from([0, 1]));
}

/// If this test fails, loom explores both orders by itself. The extra transition of a load can then
/// be removed.
#[test]
fn loom_alone_does_not() {
    let values = values_loaded(
        || AtomicU32::new(0),
        |word| word.load(Relaxed),
        |word, value| word.store(value, Relaxed),
    );
    assert_eq!(values, BTreeSet::from([0]));
}
