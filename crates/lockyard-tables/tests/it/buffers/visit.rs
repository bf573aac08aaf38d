//! Visiting all buffers, with every combination of switches.

use super::faults::Value;
use super::{ForEach, cache, every_combination, key};
use lockyard::Native;
use lockyard_tables::buffers::{
    Configuration, Groups, Key, MoveToFront, OnMiss, Outside, ReferencedBit, Switches,
    TreePerGroup, WideHash, With,
};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

type Wide = With<OnMiss, Outside, ReferencedBit, WideHash<2>>;

struct Each;

impl ForEach for Each {
    fn with<S: Switches<Native>>(&mut self) {
        let living = Arc::new(AtomicUsize::new(0));
        let cache = cache::<Value, S>(Configuration::DEFAULT);
        let value = || Ok::<_, Infallible>(Value::new(&living));
        let blocks = || {
            let mut blocks = Vec::new();
            cache.for_each(|buffer| blocks.push(buffer.key().block)).expect("there is memory");
            blocks.sort_unstable();
            blocks
        };
        assert_eq!(blocks(), [], "before the first miss");
        for block in 0..100 {
            drop(cache.get_or_fill(key(block), value).expect("there is room"));
        }
        assert_eq!(blocks(), Vec::from_iter(0..100));
        assert_eq!(cache.referenced(), 0, "the references of the visit are gone");

        // The visitor removes some, keeps one, and looks others up.
        let mut kept = None;
        let visited = cache.for_each(|buffer| {
            let block = buffer.key().block;
            assert!(cache.look_up(key(block)).is_some());
            if block == 7 {
                kept = Some(buffer.clone());
            }
            assert!(block % 3 > 0 || buffer.remove());
        });
        visited.expect("there is memory");
        assert_eq!(blocks(), Vec::from_iter((0..100).filter(|block| block % 3 > 0)));
        assert_eq!((cache.referenced(), living.load(Ordering::Relaxed)), (1, 66));
        drop(kept);

        // A panic of the visitor gives all references back.
        let panicked = catch_unwind(AssertUnwindSafe(|| cache.for_each(|_| panic!("the visitor"))));
        assert!(panicked.is_err());
        assert_eq!((cache.referenced(), cache.reclaim(usize::MAX)), (0, 66));
        assert_eq!((blocks(), living.load(Ordering::Relaxed)), (vec![], 0));
    }
}

#[test]
fn each_buffer_is_visited_once() {
    every_combination::<2>(Each);
}

#[test]
fn a_buffer_that_is_being_filled_is_left_out() {
    let cache = cache::<u64, Wide>(Configuration::DEFAULT);
    let visited = || {
        let mut blocks = Vec::new();
        cache.for_each(|buffer| blocks.push(**buffer)).expect("there is memory");
        blocks
    };
    cache.get_or_fill(key(1), || Ok::<_, Infallible>(1)).expect("there is room");
    let filled = cache.get_or_fill(key(2), || {
        assert_eq!(visited(), [1]);
        Err::<u64, _>("no such block")
    });
    assert!(filled.is_err());
    assert_eq!(visited(), [1]);
}

/// Those not used for long come first, with `MoveToFront`.
#[test]
fn within_a_shard_buffers_come_in_the_order_of_their_use() {
    let configuration = Configuration::DEFAULT.with_groups(Groups::MIN);
    let cache = cache::<u64, With<OnMiss, Outside, MoveToFront, TreePerGroup>>(configuration);
    let key = |block| Key::new(0, block);
    for block in 0..9 {
        cache.get_or_fill(key(block), || Ok::<_, Infallible>(block)).expect("there is room");
    }
    for block in [3, 1] {
        assert!(cache.look_up(key(block)).is_some());
    }
    let mut blocks = Vec::new();
    cache.for_each(|buffer| blocks.push(**buffer)).expect("there is memory");
    assert_eq!(blocks, [0, 2, 4, 5, 6, 7, 8, 3, 1]);
}

/// Threads add and remove buffers, and reclaim some. The odd ones stay, as this thread holds them:
/// each visit finds each of them once.
#[test]
fn visits_find_what_stays_while_threads_change_the_rest() {
    const BLOCKS: u64 = 200;
    let cache = cache::<u64, Wide>(Configuration::DEFAULT);
    let fill = |block| cache.get_or_fill(key(block), || Ok::<_, Infallible>(block));
    let held: Vec<_> =
        (0..BLOCKS).filter(|block| block % 2 == 1).map(|block| fill(block).unwrap()).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for first in [0, BLOCKS / 2] {
            let (cache, done, fill) = (&cache, &done, &fill);
            scope.spawn(move || {
                let mut block = first;
                while !done.load(Ordering::Relaxed) {
                    block = (block + 2) % BLOCKS;
                    assert_eq!(*fill(block).unwrap(), block);
                    match block % 5 {
                        0 => drop(cache.remove(key(block))),
                        1 => drop(cache.reclaim(3)),
                        _ => {}
                    }
                }
            });
        }
        let _done = at_the_end(&done);
        for _ in 0..200 {
            let mut seen = [0; BLOCKS as usize];
            cache.for_each(|buffer| seen[**buffer as usize] += 1).expect("there is memory");
            for (block, &times) in seen.iter().enumerate() {
                assert!(if block % 2 == 1 { times == 1 } else { times <= 1 }, "{block}: {times}");
            }
        }
    });
    drop(held);
}

/// Ends the threads, also after a failed assertion.
fn at_the_end(done: &AtomicBool) -> impl Drop + '_ {
    struct Done<'d>(&'d AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    Done(done)
}
