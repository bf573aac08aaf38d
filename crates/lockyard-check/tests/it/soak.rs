//! The soak's own parts: a seed is a program, a failing program becomes smaller, faults are found.
//! `.ci/soak` runs it for longer.

use lockyard_check::finding::Finding;
use lockyard_check::soak::{
    BackEnd, CONTROLS, MOST_SIMULATED, Plan, control, draw, shrink, subjects,
};
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn a_seed_is_always_the_same_program() {
    for seed in 0..200 {
        assert_eq!(draw(seed, ""), draw(seed, ""));
    }
    let plans: BTreeSet<String> = (0..200).map(|seed| draw(seed, "").to_string()).collect();
    assert!(plans.len() > 190, "{} different programs", plans.len());
}

#[test]
fn seeds_reach_every_primitive_on_every_back_end_to_256_threads() {
    let plans: Vec<Plan> = (0..6_000).map(|seed| draw(seed, "")).collect();
    for (index, subject) in subjects().iter().enumerate() {
        for back_end in [BackEnd::Native, BackEnd::Simulated, BackEnd::Model] {
            let is_there = plans.iter().any(|p| (p.subject, p.back_end) == (index, back_end));
            let expected = match back_end {
                BackEnd::Native => true,
                BackEnd::Simulated => subject.is_simulated,
                BackEnd::Model => subject.model.is_some(),
            };
            assert_eq!(is_there, expected, "{} {back_end}", subject.name);
        }
    }
    assert!(plans.iter().any(|plan| plan.ops.len() == MOST_SIMULATED));
    assert!(plans.iter().all(|plan| plan.ops.len() == plan.places.len()));
}

#[test]
fn programs_of_some_seeds_find_nothing() {
    for seed in 0..25 {
        let plan = draw(seed, "");
        let caught = plan.run(1);
        assert!(caught.is_none(), "seed {seed}: {plan}: {caught:?}");
    }
}

#[test]
fn every_control_is_found() {
    for round in 0..CONTROLS.len() as u64 {
        control(round).unwrap_or_else(|name| panic!("not found: {name}"));
    }
}

#[test]
fn a_failing_program_becomes_as_small_as_it_can_be() {
    let large = (0..).map(|seed| draw(seed, "queued")).find(|plan| {
        plan.back_end == BackEnd::Simulated && plan.ops.len() > 100 && plan.rounds > 4
    });
    // It fails with three threads, of which one does the last operation, in four rounds.
    let fails = |plan: &Plan| plan.ops.len() >= 3 && plan.rounds >= 4 && plan.ops.contains(&2);
    let large = large.expect("there are many seeds");
    let large = Plan { ops: [vec![2], large.ops[1..].to_vec()].concat(), ..large };
    let least = shrink(&large, Duration::from_secs(60), fails);
    assert_eq!((least.ops.len(), least.rounds), (3, 4), "{least}");
    assert_eq!(least.ops.iter().filter(|&&op| op != 0).count(), 1, "{least}");
}

/// A program that waits for ever is reported, and does not hang.
#[test]
fn a_program_that_cannot_end_is_stuck() {
    let waits = subjects().iter().position(|subject| subject.name == "condition variable");
    let subject = waits.expect("it is a subject");
    let wait = subjects()[subject].ops.iter().position(|op| op == "Wait").expect("it waits");
    let plan = draw(1, "condition variable");
    let plan = Plan { ops: vec![wait; plan.ops.len()], ..plan };
    let caught = plan.run(1).expect("nobody notifies");
    assert_eq!(caught.finding, Finding::Stuck, "{caught}");
}
