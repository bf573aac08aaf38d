//! Reader-writer locks: sections that share them, and sections that do not.

use super::*;
use lockyard_scenarios::{Access, Visit};

fn read(after: u64, lock: u32, site: u32, wait: u64) -> Event {
    Event::Acquired { after, lock, site, how: How::Reads, wait }
}

/// Returns the events of visits: nine reads of 200 ns, then a write of 50 ns that waits for 300;
/// 490 ns outside before each, with the costs of events beside.
fn mostly_reads(visits: usize) -> Vec<Event> {
    let write = Event::Acquired { after: 800, lock: 0, site: 1, how: How::Waits, wait: 300 };
    let visit = |number: usize| match number % 10 {
        9 => [write, leave(60, 0)],
        _ => [read(500, 0, 0, 0), leave(210, 0)],
    };
    (0..visits).flat_map(visit).collect()
}

fn one() -> Vec<LockAbout> {
    vec![lock("both", Kind::RwLock, 1)]
}

/// Returns the visits of the only class, from the script's first variant.
fn visits(variant: &lockyard_scenarios::Variant) -> Vec<Visit> {
    match variant.steps.first() {
        Some(Step::Walk { walk, .. }) => walk.classes[0].clone(),
        other => panic!("{other:?} is no walk"),
    }
}

/// Returns the access of a visit's section, and the steps in it.
fn section(visit: &Visit) -> (Access, &[Step]) {
    let mut sections = visit.steps.iter().filter_map(|step| match step {
        Step::Locked { access, steps, .. } => Some((*access, steps.as_slice())),
        _ => None,
    });
    sections.next_back().expect("it has one")
}

fn near(found: f64, right: f64) -> bool {
    (found - right).abs() <= right.abs() * 0.01
}

#[test]
fn reads_and_writes_have_their_own_times() {
    let model = Model::of(&recording(one(), vec![mostly_reads(5_000)])).expect("it has all");
    let (group, today) = (&model.groups[0], &model.today);
    assert_eq!((group.kind, model.groups.len()), (Kind::RwLock, 1));
    assert!(near(group.shared, 0.9) && near(model.shares.shared, 0.9), "{group:?}");
    // Outside: less 5 for the events. The costs are 10 in a hold.
    let all = 10.0 * 495.0 + 9.0 * 200.0 + 50.0 + 300.0;
    let of = today.groups[0];
    assert!(near(of.held, (9.0 * 200.0 + 50.0) / all), "{today:?}");
    assert!(near(of.shared.held, 9.0 * 200.0 / all), "{today:?}");
    assert!(near(of.waited, 300.0 / all) && of.shared.waited == 0.0, "{today:?}");
    assert!(near(of.acquired, 1.0) && near(of.shared.acquired, 0.9), "{today:?}");
    // A wait is no sleep.
    assert_eq!(today.slept, 0.0);
    // All acquisitions are replayed, so that all count for the rate.
    assert!(near(model.rate, 10.0 / (9.0 * 710.0 + 860.0) * 1e9), "{}", model.rate);
}

#[test]
fn waits_of_readers_are_theirs() {
    let visit = |number: u64| match number % 2 {
        0 => [read(900, 0, 0, 400), leave(110, 0)],
        _ => [enter(500, 0, 1), leave(110, 0)],
    };
    let events = (0..4_000).flat_map(visit).collect();
    let today = Model::of(&recording(one(), vec![events])).expect("it has all").today;
    let of = today.groups[0];
    assert!(of.waited > 0.2 && near(of.shared.waited, of.waited), "{of:?}");
    assert!(near(of.shared.held, of.held / 2.0), "{of:?}");
}

#[test]
fn the_replay_has_shared_sections_and_the_calls_of_each() {
    let recording = recording(one(), vec![mostly_reads(5_000)]);
    let model = Model::of(&recording).expect("it has all");
    let host = HostNumbers { call: 5.0, line: 100.0, read_write_calls: [40.0, 20.0] };
    let script = script::script(&recording, &model, host).expect("it is one");
    let recorded = &script.variants[0];
    let visits = visits(recorded);
    let accesses: Vec<Access> = visits.iter().map(|visit| section(visit).0).collect();
    assert_eq!(accesses, [Access::Shared, Access::Exclusive]);
    // Without a known cost of data, a write stores to one line, and a read loads it.
    assert!(matches!(section(&visits[0]).1[0], Step::Read { .. }), "{visits:?}");
    assert!(matches!(section(&visits[1]).1[0], Step::Touch { .. }), "{visits:?}");
    // Times less the costs of events, more the calls beyond the simulated lock.
    let work = |visit: &Visit| visit.steps.iter().map(Step::mean_work).sum::<f64>();
    assert!(near(work(&visits[0]), 500.0 - 30.0 + 20.0 + 200.0), "{}", work(&visits[0]));
    assert!(near(work(&visits[1]), 500.0 - 30.0 + 40.0 + 50.0), "{}", work(&visits[1]));
    let lock = |object: &lockyard_scenarios::Object| match object.kind {
        ObjectKind::Lock { lock } => Some(lock),
        _ => None,
    };
    let kinds = |variant: &str| -> Vec<LockKind> {
        let variant = script.variant(variant).expect("it is there");
        variant.objects.iter().filter_map(lock).collect()
    };
    assert_eq!(kinds("recorded"), [LockKind::PthreadReadWrite]);
    assert_eq!(kinds("std-rwlock"), [LockKind::StdReadWrite]);
    assert_eq!(kinds("parking-rwlock"), [LockKind::ParkingReadWrite]);
    assert_eq!(kinds("rwlock"), [LockKind::ReadWrite]);
    assert_eq!(kinds("rwlock-as-mutex"), [LockKind::PthreadLike]);
    // There is no mutex to be replaced, and no mutex that could be read.
    let names: Vec<&str> = script.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert!(!names.contains(&"mutex") && !names.iter().any(|name| name.contains("read-mostly")));
}

#[test]
fn other_mutexes_leave_reader_writer_locks_as_they_are() {
    let visit = [read(500, 0, 0, 0), leave(110, 0), enter(500, 1, 1), leave(110, 1)];
    let locks = vec![lock("both", Kind::RwLock, 1), lock("one", Kind::Mutex, 2)];
    let recording = recording(locks, vec![visit.repeat(2_000)]);
    let model = Model::of(&recording).expect("it has all");
    let script = script::script(&recording, &model, HostNumbers::default()).expect("it is one");
    for (variant, expected) in [
        ("ticket", [LockKind::PthreadReadWrite, LockKind::Ticket]),
        ("std-rwlock", [LockKind::StdReadWrite, LockKind::PthreadLike]),
    ] {
        let objects = &script.variant(variant).expect("it is there").objects;
        let kind = |name: &str| {
            let found = objects.iter().find(|object| object.name == name).expect("it is there");
            match found.kind {
                ObjectKind::Lock { lock } => lock,
                ref other => panic!("{other:?} is no lock"),
            }
        };
        assert_eq!([kind("both"), kind("one")], expected, "{variant}");
    }
}

#[test]
fn a_mutex_may_be_a_lock_that_is_mostly_read() {
    let recording = recording(two(), vec![turns(3_000)]);
    let model = Model::of(&recording).expect("it has all");
    let script = script::script(&recording, &model, HostNumbers::default()).expect("it is one");
    let variant = script.variant("a-read-mostly").expect("a is held for longest");
    assert_eq!(variant.title, "a as a pthread_rwlock_t, 95 % of its sections read");
    let visits = visits(variant);
    let recorded = self::visits(&script.variants[0]);
    assert_eq!(visits.len(), 2 * recorded.len());
    let accesses: Vec<Access> = visits.iter().map(|visit| section(visit).0).collect();
    let (writes, reads) = accesses.split_at(recorded.len());
    assert!(writes.iter().all(|access| *access == Access::Exclusive), "{accesses:?}");
    assert!(reads.iter().all(|access| *access == Access::Shared), "{accesses:?}");
    for visit in &visits {
        let next = visit.next.probabilities().filter(|(index, _)| *index >= recorded.len());
        let read: f64 = next.map(|(_, probability)| probability).sum();
        assert!(near(read, 0.95), "{read}");
    }
    // The work is that of the recorded program.
    let work = |variant: &lockyard_scenarios::Variant| variant.work_of_operation(0.0);
    assert!(near(work(variant), work(&script.variants[0])));
    // The mutex inside is none of it.
    let inner = section(&visits[recorded.len() + 1]).1;
    let is_exclusive = |step: &Step| matches!(step, Step::Locked { access: Access::Exclusive, .. });
    assert!(inner.iter().any(is_exclusive), "{inner:?}");
}

#[test]
fn data_comes_to_a_reader_after_another_thread_wrote() {
    // A thread writes every 4 us. Another one reads four times meanwhile, at first for longer.
    let writer = |_| [enter(3_900, 0, 0), leave(100, 0)];
    let reader = |number: u64| {
        let hold = |number: u64| if number % 4 == 3 { 450 } else { 150 };
        let after = if number == 0 { 1_500 } else { 1_000 - hold(number - 1) };
        [read(after, 0, 1, 0), leave(hold(number), 0)]
    };
    let threads = vec![(0..500).flat_map(writer).collect(), (0..2_000).flat_map(reader).collect()];
    let model = Model::of(&recording(one(), threads)).expect("it has all");
    let group = &model.groups[0];
    let data = group.reads.data.expect("there are both kinds of reads");
    assert!((data - 300.0).abs() < 1.0, "{group:?}");
    assert!((group.reads.share - 0.25).abs() < 0.02, "{group:?}");
    // Another thread read before each write.
    assert!(group.exclusive.data.is_none() && group.exclusive.share > 0.99, "{group:?}");
    let host = HostNumbers { line: 100.0, ..HostNumbers::default() };
    let about = recording(one(), Vec::new());
    let title = || "v".to_owned();
    let variant = script::variant(&about, &model, host, "v", title(), Version::default());
    let words = variant.expect("it has visits").objects.into_iter();
    let words = words.filter(|object| matches!(object.kind, ObjectKind::Word { .. })).count();
    assert_eq!(words, 3, "as many lines as reads need");
}

#[test]
fn a_lock_that_is_read_is_a_reader_writer_lock_whatever_the_file_says() {
    let locks = vec![lock("own", Kind::Mutex, 1)];
    let model = Model::of(&recording(locks, vec![mostly_reads(1_000)])).expect("it has all");
    assert_eq!(model.groups[0].kind, Kind::RwLock);
}
