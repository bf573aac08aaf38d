//! Tests of the answer's lines.

use super::*;
use crate::details::Range;
use crate::recorded::{Replay, Today};
use crate::what_if::EndedBy;

fn lock(name: &str, waited: f64) -> LockToday {
    LockToday {
        lock: name.to_owned(),
        site: format!("{name}.c:8"),
        share_waited: waited,
        share_held: 0.1,
        ..LockToday::default()
    }
}

fn program(locks: Vec<LockToday>) -> RecordedProgram {
    let share_waited = locks.iter().map(|lock| lock.share_waited).sum();
    let today = Today { share_waited, locks, ..Today::default() };
    let (program, unit) = ("app".to_owned(), "op/s".to_owned());
    RecordedProgram { gated: true, program, unit, today, ..RecordedProgram::default() }
}

fn what_if(variant: &str, change: &str, locks: &[&str], gain: f64) -> WhatIf {
    WhatIf {
        machine: "m".to_owned(),
        threads: 48,
        variant: variant.to_owned(),
        change: change.to_owned(),
        locks: locks.iter().map(|lock| (*lock).to_owned()).collect(),
        operations_per_s: Some(1e6),
        gain_share: Some(gain),
        is_ceiling: variant.starts_with("without"),
        ..WhatIf::default()
    }
}

#[test]
fn the_verdict_names_the_locks_that_threads_wait_for() {
    let said = |waits: &[f64]| {
        let names = ["a", "b", "c"];
        program(names.iter().zip(waits).map(|(name, waited)| lock(name, *waited)).collect())
            .verdict()
    };
    let of = "of its threads' time is waiting";
    assert_eq!(said(&[0.6, 0.02]), format!("app: 62 % {of}, nearly all for a (a.c:8)."));
    assert_eq!(said(&[0.3, 0.2]), format!("app: 50 % {of}, most for a (a.c:8) and b (b.c:8)."));
    assert_eq!(said(&[0.1, 0.3]), format!("app: 40 % {of}, most for b (b.c:8) and a (a.c:8)."));
    assert_eq!(said(&[0.3, 0.05, 0.05]), format!("app: 40 % {of}, most for a (a.c:8)."));
    assert!(said(&[0.01]).starts_with("app: locks do not hold it back"), "{}", said(&[0.01]));
    let mut asleep = program(vec![lock("a", 0.01)]);
    asleep.today.share_asleep = 0.7;
    assert!(asleep.verdict().contains("70 % of its threads' time is sleep"));
    asleep.today.share_without_cpu = 0.25;
    assert!(asleep.verdict().ends_with(" For 25 % of the time they had no CPU."));
}

#[test]
fn waits_for_a_condition_are_named_as_such() {
    let chain = WaitsFor {
        lock: "q".to_owned(),
        kind: "condition",
        meeting: None,
        signals_per_s: None,
        site: "take (queue.c:51)".to_owned(),
        threads: 12.0,
        of_threads: 16,
        waits_per_s: 810_000.0,
        waited_ns_each_time: 15_000.0,
        ended_by: vec![EndedBy { site: "give (queue.c:40)".to_owned(), share: 0.98 }],
        share_unknown: 0.0,
    };
    let signalled = WaitsFor {
        meeting: Some("q.filled".to_owned()),
        signals_per_s: Some(810_000.0),
        ..chain.clone()
    };
    let said = signalled.sentence();
    let wanted = "12.0 of 16 threads wait for the condition q.filled of q at take (queue.c:51), \
                  810 k times a second, signalled 810 k a second; 98 % of these waits end by a \
                  signal at give (queue.c:40).";
    assert_eq!(said, wanted);
    let at_barrier = WaitsFor { kind: "barrier", ended_by: Vec::new(), ..signalled };
    let mut of = program(vec![lock("q", 0.05)]);
    of.waits_for = vec![at_barrier];
    let verdict = of.verdict();
    assert!(verdict.contains("is waits for others, nearly all for the barrier q."), "{verdict}");
    let mut of = program(vec![lock("q", 0.05)]);
    of.waits_for = vec![chain];
    let verdict = of.verdict();
    assert!(verdict.contains("75 % of its threads' time is waits for conditions"), "{verdict}");
    assert!(verdict.ends_with("nearly all for that of q (take (queue.c:51))."), "{verdict}");
    let said = of.lines()[1].clone();
    assert!(said.starts_with("12.0 of 16 threads wait for a condition of q at take"), "{said}");
    assert!(said.ends_with("98 % of these waits end after give (queue.c:40)."), "{said}");
}

#[test]
fn of_two_saturated_locks_both_must_go() {
    let mut of = program(vec![lock("a", 0.3), lock("b", 0.3)]);
    of.what_if = vec![
        what_if("hold-halved", "a held half as long", &["a"], 0.01),
        what_if("without", "without a (the ceiling)", &["a"], 0.02),
        what_if("hold-halved-2", "b held half as long", &["b"], 0.0),
        what_if("without-2", "without b (the ceiling)", &["b"], 0.01),
        what_if("hold-halved-all", "a and b held half as long", &["a", "b"], 0.9),
        what_if("without-all", "without a and b (the ceiling)", &["a", "b"], 8.0),
        what_if("mutex", "lockyard's mutex", &[], 0.2),
    ];
    let line = of.help().expect("there are changes");
    let best = "What helps at 48 threads: a and b held half as long +90 %; lockyard's mutex +20 %.";
    assert!(line.starts_with(best), "{line}");
    let both = "Both a and b must go: one alone gives +2 % at most, all together +800 %.";
    assert!(line.ends_with(both), "{line}");
    // One lock alone is the bottleneck: the other needs no change.
    of.what_if[0].gain_share = Some(0.85);
    of.what_if[1].gain_share = Some(7.95);
    let line = of.help().expect("there are changes");
    assert!(line.contains(": a held half as long +85 %;"), "{line}");
    assert!(!line.contains("must go") && line.ends_with("+800 %."), "{line}");
}

#[test]
fn a_ceiling_below_a_change_is_not_said() {
    let mut of = program(vec![lock("a", 0.3)]);
    of.what_if = vec![
        what_if("split-4", "a in 4 shards", &["a"], 0.5),
        what_if("without", "without a (the ceiling)", &["a"], 0.6),
    ];
    let said = |of: &RecordedProgram| of.help().expect("there are changes");
    assert!(said(&of).ends_with(" At most: without a (the ceiling) +60 %."), "{}", said(&of));
    of.what_if[1].gain_share = Some(0.4);
    assert_eq!(said(&of), "What helps at 48 threads: a in 4 shards +50 %.");
}

#[test]
fn a_change_that_gives_nothing_is_no_help() {
    let mut of = program(vec![lock("a", 0.3)]);
    of.what_if = vec![what_if("mutex", "lockyard's mutex", &[], 0.01)];
    let line = of.help().expect("there are changes");
    assert_eq!(line, "Nothing helps at 48 threads; the most is lockyard's mutex +1 %.");
    of.what_if[0].gain_share = None;
    assert!(of.help().is_some_and(|line| line.starts_with("Nothing helps")));
    of.what_if.clear();
    assert_eq!(of.help(), None);
}

#[test]
fn saturation_has_its_interval_and_a_refusal_leaves_the_facts() {
    let mut of = program(vec![lock("a", 0.3)]);
    of.scaling = vec![Scaling {
        machine: "m".to_owned(),
        saturates_at_threads: Some(Range { low: 8.0, high: 15.0 }),
        best_threads: 16,
        best_operations_per_s: 3.1e6,
        most_threads: 96,
        most_operations_per_s: 2.4e6,
    }];
    of.gate = Some(Replay { threads: 2, error_share: Some(-0.06), passed: true, ..of.gate() });
    let lines = of.lines();
    let said = "On m it saturates at 11 threads (8..15): 3.10 M op/s; 96 threads do 2.40 M op/s.";
    assert_eq!(lines[1], said);
    assert!(lines[2].starts_with("How far to believe it: 2 threads again, as recorded: -6 %"));
    of.scaling[0].saturates_at_threads = None;
    assert_eq!(of.lines()[1], "On m it still gains at 96 threads: 2.40 M op/s.");
    of.scaling.clear();
    (of.refused, of.gated) = (Some("the host was busy".to_owned()), false);
    let lines = of.lines();
    assert!(lines[0].starts_with("app: 30 % of its threads' time is waiting"), "{lines:?}");
    assert_eq!(lines[1], "No prediction: the host was busy.");
}

impl RecordedProgram {
    fn gate(&self) -> Replay {
        self.gate.clone().unwrap_or_default()
    }
}
