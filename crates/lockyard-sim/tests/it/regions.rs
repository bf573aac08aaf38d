//! Regions: every cycle of every thread is in exactly one region, and in one phase.

use crate::support::{OTHER_SOCKET, finish, machine, thread};
use lockyard::RawSpinLock;
use lockyard::lock::Queued;
use lockyard::platform::{Activity, Ordering, Region, Word, during};
use lockyard_sim::{
    CycleAttribution, CyclePhase, PHASES, Simulated, SimulatedU64, Simulation, now, work,
};
use lockyard_tables::id_table::{IdTable, Locked};
use std::cell::Cell;
use std::rc::Rc;

type Lock = RawSpinLock<Queued, Simulated>;

/// Cycles of a region, including its parts.
fn cycles_of(spent: &CycleAttribution, region: Region) -> u64 {
    let of = spent.regions.iter().filter(|(doing, _)| doing.region == region);
    of.flat_map(|(_, cycles)| cycles).sum()
}

/// Sum over all regions, by phase.
fn by_phase(spent: &CycleAttribution) -> [u64; PHASES] {
    std::array::from_fn(|phase| spent.regions.iter().map(|(_, cycles)| cycles[phase]).sum())
}

#[test]
fn every_cycle_of_every_thread_is_of_one_region_and_of_one_phase() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let lock = simulation.place(Lock::new(), 64, 0);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let lived = Rc::new(Cell::new(0));
    for place in [0, 1, 2, OTHER_SOCKET, OTHER_SOCKET + 1] {
        let (lock, word, lived) = (lock.clone(), word.clone(), Rc::clone(&lived));
        thread(&mut simulation, place, 100 * place as u64, move || {
            let begin = now();
            for round in 0..50 {
                during::<Simulated, _>(Region::User, || work(30.0));
                let held = lock.acquire();
                during::<Simulated, _>(Activity::part_of(Region::Copy, 1 + round % 3), || {
                    word.fetch_add(1, Ordering::Relaxed);
                });
                // SAFETY: acquired above.
                unsafe { lock.release(held) };
            }
            lived.set(lived.get() + now() - begin);
        });
    }
    finish(&mut simulation);
    let spent = simulation.attribution();
    assert_eq!(by_phase(&spent), spent.cycles);
    assert_eq!(spent.cycles.iter().sum::<u64>(), lived.get());
    for region in [Region::User, Region::LockWait, Region::Copy] {
        assert!(cycles_of(&spent, region) > 0, "{}", region.name());
    }
    // Only the work is in this region: 30 ns, 250 times, on cores that have no other thread.
    let user = spent.regions[Region::User as usize].1;
    assert_eq!(user[CyclePhase::Working as usize], user.iter().sum::<u64>());
    // The same is true for lines: cycles lost on a line are lost in some region.
    for (name, line) in &spent.lines {
        assert_eq!(line.regions.iter().sum::<u64>(), line.lost(), "{name}");
    }
    // Each part has separate cycles, and belongs to its region.
    let parts = &spent.regions[Region::COUNT..];
    assert_eq!(parts.len(), 3);
    assert!(parts.iter().all(|(doing, cycles)| doing.region == Region::Copy && cycles[0] > 0));
}

#[test]
fn a_window_has_the_cycles_of_its_threads_and_no_others() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    for place in 0..3 {
        simulation.spawn(place, || {
            for _ in 0..1000 {
                during::<Simulated, _>(Region::User, || work(77.0));
                work(33.0);
            }
        });
    }
    simulation.run_until(10_000);
    simulation.begin_attribution();
    let begin = simulation.now();
    simulation.run_until(45_678);
    let spent = simulation.attribution();
    let all: u64 = spent.regions.iter().flat_map(|(_, cycles)| cycles).sum();
    assert_eq!(all, 3 * (simulation.now() - begin));
    assert_eq!(cycles_of(&spent, Region::User) + cycles_of(&spent, Region::System), all);
    simulation.request_stop();
    finish(&mut simulation);
}

#[test]
fn a_line_says_what_it_costs_to_wait_for_and_what_to_look_up() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let table = simulation.place(IdTable::<u64, Locked, Simulated>::default(), 64, 0);
    let address = std::ptr::from_ref(&*table) as usize;
    simulation.name(address, size_of::<IdTable<u64, Locked, Simulated>>(), "the table");
    let ids: Vec<u32> = simulation.setup(|| (0..4).map(|n| table.insert(n).unwrap()).collect());
    for (place, id) in [0, 1, OTHER_SOCKET, OTHER_SOCKET + 1].into_iter().zip(ids) {
        let table = table.clone();
        thread(&mut simulation, place, 0, move || {
            for _ in 0..100 {
                assert!(table.lock(id).is_some());
            }
        });
    }
    finish(&mut simulation);
    let spent = simulation.attribution();
    let (waits, looks) = (cycles_of(&spent, Region::LockWait), cycles_of(&spent, Region::LookUp));
    assert!(waits > looks && looks > 0, "one lock for all: {waits} beside {looks}");
    // The line that contains the table's lock and its number of objects.
    let lines = spent.lines.iter().filter(|(name, _)| name == "the table");
    let in_region = |region: Region| lines.clone().map(|(_, l)| l.regions[region as usize]).sum();
    let (waited, looked): (u64, u64) = (in_region(Region::LockWait), in_region(Region::LookUp));
    assert!(waited > 10 * looked, "{waited} beside {looked}");
}
