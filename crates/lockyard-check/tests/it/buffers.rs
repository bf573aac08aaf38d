//! Checks of the buffer cache: under weak memory, on a simulated machine, and with every allocation
//! failing in turn.

use lockyard::lock::{Queued, TestAndSet};
use lockyard::platform::Native;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::{model, native, simulated, verdict};
use lockyard_check::controls::DoesNotExclude;
use lockyard_check::depth::depth;
use lockyard_check::explore::{Bounds, explore};
use lockyard_check::hooks::{NoFault, Scripted, Watched};
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::BufferOp::{
    self, Get, GetFailing, GetRemove, LookUp, Reclaim, Remove, Visit,
};
use lockyard_check::program::BufferProgram;
use lockyard_check::ration::{self, Rationed};
use lockyard_sim::Simulated;
use lockyard_tables::buffers::{
    BlockCache, Configuration, EveryCall, FixedHash, GetError, Groups, Index, Key, MoveToFront,
    OnMiss, Outside, ReferencedBit, Switches, TreePerGroup, UnderLock, WideHash, With,
};
use std::sync::Arc;

type Model = Hooked<Checked, Scripted>;
type Threads = Hooked<Native, Watched<NoFault>>;
type Wide<K = TestAndSet> = With<OnMiss, Outside, ReferencedBit, WideHash<0, K>>;
type Old = With<EveryCall, UnderLock, MoveToFront, FixedHash<0, TestAndSet>>;
type Tree = With<OnMiss, Outside, MoveToFront, TreePerGroup<TestAndSet>>;

/// The checked operations. Buffers 0 and 1 are in the cache at first, and buffer 2 is not.
const OPS: [BufferOp; 10] = [
    LookUp(0),
    LookUp(1),
    Get(2),
    GetFailing(2),
    GetRemove(2),
    Remove(0),
    Remove(1),
    Remove(2),
    Reclaim,
    Visit,
];

fn reason(a: BufferOp, b: BufferOp) -> Option<&'static str> {
    let looks = |op| matches!(op, LookUp(_) | Visit);
    (looks(a) && looks(b)).then_some("look-ups and visits change nothing but counts of references")
}

fn all_pairs<S: Switches<Model>>(title: &str, preemptions: usize) {
    check_pairs(title, &OPS, reason, |ops| {
        must_hold::<BufferProgram<S, Model, 2>>(title, ops, Bounds::preemptions(preemptions))
            .executions
    });
}

#[test]
fn every_pair_of_operations_holds_where_look_ups_take_no_lock() {
    all_pairs::<Wide>("buffers, wide-hash", 2);
}

#[test]
fn every_pair_of_operations_holds_with_the_switches_of_before() {
    all_pairs::<Old>("buffers, before", 2);
}

#[test]
fn every_pair_of_operations_holds_in_a_tree() {
    all_pairs::<Tree>("buffers, tree", 2);
}

#[test]
fn three_threads_hold() {
    let bounds = Bounds::preemptions(1);
    for ops in [
        [Get(2), Get(2), LookUp(2)],
        [GetFailing(2), LookUp(2), Remove(2)],
        [LookUp(0), Remove(0), Reclaim],
        [LookUp(1), Remove(0), Get(2)],
        [Visit, Remove(0), Get(2)],
        // The visitor has room for three buffers, and then finds four.
        [Visit, Get(2), Get(3)],
    ] {
        must_hold::<BufferProgram<Wide, Model, 2>>("buffers, wide-hash", &ops, bounds);
    }
    // This group has half a million executions.
    for ops in depth(&[][..], &[[LookUp(0), Reclaim, Reclaim]]) {
        must_hold::<BufferProgram<Wide, Model, 2>>("buffers, wide-hash", ops, bounds);
    }
    for ops in [
        [Get(2), Get(2), GetFailing(2)],
        [GetFailing(2), Get(2), Remove(2)],
        [LookUp(0), Remove(0), Reclaim],
        [Get(2), Get(2), Reclaim],
    ] {
        must_hold::<BufferProgram<Old, Model, 2>>("buffers, before", &ops, bounds);
        must_hold::<BufferProgram<Tree, Model, 2>>("buffers, tree", &ops, bounds);
    }
}

/// The second buffer doubles the chains, the third doubles them again, and the insertion after each
/// doubling divides some chains. The first programs start with three buffers, the other programs
/// with two.
#[test]
fn chains_that_are_doubled_and_divided_lose_nothing() {
    for ops in [[LookUp(0), Get(3)], [LookUp(1), Get(3)], [Remove(0), Get(3)], [Reclaim, Get(3)]] {
        let bounds = Bounds::preemptions(2);
        must_hold::<BufferProgram<Wide, Model, 3>>("buffers, dividing", &ops, bounds);
    }
    for ops in [[LookUp(0), Get(2), Get(3)], [Get(2), Get(3), Remove(1)]] {
        let bounds = Bounds::preemptions(1);
        must_hold::<BufferProgram<Wide, Model, 2>>("buffers, doubling", &ops, bounds);
    }
}

#[test]
fn the_queued_lock_serves_as_well() {
    for ops in [[LookUp(0), Remove(0)], [Get(2), Get(2)], [LookUp(0), Reclaim]] {
        let bounds = Bounds::preemptions(2);
        must_hold::<BufferProgram<Wide<Queued>, Model, 2>>("buffers, queued", &ops, bounds);
    }
}

/// Shows that the checks can fail.
#[test]
fn a_cache_behind_a_lock_that_does_not_exclude_is_noticed() {
    type Wrong = BufferProgram<Wide<DoesNotExclude>, Model, 2>;
    for ops in [[Get(2), Get(2)], [Remove(0), Remove(0)], [Reclaim, Remove(0)]] {
        let found = verdict(model::<Wrong>(&ops, Bounds::preemptions(3)));
        println!("{ops:?}: {:?}", found.caught);
        assert!(found.caught.is_some(), "{ops:?}");
    }
}

/// Two threads create the shards and insert, in every order. Nothing leaks, and only one array is
/// allocated.
#[test]
fn two_first_misses_make_the_shards_once() {
    type H = Hooked<Checked, Rationed>;
    type Cache = BlockCache<u32, With<OnMiss, Outside, MoveToFront, FixedHash<0, TestAndSet>>, H>;
    let explored = explore(2, Bounds::preemptions(3), || {
        Checked::begin();
        ration::begin();
        let cache = Arc::new(Cache::with_configuration(Configuration::DEFAULT));
        let other = Arc::clone(&cache);
        let thread = loom::thread::spawn(move || {
            assert!(other.get_or_fill(Key::new(0, 1), || Ok::<_, ()>(1)).is_ok());
        });
        assert!(cache.get_or_fill(Key::new(0, 2), || Ok::<_, ()>(2)).is_ok());
        thread.join().unwrap();
        assert_eq!((cache.len(), ration::asked()), (2, 3));
        drop(cache);
        assert_eq!(ration::bytes(), 0, "nothing leaks");
    });
    println!("{}", explored.unwrap());
}

/// Every allocation of a run fails in turn. The caller gets an error or notices nothing, and
/// nothing is lost.
fn whichever_allocation_fails<S: Switches<Hooked<Native, Rationed>>>(least: u64) {
    type H = Hooked<Native, Rationed>;
    let run = |failing: u64| {
        ration::begin();
        ration::fail_after(failing);
        let groups = Configuration::DEFAULT.with_groups(Groups::MIN).with_limit(14);
        let cache = BlockCache::<Vec<u64>, S, H>::with_configuration(groups);
        let mut refused = 0;
        for block in 0..24 {
            let key = Key::new(0, block);
            let (before, living) = (cache.len(), cache.living());
            match cache.get_or_fill(key, || if block == 9 { Err(()) } else { Ok(vec![block]) }) {
                Ok(new) => assert_eq!(*new, [block]),
                Err(GetError::Fill(())) => assert_eq!(block, 9),
                Err(error) => {
                    assert_eq!(error, GetError::NoMemory);
                    assert_eq!((cache.len(), cache.living()), (before, living));
                    assert!(cache.look_up(key).is_none());
                    refused += 1;
                }
            }
            if block % 3 == 0 {
                let there = cache.remove(Key::new(0, block / 2));
                assert!(there.is_none_or(|there| *there == [block / 2]));
            }
            // Look-ups of present buffers need no memory.
            let found = (0..=block).filter(|&b| cache.look_up(Key::new(0, b)).is_some());
            assert_eq!(found.count(), cache.len());
        }
        let visited = cache.for_each(|buffer| assert!(buffer.is_cached()));
        refused += u64::from(visited.is_err());
        assert!(cache.reclaim(5) <= 5);
        drop(cache);
        assert_eq!(ration::bytes(), 0, "nothing leaks");
        (ration::asked(), refused)
    };
    let (allocations, refused) = run(u64::MAX / 2);
    println!("{allocations} allocations");
    assert_eq!(refused, 0);
    let refused: u64 = (0..allocations).map(|failing| run(failing).1).sum();
    assert!(refused >= least && refused <= allocations, "{refused} of {allocations}");
}

#[test]
fn whichever_allocation_fails_the_cache_is_as_it_was() {
    fn with_index<X: Index<Hooked<Native, Rationed>>>() {
        // Allocations of the buffers, and of the shards.
        whichever_allocation_fails::<With<OnMiss, Outside, ReferencedBit, X>>(24);
        // An early allocation that fails is repeated when the memory is needed.
        whichever_allocation_fails::<With<EveryCall, UnderLock, MoveToFront, X>>(1);
    }
    with_index::<WideHash<0>>();
    with_index::<WideHash>();
    with_index::<FixedHash<0>>();
    with_index::<TreePerGroup>();
}

fn in_any_order<S: Switches<Simulated> + Switches<Threads>>(title: &str) {
    for ops in [
        [LookUp(0), Remove(0), Get(0), Get(2)],
        [Get(2), GetFailing(2), Get(2), Remove(2)],
        [Get(3), GetRemove(2), Reclaim, LookUp(1)],
        [Visit, Get(2), Reclaim, Remove(0)],
    ] {
        let found = simulated::<BufferProgram<S, Simulated, 2>>(&ops, 30, 5);
        assert!(found.caught.is_none(), "{title} {ops:?}: {found:?}");
        let found = native::<BufferProgram<S, Threads, 2>>(&ops, 200, 3);
        assert!(found.caught.is_none(), "{title} {ops:?}: {found:?}");
    }
}

#[test]
fn simulated_and_native_threads_hold_in_any_order() {
    in_any_order::<With<OnMiss, Outside, ReferencedBit, WideHash<0>>>("buffers, wide-hash");
    in_any_order::<With<EveryCall, UnderLock, MoveToFront, FixedHash<0>>>("buffers, before");
    in_any_order::<With<OnMiss, Outside, ReferencedBit, TreePerGroup>>("buffers, tree");
}
