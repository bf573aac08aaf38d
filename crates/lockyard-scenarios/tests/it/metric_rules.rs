//! The figure for each metric of a published table.

use crate::support::scripts::{GOOD, RUN};
use lockyard_scenarios::{Figure, Length, Region, Script};

#[test]
fn figures_beside_the_metric_are_found_by_name_where_the_script_says_what_they_need() {
    let script = Script::parse("s.toml", GOOD).expect("it is a script");
    let of = |script: &Script, metric: &str, unit: &str| {
        script.figure("cascade-lake-2s24c2t", "lockref", metric, unit)
    };
    assert_eq!(of(&script, "throughput", "op/s"), Ok(Figure::Own));
    assert_eq!(of(&script, "stdev", "%"), Ok(Figure::Deviation));
    let refused = [
        ("throughput", "ms", "the scenario gives throughput in op/s"),
        ("beauty", "op/s", "the scenario gives throughput in op/s"),
        ("stdev", "s", "the scenario gives stdev in %"),
        (
            "real-time",
            "s",
            "the scenario does not give the length of the run, on which real-time depends",
        ),
        ("gap-to-ticket", "ratio", "the scenario has no variant `ticket`"),
        ("system-cpu-saved", "%", "the scenario pairs no variant with `lockref`"),
    ];
    for (metric, unit, why) in refused {
        assert_eq!(of(&script, metric, unit), Err(why.to_owned()), "{metric} in {unit}");
    }
    let pages = Script::shipped("page-ref").expect("it is shipped");
    for (machine, divided) in [("zen4-7840u", false), ("broadwell-ex-8s10c2t", true)] {
        assert_eq!(pages.figure(machine, "xadd", "time", "ns"), Ok(Figure::Time { divided }));
    }
    assert!(of(&script, "time", "ns").is_err(), "the metric is no time of an operation");
    let head = "unit = \"op/s\"\npairs = [{ first = \"lockref-pause\", second = \"lockref\" }]";
    let text = GOOD.replacen("unit = \"op/s\"", head, 1);
    let text = text.replacen(RUN, "[run]\noperations = 6e6\ntasks = 40", 1);
    let script = Script::parse("s.toml", &text).expect("valid");
    assert_eq!((script.tasks(Some(3000)), script.tasks(None)), (Some(40), Some(40)));
    let length = Length::Operations(6e6);
    let reference = || "lockref-pause".to_owned();
    let gap = |per_cent| Figure::Gap { reference: reference(), per_cent };
    for (metric, unit, figure) in [
        ("real-time", "s", Figure::RealTime(length)),
        ("user-time", "s", Figure::CpuTime(Region::User, length)),
        ("system-time", "s", Figure::CpuTime(Region::System, length)),
        ("gap-to-lockref-pause", "%", gap(true)),
        ("gap-to-lockref-pause", "direction: closed", gap(false)),
        (
            "system-cpu-saved",
            "%",
            Figure::CpuSaved { region: Region::System, reference: reference() },
        ),
    ] {
        assert_eq!(of(&script, metric, unit), Ok(figure), "{metric} in {unit}");
    }
    let run = "[run]\noperations = 6e6\ntimes_of = \"one-task\"";
    let script = Script::parse("s.toml", &GOOD.replacen(RUN, run, 1)).expect("valid");
    assert_eq!(of(&script, "user-time", "s"), Ok(Figure::TaskTime(Region::User, length)));
}
