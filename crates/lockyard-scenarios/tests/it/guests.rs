//! Guests that share CPUs, and steps that wait for other processors.

use lockyard_scenarios::{Script, Step};

const SCRIPT: &str = r#"
name = "s"
title = "t"
operation = "o"
metric = "throughput"
unit = "op/s"
work_varies = false

[[objects]]
name = "lock"
kind = "lock"
lock = "ticket"
line = "lock"

[[steps]]
do = "work"
ns = 100.0

[[steps]]
do = "wait-for-others"
one_in = 16

[[variants]]
name = "v"
title = "t"

[guests]
count = 3

[placement]
order = "siblings-last"
"#;

fn with(from: &str, to: &str) -> String {
    assert!(SCRIPT.contains(from));
    SCRIPT.replacen(from, to, 1)
}

#[test]
fn guests_and_waiting_for_others_are_read() {
    let script = Script::parse("s.toml", SCRIPT).expect("it is a script");
    let variant = &script.variants[0];
    assert_eq!((variant.guests, variant.tasks(32)), (Some(3), 96));
    assert_eq!(variant.steps[1], Step::WaitForOthers { one_in: 16 });
    assert!(variant.waits_for_others());
    let each = Script::parse("s.toml", &with("one_in = 16\n", "")).expect("it is a script");
    assert_eq!(each.variants[0].steps[1], Step::WaitForOthers { one_in: 1 });
}

#[test]
fn a_script_without_guests_shares_no_cpus() {
    let script = with("[guests]\ncount = 3\n", "");
    let script = Script::parse("s.toml", &script).expect("it is a script");
    assert_eq!((script.variants[0].guests, script.variants[0].tasks(32)), (None, 32));
    for name in Script::names().filter(|name| !name.starts_with("dbench/")) {
        let script = Script::shipped(name).expect("it is shipped");
        assert!(script.variants.iter().all(|v| v.guests.is_none()), "{name}");
    }
}

#[test]
fn what_is_wrong_is_named_with_what_is_allowed() {
    let error =
        |script: &str| Script::parse("s.toml", script).expect_err("it is no script").to_string();
    assert!(
        error(&with("count = 3", "count = 0")).contains("`count` is 0; allowed: 1 to 64 guests")
    );
    assert!(error(&with("count = 3", "count = 65")).contains("`count` is 65; allowed: 1 to 64"));
    assert!(error(&with("one_in = 16", "one_in = 0")).contains("`one_in` is 0; allowed: 1 to"));
    assert!(
        error(&with("ns = 100.0", "ns = 100.0\none_in = 2"))
            .contains("`work` steps have no `one_in`")
    );
    let object = with("one_in = 16", "object = \"lock\"");
    assert!(error(&object).contains("`wait-for-others` steps have no `object`"));
}
