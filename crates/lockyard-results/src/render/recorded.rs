//! Answers on a recorded program as short tables and sentences: for a terminal, in Markdown. The
//! facts of the recorded run come before the predicted figures, the answers after them.

use super::cells::{new_table, per_cent};
use super::screen::Screen;
use super::si::si;
use crate::recorded::{
    AccessToday, Accesses, LockSaturation, LockToday, RecordedProgram, Replay, SATURATED_SHARE,
    Today,
};
use comfy_table::{Table, presets};
use lockyard_support::threads;

/// Number of locks in the table of today.
const OF_TODAY: usize = 5;

/// Number of locks of a machine.
const OF_MACHINE: usize = 4;

/// Number of characters of a lock's name on a screen.
const LONGEST: usize = 24;

/// Returns the facts for a screen: where the time goes today, and the result of the gate. What
/// grows with threads comes first.
pub(super) fn facts(of: &RecordedProgram, screen: &Screen) -> String {
    let lay_out = |table: &Table| screen.figures(table, 1);
    let text = render_facts(of, &|title| screen.heading(title), &short, &lay_out);
    let gate = screen.wrap(&gate(of));
    if of.growth.is_some() { gate + &text } else { text + &gate }
}

/// Returns the table of where the time goes for a screen.
pub(super) fn today(of: &RecordedProgram, screen: &Screen) -> String {
    let lay_out = |table: &Table| screen.figures(table, 1);
    render_facts(of, &|title| screen.heading(title), &short, &lay_out)
}

/// Returns the answers for a screen.
pub(super) fn answers(of: &RecordedProgram, screen: &Screen) -> String {
    let lay_out = |table: &Table| screen.figures(table, 1);
    let text = render_answers(of, &|title| screen.heading(title), &short, &lay_out);
    format!("{text}{}", screen.wrap(&sentences(of)))
}

/// Returns the facts in Markdown.
pub(super) fn facts_in_markdown(of: &RecordedProgram, heading: &str) -> String {
    let heading = |title: &str| format!("{heading}{title}");
    let text = render_facts(of, &heading, &str::to_owned, &lay_out_in_markdown);
    if of.growth.is_some() { gate(of) + &text } else { text + &gate(of) }
}

/// Returns the answers in Markdown.
pub(super) fn answers_in_markdown(of: &RecordedProgram, heading: &str) -> String {
    let heading = |title: &str| format!("{heading}{title}");
    let text = render_answers(of, &heading, &str::to_owned, &lay_out_in_markdown);
    format!("{text}{}", sentences(of))
}

fn lay_out_in_markdown(table: &Table) -> String {
    table.clone().load_style(presets::ASCII_MARKDOWN).to_string()
}

/// Returns the sentence on the gate, as a paragraph.
fn gate(of: &RecordedProgram) -> String {
    let sentences = match &of.growth {
        Some(growth) => growth.sentences(),
        None => of.gate.iter().map(Replay::sentence).collect(),
    };
    match sentences.is_empty() {
        true => String::new(),
        false => sentences.join("\n") + "\n\n",
    }
}

/// Returns the beginning of a long name.
fn short(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    let begin: String = name.chars().take(LONGEST - 1).collect();
    format!("{}…", begin.trim_end())
}

/// Text of something.
type Words<'w, T> = &'w dyn Fn(&T) -> String;

fn render_facts(
    of: &RecordedProgram,
    heading: Words<str>,
    name: Words<str>,
    lay_out: Words<Table>,
) -> String {
    let today = &of.today;
    let title = format!(
        "Where the time goes today: {:.1} thread{}, {} acquisitions/s",
        today.threads,
        if (today.threads - 1.0).abs() < 0.05 { "" } else { "s" },
        si(today.acquisitions_per_s)
    );
    format!("{}\n\n{}\n\n", heading(&title), lay_out(&of_today(today, name)))
}

fn render_answers(
    of: &RecordedProgram,
    heading: Words<str>,
    name: Words<str>,
    lay_out: Words<Table>,
) -> String {
    let mut text = String::new();
    for machine in of.machines() {
        let title = format!(
            "Which lock saturates on {machine}{}: busy for {:.0} % of the time",
            of.mark(),
            SATURATED_SHARE * 100.0
        );
        let table = lay_out(&of_machine(of, machine, name));
        text.push_str(&format!("{}\n\n{table}\n\n", heading(&title)));
    }
    text
}

/// Returns the sentences on the best changes.
fn sentences(of: &RecordedProgram) -> String {
    let best = of.best_changes.iter().map(|best| format!("{}{}", best.sentence(), of.mark()));
    let all = of.several_saturated().into_iter().chain(best);
    let text: String = all.map(|sentence| format!("{sentence}\n")).collect();
    if text.is_empty() { text } else { text + "\n" }
}

fn of_today(today: &Today, name: Words<str>) -> Table {
    let header = ["where", "time", "held", "waited", "taken/s", "hold ns", "wait ns"];
    let mut table = new_table(&presets::NOTHING, &header, 1);
    let part = |name: &str, share: f64| {
        let mut row = vec![name.to_owned(), per_cent(share)];
        row.resize(header.len(), String::new());
        row
    };
    table.add_row(part("outside of locks", today.share_outside));
    // Waits that bursts did not see look like sleep.
    let is_unsure = today.share_asleep > 0.05 && today.share_waited > 0.2;
    let asleep = if is_unsure { "asleep or waiting" } else { "asleep" };
    table.add_row(part(asleep, today.share_asleep));
    if today.share_without_cpu >= 0.0005 {
        table.add_row(part("without a CPU", today.share_without_cpu));
    }
    let line = |name: String, of: AccessToday| {
        vec![
            name,
            per_cent(of.share_held + of.share_waited),
            per_cent(of.share_held),
            per_cent(of.share_waited),
            si(of.acquisitions_per_s),
            format!("{:.0}", of.held_ns_each_time),
            format!("{:.0}", of.waited_ns_each_time),
        ]
    };
    let shown = today.locks.len().min(OF_TODAY);
    for lock in &today.locks[..shown] {
        table.add_row(line(name(&lock.lock), lock.all()));
        for (access, of) in lock.accesses.into_iter().flat_map(Accesses::each) {
            table.add_row(line(format!("- its {access}"), of));
        }
    }
    let rest = &today.locks[shown..];
    if !rest.is_empty() {
        let sum = |of: fn(&LockToday) -> f64| rest.iter().map(of).sum::<f64>();
        let (held, waited) = (sum(|lock| lock.share_held), sum(|lock| lock.share_waited));
        let mut row = part(&format!("{} more", rest.len()), held + waited);
        row[2..5].clone_from_slice(&[
            per_cent(held),
            per_cent(waited),
            si(sum(|lock| lock.acquisitions_per_s)),
        ]);
        table.add_row(row);
    }
    table
}

fn of_machine(of: &RecordedProgram, machine: &str, name: Words<str>) -> Table {
    let header = ["lock", "saturated at", "knee", "busy", "held", "with"];
    let mut table = new_table(&presets::NOTHING, &header, 1);
    for (_, lock) in of.on(machine).take(OF_MACHINE) {
        let LockSaturation { saturated_at_threads, knee_threads, at_most, .. } = *lock;
        table.add_row([
            name(&lock.lock),
            saturated_at_threads.map_or_else(|| "-".to_owned(), threads),
            format!("{knee_threads:.0}"),
            per_cent(at_most.share_busy),
            per_cent(at_most.share_held),
            threads(at_most.threads),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_key::CellKey;
    use crate::details::Range;
    use crate::recorded::{BestChange, LockUse, Sleeps};
    use crate::render::people::table as people;
    use crate::render::table::markdown as in_markdown;
    use crate::render::{Document, json};
    use crate::row::{Row, Status};

    /// Returns all that a screen has of the answers.
    fn table(of: &RecordedProgram, screen: &Screen) -> String {
        format!("{}{}", facts(of, screen), super::answers(of, screen))
    }

    /// Returns answers with a lock that saturates, and seven that do not.
    fn answers() -> RecordedProgram {
        let lock = |number: usize| LockToday {
            lock: format!("0x55d0c0de{number:04x} of store::Shard::insert(std::string_view)"),
            site: String::new(),
            acquisitions_per_s: 250_000.0 / (number + 1) as f64,
            share_held: 0.2 / (1 << number) as f64,
            share_waited: 0.1 / (1 << number) as f64,
            held_ns_each_time: 320.0,
            waited_ns_each_time: 160.0,
            accesses: None,
        };
        let locks: Vec<LockToday> = (0..8).map(lock).collect();
        let saturation = |machine: &str| {
            let of = |(number, lock): (usize, &LockToday)| LockSaturation {
                machine: machine.to_owned(),
                lock: lock.lock.clone(),
                saturated_at_threads: (number == 0).then_some(24),
                knee_threads: 17.4 * (number + 1) as f64,
                at_most: LockUse { threads: 96, share_held: 0.5, share_busy: 0.99 },
                use_by_threads: Vec::new(),
            };
            locks.iter().enumerate().map(of).collect::<Vec<LockSaturation>>()
        };
        let best = BestChange {
            machine: "cascade-lake-2s24c2t".to_owned(),
            threads: 96,
            compared: 3,
            variant: "split-4".to_owned(),
            title: "the lock split in 4".to_owned(),
            operations_per_s: 2e6,
            interval: Some(Range { low: 1.8e6, high: 2.2e6 }),
            recorded_operations_per_s: 1.6e6,
            recorded_interval: Some(Range { low: 1.5e6, high: 1.7e6 }),
            gain_share: 0.25,
            within_intervals: false,
        };
        let machines = ["cascade-lake-2s24c2t", "ice-lake-8375c-2s32c2t"];
        RecordedProgram {
            program: "app".to_owned(),
            gated: false,
            gate: None,
            growth: None,
            refused: Some("the replay is off by +30.0 %".to_owned()),
            advice: vec!["Record it again.".to_owned()],
            today: Today {
                threads: 2.0,
                acquisitions_per_s: 386_000.0,
                share_outside: 0.35,
                share_asleep: 0.05,
                share_waited: 0.2,
                locks: locks.clone(),
                ..Today::default()
            },
            saturation: machines.into_iter().flat_map(saturation).collect(),
            best_changes: vec![best],
            ..RecordedProgram::default()
        }
    }

    #[test]
    fn the_tables_fit_a_screen_of_80_columns() {
        let of = answers();
        let text = table(&of, &Screen::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        // The first five locks, the sum of the others, and four of each machine.
        assert!(text.contains("3 more"), "{text}");
        assert_eq!(text.matches("  160").count(), 5, "{text}");
        assert_eq!(text.matches("99.0 %").count(), 8, "{text}");
        let title = "Which lock saturates on cascade-lake-2s24c2t (not gated): busy";
        assert!(text.contains(title), "{text}");
        assert!(text.contains("0x55d0c0de0000 of store… │"), "{text}");
        assert!(text.contains("split-4") && text.contains("+25.0 %, beyond the"), "{text}");
        let gated = RecordedProgram { gated: true, ..of };
        assert!(!table(&gated, &Screen::default()).contains("not gated"));
    }

    #[test]
    fn the_facts_and_the_gate_come_before_the_figures() {
        let gate = Replay {
            threads: 4,
            recorded_acquisitions_per_s: 2_261_345.0,
            outside_windows: true,
            predicted_acquisitions_per_s: Some(2_208_350.0),
            error_share: Some(-0.0234),
            allowed_share: 0.1,
            sleeps: Some(Sleeps {
                recorded_per_acquisition: 0.000_46,
                predicted_per_acquisition: 0.0102,
            }),
            passed: true,
        };
        let of = RecordedProgram { gate: Some(gate), ..answers() };
        let key = CellKey::here("made", "recorded", 4, "throughput", "op/s");
        let row = Row { predicted: Some(3e6), ..Row::new(key, Status::Predicted) };
        let document =
            Document { rows: vec![row], recorded: Some(of.clone()), ..Document::default() };
        for text in [people(&document, &Screen::default()), in_markdown(&document)] {
            let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
            let order = ["Where the time goes today", "Gate: passed", "throughput", "Which lock"];
            let places = order.map(place);
            assert!(places.is_sorted(), "{places:?} {text}");
            assert_eq!(text.matches("Gate:").count(), 1, "{text}");
        }
        let said = facts(&of, &Screen::default());
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("2,208,350 and recorded 2,261,345 acquisitions/s"), "{said}");
        assert!(words.contains("predicted 1.02 %, recorded 0.05 %."), "{said}");
        let json: serde_json::Value = serde_json::from_str(&json(&document)).expect("JSON");
        assert_eq!(json["recorded"]["gate"]["error_share"], -0.0234);
    }

    #[test]
    fn a_refusal_has_the_facts_of_the_run_and_what_to_do() {
        // Figures that were asked for without the gate need no advice.
        let said = answers().sentences().join("\n");
        assert!(!said.contains("No prediction"), "{said}");
        let of = RecordedProgram { saturation: Vec::new(), best_changes: Vec::new(), ..answers() };
        let end = "No prediction: the replay is off by +30.0 %. Record it again.";
        assert!(of.sentences().iter().any(|sentence| sentence == end));
        let document = Document { recorded: Some(of), ..Document::default() };
        let text = people(&document, &Screen::default());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("app: 20 % of its threads' time is waiting"), "{text}");
        assert!(text.contains(&format!("\n{end}\n")), "{text}");
        assert!(text.contains("Where the time goes today") && text.contains("3 more"), "{text}");
    }

    #[test]
    fn sleep_beside_many_waits_is_not_told_apart() {
        let mut of = answers();
        of.today.share_asleep = 0.2;
        assert!(!table(&of, &Screen::default()).contains("asleep or waiting"));
        of.today.share_waited = 0.35;
        assert!(table(&of, &Screen::default()).contains("asleep or waiting │ 20.0 %"));
    }

    #[test]
    fn several_saturated_locks_are_named_together() {
        let mut of = answers();
        let said = of.sentences().join("\n");
        assert!(said.contains("on cascade-lake-2s24c2t") || said.contains("8 locks are"), "{said}");
        assert!(said.contains("a change of one of them alone gives little"), "{said}");
        of.saturation.iter_mut().skip(1).for_each(|lock| lock.at_most.share_busy = 0.5);
        of.saturation.retain(|lock| lock.machine == "cascade-lake-2s24c2t");
        assert!(of.several_saturated().is_empty());
    }

    #[test]
    fn markdown_has_the_same_tables_and_json_all_locks() {
        let of = answers();
        let text = facts_in_markdown(&of, "### ") + &answers_in_markdown(&of, "### ");
        assert_eq!(text.matches("### W").count(), 3, "{text}");
        assert!(text.lines().filter(|line| line.starts_with('|')).count() > 12, "{text}");
        let document = Document { recorded: Some(of), ..Document::default() };
        let json: serde_json::Value = serde_json::from_str(&json(&document)).expect("JSON");
        let recorded = &json["recorded"];
        assert_eq!(recorded["today"]["locks"].as_array().map(Vec::len), Some(8));
        assert_eq!(recorded["saturation"][0]["saturated_at_threads"], 24);
        assert!(recorded["saturation"][1]["saturated_at_threads"].is_null());
        assert_eq!(recorded["best_changes"][0]["interval"]["low"], 1.8e6);
    }

    #[test]
    fn sentences_name_the_first_lock_and_a_gain_that_may_be_none() {
        let mut of = answers();
        of.best_changes[0].within_intervals = true;
        let said = of.sentences().join("\n");
        assert!(said.contains("saturates first, at 24 threads. (not gated)"), "{said}");
        assert!(said.contains("within the intervals: it may give nothing"), "{said}");
        of.best_changes[0].gain_share = -0.01;
        of.saturation.iter_mut().for_each(|lock| lock.saturated_at_threads = None);
        let said = of.sentences().join("\n");
        assert!(said.contains("no lock saturates up to 96 threads"), "{said}");
        assert!(said.contains("none of 3 changes gives more"), "{said}");
    }
}
