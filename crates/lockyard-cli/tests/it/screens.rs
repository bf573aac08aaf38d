//! Output in a terminal: its width, its characters, its colours, and the omissions of quiet output.

use crate::support::{command, text};

const CLX: &str = "cascade-lake-2s24c2t";

/// Runs the command with environment variables, and returns its output.
fn printed(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = command(arguments);
    for name in ["LC_ALL", "LC_CTYPE", "LANG", "TERM", "NO_COLOR", "COLUMNS"] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().expect("the command runs");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn too_wide(text: &str, width: usize) -> Vec<&str> {
    let is_too_wide = |line: &&str| {
        let line = line.trim_start().trim_start_matches("- ");
        line.chars().count() > width && line.contains(char::is_whitespace)
    };
    text.lines().filter(is_too_wide).collect()
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let measured = ["--seconds", "0.01", "--repeats", "2"];
    let measure = |options: &[&'static str]| -> Vec<&'static str> {
        [&["measure", "page-ref"][..], options, &measured[..]].concat()
    };
    let predict = ["predict", "fstat2", "--machine", CLX, "--threads", "1,2,4,8"];
    let results = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("screens.json");
    let file = results.to_str().expect("the path is text");
    let two = ["predict", "fstat2", "--machine", CLX, "--threads", "1,2", "--format", "json"];
    std::fs::write(&results, printed(&two, &[])).expect("there is room");
    let spin = ["measure", "spin-loop/same-node/embedded", "--variant", "qspinlock"];
    let commands: Vec<Vec<&str>> = vec![
        vec!["compare", file, file],
        [&spin[..], &["--peers=spin", "--threads", "1,2", "--attribution"], &measured].concat(),
        [&predict[..], &["--explain", "--fit"]].concat(),
        vec!["predict", "page-ref", "--machine", "zen4-7840u", "--threads", "1,2"],
        measure(&["--threads", "1,2", "--histogram"]),
        vec!["reproduce", "page-ref", "--no-measure", "--sources"],
        vec!["scenarios"],
        vec!["machines"],
        vec!["machines", "show", CLX],
        vec!["machines", "show", "broadwell-ex-8s10c2t"],
        vec!["machines", "detect"],
        vec!["lock-call-path", "--repeats", "2"],
    ];
    for arguments in commands {
        for width in [60, 80, 120] {
            let columns = width.to_string();
            let variables = [("COLUMNS", columns.as_str()), ("LC_ALL", "C.UTF-8")];
            let text = printed(&arguments, &variables);
            let wide = too_wide(&text, width);
            assert!(wide.is_empty(), "{arguments:?} at {width}: {wide:#?}");
        }
    }
}

#[test]
fn the_name_of_a_table_prints_its_cells_and_sources_on_demand() {
    let cells = printed(&["reproduce", "id-table-timer-gettime", "--no-measure"], &[]);
    assert!(cells.contains("predicted") && !cells.contains("Published: "), "{cells}");
    let sources = ["reproduce", "id-table-timer-gettime", "--no-measure", "--sources"];
    assert!(printed(&sources, &[]).contains("Published: id-table-timer-gettime"));
}

#[test]
fn curves_and_a_verdict_stand_below_the_table_unless_only_figures_are_wanted() {
    let predict = ["predict", "fstat2", "--machine", CLX, "--threads", "1,2,4,8"];
    let utf8 = [("LANG", "en_GB.UTF-8")];
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(printed(&predict, &utf8));
    assert!(text.contains("throughput, op/s, over threads; capitals: published"), "{text}");
    assert!(text.contains("lockref wins at 4 to 8 threads, by "), "{text}");
    assert!(text.contains("lockref-pause saturates at 4 threads"), "{text}");
    assert!(text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "{text}");
    assert!(text.contains("[1] ") && text.contains("Local work: "), "{text}");
    let quiet = printed(&[&predict[..], &["-q"]].concat(), &utf8);
    for absent in ["over threads", "wins", "[1] ", "Local work: ", "notes"] {
        assert!(!quiet.contains(absent), "{absent}: {quiet}");
    }
    assert!(quiet.contains("predicted") && quiet.contains("3.01 M"), "{quiet}");
}

#[test]
fn without_utf_8_all_is_ascii_and_colours_come_on_demand() {
    let predict = ["predict", "fstat2", "--machine", CLX, "--threads", "1,2,4"];
    let dumb = [("LANG", "C.UTF-8"), ("TERM", "dumb")];
    for variables in [&[][..], &[("LC_ALL", "C"), ("LANG", "C.UTF-8")], &dumb] {
        for arguments in [&predict[..], &["machines"], &["machines", "show", CLX]] {
            let text = printed(arguments, variables);
            assert!(text.is_ascii() && !text.contains('\u{1b}'), "{variables:?}: {text}");
        }
    }
    // The output is not a terminal.
    let auto = printed(&predict, &[("LANG", "C.UTF-8")]);
    assert!(!auto.contains('\u{1b}'), "{auto}");
    let always = printed(&[&["--color", "always"], &predict[..]].concat(), &[]);
    assert!(always.contains("\u{1b}[1mfstat2 on ") && always.contains("\u{1b}[34m"), "{always}");
    let never = printed(&[&predict[..], &["--color", "never"]].concat(), &[]);
    assert!(!never.contains('\u{1b}'), "{never}");
}

#[test]
fn quiet_commands_say_nothing_on_standard_error() {
    let arguments =
        ["measure", "page-ref", "--threads", "1", "--seconds", "0.01", "--repeats", "2", "-q"];
    let output = command(&arguments).output().expect("the command runs");
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
}
