//! Machine files: the shipped ones are valid. A broken file gives one line that says where the
//! error is, what is wrong, and what is allowed.

use lockyard_sim::Machine;

const GOOD: &str = include_str!("../../../../machines/cascade-lake-2s24c2t.toml");

/// Returns the error for the shipped file after `from` is replaced by `to`.
fn error_after(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    let error = Machine::parse("m.toml", &text).expect_err("it is broken").to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    error
}

fn line_of(text: &str) -> usize {
    GOOD.lines().position(|line| line.contains(text)).expect("it is there") + 1
}

#[test]
fn shipped_machines_are_valid_and_every_number_has_a_source() {
    for name in Machine::names() {
        let machine = Machine::shipped(name).expect("it is listed");
        assert_eq!(machine.name(), name);
        for parameter in machine.parameters() {
            assert!(parameter.source.is_some() || parameter.assumed.is_some(), "{parameter:?}");
        }
    }
}

#[test]
fn the_numbers_of_a_borrowed_family_are_assumed() {
    let borrowed =
        GOOD.replacen("scale = { value = 1.0,", "scale = { value = 1.0, assumed = \"x\",", 1);
    let [own, borrowed] = [GOOD, borrowed.as_str()].map(|text| {
        let machine = Machine::parse("m.toml", text).expect("it is a machine");
        (machine.parameter("cycles.leg").expect("it has one").clone(), machine.assumed_share())
    });
    assert_eq!(own.0.assumed, None);
    assert_eq!(borrowed.0.assumed.as_deref(), Some("borrowed; x"));
    assert_eq!(borrowed.0.source, own.0.source, "the source stays");
    assert!(borrowed.1 > own.1 + 0.2, "{own:?} {borrowed:?}");
}

#[test]
fn hardware_threads_are_whole_cores_first() {
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    assert_eq!(machine.hardware_threads(), 96);
    let at = |index| {
        let place = machine.place(index);
        (place.socket, place.core, place.sibling)
    };
    assert_eq!([at(0), at(23), at(24), at(47)], [(0, 0, 0), (0, 23, 0), (1, 24, 0), (1, 47, 0)]);
    assert_eq!([at(48), at(95)], [(0, 0, 1), (1, 47, 1)]);
}

#[test]
fn a_wrong_value_is_named_with_its_line_and_what_is_allowed() {
    let line = line_of("pause = {");
    for wrong in ["-40", "0", "1001", "999999999999999999999999999999", "40.5", "nan", "inf"] {
        assert_eq!(
            error_after("pause = { value = 40,", &format!("pause = {{ value = {wrong},")),
            format!("m.toml:{line}: `cycles.pause` is {wrong}; allowed: 1 to 1000 cycles")
        );
    }
    assert_eq!(
        error_after("pause = { value = 40,", "pause = { value = \"forty\","),
        format!("m.toml:{line}: `cycles.pause` is text; allowed: 1 to 1000 cycles")
    );
    let order = "[protocol]\norder = { value = \"rnadom\", source = \"x\" }";
    assert_eq!(
        error_after("[protocol]", order),
        format!(
            "m.toml:{}: `protocol.order` is \"rnadom\"; allowed: \"random\", \"fifo\"",
            line_of("[protocol]") + 1
        )
    );
}

#[test]
fn a_misspelt_name_is_answered_with_the_right_one() {
    assert_eq!(
        error_after("pause = {", "puase = {"),
        format!("m.toml:{}: [cycles] has no `puase`; did you mean `pause`?", line_of("pause = {"))
    );
    assert_eq!(
        error_after("\n[cycles]", "\n[cylces]"),
        format!(
            "m.toml:{}: a machine file has no `cylces`; did you mean `cycles`?",
            line_of("load = {") - 1
        )
    );
    let pause = line_of("pause = {");
    assert!(error_after("pause = { value", "pause = { valeu").starts_with(&format!(
        "m.toml:{pause}: `cycles.pause` has no `valeu`; did you mean `value`?"
    )));
}

#[test]
fn what_is_missing_is_named() {
    let without = |name: &str| {
        let line = GOOD.lines().find(|l| l.starts_with(name)).expect("it is there");
        error_after(&format!("{line}\n"), "")
    };
    assert_eq!(
        without("pause ="),
        "m.toml: [cycles] lacks `pause` (pause instruction); allowed: 1 to 1000 cycles"
    );
    assert_eq!(without("title ="), "m.toml: lacks `title`, a line of text");
    assert_eq!(
        error_after(", source = \"Intel 64 architecture\"", ""),
        format!(
            "m.toml:{}: `topology.line_bytes` has neither `source` nor `assumed`; every number \
             needs one of them",
            line_of("line_bytes")
        )
    );
}

#[test]
fn names_and_texts_are_printable_and_on_one_line() {
    let line = GOOD.lines().count() + 1;
    for name in ["\"a\\nb\"", "\"\"", "\"\\u001b[31m\"", "A"] {
        let broken = format!("{GOOD}{name} = {{ value = 1, source = \"x\" }}\n");
        let error = Machine::parse("m.toml", &broken).expect_err("it is broken").to_string();
        assert!(error.starts_with(&format!("m.toml:{line}: [checks] has `")), "{error}");
        assert!(!error.contains(char::is_control), "{error}");
    }
    assert_eq!(
        error_after("title = \"", "title = \"\\u001b[31m"),
        format!(
            "m.toml:{}: `title` must be one line of at most 400 bytes, without control characters",
            line_of("title =")
        )
    );
}

#[test]
fn a_number_without_its_entry_is_refused() {
    assert_eq!(
        error_after("ghz = { value = 3.0, assumed", "ghz = 3.0 #"),
        format!(
            "m.toml:{}: `clock.ghz` is a number with a fraction; it must be {{ value = ..., \
             source = \"...\" }}, or `assumed` instead of `source`",
            line_of("ghz =")
        )
    );
}

#[test]
fn an_absurd_machine_is_refused() {
    let large = GOOD
        .replace("sockets = { value = 2,", "sockets = { value = 8,")
        .replace("complexes = { value = 1,", "complexes = { value = 32,")
        .replace("cores = { value = 24,", "cores = { value = 128,");
    assert_eq!(
        Machine::parse("m.toml", &large).expect_err("it is absurd").to_string(),
        "m.toml: [topology] makes 65536 hardware threads; at most 4096 are allowed"
    );
    assert!(
        error_after("line_bytes = { value = 64", "line_bytes = { value = 100")
            .contains("64 or 128")
    );
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    assert!(
        error_after("[clock]", "[clock")
            .starts_with(&format!("m.toml:{}: not TOML", line_of("[clock]")))
    );
    for garbage in ["", "\u{0}\u{1}\u{2}", "[[[[", "name = ", "= = =", "\u{feff}x"] {
        let error = Machine::parse("g", garbage).expect_err("garbage").to_string();
        assert!(error.starts_with('g') && !error.contains('\n'), "{error}");
    }
    let deep = format!("x = {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(Machine::parse("g", &deep).is_err());
}

#[test]
fn files_that_cannot_be_a_machine_are_refused() {
    let directory = std::env::temp_dir().join(format!("lockyard-machines-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("there is room");
    let load = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        std::fs::write(&path, bytes).expect("there is room");
        let error = Machine::load(&path).expect_err("it is broken").to_string();
        error
            .strip_prefix(&format!("{}", path.display()))
            .expect("it begins with the path")
            .to_owned()
    };
    assert_eq!(
        load("binary", b"name = \"x\"\n\xff\xfe"),
        ":2: not UTF-8 text; a machine file is TOML"
    );
    assert!(load("large", &vec![b'#'; 300_000]).contains("is larger than 262144 bytes"));
    assert!(Machine::load(&directory).is_err(), "a directory");
    assert!(
        Machine::load(&directory.join("none"))
            .expect_err("none")
            .to_string()
            .contains("cannot be read")
    );
    std::fs::remove_dir_all(&directory).expect("it was made above");
}

#[test]
fn no_change_of_a_few_bytes_makes_the_parser_panic() {
    let mut x = 0x2545_f491_4f6c_dd1du64;
    let mut random = move |n: usize| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x % n as u64) as usize
    };
    for _ in 0..3000 {
        let mut bytes = GOOD.as_bytes().to_vec();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => drop(bytes.drain(at..(at + random(40)).min(bytes.len()))),
                _ => bytes.insert(at, b"\"'[]{}=.-_9#\n\0\xff"[random(15)]),
            }
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Err(error) = Machine::parse("m.toml", &text)
        {
            let error = error.to_string();
            assert!(error.starts_with("m.toml:") && !error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn a_machine_takes_over_what_its_file_does_not_say_from_its_family_scaled() {
    let machine = Machine::shipped("zen3-5825u").expect("it is shipped");
    assert_eq!(machine.family(), Some("amd-zen"));
    let number = |name: &str| {
        let found = machine.parameter(name);
        found.unwrap_or_else(|| panic!("it has {name}"))
    };
    let leg = number("cycles.leg");
    assert_eq!(leg.value.to_string(), "17", "22 x 0.77");
    let source = leg.source.as_deref().expect("it has one");
    assert!(
        source.starts_with("family amd-zen, 22 x 0.77: fitted on lockhammer x86-1"),
        "{source}"
    );
    assert_eq!(number("cycles.jitter").value.to_string(), "10", "not scaled");
    assert_eq!(number("cycles.pause").value.to_string(), "65", "its own");
}

#[test]
fn a_wrong_family_or_scale_is_named() {
    let line = line_of("family =");
    assert!(
        error_after("family = \"intel-mesh\"", "family = \"intel-mehs\"")
            .starts_with(&format!("m.toml:{line}: there is no family `intel-mehs`; did you mean"))
    );
    assert_eq!(
        error_after("scale = { value = 1.0", "scale = { value = 0"),
        format!("m.toml:{}: `scale` is 0; allowed: 0.05 to 20", line + 1)
    );
    let scale = GOOD.lines().find(|l| l.starts_with("scale =")).expect("it is there");
    assert_eq!(
        error_after(&format!("{scale}\n"), ""),
        "m.toml: has a `family` and lacks `scale`, the factor on its latencies"
    );
    assert!(
        error_after("family = \"intel-mesh\"\n", "")
            .ends_with("`scale` is for a machine that has a `family`")
    );
}

/// Returns the value and the reason for the assumption of a number of `GOOD` with this text for its
/// section of the kernel.
fn of_kernel(section: &str, name: &str) -> (f64, Option<String>) {
    let text = GOOD.replacen("[kernel]\nas = \"linux-metal\"\n", section, 1);
    assert_ne!(text, GOOD);
    let machine = Machine::parse("m.toml", &text).expect("it is a machine");
    let found = machine.parameter(&format!("kernel.{name}")).expect("every machine has it");
    (found.value.number().expect("a number"), found.assumed.clone())
}

#[test]
fn the_costs_of_the_kernels_calls_come_from_the_kernel_that_a_file_names() {
    let guest = "[kernel]\nas = \"linux-guest\"\n";
    assert_eq!(of_kernel(guest, "wakeup"), (6017.0, None));
    let own = "wakeup = { value = 5000, source = \"measured\" }\n";
    assert_eq!(of_kernel(&format!("{guest}{own}"), "wakeup"), (5000.0, None));
    let (value, assumed) = of_kernel(&format!("[kernel]\n{own}"), "wait_changed");
    let assumed = assumed.expect("the file does not say it");
    assert!(assumed.starts_with("the machine file does not give it; "), "{assumed}");
    assert_eq!(value, 214.0);
    let from = "as = \"linux-metal\"";
    assert!(
        error_after(from, "as = \"linux-gest\"")
            .ends_with("there is no kernel `linux-gest`; did you mean `linux-guest`?")
    );
    assert!(
        error_after(from, "waek = 3").ends_with("[kernel] has no `waek`; did you mean `wake`?")
    );
}

#[test]
fn a_file_without_the_kernels_costs_is_read_with_its_former_wake_up() {
    let (value, assumed) = of_kernel("", "wakeup");
    assert!(value == 2000.0 && assumed.is_some_and(|why| why.contains("does not give it")));
    let before = "[protocol]\n";
    let after = "wakeup = { value = 9000, source = \"measured\" }\n\n[protocol]\n";
    let text = GOOD.replacen(before, after, 1);
    let machine = Machine::parse("m.toml", &text).expect("it is a machine");
    let wakeup = machine.parameter("kernel.wakeup").expect("it has it");
    assert_eq!(wakeup.value.to_string(), "2000", "the section replaces it");
    let text = text.replacen("[kernel]\nas = \"linux-metal\"\n", "", 1);
    let machine = Machine::parse("m.toml", &text).expect("it is a machine");
    let wakeup = machine.parameter("kernel.wakeup").expect("it has it");
    // 9,000 cycles of 3 GHz.
    assert_eq!(wakeup.value.to_string(), "3000");
    assert_eq!(wakeup.source.as_deref(), Some("measured"));
    assert!(
        error_after(before, "wakeup = { value = 0, source = \"x\" }\n[protocol]\n")
            .ends_with("`cycles.wakeup` is 0; allowed: 1 to 10000000 cycles")
    );
}

#[test]
fn a_family_may_be_a_file_beside_the_machines() {
    let directory = std::env::temp_dir().join(format!("lockyard-family-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("there is room");
    let family = include_str!("../../../../machines/families/intel-mesh.toml");
    let path = directory.join("m.toml");
    let text = GOOD.replacen("family = \"intel-mesh\"", "family = \"own.toml\"", 1);
    std::fs::write(&path, text).expect("there is room");
    let error = Machine::load(&path).expect_err("there is no family").to_string();
    assert!(error.contains("own.toml: cannot be read"), "{error}");
    std::fs::write(
        directory.join("own.toml"),
        family.replace("leg = { value = 23", "leg = { value = 24"),
    )
    .expect("there is room");
    let machine = Machine::load(&path).expect("now there is one");
    let leg = machine.parameter("cycles.leg").expect("it has one");
    assert_eq!(leg.value.to_string(), "24");
    std::fs::write(directory.join("own.toml"), "title = \"x\"\n[cycles]\nlge = 3\n[protocol]\n")
        .expect("there is room");
    let error = Machine::load(&path).expect_err("it is broken").to_string();
    assert!(error.contains("[cycles] has no `lge`; did you mean `leg`?"), "{error}");
    std::fs::remove_dir_all(&directory).expect("it was made above");
}

#[test]
fn a_number_can_be_replaced_and_the_scale_moves_all_latencies() {
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let number = |machine: &Machine, name: &str| {
        machine.parameter(name).expect("it has it").value.to_string()
    };
    let changed = machine.clone().with("cycles.pause", 99.6).expect("it has a pause");
    assert_eq!(number(&changed, "cycles.pause"), "100", "whole numbers are rounded");
    assert_eq!(number(&machine.clone().with("cycles.pause", 1e9).unwrap(), "cycles.pause"), "1000");
    let changed = machine.clone().with("family.scale", 2.0).expect("it has a family");
    assert_eq!(number(&changed, "cycles.leg"), "46");
    assert_eq!(number(&changed, "cycles.jitter"), "10");
    assert!(machine.clone().with("cycles.puase", 1.0).is_none());
    // The numbers are scaled from the family's, not from the machine's, which were rounded. Numbers
    // in the file itself stay.
    let zen = Machine::shipped("zen3-5825u").expect("it is shipped");
    assert_eq!(zen.scale(), Some(0.77));
    let machine = Machine::shipped("zen1-8x4c2t").expect("it is shipped");
    let changed = zen.clone().with("family.scale", 1.0).expect("it has a family");
    for name in ["leg", "transfer", "shared_read", "hold_exclusive", "miss"] {
        let name = format!("cycles.{name}");
        assert_eq!(number(&changed, &name), number(&machine, &name), "{name}");
    }
    assert_eq!(number(&changed, "cycles.pause"), number(&zen, "cycles.pause"));
    for name in ["protocol.snoop_weight", "cycles.leg", "family.scale"] {
        assert!(zen.clone().with(name, f64::NAN).is_none(), "{name}");
    }
}

/// Returns the error for a machine whose family is the shipped one after `from` is replaced by
/// `to`.
fn family_error_after(test: &str, from: &str, to: &str) -> String {
    let family = include_str!("../../../../machines/families/intel-mesh.toml");
    assert!(family.contains(from), "{from}");
    let directory = std::env::temp_dir().join(format!("lockyard-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("there is room");
    let path = directory.join("m.toml");
    std::fs::write(&path, GOOD.replacen("family = \"intel-mesh\"", "family = \"own.toml\"", 1))
        .expect("there is room");
    std::fs::write(directory.join("own.toml"), family.replacen(from, to, 1))
        .expect("there is room");
    let error = Machine::load(&path).expect_err("it is broken").to_string();
    std::fs::remove_dir_all(&directory).expect("it was made above");
    let place = format!("{}:{}: ", path.display(), line_of("family ="));
    let rest = error.strip_prefix(&place).unwrap_or_else(|| panic!("{error}"));
    let own = directory.join("own.toml").display().to_string();
    rest.strip_prefix(&own).unwrap_or_else(|| panic!("{error}")).to_owned()
}

#[test]
fn a_wrong_number_of_a_family_is_named_with_its_line_there() {
    let family = include_str!("../../../../machines/families/intel-mesh.toml");
    let line = |text: &str| family.lines().position(|l| l.starts_with(text)).unwrap() + 1;
    let error = |from: &str, to: &str| family_error_after("family-number", from, to);
    let shown = [
        ("-23", "-23"),
        ("-0.3", "-0.3"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e9", "1e9"),
        ("true", "true or false"),
        ("\"\\u001b[31m\\nfoo\"", "text"),
    ];
    for (written, shown) in shown {
        assert_eq!(
            error("leg = { value = 23", &format!("leg = {{ value = {written}")),
            format!(":{}: `cycles.leg` is {shown}; allowed: 1 to 1000 cycles", line("leg"))
        );
    }
    assert_eq!(
        error("jitter = { value = 10", "jitter = { value = 9.5"),
        format!(":{}: `cycles.jitter` is 9.5; allowed: 0 to 1000 cycles", line("jitter")),
        "what is not scaled is whole"
    );
    assert_eq!(
        error("value = \"random\"", "value = \"\\u001b[31m\""),
        format!(":{}: `protocol.order` is text; allowed: \"random\", \"fifo\"", line("order"))
    );
}

#[test]
fn a_misspelt_check_is_named_with_its_line_and_the_nearest_name() {
    let line = line_of("ping_pong_same_socket = ");
    assert_eq!(
        error_after("ping_pong_same_socket = ", "ping_pong_same_sockets = "),
        format!(
            "m.toml:{line}: [checks] has no figure `ping_pong_same_sockets`; did you mean \
             `ping_pong_same_socket`?"
        )
    );
    let error = error_after("ping_pong_same_socket = ", "latency = ");
    let begin = format!("m.toml:{line}: [checks] has no figure `latency`; allowed: atomic_add_");
    assert!(error.starts_with(&begin) && error.contains("walk_N_kib"), "{error}");
    for name in ["walk_64_kib", "walk_1_kib", "load_first_level", "calibration_cell_same_node"] {
        let text = GOOD.replacen("ping_pong_same_socket = ", &format!("{name} = "), 1);
        let checks = Machine::parse("m.toml", &text).expect("it is a name").checks().to_vec();
        assert!(checks.iter().any(|check| check.name == format!("checks.{name}")), "{name}");
    }
    for name in ["walk_kib", "walk__kib", "walk_x_kib", "walk_64_mib"] {
        let error = error_after("ping_pong_same_socket = ", &format!("{name} = "));
        assert!(error.contains(&format!("has no figure `{name}`")), "{error}");
    }
}

#[test]
fn notes_are_lines_of_text_that_the_machine_repeats() {
    let with = |notes: &str| GOOD.replacen("title = ", &format!("notes = {notes}\ntitle = "), 1);
    let of = |notes: &str| Machine::parse("m.toml", &with(notes)).map(|m| m.notes().to_vec());
    assert_eq!(of("[]").expect("none are none"), [""; 0]);
    assert_eq!(of("[\"a\", \"b c\"]").expect("they are notes"), ["a", "b c"]);
    assert!(Machine::parse("m.toml", GOOD).expect("it is shipped").notes().is_empty());
    let line = line_of("title = ");
    let many = format!("[{}]", "\"x\",".repeat(21));
    let long = format!("[\"{}\"]", "x".repeat(401));
    for wrong in ["1", "\"a\"", "[1]", "[\"\"]", "[\"a\\nb\"]", &many, &long] {
        let error = of(wrong).expect_err("they are no notes").to_string();
        let what = "at most 20 lines of text, each of 1 to 400 bytes, without control characters";
        assert_eq!(error, format!("m.toml:{line}: `notes` must be a list of {what}"), "{wrong}");
    }
}
