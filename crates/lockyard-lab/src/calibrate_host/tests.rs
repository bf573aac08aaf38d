//! Tests from measurements to a file and on to predictions. They are deterministic: a shipped
//! machine simulates the "measured" figures, so the file must describe that machine again.
//! Measurements that are impossible for any machine are refused in one line.

use super::contended::{self, Performed};
use super::solve::place_at;
use super::*;
use lockyard_predict::machine::known_figures;
use lockyard_results::render::{Format, Screen};
use lockyard_results::row::Measured;
use lockyard_scenarios::Variant;
use lockyard_sim::Machine;
use lockyard_sim::machine::Value;

pub(super) fn exactly(value: f64) -> Measured {
    Measured { value, ci_low: value, ci_high: value, samples: 9 }
}

fn number(machine: &Machine, name: &str) -> f64 {
    let found = machine.parameter(name);
    match found.expect("it has the number").value {
        Value::Whole(value) => value as f64,
        Value::Real(value) => value,
        Value::Word(_) => f64::NAN,
    }
}

fn layout_of(machine: &Machine, cores: usize) -> Layout {
    let all = machine.cores();
    let at = |cpu: usize| {
        let place = machine.place(cpu);
        CpuAt { cpu, package: place.socket, complex: place.complex, core: place.core }
    };
    let in_part = |cpu: &usize| (cpu % all) % (all / machine.sockets()) < cores;
    Layout::new(&(0..machine.hardware_threads()).filter(in_part).map(at).collect::<Vec<_>>())
}

/// Returns measurements simulated on a machine, using `cores` cores of each socket, with or without
/// contended scenarios.
pub(super) fn imitate(
    machine: &Machine,
    (vendor, model): (&str, u32),
    cores: usize,
    scenarios: bool,
) -> Measurements {
    let layout = layout_of(machine, cores);
    let alone = [
        (Alone::Clock, number(machine, "clock.ghz")),
        (Alone::Load, number(machine, "cycles.load") / number(machine, "clock.ghz")),
        (Alone::FetchAdd, known_figures::uncontended(machine)),
        (Alone::Pause, number(machine, "cycles.pause") / number(machine, "clock.ghz")),
    ];
    let mut pairs = Vec::new();
    for (distance, all) in layout.pairs() {
        let place = place_at(machine, distance).expect("the machine has it");
        let ping_pong = known_figures::ping_pong(machine, place, 0).expect("it is simulated");
        let mut push = |what, tasks, value| {
            pairs.push(PairFigure { what, tasks, figure: exactly(value), series: Vec::new() });
        };
        all.iter().for_each(|&tasks| push(Pair::HandOver, tasks, ping_pong));
        push(Pair::Add, all[0], known_figures::rate(machine, place, false));
        push(Pair::CompareExchange, all[0], known_figures::rate(machine, place, true));
        push(Pair::LoadHomedReader, all[0], known_figures::load(machine, place, 0));
        if distance == LineDistance::Remote {
            push(Pair::LoadHomedWriter, all[0], known_figures::load(machine, place, 1));
        }
    }
    let variants = if scenarios { contended::variants() } else { Vec::new() };
    let mut contended = Vec::new();
    for variant in variants {
        let performed = Performed::new(machine, &variant, 2e7).expect("it runs");
        for tasks in [1, 3] {
            let tasks: Vec<usize> = (0..tasks.min(layout.cpus().len())).collect();
            let places = tasks.iter().map(|&task| machine_place(machine, &layout, task)).collect();
            let value = performed.predict(machine, places).expect("it runs");
            let variant = variant.name.clone();
            contended.push(Contended { variant, tasks, figure: exactly(value) });
        }
    }
    let sibling = number(machine, "protocol.smt_slowdown");
    Measurements {
        given: Given::default(),
        processor: CalibratedProcessor {
            vendor: vendor.to_owned(),
            family: Some(6),
            model: Some(model),
            name: format!("A {} \"imitated\"", machine.name()),
            virtualised: false,
            line_bytes: Some(64),
        },
        layout,
        date: "2026-01-31".to_owned(),
        seconds: 60.0,
        rounds: 9,
        alone: alone.map(|(what, value)| (what, exactly(value))).to_vec(),
        pairs,
        contended,
        beside_sibling: (machine.threads_per_core() > 1).then(|| exactly(sibling)),
        siblings: Vec::new(),
        kernel: Vec::new(),
        lost: 0.0,
        notes: Vec::new(),
    }
}

/// Returns the hardware thread of the machine for a CPU in a part of it. CPUs are numbered like the
/// machine's hardware threads.
fn machine_place(machine: &Machine, layout: &Layout, task: usize) -> usize {
    let cpu = layout.cpus()[task];
    assert!(cpu < machine.hardware_threads());
    cpu
}

pub(super) fn imitated(name: &str, model: u32, cores: usize) -> (Machine, Measurements) {
    let machine = Machine::shipped(name).expect("it is shipped");
    let measurements = imitate(&machine, (INTEL, model), cores, false);
    (machine, measurements)
}

const INTEL: &str = "GenuineIntel";

#[test]
fn a_machine_that_is_measured_is_found_again() {
    let all = [
        ("cascade-lake-2s24c2t", INTEL, 85, 3),
        ("broadwell-ep-2s22c2t", INTEL, 79, 2),
        ("skylake-client-4c", INTEL, 94, 4),
        ("zen4-7840u", "AuthenticAMD", 116, 4),
    ];
    for (name, vendor, model, cores) in all {
        let machine = Machine::shipped(name).expect("it is shipped");
        let measurements = imitate(&machine, (vendor, model), cores, true);
        let found = calibrate(&measurements, None).expect("it is a machine");
        assert_eq!(found.machine.family(), machine.family(), "{name}");
        for exact in [
            "cycles.load",
            "cycles.rmw_before_lock",
            "cycles.rmw_lock",
            "cycles.pause",
            "cycles.poll",
            "protocol.store_buffer",
            "protocol.smt_slowdown",
            "clock.ghz",
        ] {
            let (is, ought) = (number(&found.machine, exact), number(&machine, exact));
            assert!((is - ought).abs() <= 0.005 * ought, "{name}, {exact}: {is}, not {ought}");
        }
        for (near, least) in
            [("family.scale", 0.0), ("cycles.socket_leg", 1.0), ("cycles.directory", 3.0)]
        {
            let (is, ought) = (number(&found.machine, near), number(&machine, near));
            assert!(
                (is - ought).abs() <= least + 0.02 * ought,
                "{name}, {near}: {is}, not {ought}"
            );
        }
        let figures = compare(&measurements, &found, 2, &|| ()).expect("it runs");
        for row in &figures.rows {
            let error = row.error().expect("it is simulated");
            let most = if row.role == FigureRole::Input { 0.02 } else { 0.05 };
            assert!(error.abs() < most, "{name}, {} on {}: {error:+.3}", row.figure, row.threads);
        }
        assert!(figures.rows.iter().any(|row| row.figure == "lockref" && row.threads == 3));
        let median = figures.median_error().expect("there are predictions");
        assert!(median < 0.01, "{name}: {median}");
    }
}

#[test]
fn every_number_of_the_file_says_where_it_is_from_and_inputs_are_marked() {
    let (_, measurements) = imitated("cascade-lake-2s24c2t", 143, 2);
    let found = calibrate(&measurements, Some("my-host")).expect("it is a machine");
    assert_eq!(found.machine.name(), "my-host");
    let of = |name: &str| found.machine.parameter(name).expect("it has the number");
    for measured in ["clock.ghz", "cycles.load", "cycles.rmw_lock", "cycles.pause"] {
        let source = of(measured).source.as_ref().expect("it was measured");
        assert!(source.starts_with("measured by `machines calibrate`, 2026-01-31: "), "{source}");
        assert!(of(measured).assumed.is_none());
    }
    for solved in ["family.scale", "cycles.socket_leg"] {
        let source = of(solved).source.as_ref().expect("it was solved for");
        assert!(source.contains("set so that the simulated ping-pong"), "{source}");
    }
    // Sapphire Rapids does not belong to the family.
    for assumed in ["family.scale", "cycles.poll", "protocol.store_buffer"] {
        let why = of(assumed).assumed.as_ref().expect("it is assumed");
        assert!(why.contains("sapphire-rapids"), "{why}");
    }
    let member = {
        let mut measurements = measurements.clone();
        measurements.processor.model = Some(85);
        calibrate(&measurements, None).expect("it is a machine").machine
    };
    let scale = member.parameter("family.scale");
    assert!(scale.is_some_and(|scale| scale.assumed.is_none()), "Cascade Lake is one");
    let inputs: Vec<&str> = found
        .machine
        .checks()
        .iter()
        .filter(|check| check.is_input)
        .map(|check| check.name.as_str())
        .collect();
    assert_eq!(
        inputs,
        [
            "checks.atomic_add_uncontended",
            "checks.compare_exchange_two_threads",
            "checks.load_modified_remote_homed_reader",
            "checks.ping_pong_remote",
            "checks.ping_pong_same_socket",
        ]
    );
    assert_eq!(found.machine.checks().len(), 11, "{:?}", found.machine.checks());
    assert!(found.file.lines().all(|line| line.is_ascii()), "{}", found.file);
}

#[test]
fn cores_whose_loads_fetch_lines_for_locked_operations_are_found_out() {
    for exclusive in [0.0, 1.0] {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let machine = machine.with("protocol.exclusive_loads", exclusive).expect("it has it");
        let measurements = imitate(&machine, (INTEL, 143), 2, false);
        let found = calibrate(&measurements, None).expect("it is a machine").machine;
        assert_eq!(number(&found, "protocol.exclusive_loads"), exclusive);
    }
}

/// Rounds that are uniform within `spread` of `middle`, the same each time.
pub(super) fn uniform_rounds(middle: f64, spread: f64, count: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let mut round = || {
        // Knuth, The Art of Computer Programming, volume 2, 3.3.4, line 26.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        middle + spread * ((state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    };
    (0..count).map(|_| round()).collect()
}

#[test]
fn the_rounds_of_hand_overs_say_how_lines_differ() {
    let (machine, plain) = imitated("skylake-client-4c", 94, 2);
    let with = |spread: f64| {
        let mut measurements = plain.clone();
        for pair in measurements.pairs.iter_mut().filter(|pair| pair.what == Pair::HandOver) {
            pair.series = uniform_rounds(pair.figure.value, spread, 400);
        }
        calibrate(&measurements, None).expect("it is a machine")
    };
    let (small, large) = (with(3.0), with(20.0));
    // The difference of two uniform values has its quartiles at 0.586 of the spread.
    let ghz = number(&small.machine, "clock.ghz");
    let deviation = 3.0 * 2.0 * 0.586 / 1.349 / std::f64::consts::SQRT_2;
    let found = number(&small.machine, "cycles.jitter");
    assert!((found / (2.0 * deviation * ghz) - 1.0).abs() < 0.2, "{found} cycles");
    let jitter = small.machine.parameter("cycles.jitter").expect("it has one");
    assert!(jitter.source.is_some() && jitter.assumed.is_some(), "{jitter:?}");
    let hand_over = plain.pair(Pair::HandOver, LineDistance::Complex).expect("it was measured");
    assert_eq!(number(&large.machine, "cycles.jitter"), (hand_over.value / 4.0 * ghz).round());
    assert!(large.notes.iter().any(|note| note.contains("a quarter of a hand-over")));
    let smaller = number(&with(2.0).machine, "cycles.jitter");
    assert!(smaller < number(&machine, "cycles.jitter"), "less than the family's: {smaller}");
    let few = {
        let mut measurements = plain.clone();
        measurements.pairs.iter_mut().for_each(|pair| pair.series = vec![pair.figure.value; 9]);
        calibrate(&measurements, None).expect("it is a machine")
    };
    assert_eq!(number(&few.machine, "cycles.jitter"), number(&machine, "cycles.jitter"));
    assert!(few.notes.iter().any(|note| note.contains("fewer than 20 rounds")), "{:?}", few.notes);
}

#[test]
fn the_pairs_of_a_matrix_say_how_lines_differ_if_by_more_than_the_family_says() {
    let (machine, plain) = imitated("cascade-lake-2s24c2t", 85, 8);
    let with = |values: &[f64]| {
        let mut measurements = plain.clone();
        let mut values = values.iter().cycle();
        for pair in &mut measurements.pairs {
            pair.series.clear();
            let distance = plain.layout.distance(pair.tasks.0, pair.tasks.1);
            if pair.what == Pair::HandOver && distance == LineDistance::Complex {
                pair.figure.value = *values.next().expect("they have no end");
            }
        }
        calibrate(&measurements, None).expect("it is a machine")
    };
    let of_family = number(&machine, "cycles.jitter");
    let jitter = |values: &[f64]| number(&with(values).machine, "cycles.jitter");
    // The quartiles of 28 uniform values are at half of the spread: twice 8 / 1.349 ns, 3 GHz.
    let even: Vec<f64> = (0..28).map(|k| 39.0 + 16.0 * f64::from(k) / 27.0).collect();
    let found = jitter(&even);
    assert!((found / (2.0 * 8.0 / 1.349 * 3.0) - 1.0).abs() < 0.05, "{found} cycles");
    let wide: Vec<f64> = (0..28).map(|k| 27.0 + 40.0 * f64::from(k) / 27.0).collect();
    assert!((jitter(&wide) / (47.0 / 4.0 * 3.0) - 1.0).abs() < 0.02, "a quarter of a hand-over");
    assert_eq!(jitter(&[47.0; 28]), of_family);
    let two: Vec<f64> = (0..28).map(|k| if k % 2 == 0 { 40.0 } else { 90.0 }).collect();
    let two = with(&two);
    assert_eq!(number(&two.machine, "cycles.jitter"), of_family);
    assert!(two.notes.iter().any(|note| note.contains("have two values")), "{:?}", two.notes);
}

#[test]
fn one_cpu_gives_a_file_and_no_prediction_and_says_so() {
    let (_, mut measurements) = imitated("skylake-client-4c", 94, 1);
    measurements.layout = Layout::new(&[CpuAt { cpu: 5, package: 0, complex: 0, core: 5 }]);
    let alone = |variant: Variant| Contended {
        variant: variant.name,
        tasks: vec![0],
        figure: exactly(2e7),
    };
    measurements.contended = contended::variants().into_iter().map(alone).collect();
    assert!(measurements.pairs.is_empty());
    let found = calibrate(&measurements, None).expect("it is a machine");
    assert_eq!(found.machine.hardware_threads(), 1);
    let scale = found.machine.parameter("family.scale");
    assert!(scale.is_some_and(|scale| scale.assumed.is_some() && scale.source.is_none()));
    let figures = compare(&measurements, &found, 1, &|| ()).expect("it runs");
    assert!(figures.errors().is_empty() && !figures.rows.is_empty());
    let notes = figures.notes.join("\n");
    assert!(notes.contains("may use one CPU: hand-overs"), "{notes}");
    assert!(notes.contains("so `scale` is assumed"), "{notes}");
    let screen = Screen::default();
    let text = render(&measurements, &figures, Some(&found.file), &[], Format::Table, &screen);
    assert!(text.contains("No figure here is a prediction"), "{text}");
}

#[test]
fn two_threads_of_one_core_are_predicted_though_no_two_cores_were_measured() {
    let (machine, mut measurements) = imitated("skylake-sp-1s24c2t", 85, 1);
    let counter = |tasks: &[usize], value| Contended {
        variant: "fetch-and-add".to_owned(),
        tasks: tasks.to_vec(),
        figure: exactly(value),
    };
    measurements.contended = vec![counter(&[0], 2e7), counter(&[0, 1], 3e7)];
    assert_eq!(measurements.layout.describe(), "1 socket x 1 core x 2 threads");
    let found = calibrate(&measurements, None).expect("it is a machine");
    assert_eq!(found.machine.hardware_threads(), 2);
    assert_eq!(
        number(&found.machine, "cycles.sibling_turn"),
        number(&machine, "cycles.sibling_turn")
    );
    assert!(found.notes.iter().any(|note| note.contains("so `scale` is assumed")));
    let figures = compare(&measurements, &found, 1, &|| ()).expect("it runs");
    let row = |name: &str| figures.rows.iter().find(|row| row.figure == name);
    let notes = figures.notes.join("\n");
    assert!(notes.contains("from 2 threads on, scenarios have two tasks on a core"), "{notes}");
    for name in ["ping_pong_same_core", "atomic_add_two_threads_same_core"] {
        let row = row(name).expect("it was measured");
        assert!(
            row.role == FigureRole::Predicted && row.error().is_some_and(|e| e.abs() < 0.02),
            "{row:?}"
        );
    }
}

#[test]
fn a_distance_that_could_not_be_measured_is_named_and_the_rest_is_there() {
    let (_, mut measurements) = imitated("cascade-lake-2s24c2t", 85, 2);
    let layout = measurements.layout.clone();
    let near =
        |pair: &PairFigure| layout.distance(pair.tasks.0, pair.tasks.1) == LineDistance::Complex;
    measurements.pairs.retain(|pair| pair.what != Pair::HandOver || !near(pair));
    let found = calibrate(&measurements, None).expect("it is a machine");
    let figures = compare(&measurements, &found, 1, &|| ()).expect("it runs");
    let notes = figures.notes.join("\n");
    assert!(notes.contains("hand-overs between cores of a complex could not be"), "{notes}");
    assert!(figures.rows.iter().any(|row| row.figure == "ping_pong_remote"));
    assert!(!figures.rows.iter().any(|row| row.figure == "ping_pong_same_socket"));
}

#[test]
fn measurements_that_no_machine_has_are_refused_in_one_line() {
    let (_, good) = imitated("skylake-client-4c", 94, 2);
    let refused = |what: &str, change: &dyn Fn(&mut Measurements)| {
        let mut measurements = good.clone();
        change(&mut measurements);
        let error = calibrate(&measurements, None).expect_err(what);
        assert!(!error.contains('\n') && !error.is_empty(), "{what}: {error}");
        error
    };
    let set = |m: &mut Measurements, what: Alone, value: f64| {
        m.alone.iter_mut().filter(|(w, _)| *w == what).for_each(|(_, f)| *f = exactly(value));
    };
    let hand_over = |m: &mut Measurements, value: f64| {
        let all = m.pairs.iter_mut().filter(|pair| pair.what == Pair::HandOver);
        all.for_each(|pair| pair.figure = exactly(value));
    };
    let error = refused("no clock", &|m| m.alone.retain(|(what, _)| *what != Alone::Clock));
    assert!(error.contains("the clock could not be measured"), "{error}");
    let error = refused("no addition", &|m| m.alone.retain(|(what, _)| *what != Alone::FetchAdd));
    assert!(error.contains("an atomic addition could not be measured"), "{error}");
    for figure in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = refused("the clock", &|m| set(m, Alone::Clock, figure));
        assert!(error.contains("`clock` was measured as"), "{error}");
        let error = refused("the hand-over", &|m| hand_over(m, figure));
        assert!(error.contains("`ping_pong` was measured as"), "{error}");
    }
    for ghz in [0.01, 50.0] {
        let error = refused("the clock", &|m| set(m, Alone::Clock, ghz));
        assert!(error.contains("GHz; a machine file allows"), "{ghz}: {error}");
    }
    let error = refused("the addition", &|m| set(m, Alone::FetchAdd, 1e6));
    assert!(error.contains("rmw_lock"), "{error}");
    for nanoseconds in [0.01, 1e6] {
        let error = refused("the hand-over", &|m| hand_over(m, nanoseconds));
        assert!(error.contains("the ping-pong between cores of a complex"), "{error}");
    }
    let error = refused("nine sockets", &|m| {
        let at = |cpu| CpuAt { cpu, package: cpu, complex: cpu, core: cpu };
        m.layout = Layout::new(&(0..9).map(at).collect::<Vec<_>>());
        m.pairs.clear();
        m.contended.clear();
    });
    assert!(error.contains("topology.sockets"), "{error}");
}

#[test]
fn a_farther_distance_that_is_not_slower_is_said_and_is_no_input() {
    let (_, mut measurements) = imitated("cascade-lake-2s24c2t", 85, 2);
    let layout = measurements.layout.clone();
    for pair in measurements.pairs.iter_mut().filter(|pair| pair.what == Pair::HandOver) {
        if layout.distance(pair.tasks.0, pair.tasks.1) == LineDistance::Remote {
            pair.figure = exactly(20.0);
        }
    }
    let found = calibrate(&measurements, None).expect("it is a machine");
    assert_eq!(number(&found.machine, "cycles.socket_leg"), 0.0);
    assert!(found.notes.iter().any(|note| note.contains("is no longer than the nearer one")));
    let remote = found.machine.checks().iter().find(|c| c.name == "checks.ping_pong_remote");
    assert!(remote.is_some_and(|check| !check.is_input));
}

#[test]
fn whatever_a_processor_calls_itself_the_file_can_be_read() {
    let (_, mut measurements) = imitated("skylake-client-4c", 94, 2);
    for name in ["", "\"\\\"\n[cycles]", "\u{1b}[31m\u{202e}", &"x".repeat(10_000), "é\u{0}"] {
        measurements.processor.name = name.to_owned();
        measurements.processor.vendor = name.to_owned();
        let found = calibrate(&measurements, None).expect("it is a machine");
        assert!(Machine::parse("again.toml", &found.file).is_ok());
    }
    assert!(calibrate(&measurements, Some("no name")).is_err());
}

#[test]
fn the_experiment_on_siblings_tells_sharing_from_not_sharing() {
    let (machine, mut measurements) = imitated("cascade-lake-2s24c2t", 85, 6);
    let apart = machine.clone().with("cycles.sibling_turn", 500.0).expect("it has the number");
    let variant = contended::siblings_variant();
    let pairs = measurements.layout.siblings();
    let three: Vec<usize> =
        pairs[..3].iter().map(|(a, _)| *a).chain(pairs[..3].iter().map(|(_, b)| *b)).collect();
    for (like, wanted) in [(&machine, "that share an ownership"), (&apart, "that share nothing")] {
        let performed = Performed::new(like, &variant, 2.8e6).expect("it runs");
        let cell = |tasks: &[usize]| {
            let places =
                tasks.iter().map(|&t| machine_place(&machine, &measurements.layout, t)).collect();
            let value = performed.predict(like, places).expect("it runs");
            Contended {
                variant: variant.name.clone(),
                tasks: tasks.to_vec(),
                figure: exactly(value),
            }
        };
        let siblings = vec![cell(&[0]), cell(&three), cell(&[0, 1, 2, 3, 4, 5])];
        measurements.siblings = siblings;
        let found = calibrate(&measurements, None).expect("it is a machine");
        let figures = compare(&measurements, &found, 2, &|| ()).expect("it runs");
        let verdict = figures.notes.iter().find(|note| note.starts_with("how siblings share"));
        let verdict = verdict.expect("the experiment was made");
        assert!(verdict.contains(wanted) && verdict.contains("on six cores"), "{verdict}");
    }
}

#[test]
fn programs_get_every_figure_and_the_file() {
    let (_, measurements) = imitated("skylake-client-4c", 94, 2);
    let found = calibrate(&measurements, None).expect("it is a machine");
    let figures = compare(&measurements, &found, 1, &|| ()).expect("it runs");
    let environment = [("kernel", "x".to_owned())];
    let screen = Screen::default();
    let text =
        |format| render(&measurements, &figures, Some(&found.file), &environment, format, &screen);
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).expect("it is JSON");
    assert_eq!(json["schema"], "lockyard-calibration-1");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(figures.rows.len()));
    assert_eq!(json["machine_file"].as_str(), Some(found.file.as_str()));
    assert_eq!(json["environment"]["kernel"], "x");
    let counted = figures.rows.iter().filter(|row| row.role == FigureRole::Predicted).count();
    assert_eq!(json["summary"]["figures"], counted);
    assert_eq!(text(Format::Csv).lines().count(), figures.rows.len() + 1);
    let markdown = text(Format::Markdown);
    assert!(markdown.contains("```toml\n") && markdown.ends_with("```\n"), "{markdown}");
    // After an interrupt, there are measured figures but no predictions.
    let only = measured(&measurements);
    assert!(only.rows.iter().all(|row| row.predicted.is_none()) && only.errors().is_empty());
}
