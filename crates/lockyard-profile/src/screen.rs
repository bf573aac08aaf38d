//! A whole run as text for a terminal: the verdict, the hottest locks as a table, then each lock
//! with its call sites and a reason. Locks of one kind are one line.

use crate::groups::{Group, Groups};
use crate::order::Circle;
use crate::process::{Access, Process};
use crate::profile::{HeldShare, Profile};
use crate::reasons::{named, reasons, verdict};
use crate::symbols::Site;
use crate::times::Holds;
use crate::waits::Waits;
use crate::words::{acquisitions, grouped, locks, si, threads, time};
use lockyard_support::{printable, share};
use std::fmt::Write;

/// Maximum number of call sites of a lock that are printed.
const MOST_SITES: usize = 4;

/// Maximum number of locks of a group that are printed.
const MOST_MEMBERS: usize = 3;

/// Maximum number of other processes that are printed.
const MOST_OTHERS: usize = 10;

/// Minimum error, as a part of the share of held time, that does not count as small.
const IN_DOUBT: f64 = 0.1;

/// Maximum number of contradicting orders that are printed.
const MOST_CIRCLES: usize = 5;

/// Layout of the text.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Width of a line in characters.
    pub width: usize,
    /// Maximum number of lines in the table of locks.
    pub top: usize,
    /// True to use characters beyond ASCII.
    pub unicode: bool,
}

impl Layout {
    /// Returns the sign before an error.
    fn sign(self) -> &'static str {
        if self.unicode { "±" } else { "+-" }
    }
}

/// Returns the run as text.
pub fn text(profile: &Profile, layout: Layout) -> String {
    let mut text = String::new();
    let mut processes = profile.processes.iter();
    // The verdict first.
    if let Some(first) = profile.processes.first() {
        for sentence in verdict(profile, first, &Groups::of(first)) {
            push(&mut text, "", &sentence, layout.width);
        }
    }
    let line = format!(
        "{}: {} after {}",
        printable(&profile.command.join(" ")),
        profile.end,
        time(profile.seconds * 1e9)
    );
    push(&mut text, "", &line, layout.width);
    match processes.next() {
        Some(first) => process(&mut text, profile, first, layout),
        None => nothing(&mut text, profile, layout.width),
    }
    let others: Vec<&Process> = processes.collect();
    if !others.is_empty() {
        text.push_str("\nOther processes (--format json has their locks):\n");
    }
    let (listed, rest) = others.split_at(others.len().min(MOST_OTHERS));
    for other in listed {
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
    if !rest.is_empty() {
        let count = rest.iter().map(|other| other.acquisitions()).sum();
        let line = format!("and {} more: {}", grouped(rest.len() as u64), acquisitions(count));
        push(&mut text, "  ", &line, layout.width);
    }
    if profile.processes.is_empty() {
        return text;
    }
    text.push('\n');
    if profile.every > 1 {
        let line = format!(
            "Counts are of all acquisitions{}; holds and runs of a sample, 1 in {} (--every); \
             times of waits of all, or of a sample where threads wait often.",
            if profile.saw_all { "" } else { " that the recorder saw" },
            grouped(profile.every)
        );
        push(&mut text, "", &line, layout.width);
    }
    push(&mut text, "", &cost(profile), layout.width);
    for warning in &profile.warnings {
        push(&mut text, "", &format!("warning: {warning}"), layout.width);
    }
    // Control characters in names and warnings must not reach the terminal.
    lockyard_support::escaped_lines(&text)
}

/// Reports that there is no lock, and the reason.
fn nothing(text: &mut String, profile: &Profile, width: usize) {
    text.push('\n');
    match profile.warnings.as_slice() {
        [] => push(text, "", "No lock was recorded.", width),
        [why, more @ ..] => {
            push(text, "", &format!("No lock was recorded: {why}"), width);
            more.iter().for_each(|line| push(text, "", &format!("warning: {line}"), width));
        }
    }
}

/// Returns a range of figures, or one figure if both ends have the same text.
fn range(least: String, most: String) -> String {
    if least == most { least } else { format!("{least} to {most}") }
}

fn cost(profile: &Profile) -> String {
    let lost = match profile.lost() {
        0 => "nothing was lost".to_owned(),
        lost => format!("{} records had no room and are lost", grouped(lost)),
    };
    match (profile.cost_ns, profile.overhead()) {
        (Some([near, far]), Some([least, most])) => {
            let shares = range(share(least), share(most));
            let costs = match [near, far].map(|cost| format!("{cost:.0} ns")) {
                [near, far] if near == far => format!("{near} a pair of lock and unlock"),
                [near, far] => format!(
                    "{near} a pair of lock and unlock with its records in the nearest cache, {far} \
                     with cold ones"
                ),
            };
            format!("Recording cost {costs}: {shares} of the program's CPU time; {lost}.")
        }
        _ => format!("The cost of recording is not known; {lost}."),
    }
}

fn process(text: &mut String, profile: &Profile, process: &Process, layout: Layout) {
    let waited: u64 = process.locks.iter().map(|lock| lock.counts.waits.ticks).sum();
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
    let groups = Groups::of(process);
    text.push('\n');
    let (shown, rest) = groups.list.split_at(layout.top.min(groups.list.len()));
    text.push_str(&table(profile, process, shown, layout.width));
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|group| group.all.counts.acquisitions).sum();
        let waited: u64 = rest.iter().map(|group| group.all.counts.waits.ticks).sum();
        let line = format!(
            "and {} more: {}, {} waited (--top, --format json)",
            locks(rest.iter().map(|group| group.members.len()).sum()),
            acquisitions(count),
            time(profile.ns(waited))
        );
        push(text, "", &line, layout.width);
    }
    let report = Report { profile, process, groups: &groups, layout };
    for (index, group) in shown.iter().enumerate() {
        text.push('\n');
        report.details(text, group, index);
    }
    report.circles(text);
    if !process.held.is_empty() {
        text.push('\n');
        let held = process.held.iter();
        let held: Vec<String> = held
            .map(|(lock, thread)| format!("{} by thread {thread}", named(process, &groups, *lock)))
            .collect();
        push(text, "", &format!("Held at the end: {}.", held.join(", ")), layout.width);
    }
}

/// Columns of the table, each at least as wide as its title.
const COLUMNS: [&str; 9] =
    ["lock", "acquired", "contended", "waited", "wait p99", "held", "hold p50", "hold p99", "run"];

fn table(profile: &Profile, process: &Process, shown: &[Group], most: usize) -> String {
    let dash = || "-".to_owned();
    let at = |ticks: Option<f64>| ticks.map_or_else(dash, |of| time(of / profile.ticks_per_ns));
    let row = |(index, group): (usize, &Group)| {
        let counts = &group.all.counts;
        let many = match group.members.len() {
            1 => String::new(),
            many if many < 100_000 => format!(" x{}", grouped(many as u64)),
            many => format!(" x{}", si(many as u64)),
        };
        [
            format!("#{}{many}", index + 1),
            si(counts.acquisitions),
            share(counts.contended_share()),
            waited(profile, &counts.waits),
            at(counts.waits.quantile(0.99)),
            group.held(profile, process).map_or_else(dash, held),
            at(counts.holds.quantile(0.5)),
            at(counts.holds.quantile(0.99)),
            si(u64::from(group.all.longest_run)),
        ]
    };
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(shown.iter().enumerate().map(row));
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    // Two blanks between columns, or one if the lines are too long.
    let is_wide = widths.iter().sum::<usize>() + 2 * (COLUMNS.len() - 1) > most;
    let between = if is_wide { " " } else { "  " };
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        let line = cells.join(between);
        text.push_str(line.trim_end());
        text.push('\n');
        if index == 0 {
            text.push_str(&"-".repeat(line.trim_end().chars().count()));
            text.push('\n');
        }
    }
    text
}

/// Formats a share of held time, with a mark if its error is not small.
fn held(held: HeldShare) -> String {
    match held.error {
        Some(error) if error < IN_DOUBT * held.share || error == 0.0 => share(held.share),
        _ => format!("~{}", share(held.share)),
    }
}

/// Formats the time of waits, with a mark if its error is not small.
fn waited(profile: &Profile, waits: &Waits) -> String {
    let is_in_doubt = waits.error() >= IN_DOUBT * waits.ticks as f64 && waits.is_sample();
    let mark = if is_in_doubt { "~" } else { "" };
    format!("{mark}{}", time(profile.ns(waits.ticks)))
}

/// A process, with the data needed to describe its locks.
struct Report<'p> {
    profile: &'p Profile,
    process: &'p Process,
    groups: &'p Groups,
    layout: Layout,
}

impl Report<'_> {
    fn details(&self, text: &mut String, group: &Group, index: usize) {
        let lock = &group.all;
        let name = match (group.name(), lock.sites.first()) {
            (Some(name), _) => printable(&name).to_string(),
            (None, Some(first)) => {
                format!("{}, of {}", place(lock.variable.place), site(&first.site))
            }
            (None, None) => place(lock.variable.place).to_owned(),
        };
        let line = match group.members.len() {
            1 => format!("#{} {} {name}, {:#x}", index + 1, lock.kind, lock.address),
            many => {
                let many = grouped(many as u64);
                format!("#{} {many} locks of kind {}: {name}", index + 1, lock.kind)
            }
        };
        push(text, "", &line, self.layout.width);
        self.members(text, group);
        let all = lock.counts.acquisitions.max(1) as f64;
        for of in lock.sites.iter().take(MOST_SITES) {
            let part = share(of.counts.acquisitions as f64 / all);
            let mut line = format!("{part:>6}  {}", site(&of.site));
            if of.counts.reads > 0 {
                let reads = of.counts.reads as f64 / of.counts.acquisitions.max(1) as f64;
                let reads = if reads < 1.0 {
                    format!(", {} to read", share(reads))
                } else {
                    ", reads".to_owned()
                };
                line.push_str(&reads);
            }
            if of.counts.contended > 0 {
                let _ = write!(line, ", {} contended", share(of.counts.contended_share()));
            }
            if of.counts.condition_waits > 0 {
                let waits = match of.counts.condition_waits {
                    1 => "1 condition wait".to_owned(),
                    many => format!("{} condition waits", grouped(many)),
                };
                let time = waited(self.profile, &of.counts.condition);
                let _ = write!(line, ", {waits} of {time} in all");
            }
            push(text, "  ", &line, self.layout.width);
        }
        if lock.sites.len() > MOST_SITES {
            let more = match lock.sites.len() - MOST_SITES {
                1 => "        and 1 more call site".to_owned(),
                more => format!("        and {more} more call sites"),
            };
            push(text, "  ", &more, self.layout.width);
        }
        let lines = match &lock.counts.accesses {
            Some(accesses) => accesses.each().map(|access| self.access(access)).to_vec(),
            None => [self.waited_in_all(&lock.counts.waits), self.held_in_all(&lock.counts.holds)]
                .into_iter()
                .flatten()
                .collect(),
        };
        for line in lines {
            push(text, "  ", &line, self.layout.width);
        }
        for reason in reasons(self.profile, self.process, self.groups, group) {
            push(text, "  ", &reason, self.layout.width);
        }
    }

    /// Describes the hottest locks of a group.
    fn members(&self, text: &mut String, group: &Group) {
        if group.members.len() == 1 {
            return;
        }
        let waited = group.all.counts.waits.ticks.max(1) as f64;
        let taken = group.all.counts.acquisitions.max(1) as f64;
        for (number, index) in group.members.iter().take(MOST_MEMBERS).enumerate() {
            let lock = &self.process.locks[*index];
            let name = match &lock.variable.name {
                Some(name) => format!("{}, {:#x}", printable(name), lock.address),
                None => format!("{:#x}", lock.address),
            };
            let line = format!(
                "{}: {name}: {} of the acquisitions, {} contended, {} of the waiting",
                if number == 0 { "hottest" } else { "next" },
                share(lock.counts.acquisitions as f64 / taken),
                share(lock.counts.contended_share()),
                share(lock.counts.waits.ticks as f64 / waited)
            );
            push(text, "  ", &line, self.layout.width);
        }
    }

    /// Describes the time of all waits, the longest wait, and the sample of them.
    fn waited_in_all(&self, waits: &Waits) -> Option<String> {
        if waits.timed == 0 {
            return None;
        }
        let ns = self.profile.ticks_per_ns;
        let [total, most] = [waits.ticks, waits.max].map(|ticks| time(self.profile.ns(ticks)));
        if !waits.is_sample() {
            return Some(format!("Waited for {total} in all, {most} at most."));
        }
        let (sign, error) = (self.layout.sign(), time(waits.error() / ns));
        Some(format!(
            "Waited for {total} {sign}{error} in all; of {} waits {} were timed, of which the \
             longest took {most}.",
            grouped(waits.count),
            grouped(waits.timed)
        ))
    }

    /// Describes the readers or the writers of a lock.
    fn access(&self, (name, of): (&str, &Access)) -> String {
        let who = if name == "reads" { "Readers" } else { "Writers" };
        let mut line = format!("{who}: {}", acquisitions(of.acquisitions));
        if of.contended > 0 {
            let _ = write!(line, ", {} contended", share(of.contended_share()));
        }
        line.push('.');
        let more = [self.waited_in_all(&of.waits), self.held_in_all(&of.holds)];
        more.into_iter().flatten().for_each(|more| line += &format!(" {more}"));
        line
    }

    /// Describes the time of all holds, the longest hold, and the time for which holders were
    /// preempted.
    fn held_in_all(&self, holds: &Holds) -> Option<String> {
        let ns = self.profile.ticks_per_ns;
        if holds.timed() == 0 {
            return None;
        }
        let error = match holds.error() {
            Some(0.0) => String::new(),
            Some(error) => format!(" {}{}", self.layout.sign(), time(error / ns)),
            None => " by one timed hold".to_owned(),
        };
        let mut line = format!(
            "Held for {}{error} in all, {} at most.",
            time(holds.total() / ns),
            time(self.profile.ns(holds.max()))
        );
        if holds.lost > 0 {
            let lost = time(self.profile.ns(holds.lost));
            let _ = write!(line, " Its holders had lost their CPU for {lost} more while timed.");
        }
        Some(line)
    }

    fn circles(&self, text: &mut String) {
        let circles = &self.process.circles;
        if circles.is_empty() {
            return;
        }
        text.push_str("\nLocks that are taken in contradicting orders, which may deadlock:\n");
        for circle in circles.iter().take(MOST_CIRCLES) {
            push(text, "  ", &self.described(circle), self.layout.width);
        }
        if let Some(more) = circles.len().checked_sub(MOST_CIRCLES).filter(|more| *more > 0) {
            push(text, "  ", &format!("and {more} more (--format json)"), self.layout.width);
        }
    }

    fn described(&self, circle: &Circle) -> String {
        let named = |address| named(self.process, self.groups, address);
        let arrow = |pair: &lockyard_records::Pair| {
            let at = self.process.pair_sites.get(&pair.inner_site).map(site).unwrap_or_default();
            format!("{} then {} at {at}", named(pair.outer), named(pair.inner))
        };
        circle.iter().map(arrow).collect::<Vec<_>>().join("; ")
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

/// Appends a line. Text that does not fit is wrapped, and indented deeper.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_equal_ends_is_one_figure() {
        let range = |least: &str, most: &str| super::range(least.to_owned(), most.to_owned());
        assert_eq!([range("0.2 %", "0.2 %"), range("1 %", "2 %")], ["0.2 %", "1 % to 2 %"]);
    }

    #[test]
    fn long_lines_are_wrapped() {
        let mut text = String::new();
        push(&mut text, "  ", "  one two three four five", 16);
        assert_eq!(text, "    one two\n      three four\n      five\n");
    }
}
