//! Tests of comparing result files. Known differences get the right verdict. Chance gets a false
//! verdict no more often than promised. Files that cannot be compared are refused with a reason.
//! All random numbers come from fixed seeds, so nothing depends on the host.

use lockyard_results::cell_key::CellKey;
use lockyard_results::compare::comparison::{Verdict, compare, holm};
use lockyard_results::compare::read::FigureKind;
use lockyard_results::compare::{Comparison, Options, ResultFile, parse, report};
use lockyard_results::details::{Details, MeasuredDetail, NOT_PINNED, SimulatedDetail};
use lockyard_results::render::{Document, Format, render};
use lockyard_results::row::{Measured, Row, Status};
use lockyard_results::statistics;

/// SplitMix64 (Steele, Lea, Flood, 2014), and normally distributed numbers from it (Box and Muller,
/// 1958).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
    /// Returns rounds around `centre` with a relative deviation of `noise`.
    fn rounds(&mut self, count: usize, centre: f64, noise: f64) -> Vec<f64> {
        (0..count).map(|_| centre * (noise * self.normal()).exp()).collect()
    }
}

const RATE: (&str, &str) = ("throughput", "op/s");
const TIME: (&str, &str) = ("elapsed", "ms");

fn measured(variant: &str, metric: (&str, &str), rounds: &[f64]) -> Row {
    let interval = statistics::median_interval(rounds).expect("there are rounds");
    let figure = Measured {
        value: statistics::median(rounds).expect("there are rounds"),
        ci_low: interval.low,
        ci_high: interval.high,
        samples: rounds.len(),
    };
    let of_rounds = MeasuredDetail { rounds: rounds.to_vec(), ..MeasuredDetail::default() };
    let (metric, unit) = metric;
    let key = CellKey::here("e", variant, 2, metric, unit);
    Row::measured(key, figure, Details::of_measured(of_rounds))
}

fn simulated(variant: &str, metric: (&str, &str), value: f64) -> Row {
    let of_machine = SimulatedDetail {
        machine_hash: Some("fnv1a-1".to_owned()),
        seeds: Some(5),
        ..SimulatedDetail::default()
    };
    let (metric, unit) = metric;
    let key =
        CellKey { machine: "a-machine".to_owned(), ..CellKey::here("e", variant, 2, metric, unit) };
    Row {
        predicted: Some(value),
        details: Details::of_simulated(of_machine),
        ..Row::new(key, Status::Predicted)
    }
}

/// Passes results through the file format, as the command does.
fn file(name: &str, environment: &[(&str, &str)], rows: Vec<Row>) -> ResultFile {
    let environment = environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let document = Document { rows, environment, ..Document::default() };
    parse(name, &render(&document, Format::Json)).expect("what is written is read")
}

const OPTIONS: Options = Options { threshold: 0.05, anyway: false };

fn of(a: Vec<Row>, b: Vec<Row>) -> Comparison {
    compare(&file("A", &[], a), &file("B", &[], b), OPTIONS).expect("they are comparable")
}

fn refusal(a: ResultFile, b: ResultFile) -> String {
    compare(&a, &b, OPTIONS).expect_err("they are not comparable").to_string()
}

#[test]
fn a_throughput_that_goes_down_and_a_time_that_goes_up_are_slower() {
    let mut random = Random(1);
    let mut both = |metric, centre| {
        let a = measured("v", metric, &random.rounds(9, 100.0, 0.01));
        let b = measured("v", metric, &random.rounds(9, centre, 0.01));
        let found = of(vec![a], vec![b]);
        (found.rows[0].verdict, found.rows[0].beyond, found.means[0].speed)
    };
    let (verdict, beyond, speed) = both(RATE, 80.0);
    assert_eq!((verdict, beyond), (Verdict::Slower, true));
    assert!((speed - 0.8).abs() < 0.02, "{speed}");
    let (verdict, beyond, speed) = both(TIME, 125.0);
    assert_eq!((verdict, beyond), (Verdict::Slower, true));
    assert!((speed - 0.8).abs() < 0.02, "{speed}");
    assert_eq!(both(RATE, 125.0).0, Verdict::Faster);
    assert_eq!(both(TIME, 80.0).0, Verdict::Faster);
    // B is slower, but not by more than 5 %.
    let (verdict, beyond, _) = both(RATE, 96.5);
    assert_eq!((verdict, beyond), (Verdict::Slower, false));
    let (verdict, beyond, _) = both(TIME, 103.5);
    assert_eq!((verdict, beyond), (Verdict::Slower, false));
}

#[test]
fn a_difference_within_the_noise_is_no_evidence() {
    let mut random = Random(2);
    let a = measured("v", RATE, &random.rounds(9, 100.0, 0.2));
    let b = measured("v", RATE, &random.rounds(9, 95.0, 0.2));
    let found = of(vec![a], vec![b]);
    assert_eq!(found.rows[0].verdict, Verdict::NoEvidence);
    let (low, high) = found.rows[0].interval.expect("nine rounds are enough");
    assert!(low < 0.0 && high > 0.0, "{low} {high}");
}

#[test]
fn the_same_file_twice_differs_in_nothing_and_is_compared_the_same_each_time() {
    let mut random = Random(3);
    let rows: Vec<Row> = (0..20)
        .map(|i| measured(&format!("v{i}"), RATE, &random.rounds(9, 100.0, 0.1)))
        .chain([simulated("v", RATE, 7.0)])
        .collect();
    let found = of(rows.clone(), rows.clone());
    assert_eq!(found.count(Verdict::NoEvidence), 20);
    assert_eq!(found.count(Verdict::Same), 1);
    assert!(found.rows.iter().all(|row| row.difference == 0.0));
    assert_eq!(found.means.iter().map(|m| m.speed).collect::<Vec<_>>(), [1.0, 1.0]);
    for format in [Format::Table, Format::Json, Format::Csv, Format::Markdown] {
        let again = of(rows.clone(), rows.clone());
        assert_eq!(report::render(&found, format), report::render(&again, format));
    }
}

/// Returns the number of false verdicts in 200 tries. Each try is a family of `rows` rows without
/// real differences.
fn false_families(rows: usize, rounds: usize, noise: f64) -> usize {
    let mut random = Random(rows as u64 * 1000 + rounds as u64);
    let mut family = || -> Vec<Row> {
        (0..rows)
            .map(|i| measured(&format!("v{i}"), RATE, &random.rounds(rounds, 100.0, noise)))
            .collect()
    };
    (0..200)
        .filter(|_| {
            let found = of(family(), family());
            found.count(Verdict::Faster) + found.count(Verdict::Slower) > 0
        })
        .count()
}

#[test]
fn a_family_of_rows_that_do_not_differ_has_a_verdict_in_at_most_a_twentieth_of_all_tries() {
    // At most 10 of 200 may be false. Four standard deviations are 12 more.
    for (rows, rounds, noise) in [(1, 9, 0.05), (10, 9, 0.05), (10, 5, 0.3), (4, 31, 0.02)] {
        let found = false_families(rows, rounds, noise);
        assert!(found <= 10 + 12, "{rows} rows of {rounds} rounds: {found} of 200");
    }
}

#[test]
fn an_interval_covers_the_true_ratio_about_as_often_as_it_says() {
    let mut random = Random(7);
    for rounds in [9, 31] {
        let covered = (0..400)
            .filter(|_| {
                let a = measured("v", RATE, &random.rounds(rounds, 100.0, 0.1));
                let b = measured("v", RATE, &random.rounds(rounds, 110.0, 0.1));
                let (low, high) = of(vec![a], vec![b]).rows[0].interval.expect("enough rounds");
                low <= 0.1 && 0.1 <= high
            })
            .count();
        assert!((366..=398).contains(&covered), "{rounds} rounds: {covered} of 400");
    }
}

#[test]
fn the_geometric_mean_has_the_mean_of_the_speeds_and_a_narrower_interval_than_its_rows() {
    let mut random = Random(11);
    let mut file_of = |factor: f64| -> Vec<Row> {
        let mut rows: Vec<Row> = (0..15)
            .map(|i| measured(&format!("v{i}"), RATE, &random.rounds(9, 100.0 * factor, 0.05)))
            .collect();
        rows.push(measured("t", TIME, &random.rounds(9, 100.0 / factor, 0.05)));
        rows
    };
    let found = of(file_of(1.0), file_of(1.1));
    let mean = found.means[0];
    assert_eq!((mean.kind, mean.rows), (FigureKind::Measured, 16));
    let (low, high) = mean.interval.expect("nine rounds are enough");
    assert!(low < 1.1 && 1.1 < high && low < mean.speed && mean.speed < high, "{mean:?}");
    let widths = found.rows.iter().filter_map(|row| row.interval).map(|(low, high)| high - low);
    let widest = widths.fold(0.0, f64::max);
    assert!(high - low < widest, "{} {widest}", high - low);
}

#[test]
fn rows_of_a_run_that_move_together_do_not_narrow_the_mean() {
    // All rows have the same rounds, so fifteen rows carry no more information than one.
    let mut random = Random(13);
    let (a, b) = (random.rounds(9, 100.0, 0.1), random.rounds(9, 100.0, 0.1));
    let alike = |rounds: &[f64], rows: usize| -> Vec<Row> {
        (0..rows).map(|i| measured(&format!("v{i}"), RATE, rounds)).collect()
    };
    let of_one = of(alike(&a, 1), alike(&b, 1)).means[0];
    let of_many = of(alike(&a, 15), alike(&b, 15)).means[0];
    let ends =
        |mean: lockyard_results::compare::comparison::Mean| mean.interval.expect("enough rounds");
    let ((low, high), (low_many, high_many)) = (ends(of_one), ends(of_many));
    assert!((low / low_many - 1.0).abs() < 1e-9 && (high / high_many - 1.0).abs() < 1e-9);
}

#[test]
fn simulated_figures_are_compared_exactly() {
    let a = vec![simulated("slow", RATE, 100.0), simulated("same", RATE, 5.0)];
    let b = vec![simulated("slow", RATE, 99.999), simulated("same", RATE, 5.0)];
    let found = of(a.clone(), b);
    assert_eq!(found.rows[0].verdict, Verdict::Slower);
    assert!(!found.rows[0].beyond && found.rows[0].interval.is_none());
    assert_eq!(found.rows[1].verdict, Verdict::Same);
    let found = of(a, vec![simulated("slow", RATE, 94.0), simulated("same", RATE, 5.0)]);
    assert!(found.rows[0].beyond);
    assert_eq!(found.slower_beyond_threshold(), 1);
}

#[test]
fn too_few_rounds_are_never_evidence_and_the_number_that_would_be_is_said() {
    let a = measured("v", RATE, &[100.0, 101.0, 102.0, 103.0]);
    let b = measured("v", RATE, &[10.0, 11.0, 12.0, 13.0]);
    let found = of(vec![a], vec![b]);
    assert_eq!(found.rows[0].verdict, Verdict::NoEvidence);
    assert_eq!((found.rows[0].interval, found.means[0].interval), (None, None));
    assert!(
        found.notes.iter().any(|note| note.contains("measure with --repeats 5 or more")),
        "{:?}",
        found.notes
    );
}

#[test]
fn holm_s_correction_is_that_of_the_paper() {
    assert_eq!(holm(&[]), Vec::<f64>::new());
    let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
    let expected = [0.03, 0.06, 0.06, 0.02];
    for (found, expected) in corrected.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{corrected:?}");
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
}

#[test]
fn a_program_that_differs_in_all_rows_alike_is_suspected_to_be_the_host() {
    let mut random = Random(17);
    let mut rows = |centre: f64| -> Vec<Row> {
        (0..6).map(|i| measured(&format!("v{i}"), RATE, &random.rounds(9, centre, 0.01))).collect()
    };
    let found = of(rows(100.0), rows(80.0));
    assert!(found.notes.iter().any(|n| n.contains("more often the host")), "{:?}", found.notes);
}

const HOST: [(&str, &str); 4] =
    [("cpu", "Fast"), ("kernel", "6.1"), ("seconds", "0.1"), ("placement", "CPUs 0,1")];

fn changed(name: &str, value: &str) -> ResultFile {
    let environment: Vec<(&str, &str)> =
        HOST.iter().map(|&(n, v)| (n, if n == name { value } else { v })).collect();
    file("B", &environment, vec![measured("v", RATE, &[5.0; 9])])
}

#[test]
fn another_host_is_refused_unless_it_is_wanted_anyway() {
    let a = || file("A", &HOST, vec![measured("v", RATE, &[5.0; 9])]);
    assert_eq!(
        refusal(a(), changed("cpu", "Slow")),
        "A and B: not comparable: another host: cpu: A `Fast`, B `Slow`; \
         --anyway compares them nevertheless"
    );
    assert!(refusal(a(), changed("kernel", "6.2")).contains("kernel: A `6.1`, B `6.2`"));
    let anyway = Options { anyway: true, ..OPTIONS };
    let found = compare(&a(), &changed("cpu", "Slow"), anyway).expect("the user wants it");
    assert!(found.notes[0].contains("Compared because of --anyway: another host: cpu"));
    // Results with different settings are refused.
    for (name, value) in [("seconds", "0.2"), ("placement", "not pinned")] {
        let refused = compare(&a(), &changed(name, value), anyway).expect_err("refused");
        let refused = refused.to_string();
        assert!(refused.contains("they were not run in the same way: "), "{refused}");
        assert!(refused.contains(name) && !refused.contains("--anyway"), "{refused}");
    }
    // An entry in only one file is not compared, and a note says so.
    let silent = file("B", &HOST[1..], vec![measured("v", RATE, &[5.0; 9])]);
    let found = compare(&a(), &silent, OPTIONS).expect("nothing is known to differ");
    let said = "Not compared, because only one file has it: cpu.".to_owned();
    assert!(found.notes.contains(&said), "{:?}", found.notes);
    let unknown = compare(&a(), &changed("cpu", "not available here"), OPTIONS);
    assert!(unknown.expect("it is not known").notes.contains(&said));
}

#[test]
fn simulated_figures_do_not_depend_on_the_host_but_on_the_machine_s_numbers_and_the_seeds() {
    let with = |hash: &str, seeds: u64| {
        let mut row = simulated("v", RATE, 5.0);
        let of_machine = row.details.simulated.get_or_insert_default();
        (of_machine.machine_hash, of_machine.seeds) = (Some(hash.to_owned()), Some(seeds));
        file("B", &[("cpu", "Slow")], vec![row])
    };
    let a = || file("A", &[("cpu", "Fast")], vec![simulated("v", RATE, 5.0)]);
    let same = with("fnv1a-1", 5);
    assert_eq!(compare(&a(), &same, OPTIONS).expect("comparable").rows[0].verdict, Verdict::Same);
    let hash = refusal(a(), with("fnv1a-2", 5));
    assert!(
        hash.contains("machine files with other numbers: machine_hash of a-machine: A `fnv1a-1`"),
        "{hash}"
    );
    assert!(refusal(a(), with("fnv1a-1", 3)).contains("other seeds"));
}

#[test]
fn what_is_not_the_same_question_is_refused() {
    let rate = || file("A", &[], vec![measured("v", RATE, &[5.0; 9])]);
    assert_eq!(
        refusal(rate(), file("B", &[], vec![measured("v", TIME, &[5.0; 9])])),
        "A and B: e on this-host, v, 2 threads: A has throughput in op/s, B elapsed in ms; \
         only figures of the same metric \
         and unit are compared"
    );
    let mut predicted = simulated("v", RATE, 5.0);
    let simulated_elsewhere = file("B", &[], vec![predicted.clone()]);
    assert!(
        refusal(rate(), simulated_elsewhere)
            .contains("A's figures are measured (on this-host), B's are simulated (on a-machine)")
    );
    predicted.key.machine = "this-host".to_owned();
    assert!(
        refusal(rate(), file("B", &[], vec![predicted]))
            .contains("A's figure is measured, B's is simulated")
    );
    let other = file("B", &[], vec![measured("w", RATE, &[5.0; 9])]);
    assert_eq!(refusal(rate(), other), "A and B: nothing in common: variants: A has v, B w");
}

#[test]
fn a_row_that_cannot_be_compared_is_left_out_with_its_reason() {
    let good = |rounds: [f64; 9]| measured("good", RATE, &rounds);
    let mut no_rounds = measured("old", RATE, &[5.0; 9]);
    no_rounds.details = Details::default();
    let mut unpinned = measured("unpinned", RATE, &[5.0; 9]);
    let pinned = unpinned.clone();
    unpinned.details.measured.get_or_insert_default().note = Some(NOT_PINNED.to_owned());
    let mut ugly = measured("ugly", RATE, &[5.0; 9]);
    ugly.key.metric = "beauty".to_owned();
    ugly.key.unit = String::new();
    let a = vec![good([5.0; 9]), no_rounds.clone(), pinned, ugly.clone()];
    let b = vec![good([5.0; 9]), no_rounds, unpinned, ugly];
    let found = of(a, b);
    assert_eq!(found.rows.len(), 1);
    let reasons: Vec<&str> = found.left_out.iter().map(|(_, reason)| reason.as_str()).collect();
    assert!(reasons[0].contains("no `rounds`"), "{reasons:?}");
    assert!(reasons[1].contains("B `threads could not be pinned`"), "{reasons:?}");
    assert!(reasons[2].contains("it is unknown whether more beauty is faster"), "{reasons:?}");
    let text = report::render(&found, Format::Table);
    assert!(text.contains("Not compared: e on this-host, old, 2 threads, throughput: "), "{text}");
}

#[test]
fn a_round_without_an_operation_is_a_round_unless_half_of_them_are() {
    let few = [5.0, 5.1, 5.2, 0.0, 5.3, 5.4, 5.5, 0.0, 5.6];
    let found = of(vec![measured("v", RATE, &few)], vec![measured("v", RATE, &[5.0; 9])]);
    let (low, high) = found.rows[0].interval.expect("nine rounds are enough");
    assert!(low < 0.0 && high >= 0.0 && high.is_finite(), "{low} {high}");
    // An infinite time is null in JSON.
    let times = few.map(|rate| 1.0 / rate);
    let found = of(vec![measured("v", TIME, &times)], vec![measured("v", TIME, &[0.2; 9])]);
    assert_eq!(found.rows[0].verdict, Verdict::NoEvidence);
    let half = [0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0];
    let rows = |rounds| vec![measured("v", RATE, rounds), measured("w", RATE, &[5.0; 9])];
    let found = of(rows(&half), rows(&[5.0; 9]));
    assert!(found.left_out[0].1.contains("in half of its rounds no operation was finished"));
}

#[test]
fn rows_that_only_one_file_has_are_counted() {
    let rows = |names: &[&str]| names.iter().map(|n| measured(n, RATE, &[5.0; 9])).collect();
    let found = of(rows(&["a", "b", "c"]), rows(&["b", "d"]));
    assert_eq!((found.rows.len(), found.only), (1, (2, 1)));
}
