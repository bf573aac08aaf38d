//! Regions and their parts in the steps of a script.

use lockyard_scenarios::{Activity, Region, Script, Step};

fn with_steps(steps: &str) -> String {
    format!(
        r#"name = "x"
title = "x"
operation = "x"
metric = "throughput"
unit = "op/s"
work_varies = false
objects = [
    {{ name = "lock", kind = "lock", lock = "ticket", line = "a" }},
    {{ name = "word", kind = "word", line = "b" }},
]
steps = [{steps}]
variants = [{{ name = "v", title = "v" }}, {{ name = "w", title = "w" }}]
[placement]
order = "siblings-last"
"#
    )
}

fn error_of(steps: &str) -> String {
    let error = Script::parse("s.toml", &with_steps(steps)).expect_err("it is broken").to_string();
    assert!(error.starts_with("s.toml:") && !error.contains('\n'), "one line: {error}");
    error
}

#[test]
fn a_step_is_of_a_region_and_a_named_one_is_a_part_of_it() {
    let script = Script::parse(
        "s.toml",
        &with_steps(
            r#"
            { do = "work", ns = 5.0 },
            { do = "work", ns = 1.0, region = "user" },
            { do = "work", ns = 1.0, region = "copy", name = "__memcpy" },
            { do = "lock", object = "lock", name = "mutex_spin_on_owner" },
            { do = "work", ns = 2.0 },
            { do = "work", ns = 2.0, name = "pcpu_alloc_area", only = ["w"] },
            { do = "work", ns = 2.0, region = "copy", name = "__memcpy" },
            { do = "unlock", object = "lock" },
            "#,
        ),
    )
    .expect("it is valid");
    let copy = Activity::part_of(Region::Copy, 1);
    let mutex = Activity::part_of(Region::LockWait, 2);
    let work = |nanoseconds, activity| Step::Work { nanoseconds, activity, ahead: false };
    let [v, w] = &script.variants[..] else { panic!("there are two") };
    let [own, user, copies, Step::Locked { wait, steps, .. }] = &v.steps[..] else {
        panic!("{:?}", v.steps)
    };
    assert_eq!((own, user), (&work(5.0, Region::System.into()), &work(1.0, Region::User.into())));
    assert_eq!((copies, *wait), (&work(1.0, copy), mutex));
    // Work without a region counts as system work, or as `LockHold` if it is done under a lock.
    assert_eq!(steps[..], [work(2.0, Region::LockHold.into()), work(2.0, copy)]);
    // A part has the same number in all variants, even in those without a step of that name.
    let Some(Step::Locked { steps, .. }) = w.steps.last() else { panic!("{:?}", w.steps) };
    assert_eq!(steps[1], work(2.0, Activity::part_of(Region::System, 3)));
    for (activity, name) in [
        (copy, "__memcpy"),
        (mutex, "mutex_spin_on_owner"),
        (Activity::part_of(Region::System, 3), "pcpu_alloc_area"),
        (Region::LockWait.into(), "lock-wait"),
        (Activity::part_of(Region::User, 4), "user"),
    ] {
        assert_eq!((v.name_of(activity), w.name_of(activity)), (name, name));
    }
}

#[test]
fn a_name_is_of_one_region_and_of_a_step_that_can_have_one() {
    for (steps, expected) in [
        (
            r#"{ do = "work", ns = 1.0, name = "f" },
               { do = "work", ns = 1.0, name = "f", region = "copy" }"#,
            "`f` is in the region `copy` here, but in `system` above",
        ),
        (
            r#"{ do = "work", ns = 1.0, name = "look-up" }"#,
            "`look-up` is a region; `name` must name a part of one",
        ),
        (r#"{ do = "read", object = "word", name = "f" }"#, "`read` steps have no `name`"),
        (r#"{ do = "work", ns = 1.0, name = "" }"#, "`name` must be one line of 1 to 400 bytes"),
        (
            r#"{ do = "work", ns = 1.0, region = "lokup" }"#,
            "there is no region `lokup`; did you mean `look-up`?",
        ),
    ] {
        let error = error_of(steps);
        assert!(error.contains(expected), "{steps}\n  {error}");
    }
    let many: Vec<String> =
        (0..65).map(|n| format!(r#"{{ do = "work", ns = 1.0, name = "f{n}" }}"#)).collect();
    assert!(error_of(&many.join(", ")).contains("more than 64 names of steps"));
}
