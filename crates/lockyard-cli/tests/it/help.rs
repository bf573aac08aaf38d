//! Help: every command has it, it fits the screen, and its examples work as printed.

use crate::support::{command, folders::directory, lockyard, optimised_file, text};
use std::collections::HashSet;
use std::process::Command;

/// Returns the names of the subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // Continuation lines of a wrapped description are indented deeper.
    let names = listed.filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Adds the help of a command and of all its subcommands.
fn add_help(name: &[String], width: &str, all: &mut Vec<(String, String)>) {
    let mut arguments: Vec<&str> = name.iter().map(String::as_str).collect();
    arguments.push("--help");
    let output = command(&arguments).env("COLUMNS", width).output().expect("the command runs");
    assert!(output.status.success(), "{name:?}: {}", text(&output.stderr));
    let help = text(&output.stdout);
    for sub in subcommands(&help).into_iter().filter(|sub| sub != "help") {
        add_help(&[name, &[sub]].concat(), width, all);
    }
    all.push((name.join(" "), help));
}

fn help_of_all(width: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    add_help(&[], width, &mut all);
    all
}

/// Returns the examples of a help text. Lines that end in a backslash are joined with the next.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let text: Vec<&str> = lines.take_while(|line| !line.is_empty()).map(str::trim).collect();
    text.join("\n").replace("\\\n", "").lines().map(str::to_owned).collect()
}

#[test]
fn help_fits_the_screen() {
    for width in [60, 80, 100] {
        for (name, help) in help_of_all(&width.to_string()) {
            let is_example = |line: &str| line.trim_start().starts_with("lockyard ");
            let wide = |line: &&str| line.chars().count() > width && !is_example(line);
            let wide: Vec<&str> = help.lines().filter(wide).collect();
            assert!(wide.is_empty(), "{name} at {width}: {wide:#?}");
        }
    }
}

/// Examples that take too long for a test. `.ci/run` runs both.
const LONG: [&str; 2] = ["lockyard reproduce", "lockyard machines check cascade-lake-2s24c2t"];

/// The plan of the examples of `sweep`.
const PLAN: &str = "scenarios = \"page-ref\"\nvariants = \"xadd\"\nmachines = \"zen4-7840u\"\n\
                    threads = [1, 2]\nruns = \"quick\"\n";

#[test]
fn every_command_has_examples_and_they_work() {
    let directory = directory("help", "examples");
    let old = directory.join("old");
    let new = directory.join("new");
    let itself = optimised_file();
    for program in [&old, &new] {
        std::fs::create_dir(program).expect("there is room");
        std::os::unix::fs::symlink(&itself, program.join("lockyard")).expect("there is room");
    }
    let rows = lockyard(&["predict", "page-ref", "-m", "zen4-7840u", "-t", "1,2", "-f", "json"]);
    for name in ["before.json", "after.json"] {
        std::fs::write(directory.join(name), &rows.stdout).expect("there is room");
    }
    std::fs::write(directory.join("plan.toml"), PLAN).expect("there is room");
    let data = "scenario,variant,threads,measured\npage-ref,xadd,1,6\npage-ref,xadd,2,40\n";
    for (name, text) in [("matrix.csv", "\n20\n85,84\n85,84,20\n"), ("data.csv", data)] {
        std::fs::write(directory.join(name), text).expect("there is room");
    }
    let path = format!("{}:{}", old.display(), std::env::var("PATH").unwrap_or_default());
    let mut run = HashSet::new();
    for (name, help) in help_of_all("80") {
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{name} has no example: {help}");
        for example in examples.iter().filter(|example| !LONG.contains(&example.as_str())) {
            // A group's example may be that of its subcommand, and a file is not written twice.
            if !run.insert(example.clone()) {
                continue;
            }
            let mut shell = Command::new("sh");
            shell.args(["-c", example]).current_dir(&directory).env("PATH", &path);
            let output = shell.output().expect("there is a shell");
            // Identical programs may differ by chance, so a comparison may also end with code 1.
            let compared = example.starts_with("lockyard compare");
            let code = output.status.code();
            let works = code == Some(0) || compared && code == Some(1);
            assert!(works, "{name}: `{example}`: {code:?}: {}", text(&output.stderr));
        }
    }
    assert!(run.len() >= 18, "{run:?}");
}

#[test]
fn help_of_a_command_is_the_same_by_either_name() {
    let by_option = lockyard(&["machines", "show", "--help"]);
    let by_command = lockyard(&["help", "machines", "show"]);
    assert_eq!(text(&by_option.stdout), text(&by_command.stdout));
    assert_eq!(text(&lockyard(&[]).stdout), text(&lockyard(&["-h"]).stdout));
}

#[test]
fn the_version_has_the_commit_if_it_is_known() {
    let version = text(&lockyard(&["--version"]).stdout);
    let known = version.starts_with(concat!("lockyard ", env!("CARGO_PKG_VERSION")));
    assert!(known && version.lines().count() == 1, "{version}");
    assert_eq!(version.contains('('), version.trim_end().ends_with(')'), "{version}");
}
