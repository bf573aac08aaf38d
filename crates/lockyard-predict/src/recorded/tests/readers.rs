//! Read-heavy programs: the bottleneck is the lock word itself. The cost of the replay's own calls
//! is not part of the replayed times.

use super::*;
use lockyard_recording::recording::Kind;

/// Returns a recording of threads that read for 20 ns, and are outside for 150 ns in one visit of
/// ten and for `slower` nanoseconds more in the others.
fn reading(threads: u32, slower: u64, host: Option<String>) -> Recording {
    let visit = |number: u64| {
        let outside = 150 + if number.is_multiple_of(10) { 0 } else { slower };
        [
            Event::Acquired { after: outside + 30, lock: 0, site: 0, how: How::Reads, wait: 0 },
            Event::Released { after: 30, lock: 0 },
        ]
    };
    let mut recording = recording(200.0, host);
    let window = |thread| Window {
        thread,
        events: (0..2_000).flat_map(visit).collect(),
        ..Window::default()
    };
    recording.windows = (1..=threads).map(window).collect();
    recording.about.locks[0].kind = Kind::RwLock;
    recording.about.seconds = recording.windows[0].duration() as f64 / 1e9;
    recording
}

#[test]
fn a_lock_that_is_only_read_saturates_by_its_word() {
    let recorded = Recorded::new(reading(1, 0, skylake())).expect("it is replayed");
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let variant = recorded.script.variant(RECORDED).expect("it has it");
    let busy = |threads| {
        let costs = replay(&machine, variant, threads).expect("it runs").costs;
        let lock = costs.locks["m"];
        assert_eq!((lock.alone, lock.calls[0].acquired), (0, 0), "{lock:?}");
        lock.serial as f64 * costs.cycle / costs.window
    };
    assert!(busy(1) < 0.3, "{}", busy(1));
    assert!(busy(24) > 0.9, "{}", busy(24));
    // More threads do not do more.
    let rate = |threads| throughput(&machine, variant, threads).expect("it runs");
    assert!(rate(24) < 3.0 * rate(1), "{} {}", rate(24), rate(1));
    let alone = recorded.model.groups[0].calls.map(|calls| calls.taken_off);
    assert_eq!(alone, [0.0; 2], "one thread's calls are plain ones");
}

#[test]
fn the_replay_s_own_calls_are_taken_off_the_recorded_times() {
    let of = |slower| {
        let recorded = Recorded::new(reading(4, slower, skylake())).expect("it is replayed");
        let [writes, reads] = recorded.model.groups[0].calls;
        assert_eq!(writes.taken_off, 0.0, "there is none");
        let slowest = 0.9 * slower as f64;
        assert!((reads.slower - slowest).abs() < 1.0, "{reads:?}");
        let times = script::class_times(&recorded.model, &recorded.script.variants[0]);
        (reads.taken_off, times[0].outside)
    };
    // All threads are equally fast: that was no wait for a line.
    let (taken_off, fast) = of(0);
    assert_eq!(taken_off, 0.0);
    // Some of the time is the word's. Never more than what is beyond the fastest times.
    let (taken_off, outside) = of(400);
    assert!((20.0..=361.0).contains(&taken_off), "{taken_off}");
    assert!((outside - (fast + 360.0 - taken_off)).abs() < 2.0, "{outside} {fast} {taken_off}");
    let (taken_off, outside) = of(30);
    assert!((1.0..=28.0).contains(&taken_off), "{taken_off}");
    assert!(outside >= fast - 1.0, "{outside} {fast}");
}

#[test]
fn a_mutex_keeps_its_recorded_times() {
    let mut recording = reading(4, 400, skylake());
    recording.about.locks[0].kind = Kind::Mutex;
    for event in recording.windows.iter_mut().flat_map(|window| &mut window.events) {
        if let Event::Acquired { how, .. } = event {
            *how = How::Waits;
        }
    }
    let recorded = Recorded::new(recording).expect("it is replayed");
    assert!(recorded.model.groups[0].calls.iter().all(|calls| calls.taken_off == 0.0));
    assert_eq!(recorded.numbers.read_write_calls, [0.0; 2]);
}

#[test]
fn the_answers_have_readers_and_writers() {
    let mut recording = reading(2, 0, skylake());
    // Every fifth acquisition writes.
    for window in &mut recording.windows {
        for event in window.events.iter_mut().step_by(10) {
            if let Event::Acquired { how, .. } = event {
                *how = How::Waits;
            }
        }
    }
    let recorded = Recorded::new(recording).expect("it is replayed");
    let gate = recorded.gate().expect("it runs");
    let answers = recorded.answers(&[], &gate);
    let lock = &answers.today.locks[0];
    let accesses = lock.accesses.expect("it is a reader-writer lock");
    let share = accesses.writes.acquisitions_per_s / lock.acquisitions_per_s;
    assert!((share - 0.2).abs() < 0.01, "{lock:?}");
    let sum = accesses.reads.share_held + accesses.writes.share_held;
    assert!((sum - lock.share_held).abs() < 1e-9, "{lock:?}");
    assert!((accesses.reads.held_ns_each_time - 20.0).abs() < 2.0, "{lock:?}");
    let said = recorded.assumptions().join("\n");
    assert!(said.contains("80.0 % of all acquisitions read"), "{said}");
}
