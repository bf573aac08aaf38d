mod several;

use super::replay::throughput;
use super::*;
use crate::growth::Law;
use crate::request::{self, PredictRequest};
use lockyard_recording::recording::{
    About, Costs, CpuTime, Event, How, LockAbout, Switches, ThreadAbout, ThreadUse, Window,
};
use lockyard_results::row::Status;

mod meetings;
mod open;
mod readers;

/// Visits in each of two windows, and between them.
const WITHIN: u64 = 400;
const BETWEEN: u64 = 20_000;

/// Returns a recording of one thread that is 1,000 ns outside of its lock and 100 ns under it.
/// Each visit between the windows takes `between` nanoseconds.
fn recording(between: f64, host: Option<String>) -> Recording {
    let visit = [
        Event::Acquired { after: 1_030, lock: 0, site: 0, how: How::Waits, wait: 0 },
        Event::Released { after: 110, lock: 0 },
    ];
    let events: Vec<Event> = (0..WITHIN).flat_map(|_| visit).collect();
    let window = |begin, acquisitions| Window {
        thread: 1,
        begin,
        acquisitions,
        continues: false,
        events: events.clone(),
    };
    let first = window(0, 0);
    let begin = first.duration() + (BETWEEN as f64 * between) as u64;
    let second = window(begin, WITHIN + BETWEEN);
    let about = About {
        command: vec!["made".to_owned()],
        seconds: (begin + second.duration()) as f64 / 1e9,
        cpus: 4,
        locks: vec![LockAbout { name: "m".to_owned(), line: 1, ..LockAbout::default() }],
        sites: vec!["s".to_owned()],
        costs: Costs { hold: 10.0, think: 30.0, counted: 20.0, plain: 25.0, ..Costs::default() },
        host,
        ..About::default()
    };
    Recording { about, windows: vec![first, second] }
}

fn skylake() -> Option<String> {
    let machines = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/");
    Some(std::fs::read_to_string(format!("{machines}skylake-client-4c.toml")).expect("it is there"))
}

#[test]
fn the_gate_passes_a_run_that_the_replay_repeats_and_no_other() {
    // 1,000 and 100 ns of work, 25 of plain calls, 20 of the recorder.
    let right = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
    let gate = right.gate().expect("it runs");
    let predicted = gate.replay.predicted_acquisitions_per_s.expect("there is a host");
    assert!((predicted * 1_145.0 / 1e9 - 1.0).abs() < 0.02, "{gate:?}");
    assert_eq!(gate.refused, None);
    assert!(gate.replay.outside_windows && gate.replay.passed, "{gate:?}");
    let said = gate.replay.sentence();
    assert!(said.starts_with("Gate: passed") && said.contains("no events were written"), "{said}");
    let slower = Recorded::new(recording(1_400.0, skylake())).expect("it is replayed");
    let gate = slower.gate().expect("it runs");
    assert!(gate.refused.as_ref().is_some_and(|why| why.contains("off by +")), "{gate:?}");
    let nowhere = Recorded::new(recording(1_145.0, None)).expect("it is replayed");
    let gate = nowhere.gate().expect("it runs");
    let none = gate.replay.predicted_acquisitions_per_s.is_none();
    assert!(none && gate.refused.is_some() && !gate.replay.passed, "{gate:?}");
}

#[test]
fn threads_scale_until_the_lock_is_never_free() {
    let recorded = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let figure = |name: &str, threads| {
        let variant = recorded.script.variant(name).expect("it has it");
        throughput(&machine, variant, threads).expect("it runs")
    };
    let alone = figure(RECORDED, 1);
    assert!((alone * 1_125.0 / 1e9 - 1.0).abs() < 0.03, "{alone}");
    assert!(figure("mcs", 4) > 3.0 * alone);
    // 100 ns under the lock: at most ten million a second, less the hand-overs.
    let many = figure("mcs", 24);
    assert!(many < 1e7 && many > 2.5 * alone, "{many}");
    // The recorded lock pays for calls of the kernel, as its changed versions do.
    let today = figure(RECORDED, 24);
    assert!(today < many && figure("hold-halved", 24) > today * 0.8, "{today}");
    assert!(figure("split-4", 24) > 2.0 * today);
}

#[test]
fn the_answers_are_of_the_recording_and_of_the_predicted_rows() {
    let recorded = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let request = PredictRequest {
        variants: [RECORDED, "hold-halved", "split-4"].map(str::to_owned).into(),
        intervals: true,
        jobs: 2,
        ..PredictRequest::new(recorded.script.clone(), machine, vec![1, 24])
    };
    let rows = request::run(&request, &[], &|| {}).expect("it runs").rows;
    let gate = recorded.gate().expect("it runs");
    let answers = recorded.answers(&rows, &gate);
    assert!(answers.gated, "{gate:?}");
    // 100 ns under the lock, and 1,000 with the plain calls, 25, outside.
    let today = &answers.today;
    assert!((today.share_held - 100.0 / 1_125.0).abs() < 1e-3, "{today:?}");
    assert!((today.share_outside - 1_025.0 / 1_125.0).abs() < 1e-3, "{today:?}");
    assert_eq!((today.share_asleep, today.share_waited), (0.0, 0.0));
    assert_eq!(today.locks[0].lock, "m");
    let [lock] = answers.saturation.as_slice() else { panic!("{answers:?}") };
    assert_eq!((lock.lock.as_str(), lock.saturated_at_threads), ("m", Some(24)));
    assert!((3.0..20.0).contains(&lock.knee_threads), "{lock:?}");
    assert!(lock.use_by_threads[0].share_busy < 0.2 && lock.at_most.share_busy > 0.9);
    let [best] = answers.best_changes.as_slice() else { panic!("{answers:?}") };
    assert_eq!((best.variant.as_str(), best.threads, best.compared), ("split-4", 24, 2));
    assert!(best.gain_share > 0.5 && !best.within_intervals, "{best:?}");
    let figure = |variant: &str, threads| {
        let is_it = |row: &&Row| row.key.variant == variant && row.key.threads == Some(threads);
        rows.iter().find(is_it).and_then(|row| row.predicted)
    };
    assert_eq!(figure("split-4", 24), Some(best.operations_per_s));
    assert_eq!(figure(RECORDED, 24), Some(best.recorded_operations_per_s));
    // Without rows only today is known.
    let none = recorded.answers(&[], &gate);
    assert!(none.saturation.is_empty() && none.best_changes.is_empty());
}

#[test]
fn more_threads_than_hardware_threads_share_them() {
    let recorded = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
    let host = recorded.host.as_ref().expect("it has one");
    let variant = recorded.script.variants[0].clone();
    let room = host.hardware_threads();
    let alone = throughput(host, &on(host, variant.clone(), 1), 1).expect("it runs");
    let shared = on(host, variant, 2 * room);
    assert_eq!(shared.guests, Some(1));
    let more = throughput(host, &shared, 2 * room).expect("it runs");
    assert!(more > alone && more < 1.05 * room as f64 * alone, "{alone} {more}");
}

#[test]
fn a_host_that_gave_too_little_of_a_cpu_is_refused() {
    let mut busy = recording(1_145.0, skylake());
    let seconds = busy.about.seconds;
    let with = |busy: &Recording| {
        let recorded = Recorded::new(busy.clone()).expect("it is replayed");
        (recorded.gate().expect("it runs"), recorded)
    };
    busy.about.cpu_time = Some(CpuTime { ran: 0.85 * seconds, waited: 0.15 * seconds });
    assert_eq!(with(&busy).0.refused, None);
    busy.about.cpu_time = Some(CpuTime { ran: 0.09 * seconds, waited: 0.91 * seconds });
    let (gate, recorded) = with(&busy);
    let why = gate.refused.as_deref().expect("it is refused");
    assert!(why.contains("this host gave the program 9 % of a CPU"), "{why}");
    assert!(why.contains("record it again on a quieter host"), "{why}");
    let predicted = gate.replay.predicted_acquisitions_per_s;
    assert_eq!(predicted, None, "nothing was simulated for it");
    let answers = recorded.answers(&[], &gate);
    assert!((answers.today.share_without_cpu - 0.91).abs() < 1e-6, "{answers:?}");
    assert!(answers.today.share_held < 0.09 && answers.refused.is_some(), "{answers:?}");
    assert!(answers.refusal().is_some_and(|said| said.contains("--ungated")), "{answers:?}");
}

#[test]
fn a_machine_that_is_given_serves_a_recording_without_one() {
    let machine = Machine::shipped("skylake-client-4c").expect("it is shipped");
    let recorded = Recorded::with_host(recording(1_145.0, None), Some(machine.clone()));
    let gate = recorded.expect("it is replayed").gate().expect("it runs");
    assert!(gate.refused.is_none() && gate.replay.error_share.is_some(), "{gate:?}");
    // It also takes the place of the file that the recording has.
    let other = Some("name = \"broken\"".to_owned());
    let recorded = Recorded::with_host(recording(1_145.0, other.clone()), Some(machine));
    assert_eq!(
        recorded.expect("it is replayed").host().map(Machine::name),
        Ok("skylake-client-4c")
    );
    assert!(Recorded::new(recording(1_145.0, other)).is_err());
}

/// Returns the rows of a recording's variants, with the bound of its gate.
fn bounded(recorded: &Recorded, gate: &Gate, variants: &[&str], threads: &[usize]) -> Vec<Row> {
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let request = PredictRequest {
        variants: variants.iter().map(|name| (*name).to_owned()).collect(),
        limit: Some(recorded.limit(gate)),
        jobs: 2,
        ..PredictRequest::new(recorded.script.clone(), machine, threads.to_vec())
    };
    request::run(&request, &[], &|| {}).expect("it runs").rows
}

#[test]
fn threads_that_do_more_than_their_number_times_one_are_refused() {
    let all = [RECORDED, "mutex", "hold-halved", "split-4"];
    // A millisecond passes for each visit between the windows, which show none of it.
    let asleep = Recorded::new(recording(1e6, skylake())).expect("it is replayed");
    let gate = asleep.gate().expect("it runs");
    assert!(gate.refused.is_some(), "{gate:?}");
    for row in bounded(&asleep, &gate, &all, &[1, 8]) {
        assert_eq!((row.predicted, row.status), (None, Status::NotModelled), "{row:?}");
        let why = row.reason.as_deref().expect("there is one");
        assert!(why.contains("more than a closed loop can: at most 1"), "{why}");
        assert!(row.details.simulated.is_none(), "no figure is left to be quoted: {row:?}");
    }
    // What the replay repeats is within the bound, with every change.
    let right = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
    let gate = right.gate().expect("it runs");
    for row in bounded(&right, &gate, &all, &[1, 2, 4]) {
        assert!(row.predicted.is_some() && row.reason.is_none(), "{row:?}");
    }
}

#[test]
fn system_calls_are_no_work_of_the_threads() {
    let mut recording = recording(1_145.0, skylake());
    recording.about.costs = Costs { park: 500.0, wake: 10_000.0, ..recording.about.costs };
    let recorded = Recorded::new(recording).expect("it is replayed");
    let gate = recorded.gate().expect("it runs");
    let share = |threads: usize| {
        let rows = bounded(&recorded, &gate, &[RECORDED], &[threads]);
        let costs = rows[0].details.simulated.as_ref().and_then(|detail| detail.costs.clone());
        costs.expect("it was simulated").share
    };
    assert_eq!(share(1).get("system_calls"), None, "nobody is woken");
    let many = share(24);
    assert!((many.values().sum::<f64>() - 1.0).abs() < 1e-6, "{many:?}");
    // The machine is another one: its calls cost what its own file says.
    assert!((0.03..0.08).contains(&many["system_calls"]), "{many:?}");
    assert!((0.10..0.16).contains(&many["working"]), "{many:?}");
}

#[test]
fn calls_that_were_measured_with_a_recording_replace_those_that_its_host_assumes() {
    let wake_of_host = |host: String| {
        let mut recording = recording(1_145.0, Some(host));
        recording.about.costs = Costs { wake: 10_000.0, ..recording.about.costs };
        let recorded = Recorded::new(recording).expect("it is replayed");
        let wake = recorded.host().expect("it has one").parameter("kernel.wake").cloned();
        wake.and_then(|wake| wake.value.number())
    };
    let text = skylake().expect("it is there");
    assert_eq!(wake_of_host(text.clone()), Some(10_000.0));
    let measured = "[kernel]\nwake = { value = 3000, source = \"measured\" }\n";
    assert_eq!(wake_of_host(text.replace("[kernel]\n", measured)), Some(3000.0));
}

#[test]
fn a_short_part_of_a_run_is_not_its_rate() {
    let mut late = recording(1_145.0, skylake());
    late.about.seconds *= 10.0;
    let gate = Recorded::new(late).expect("it is replayed").gate().expect("it runs");
    let why = gate.refused.expect("it is refused");
    assert!(why.contains("took locks in 10 % of the run only"), "{why}");
}

#[test]
fn a_replay_that_sleeps_as_the_run_did_not_is_refused() {
    let gate = |voluntary: Option<u64>| {
        let mut of = recording(1_145.0, skylake());
        of.about.switches = voluntary.map(|voluntary| Switches { voluntary, involuntary: 0 });
        Recorded::new(of).expect("it is replayed").gate().expect("it runs")
    };
    // One thread alone never sleeps in the replay.
    let none = gate(Some(3));
    assert_eq!(none.refused, None);
    let sleeps = none.replay.sleeps.expect("the system counted");
    assert_eq!(sleeps.predicted_per_acquisition, 0.0);
    let all = (BETWEEN + 2 * WITHIN) as f64;
    assert!((sleeps.recorded_per_acquisition * all / 3.0 - 1.0).abs() < 0.01, "{sleeps:?}");
    assert_eq!(gate(None).replay.sleeps, None);
    // In a tenth of the acquisitions: 5 us for each would be half of the time.
    let many = gate(Some(all as u64 / 10));
    let why = many.refused.as_deref().expect("it is refused");
    assert!(why.contains("sleep in 0.00 % of acquisitions, those of the recorded run in"), "{why}");
}

#[test]
fn a_thread_that_takes_no_locks_sleeps_for_itself() {
    let mut beside = recording(1_145.0, skylake());
    let all = BETWEEN + 2 * WITHIN;
    let seconds = beside.about.seconds;
    // A fifth of the acquisitions of all threads would be sleeps, and half of the time a wait for a
    // CPU.
    beside.about.switches = Some(Switches { voluntary: all / 5, involuntary: 0 });
    beside.about.cpu_time = Some(CpuTime { ran: seconds, waited: seconds });
    let gate = |of: &Recording| {
        let recorded = Recorded::new(of.clone()).expect("it is replayed");
        recorded.gate().expect("it runs")
    };
    assert!(gate(&beside).refused.is_some_and(|why| why.contains("this host gave the program")));
    let used = |cpu_share: f64, voluntary: u64| ThreadUse {
        acquired: all,
        lived_ns: (seconds * 1e9) as u64,
        cpu_ns: (seconds * 1e9 * cpu_share) as u64,
        waited_ns: Some((seconds * 1e9 * (1.0 - cpu_share)) as u64),
        switches: Switches { voluntary, involuntary: 0 },
    };
    let with = |used: ThreadUse| {
        let threads = vec![ThreadAbout { number: 1, acquired: all, used: Some(used) }];
        let mut of = beside.clone();
        of.about.threads = threads;
        of
    };
    let passed = gate(&with(used(1.0, 3)));
    assert_eq!(passed.refused, None, "{passed:?}");
    let sleeps = passed.replay.sleeps.expect("the thread counted");
    assert!((sleeps.recorded_per_acquisition * all as f64 / 3.0 - 1.0).abs() < 0.01, "{sleeps:?}");
    // Its own sleeps count.
    let why = gate(&with(used(1.0, all / 5))).refused.expect("it is refused");
    assert!(why.contains("those of the recorded run in 20.00 %"), "{why}");
    // The thread waited for a CPU, and the program's others did not.
    let mut crowded = with(used(0.3, 3));
    crowded.about.cpu_time = Some(CpuTime { ran: 4.0 * seconds, waited: 0.7 * seconds });
    let why = gate(&crowded).refused.expect("it is refused");
    assert!(why.contains("the threads that take locks had 30 % of a CPU"), "{why}");
    assert!(why.contains("the program as a whole had enough"), "{why}");
}
