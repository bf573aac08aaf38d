//! Scripts with samples and disturbances: their figures, and the errors of broken ones.

use lockyard_scenarios::{Figure, OfTasks, Script, Step};

/// Returns the shipped script with `to` in place of `from`.
fn degradation_with(from: &str, to: &str) -> String {
    const DEGRADATION: &str = include_str!("../../../../scenarios/stat-degradation.toml");
    assert!(DEGRADATION.contains(from), "{from}");
    DEGRADATION.replacen(from, to, 1)
}

#[test]
fn samples_are_figures_and_a_disturbance_comes_in_one_of_them() {
    let script = Script::shipped("stat-degradation").expect("it is shipped");
    let of = |metric: &str| script.figure("sapphire-rapids", "lockref", metric, "op/s");
    assert_eq!(of("throughput-min@sample4"), Ok(Figure::Sample { index: 4, of: OfTasks::Least }));
    assert_eq!(of("throughput-max@sample0"), Ok(Figure::Sample { index: 0, of: OfTasks::Most }));
    assert_eq!(of("throughput-total@sample5"), Err("the scenario has no sample 5".to_owned()));
    assert_eq!(script.figures().len(), 15, "three of each of five samples");
    for variant in &script.variants {
        let [disturbance] = &variant.disturbances[..] else { panic!("there is one") };
        assert_eq!(disturbance.sample, 1.5);
        let [Step::Locked { steps, .. }] = &disturbance.steps[..] else {
            panic!("it takes a lock")
        };
        assert!(matches!(steps[..], [Step::Work { .. }]), "{steps:?}");
    }
}

#[test]
fn wrong_samples_and_disturbances_are_named() {
    for (from, to, expected) in [
        ("number = 5", "number = 0", "`number` is 0; allowed: 1 to 100"),
        ("seconds = 1.0", "seconds = 0.0", "`seconds` is 0; allowed: 1e-6 to 3600"),
        ("simulated_seconds = 0.01", "simulated_seconds = nan", "`simulated_seconds` is NaN"),
        ("sample = 1.5", "sample = 5.0", "`sample` is 5; allowed: from 0, below 5"),
        ("sample = 1.5", "sample = -1.0", "`sample` is -1; allowed: from 0, below 5"),
        ("ns = 200.0", "share = 1.0", "a step of a disturbance is `work` (with `ns`)"),
        (
            "do = \"work\", ns = 200.0",
            "do = \"get\", object = \"entry\"",
            "these leave nothing behind",
        ),
        (
            "    { do = \"unlock\", object = \"entry\" },\n",
            "",
            "`entry` is locked and never unlocked",
        ),
        (
            "[samples]\nnumber = 5\nseconds = 1.0\nsimulated_seconds = 0.01\n",
            "",
            "a disturbance needs a section [samples]",
        ),
    ] {
        let broken = Script::parse("s.toml", &degradation_with(from, to));
        let error = broken.expect_err("it is broken").to_string();
        assert!(!error.contains('\n'), "one line: {error}");
        assert!(error.contains(expected), "{from} -> {to}\n  {error}\n  {expected}");
    }
}
