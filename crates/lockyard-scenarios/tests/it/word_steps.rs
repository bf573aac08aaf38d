//! Reading of steps on words and registers: what is wrong has one line, and what is right becomes
//! the steps of the model.

use lockyard_scenarios::{Condition, ObjectKind, Operand, Script, Step, Sum, Value};

/// Line number of the steps in [`with`].
const STEPS_LINE: usize = 9;

fn with(sections: &str, steps: &str) -> String {
    format!(
        r#"name = "x"
objects = [
    {{ name = "lock", kind = "lock", lock = "ticket" }},
    {{ name = "word", kind = "word", initial = 7 }},
    {{ name = "data", kind = "data" }},
    {{ name = "next", kind = "words", count = 8, line = "node" }},
    {{ name = "value", kind = "words", count = 8, line = "node", initial = 1 }},
]
steps = [{steps}]
variants = [{{ name = "v" }}]
{sections}
"#
    )
}

fn error_of(text: &str) -> String {
    let error = Script::parse("s.toml", text).expect_err("it is broken").to_string();
    assert!(error.starts_with("s.toml:") && !error.contains('\n'), "one line: {error}");
    error
}

const LOAD: &str = r#"{ do = "load", object = "word", into = "old" }"#;

#[test]
fn wrong_steps_on_words_are_named() {
    for (steps, expected) in [
        (r#"{ do = "load", object = "word" }"#, "`load` steps need `into`"),
        (r#"{ do = "load", into = "a" }"#, "`load` steps need `object`"),
        (
            r#"{ do = "load", object = "data", into = "a" }"#,
            "`load` steps need a word or an array of words; `data` is neither",
        ),
        (
            r#"{ do = "load", object = "next", into = "a" }"#,
            "`next` is an array of words; `at` must say which one",
        ),
        (
            r#"{ do = "load", object = "word", at = 0, into = "a" }"#,
            "`word` is one word and has no `at`; only arrays have one",
        ),
        (r#"{ do = "load", object = "next", at = 8, into = "a" }"#, "`at` is 8; allowed: 0 to 7"),
        (
            r#"{ do = "load", object = "word", into = "task" }"#,
            "`task` is the task's number; no step changes it",
        ),
        (
            r#"{ do = "load", object = "word", into = "a.b" }"#,
            "`a.b` is no register; allowed: 1 to 32 characters of a-z A-Z 0-9 - _, a letter first",
        ),
        (r#"{ do = "store", object = "word" }"#, "`store` steps need `value`"),
        (
            r#"{ do = "store", object = "word", value = 1, into = "a" }"#,
            "`store` steps have no `into`",
        ),
        (
            r#"{ do = "store", object = "word", value = "odl" }"#,
            "there is no register `odl`; did you mean `old`?",
        ),
        (
            r#"{ do = "store", object = "word", value = "old * 2" }"#,
            "`value` is `old * 2`; allowed: a number, a register (`old`), half of one \
             (`old.index`, `old.tag`), the sum or difference of two of these (`old + 1`), or { \
             index = ..., tag = ... }",
        ),
        (
            r#"{ do = "store", object = "word", value = { index = 1 } }"#,
            "allowed: a number, a register",
        ),
        (r#"{ do = "store", object = "word", value = 1.5 }"#, "`value` is `1.5`; allowed"),
        (
            r#"{ do = "store", object = "word", value = "old.head" }"#,
            "a register has no half `head`; allowed: index, tag",
        ),
        (
            r#"{ do = "store", object = "word", value = "99999999999999999999" }"#,
            "`99999999999999999999` is no number",
        ),
        (
            r#"{ do = "compare-exchange", object = "word", new = 1 }"#,
            "`compare-exchange` steps need `expect`",
        ),
        (
            r#"{ do = "compare-exchange", object = "word", expect = 1 }"#,
            "`compare-exchange` steps need `new`",
        ),
        (r#"{ do = "fetch-add", object = "word" }"#, "`fetch-add` steps need `into`"),
        (r#"{ do = "add", object = "word", into = "a" }"#, "`add` steps have no `into`"),
        (r#"{ do = "add", object = "next" }"#, "`add` steps need a word; `next` is not one"),
        (
            r#"{ do = "set", object = "word", into = "a", value = 1 }"#,
            "`set` steps have no `object`",
        ),
        (r#"{ do = "lock", object = "lock", when = "old" }"#, "`lock` steps have no `when`"),
        (
            r#"{ do = "pause", when = "old < 3" }"#,
            "`when` is `old < 3`; allowed: a register or half of one that is not 0 (`done`), `a = \
             b`, `a != b`, or a list of these",
        ),
        (r#"{ do = "pause", when = [] }"#, "`when` is `[]`; allowed"),
    ] {
        let error = error_of(&with("", &format!("{LOAD}, {steps}")));
        let prefix = format!("s.toml:{STEPS_LINE}: ");
        let error = error.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}"));
        assert!(error.contains(expected), "{steps}\n  {error}\n  {expected}");
    }
}

#[test]
fn loops_nest_with_locks_and_can_end() {
    let until = r#"{ do = "until", when = "old = 3" }"#;
    let repeat = r#"{ do = "repeat" }"#;
    let lock = r#"{ do = "lock", object = "lock" }"#;
    let unlock = r#"{ do = "unlock", object = "lock" }"#;
    for (steps, expected) in [
        (format!("{repeat}, {LOAD}"), "`repeat` begins a loop that no `until` ends"),
        (until.to_owned(), "`until` ends a loop that no `repeat` began"),
        (
            format!(r#"{repeat}, {LOAD}, {{ do = "until" }}"#),
            "`until` steps need `when`, the conditions that end the loop",
        ),
        (
            format!("{LOAD}, {repeat}, {until}"),
            "the loop looks at no word, so it ends at once or never; allowed in it: load, \
             fetch-add or compare-exchange, at least one",
        ),
        (
            format!("{repeat}, {LOAD}, {lock}"),
            "a loop has no `lock` steps, because the lab checks how often an operation does them; \
             allowed: work, pause, load, store, fetch-add, compare-exchange, set, repeat, until",
        ),
        (
            format!("{lock}, {repeat}, {LOAD}, {unlock}, {until}"),
            "`lock` is unlocked in a loop; locks and loops nest",
        ),
        (
            format!("{LOAD}, {lock}, {until}"),
            "`until` ends a loop, but `lock` was locked last; locks and loops nest",
        ),
        (
            format!(r#"{repeat}, {LOAD}, {{ do = "work", share = 1.0 }}, {until}"#),
            "work in a loop has no `share`, because the number of turns is not known; use `ns`",
        ),
        (
            format!(r#"{repeat}, {LOAD}, {{ do = "write", object = "word" }}, {until}"#),
            "a loop has no `write` steps",
        ),
    ] {
        let error = error_of(&with("", &steps));
        assert!(error.contains(expected), "{steps}\n  {error}\n  {expected}");
    }
    let nested = format!("{lock}, {repeat}, {repeat}, {LOAD}, {until}, {until}, {unlock}");
    let script = Script::parse("s.toml", &with("", &nested)).expect("it is right");
    let Some(Step::Locked { steps, .. }) = script.variants[0].steps.first() else { panic!() };
    let [Step::Repeat { steps, outermost: true, .. }] = &steps[..] else { panic!("{steps:?}") };
    assert!(matches!(steps[..], [Step::Repeat { outermost: false, .. }]), "{steps:?}");
}

#[test]
fn registers_are_few_and_begin_with_numbers() {
    let load = |n: usize| format!(r#"{{ do = "load", object = "word", into = "r{n}" }}"#);
    let many: Vec<String> = (0..16).map(load).collect();
    let error = error_of(&with("", &many.join(", ")));
    assert!(error.contains("`r15` is one register too many; at most 15 are allowed"), "{error}");
    assert!(Script::parse("s", &with("", &many[..15].join(", "))).is_ok());
    for (registers, expected) in [
        ("task = 1", "`task` is the task's number"),
        ("mine = \"old\"", "there is no register `old`; "),
        ("mine = true", "`mine` is `true`; allowed: a number"),
    ] {
        let error = error_of(&with(&format!("[registers]\n{registers}"), LOAD));
        assert!(error.starts_with("s.toml:12: ") && error.contains(expected), "{error}");
    }
}

#[test]
fn chains_and_arrays_are_of_the_right_objects() {
    let chain = |fields: &str| error_of(&with(&format!("[[conserved]]\n{fields}"), LOAD));
    for (fields, expected) in [
        ("links = \"next\"", "missing field `from`"),
        (
            "links = \"word\"\nfrom = \"word\"",
            "`links` must be an array of words that are 0 at first; `word` is not one",
        ),
        ("links = \"value\"\nfrom = \"word\"", "`links` must be an array of words that are 0"),
        ("links = \"next\"\nfrom = \"value\"", "`from` must be a word; `value` is not one"),
        ("links = \"next\"\nfrom = \"word\"\nto = \"lock\"", "`to` must be a word; `lock` is not"),
        ("links = \"next\"\nfrom = \"word\"\nheld = \"odl\"", "there is no register `odl`; did"),
        ("links = \"nxet\"\nfrom = \"word\"", "there is no object `nxet`; did you mean `next`?"),
    ] {
        let error = chain(fields);
        assert!(error.contains(expected), "{fields}\n  {error}");
    }
    let good = with("", LOAD);
    for (old, new, expected) in [
        ("count = 8, line = \"node\" }", "line = \"node\" }", "lacks `count`, the number of its"),
        ("count = 8, line = \"node\" }", "count = 5000 }", "`count` is 5000; allowed: 1 to 4096"),
        ("kind = \"data\"", "kind = \"data\", initial = 1", "of kind `data` have no `initial`"),
        (
            "line = \"node\", initial",
            "line = \"node\", gains = 1, initial",
            "objects of kind `words` have no `gains`",
        ),
        (
            "kind = \"data\"",
            "kind = \"data\", line = \"node\"",
            "`next` cannot share a line with `data`: an array of words has a line for each, and \
             shares them with arrays of as many words only",
        ),
        (
            "count = 8, line = \"node\", initial",
            "count = 9, line = \"node\", initial",
            "`value` ca",
        ),
        (
            "variants = [{ name = \"v\" }]",
            "variants = [{ name = \"v\", set = [{ object = \"next\", lock = \"mcs\" }] }]",
            "`next` has no settings; only locks, lockrefs, pages and tables have them",
        ),
    ] {
        assert!(good.contains(old), "{old}");
        let error = error_of(&good.replacen(old, new, 1));
        assert!(error.contains(expected), "{new}\n  {error}");
    }
}

#[test]
fn what_is_right_is_read() {
    let steps = r#"
        { do = "compare-exchange", object = "next", at = "mine.index", expect = "mine",
          new = { index = 3, tag = "mine.tag + 1" }, result = "done", when = ["mine != 0", "task"] },
        { do = "fetch-add", object = "word", value = -1, into = "mine" }"#;
    let steps = steps.replace('\n', " ");
    let script = Script::parse("s.toml", &with("[registers]\nmine = \"task + 1\"", &steps));
    let variant = &script.expect("it is right").variants[0];
    let word = &variant.objects[1].kind;
    assert_eq!(*word, ObjectKind::Word { initial: 7, gains: None });
    let [Step::When { conditions, step }, Step::FetchAdd { value, .. }] = &variant.steps[..] else {
        panic!("{:?}", variant.steps)
    };
    let Step::CompareExchange { place, expect, new, into: None, .. } = **step else {
        panic!("{step:?}")
    };
    let Value::Whole(Sum { first: Operand::Register(mine), then: None }) = expect else {
        panic!("{expect:?}")
    };
    let zero = Operand::Number(0);
    assert_eq!(
        conditions[0],
        Condition { left: Operand::Register(mine), equal: false, right: zero }
    );
    assert_eq!((conditions.len(), conditions[1].equal, conditions[1].right), (2, false, zero));
    assert_eq!(place.at, Some(Sum { first: Operand::Index(mine), then: None }));
    let tag = Sum { first: Operand::Tag(mine), then: Some((true, Operand::Number(1))) };
    let index = Sum { first: Operand::Number(3), then: None };
    assert_eq!(new, Value::Halves { index, tag });
    let minus_one = Sum { first: Operand::Number(u64::MAX), then: None };
    assert_eq!(*value, Value::Whole(minus_one));
    assert!(variant.compares_and_exchanges() && !variant.takes_a_lock());
    assert_eq!(variant.first_values.len(), 1);
}
