//! Published profiles: symbols in a script, and the figures that follow from them.

use lockyard_scenarios::{Figure, Script};

const SCRIPT: &str = r#"
name = "x"
title = "x"
operation = "x"
metric = "throughput"
unit = "op/s"
work_varies = false
steps = [{ do = "work", ns = 1.0, region = "copy", name = "copying" }]
variants = [
    { name = "before", title = "b" },
    { name = "after", title = "a" },
    { name = "later", title = "l" },
]

[profile]
machine = "relative"
rates = [100000.0, 150000.0]
cpus = 8
inputs = ["softirq-cpu-high"]
samples = [{ variant = "before", total = 5e6 }, { variant = "after", work_of = "before" }]

[[symbols]]
name = "find (swapper)"
is = ["look-up", "copying"]
given_by = ["before"]

[[symbols]]
name = "driver"
left_out = "no device is modelled"

[placement]
order = "fill"
"#;

fn script() -> Script {
    Script::parse("s.toml", SCRIPT).expect("it is valid")
}

#[test]
fn the_figures_of_a_profile_follow_from_what_the_script_says() {
    let script = script();
    let figure = |variant: &str, metric: &str, unit: &str| {
        script.figure("nehalem-2s4c2t", variant, metric, unit)
    };
    let names = || vec!["look-up".to_owned(), "copying".to_owned()];
    let share = Figure::CpuShare { names: names() };
    assert_eq!(figure("after", "cpu-share:find (swapper)", "%"), Ok(share));
    let samples = |work_of: Option<&str>| Figure::SampleCount {
        names: names(),
        total: 5e6,
        work_of: work_of.map(str::to_owned),
    };
    assert_eq!(figure("before", "samples:find (swapper)", "samples"), Ok(samples(None)));
    let after = figure("after", "samples:find (swapper)", "samples").expect("it has a total");
    assert_eq!((after.reference(), &after), (Some("before"), &samples(Some("before"))));
    for (metric, rate) in [("softirq-cpu-low", 1e5), ("softirq-cpu-high", 1.5e5)] {
        assert_eq!(figure("after", metric, "%"), Ok(Figure::CpuAtRate { rate, cpus: 8 }));
    }
    for (metric, unit, change) in [
        ("rate-ratio", "x of before", false),
        ("throughput-ratio", "x of before", false),
        ("throughput-change", "% of before", true),
    ] {
        let ratio = Figure::Ratio { reference: "before".to_owned(), change };
        assert_eq!(figure("after", metric, unit), Ok(ratio));
    }
    for (variant, metric, unit, why) in [
        ("after", "cpu-share:find (swapper)", "samples", "the scenario gives cpu-share:find"),
        ("after", "cpu-share:driver", "%", "no device is modelled"),
        ("after", "cpu-share:memset", "%", "the scenario does not say what `memset` is"),
        ("later", "samples:find (swapper)", "samples", "how long the profiler ran"),
        ("after", "rate-ratio", "x of them", "the scenario has no variant `them`"),
        ("after", "throughput-change", "%", "of another variant, not in `%`"),
    ] {
        let found = figure(variant, metric, unit).expect_err("there is no such figure");
        assert!(found.contains(why), "{metric}: {found}");
    }
}

#[test]
fn a_figure_of_a_profile_is_an_input_or_left_out_where_the_script_says_so() {
    let profile = script().profile;
    for (variant, metric, input) in [
        ("before", "cpu-share:find (swapper)", true),
        ("after", "cpu-share:find (swapper)", false),
        // The total of `before` is an input, so each symbol's part of it is one too. The number for
        // `after` is a prediction.
        ("before", "samples:find (swapper)", true),
        ("after", "samples:find (swapper)", false),
        ("before", "throughput", false),
        ("before", "cpu-share:memset", false),
        ("after", "softirq-cpu-high", true),
        ("after", "softirq-cpu-low", false),
    ] {
        assert_eq!(profile.is_input(variant, metric), input, "{variant}, {metric}");
    }
    for metric in ["cpu-share:driver", "samples:driver"] {
        assert_eq!(profile.left_out(metric), Some("no device is modelled"));
    }
    assert_eq!(profile.left_out("cpu-share:find (swapper)"), None);
}

#[test]
fn what_is_wrong_with_a_profile_is_said_in_one_line() {
    for (from, to, expected) in [
        ("[100000.0, 150000.0]", "[2.0, 1.0]", "`rates` are 2 and 1; allowed: above 0, the lower"),
        ("softirq-cpu-high", "softirq-cpu-hi", "did you mean `softirq-cpu-high`?"),
        ("cpus = 8", "cpus = 0", "`cpus` is 0; allowed: 1 to 4096"),
        ("total = 5e6", "total = 0.0", "`total` is 0; allowed: above 0"),
        ("total = 5e6", "total = 5e6, work_of = \"after\"", "either `total` or `work_of`"),
        ("work_of = \"before\"", "work_of = \"later\"", "no entry above gives the `total`"),
        ("work_of = \"before\"", "work_of = \"befor\"", "did you mean `before`?"),
        ("[\"look-up\", \"copying\"]", "[\"lok-up\"]", "did you mean `look-up`?"),
        ("[\"look-up\", \"copying\"]", "[]", "a symbol has either `is`"),
        ("left_out = \"no", "is = [\"free\"]\nleft_out = \"no", "a symbol has either `is`"),
        ("name = \"driver\"", "name = \"find (swapper)\"", "there are two symbols"),
        ("given_by = [\"before\"]", "given_by = [\"befre\"]", "did you mean `before`?"),
    ] {
        assert!(SCRIPT.contains(from), "{from}");
        let error = Script::parse("s.toml", &SCRIPT.replacen(from, to, 1));
        let error = error.expect_err("it is broken").to_string();
        assert!(error.starts_with("s.toml:") && !error.contains('\n'), "one line: {error}");
        assert!(error.contains(expected), "{to}\n  {error}");
    }
}
