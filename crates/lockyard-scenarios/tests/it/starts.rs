//! The field `starts` of a script.

use lockyard_scenarios::{Script, Starts};

const COUNTER: &str = r#"
name = "counter"
title = "a counter"
operation = "add one"
metric = "throughput"
unit = "op/s"
work_varies = false
starts = "together"

[[objects]]
name = "count"
kind = "word"
line = "count"

[[steps]]
do = "add"
object = "count"
value = 1

[[variants]]
name = "add"
title = "at once"

[placement]
order = "fill"
"#;

#[test]
fn tasks_begin_at_random_moments_unless_a_script_says_otherwise() {
    let starts = |script: Script| script.variants[0].starts;
    let parse = |text: &str| Script::parse("s.toml", text);
    assert_eq!(starts(parse(COUNTER).unwrap()), Starts::Together);
    let random = COUNTER.replace("\"together\"", "\"random\"");
    assert_eq!(starts(parse(&random).unwrap()), Starts::Random);
    let unsaid = COUNTER.replace("starts = \"together\"\n", "");
    assert_eq!(starts(parse(&unsaid).unwrap()), Starts::Random);
    for name in Script::names() {
        let script = Script::shipped(name).expect("it is shipped");
        assert!(script.variants.iter().all(|v| v.starts == Starts::Random), "{name}");
    }
}

#[test]
fn another_way_to_start_is_refused_in_one_line_that_says_what_is_allowed() {
    for (value, says) in [
        (
            "\"togehter\"",
            "s.toml:8: there is no `starts` value `togehter`; did you mean `together`?",
        ),
        (
            "\"at-dawn\"",
            "s.toml:8: there is no `starts` value `at-dawn`; allowed: random, together",
        ),
        ("1", "s.toml:8: invalid type: integer `1`, expected a string"),
    ] {
        let text = COUNTER.replace("\"together\"", value);
        let error = Script::parse("s.toml", &text).expect_err("it is refused").to_string();
        assert_eq!(error, says);
    }
}
