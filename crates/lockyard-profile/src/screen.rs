//! A whole run as text for a terminal: the hottest locks as a table, then each with its call sites
//! and a reason.

use crate::order::Circle;
use crate::process::{Lock, Process};
use crate::profile::Profile;
use crate::symbols::Site;
use lockyard_support::printable;
use std::fmt::Write;

/// Minimum contended share of a lock that is called contended.
const CONTENDED: f64 = 0.05;

/// Average number of waiting threads from which a lock is no longer rarely contended.
const WAITING: f64 = 0.1;

/// Minimum share of the time for which a lock is held that is called saturated.
const SATURATED: f64 = 0.7;

/// Ratio of the 99th percentile to the median of holds from which a lock has rare long ones.
const LONG_HOLDS: f64 = 20.0;

/// Minimum number of acquisitions for a reason.
const FEW: u64 = 1000;

/// Maximum number of call sites of a lock that are printed.
const MOST_SITES: usize = 4;

/// Maximum number of contradicting orders that are printed.
const MOST_CIRCLES: usize = 5;

/// Layout of the text.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Width of a line in characters.
    pub width: usize,
    /// Maximum number of locks.
    pub top: usize,
}

/// Returns the run as text.
pub fn text(profile: &Profile, layout: Layout) -> String {
    let mut text = String::new();
    let mut processes = profile.processes.iter();
    let line = format!(
        "{}: {} after {}",
        printable(&profile.command.join(" ")),
        profile.end,
        time(profile.seconds * 1e9)
    );
    push(&mut text, "", &line, layout.width);
    match processes.next() {
        Some(first) => process(&mut text, profile, first, layout),
        None => text.push_str("\nNo lock was recorded.\n"),
    }
    let mut is_first = true;
    for other in processes {
        if is_first {
            text.push_str("\nOther processes (--format json has their locks):\n");
        }
        is_first = false;
        let line = format!(
            "{} (process {}): {} of {}, {} contended",
            printable(&other.name),
            other.pid,
            acquisitions(other.acquisitions()),
            locks(other.locks.len()),
            grouped(other.contended())
        );
        push(&mut text, "  ", &line, layout.width);
    }
    text.push('\n');
    if profile.every > 1 && !profile.processes.is_empty() {
        let line = format!(
            "Counts and waits are of all acquisitions{}; holds and runs of a sample, 1 in {} \
             (--every).",
            if profile.saw_all { "" } else { " that the recorder saw" },
            grouped(profile.every)
        );
        push(&mut text, "", &line, layout.width);
    }
    push(&mut text, "", &cost(profile), layout.width);
    for warning in &profile.warnings {
        push(&mut text, "", &format!("warning: {warning}"), layout.width);
    }
    // Whatever is in a name or a warning, the terminal obeys none of it.
    lockyard_support::escaped_lines(&text)
}

fn cost(profile: &Profile) -> String {
    let lost = match profile.lost() {
        0 => "nothing was lost".to_owned(),
        lost => format!("{} records had no room and are lost", grouped(lost)),
    };
    match (profile.cost_ns, profile.overhead()) {
        (Some([near, far]), Some([least, most])) => format!(
            "Recording cost {near:.0} ns a pair of lock and unlock with its records in the nearest \
             cache, {far:.0} ns with cold ones: {:.1} to {:.1} % of the program's CPU time; \
             {lost}.",
            least * 100.0,
            most * 100.0
        ),
        _ => format!("The cost of recording is not known; {lost}."),
    }
}

fn process(text: &mut String, profile: &Profile, process: &Process, layout: Layout) {
    let waited: u64 = process.locks.iter().map(|lock| lock.counts.waits.total).sum();
    let line = format!(
        "{} (process {}): {} of {} by {}; {} waited, {} in all",
        printable(&process.name),
        process.pid,
        acquisitions(process.acquisitions()),
        locks(process.locks.len()),
        threads(process.threads),
        share(process.contended() as f64 / process.acquisitions().max(1) as f64),
        time(profile.ns(waited))
    );
    push(text, "", &line, layout.width);
    text.push('\n');
    let shown = &process.locks[..layout.top.min(process.locks.len())];
    text.push_str(&table(profile, process, shown));
    let rest = &process.locks[shown.len()..];
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|lock| lock.counts.acquisitions).sum();
        let waited: u64 = rest.iter().map(|lock| lock.counts.waits.total).sum();
        let line = format!(
            "and {} more: {}, {} waited (--top, --format json)",
            locks(rest.len()),
            acquisitions(count),
            time(profile.ns(waited))
        );
        push(text, "", &line, layout.width);
    }
    for (index, lock) in shown.iter().enumerate() {
        text.push('\n');
        details(text, profile, process, lock, index, layout.width);
    }
    circles(text, process, layout.width);
    if !process.held.is_empty() {
        text.push('\n');
        let held = process.held.iter();
        let held: Vec<String> = held
            .map(|(lock, thread)| format!("{} by thread {thread}", named(process, *lock)))
            .collect();
        push(text, "", &format!("Held at the end: {}.", held.join(", ")), layout.width);
    }
}

/// Columns of the table, each at least as wide as its title.
const COLUMNS: [&str; 9] =
    ["lock", "acquired", "contended", "waited", "wait p99", "held", "hold p50", "hold p99", "run"];

fn table(profile: &Profile, process: &Process, shown: &[Lock]) -> String {
    let dash = || "-".to_owned();
    let at = |ticks: Option<f64>| ticks.map_or_else(dash, |of| time(of / profile.ticks_per_ns));
    let row = |(index, lock): (usize, &Lock)| {
        let counts = &lock.counts;
        [
            format!("#{}", index + 1),
            si(counts.acquisitions),
            share(counts.contended_share()),
            time(profile.ns(counts.waits.total)),
            at(counts.waits.quantile(0.99)),
            profile.held_share(process, lock).map_or_else(dash, share),
            at(counts.holds.quantile(0.5)),
            at(counts.holds.quantile(0.99)),
            si(u64::from(lock.longest_run)),
        ]
    };
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(shown.iter().enumerate().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        let line = cells.join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
        if index == 0 {
            text.push_str(&"-".repeat(line.trim_end().len()));
            text.push('\n');
        }
    }
    text
}

/// Returns the name of a lock: its number among those of the table, and its variable.
fn named(process: &Process, address: u64) -> String {
    let found = process.locks.iter().position(|lock| lock.address == address);
    match found {
        Some(index) => {
            let name = process.locks[index].variable.name.as_deref();
            let name = name.map(|name| format!(" {}", printable(name))).unwrap_or_default();
            format!("#{}{name}", index + 1)
        }
        None => format!("{address:#x}"),
    }
}

fn details(
    text: &mut String,
    profile: &Profile,
    process: &Process,
    lock: &Lock,
    index: usize,
    width: usize,
) {
    let name = match (&lock.variable.name, lock.sites.first()) {
        (Some(name), _) => printable(name).to_string(),
        (None, Some(first)) => format!("{}, of {}", place(lock.variable.place), site(&first.site)),
        (None, None) => place(lock.variable.place).to_owned(),
    };
    let line = format!("#{} {} {name}, {:#x}", index + 1, lock.kind, lock.address);
    push(text, "", &line, width);
    let all = lock.counts.acquisitions.max(1) as f64;
    for of in lock.sites.iter().take(MOST_SITES) {
        let mut line =
            format!("{:>6}  {}", share(of.counts.acquisitions as f64 / all), site(&of.site));
        if of.counts.contended > 0 {
            let _ = write!(line, ", {} contended", share(of.counts.contended_share()));
        }
        if of.counts.condition_waits > 0 {
            let _ = write!(
                line,
                ", {} condition wait{} of {} in all",
                grouped(of.counts.condition_waits),
                if of.counts.condition_waits == 1 { "" } else { "s" },
                time(profile.ns(of.counts.condition_ticks))
            );
        }
        push(text, "  ", &line, width);
    }
    if lock.sites.len() > MOST_SITES {
        let more = match lock.sites.len() - MOST_SITES {
            1 => "        and 1 more call site".to_owned(),
            more => format!("        and {more} more call sites"),
        };
        push(text, "  ", &more, width);
    }
    for reason in reasons(profile, process, lock) {
        push(text, "  ", &reason, width);
    }
}

fn place(place: &str) -> &'static str {
    match place {
        "heap" => "on the heap",
        "stack" => "on the stack",
        _ => "in memory",
    }
}

fn site(site: &Site) -> String {
    printable(&site.text()).to_string()
}

/// Returns what the figures of a lock say, the most important first.
fn reasons(profile: &Profile, process: &Process, lock: &Lock) -> Vec<String> {
    let counts = &lock.counts;
    let mut reasons = Vec::new();
    let held = profile.held_share(process, lock);
    let contended = counts.contended_share();
    let waiting = profile.ns(counts.waits.total) / profile.duration_ns(process);
    let p50 = counts.holds.quantile(0.5);
    let p99 = counts.holds.quantile(0.99);
    if counts.acquisitions < FEW {
        reasons.push("Too few acquisitions for a reason.".to_owned());
    } else if contended < CONTENDED && waiting >= WAITING {
        reasons.push(format!(
            "Few acquisitions wait ({}), but long: {waiting:.1} threads wait on average, and one \
             thread takes the lock up to {} times in a row.",
            share(contended),
            grouped(u64::from(lock.longest_run))
        ));
    } else if contended < CONTENDED {
        reasons.push(format!("Rarely contended: {} of its acquisitions waited.", share(contended)));
    } else if held.is_some_and(|held| held >= SATURATED) {
        reasons.push(format!(
            "Saturated: held {} of the time. Hold it shorter, or split it.",
            share(held.unwrap_or_default())
        ));
    } else if let (Some(p50), Some(p99)) = (p50, p99)
        && p99 > p50 * LONG_HOLDS
    {
        reasons.push(format!(
            "Rare long holds: one in a hundred takes {} or more, the median {}.",
            time(p99 / profile.ticks_per_ns),
            time(p50 / profile.ticks_per_ns)
        ));
    } else if let Some(held) = held {
        reasons.push(format!(
            "Contended though held only {} of the time: threads come for it together.",
            share(held)
        ));
    } else {
        reasons.push("Contended between readers and writers.".to_owned());
    }
    let handed: u64 = lock.hand_overs.iter().sum();
    if contended >= CONTENDED && counts.acquisitions >= FEW && handed > 0 {
        let far = lock.hand_overs[3] as f64 / handed as f64;
        let far = if far > 0.0 {
            format!(", {} of them beyond the last-level cache", share(far))
        } else {
            String::new()
        };
        reasons.push(format!(
            "Handed to another thread at {} of acquisitions{far}; longest run of one thread: {}.",
            share(handed as f64 / lock.followed.max(handed) as f64),
            grouped(u64::from(lock.longest_run))
        ));
    }
    if !lock.same_line.is_empty() {
        let others: Vec<String> =
            lock.same_line.iter().take(4).map(|other| named(process, *other)).collect();
        let more = match lock.same_line.len().saturating_sub(4) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        reasons.push(format!("In the same cache line: {}{more}.", others.join(", ")));
    }
    reasons
}

fn circles(text: &mut String, process: &Process, width: usize) {
    if process.circles.is_empty() {
        return;
    }
    text.push_str("\nLocks that are taken in contradicting orders, which may deadlock:\n");
    for circle in process.circles.iter().take(MOST_CIRCLES) {
        push(text, "  ", &described(process, circle), width);
    }
    if let Some(more) = process.circles.len().checked_sub(MOST_CIRCLES).filter(|more| *more > 0) {
        push(text, "  ", &format!("and {more} more (--format json)"), width);
    }
}

fn described(process: &Process, circle: &Circle) -> String {
    let arrow = |pair: &lockyard_records::Pair| {
        let at = process.pair_sites.get(&pair.inner_site).map(site).unwrap_or_default();
        format!("{} then {} at {at}", named(process, pair.outer), named(process, pair.inner))
    };
    circle.iter().map(arrow).collect::<Vec<_>>().join("; ")
}

/// Appends a line. What does not fit is wrapped, and indented deeper.
fn push(text: &mut String, indent: &str, line: &str, width: usize) {
    let mut here = String::from(indent);
    let mut has_word = false;
    // Leading blanks belong to the layout.
    let blanks = line.len() - line.trim_start().len();
    here.push_str(&line[..blanks]);
    for word in line.split_whitespace() {
        let needed = here.chars().count() + usize::from(has_word) + word.chars().count();
        if has_word && needed > width {
            text.push_str(here.trim_end());
            text.push('\n');
            here = format!("{indent}    ");
            has_word = false;
        }
        if has_word {
            here.push(' ');
        }
        here.push_str(word);
        has_word = true;
    }
    text.push_str(here.trim_end());
    text.push('\n');
}

fn acquisitions(count: u64) -> String {
    if count == 1 { "1 acquisition".to_owned() } else { format!("{} acquisitions", grouped(count)) }
}

fn locks(count: usize) -> String {
    if count == 1 { "1 lock".to_owned() } else { format!("{} locks", grouped(count as u64)) }
}

fn threads(count: u64) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{} threads", grouped(count)) }
}

/// Formats a number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count in at most six characters.
fn si(count: u64) -> String {
    let value = count as f64;
    match count {
        0..100_000 => count.to_string(),
        100_000..1_000_000 => format!("{:.0} k", value / 1e3),
        1_000_000..1_000_000_000 => format!("{} M", three(value / 1e6)),
        _ => format!("{} G", three(value / 1e9)),
    }
}

fn three(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

fn share(share: f64) -> String {
    match share * 100.0 {
        per_cent if per_cent > 0.0 && per_cent < 0.05 => "<0.1 %".to_owned(),
        per_cent => format!("{per_cent:.1} %"),
    }
}

/// Formats nanoseconds with three digits and a unit.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 999.5 => format!("{ns:.0} ns"),
        ns if ns < 999_500.0 => format!("{} us", three(ns / 1e3)),
        ns if ns < 999_500_000.0 => format!("{} ms", three(ns / 1e6)),
        ns => format!("{} s", three(ns / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0, 99_999, 123_456, 1_234_567].map(si), ["0", "99999", "123 k", "1.23 M"]);
        let times = [0.0, 999.0, 1234.0, 2e6, 12.3e9].map(time);
        assert_eq!(times, ["0 ns", "999 ns", "1.23 us", "2.00 ms", "12.3 s"]);
        assert_eq!([0.0, 0.0001, 0.5].map(share), ["0.0 %", "<0.1 %", "50.0 %"]);
        assert_eq!([1, 1234, 1_234_567].map(grouped), ["1", "1,234", "1,234,567"]);
    }

    #[test]
    fn long_lines_are_wrapped() {
        let mut text = String::new();
        push(&mut text, "  ", "  one two three four five", 16);
        assert_eq!(text, "    one two\n      three four\n      five\n");
    }
}
