//! Locks of one kind are one line, and the reported held times match the threads' work.

use crate::support::{build, fresh, json_of, lock, process, profile};
use std::path::PathBuf;

fn shards() -> Option<PathBuf> {
    build("cc", "shards.c", &["-O1", "-g"])
}

#[test]
fn locks_of_one_kind_are_a_group_with_the_sums() {
    let Some(program) = shards() else { return };
    let (_, profile) = json_of(&program, &[]);
    let process = process(&profile);
    // Each lock is there as well.
    assert_eq!(process["locks"].as_array().map(Vec::len), Some(9), "{process:#}");
    let groups = process["groups"].as_array().expect("a list");
    let found: Vec<_> = groups.iter().map(|group| &group["locks"]).collect();
    assert!(found == [8, 1] || found == [1, 8], "{groups:#?}");
    let group = groups.iter().find(|group| group["locks"] == 8).expect("it is there");
    assert_eq!((&group["acquisitions"], &group["hold"]["count"]), (&8000.into(), &8000.into()));
    assert_eq!(group["members"].as_array().map(Vec::len), Some(8), "{group:#}");
    assert_eq!(group["sites"].as_array().map(Vec::len), Some(1), "{group:#}");
    let name = group["name"].as_str().expect("it has one");
    assert!(name.starts_with("shards") && name.ends_with(" and 7 more"), "{name}");
    let sum = |of: &str| -> u64 {
        let each = process["locks"].as_array().into_iter().flatten();
        let ours = each.filter(|lock| lock["name"] != "lone");
        ours.map(|lock| lock[of].as_u64().expect("a number")).sum()
    };
    assert_eq!(group["contended"].as_u64(), Some(sum("contended")));
    assert!(group["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty()), "{group:#}");
    assert!(process["verdict"].as_array().is_some_and(|lines| !lines.is_empty()), "{process:#}");
    let _ = std::fs::remove_file(program);
}

#[test]
fn the_text_and_the_page_have_the_group_once() {
    let Some(program) = shards() else { return };
    let page = fresh("page.html");
    let options = ["--report", page.to_str().expect("it is text")];
    let output = profile(&options, &program, &[]).output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(" x8 "), "{said}");
    assert!(said.contains("8 locks of kind mutex: shards"), "{said}");
    assert!(said.contains("\n  hottest: shards"), "{said}");
    assert_eq!(said.matches("take_shards (shards.c:").count(), 2, "{said}");
    assert!(said.contains("\n  Held for ") && said.contains(" at most."), "{said}");
    let html = std::fs::read_to_string(&page).expect("it was written");
    let table =
        html.split("<caption>Who waits").nth(1).and_then(|rest| rest.split("</table>").next());
    let table = table.expect("it has the table");
    assert_eq!(table.matches("<tr data-at=").count(), 2, "{table}");
    assert!(table.contains(">8 000</td>"), "{table}");
    let _ = std::fs::remove_file(page);
    let _ = std::fs::remove_file(program);
}

#[test]
fn a_pool_on_a_heap_that_grows_is_one_group() {
    let Some(program) = build("cc", "pool.c", &["-O1", "-g"]) else { return };
    let (_, profile) = json_of(&program, &[]);
    let process = process(&profile);
    assert_eq!(process["groups"].as_array().map(Vec::len), Some(1), "{:#}", process["groups"]);
    let locks = process["locks"].as_array().expect("a list");
    let on_heap = locks.iter().filter(|lock| lock["memory"] == "heap").count();
    assert_eq!((locks.len(), on_heap), (3000, 2990));
    let output = self::profile(&[], &program, &[]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(said.contains("#1 x3,000") && widest <= Some(80), "{said}");
    let _ = std::fs::remove_file(program);
}

/// A thread that holds a lock shares a processor with another thread: half of the time, or more on
/// a loaded host, the lock is held by a thread that does not run.
#[test]
fn time_without_a_processor_is_apart_from_the_held_time() {
    let Some(program) = shards() else { return };
    let (output, profile) = json_of(&program, &["shared-cpu"]);
    let without = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>();
    let without = 1e9 * without.expect("it says how long it had no processor");
    let lock = lock(process(&profile), "busy");
    let hold = |name: &str| lock["hold"][name].as_f64().unwrap_or_else(|| panic!("{lock:#}"));
    let (held, lost) = (hold("total_ns"), hold("without_cpu_ns"));
    // Half a second of processor time, plus the difference of the clocks.
    assert!((0.45e9..0.65e9).contains(&held), "{without}: {lock:#}");
    assert!((0.75 * without..1.05 * without + 1e7).contains(&lost), "{without}: {lock:#}");
    assert!(without > 0.1e9, "{without}: {lock:#}");
    // The longest hold includes the time off the CPU, as other threads experienced it.
    assert!(hold("max_ns") > (held + lost) / 5.0 * 0.99, "{without}: {lock:#}");
    let _ = std::fs::remove_file(program);
}

/// As with other tools, options after the program's name belong to the program.
#[test]
fn a_program_needs_no_dashes_before_it() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lockyard"));
    let output = command.args(["profile", "sh", "-c", "exit 7"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{said}");
    // The reason is in the first sentence.
    assert!(said.contains("\nNo lock was recorded: the program took no lock"), "{said}");
    assert!(!said.contains("Recording cost"), "{said}");
}
