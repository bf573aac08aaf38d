//! Longest waits, compared with the fastest peer's. They show the benefit of a lock that serves in
//! order of arrival.
//!
//! Each lock has two figures. The first is the longest wait in the pass that timed waits. The
//! second takes the longest wait in each of many short windows, and is the median over the windows
//! ([`crate::scenario::longest_waits`]).
//!
//! Both are divided by the same figure of the peer with the highest throughput, for two or more
//! threads. Windows are measured only with at least as many CPUs as threads. If threads share CPUs,
//! the scheduler determines the longest wait.

use crate::scenario::longest_waits::{self, Windows};
use crate::scenario::rounds::Task;
use comfy_table::{CellAlignment, Table};
use lockyard_peers::find;
use lockyard_results::details::LongestWaitDetail;
use lockyard_results::render::{LEAST_WIDTH, Screen, figure};
use lockyard_results::row::Row;
use lockyard_results::statistics;
use lockyard_scenarios::{Script, Variant};
use std::time::Duration;

/// Maximum length of a window. In this time an unordered lock can pass over a thread thousands of
/// times. Yet the window is short enough that many windows stay undisturbed on a busy host.
const WINDOW: Duration = Duration::from_millis(20);

/// Number of windows per round of a cell.
const WINDOWS_PER_ROUND: usize = 3;

/// Returns the windows for a request with this number of rounds.
pub fn of_rounds(length: Duration, rounds: usize, stalled_after: Duration) -> Windows {
    Windows { length: length.min(WINDOW), count: rounds * WINDOWS_PER_ROUND, stalled_after }
}

/// Returns true if windows of a cell are measured. That requires a second thread, and a CPU for
/// each thread.
pub fn has_windows(threads: usize, cpus: usize) -> bool {
    (2..=cpus).contains(&threads)
}

/// Measures the windows of `tasks`, and writes the results to their rows. Each task with windows
/// has a row, found by variant and number of threads.
///
/// # Errors
///
/// If a run stalls, or a lock fails to exclude.
pub fn measure(
    tasks: &[Task],
    windows: Windows,
    rows: &mut [Row],
    done: &mut dyn FnMut(),
) -> Result<(), String> {
    let longest = longest_waits::longest(tasks, windows, done)?;
    for (task, longest) in tasks.iter().zip(longest) {
        let of_task = |row: &&mut Row| {
            row.key.variant == task.variant.name && row.key.threads == Some(task.threads)
        };
        let (Some(median), Some(interval), Some(row)) = (
            statistics::median(&longest),
            statistics::median_interval(&longest),
            rows.iter_mut().find(of_task),
        ) else {
            continue;
        };
        let measured = row.details.measured.get_or_insert_default();
        measured.longest_wait = Some(LongestWaitDetail {
            windows: longest.len() as u64,
            ns: median,
            ci_low: interval.low,
            ci_high: interval.high,
        });
    }
    Ok(())
}

/// Origin of a row's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    /// The scenario's lock, if it is FIFO.
    Fifo,
    /// The scenario's lock, if it is unordered.
    Unordered,
    /// A peer's lock.
    Peer,
    /// A yardstick.
    Control,
}

fn lock(script: &Script, row: &Row) -> Lock {
    match find(&row.key.variant).filter(|_| super::is_peer(row)) {
        Some(peer) if peer.control => Lock::Control,
        Some(_) => Lock::Peer,
        None if script.variant(&row.key.variant).is_some_and(Variant::is_fifo) => Lock::Fifo,
        None => Lock::Unordered,
    }
}

/// Function that returns a row's nanoseconds, if it has them.
type Ns = fn(&Row) -> Option<f64>;

/// Returns the longest wait in the pass that timed waits.
fn of_pass(row: &Row) -> Option<f64> {
    Some(row.details.measured.as_ref()?.waits?.maximum as f64)
}

/// Returns the longest waits in the windows.
fn windows(row: &Row) -> Option<LongestWaitDetail> {
    row.details.measured.as_ref()?.longest_wait
}

/// Returns the median over the windows of the longest wait.
fn of_window(row: &Row) -> Option<f64> {
    windows(row).map(|found| found.ns)
}

/// Returns a table for each thread count above one, with the highest throughput first. Each ends
/// with a verdict on the FIFO locks.
pub fn tables(script: &Script, rows: &[Row]) -> Vec<String> {
    let mut threads: Vec<usize> =
        rows.iter().filter_map(|row| row.key.threads).filter(|&n| n > 1).collect();
    threads.sort_unstable();
    threads.dedup();
    threads.into_iter().filter_map(|threads| table(script, rows, threads)).collect()
}

fn table(script: &Script, rows: &[Row], threads: usize) -> Option<String> {
    let throughput = |row: &Row| row.measured.map_or(0.0, |measured| measured.value);
    let mut rows: Vec<&Row> = rows.iter().filter(|row| row.key.threads == Some(threads)).collect();
    rows.sort_by(|a, b| throughput(b).total_cmp(&throughput(a)));
    let best = *rows.iter().find(|row| lock(script, row) == Lock::Peer)?;
    let over = |row: &Row, of: Ns| Some(of(row)? / of(best)?);
    let has_windows = rows.iter().any(|row| windows(row).is_some());
    let mut header =
        vec!["variant", "order", "throughput, op/s", "longest, us", "over best peer's"];
    if has_windows {
        header.extend(["of a window, us", "interval", "over best peer's"]);
    }
    let mut table = Table::new();
    table.set_header(header);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let us = |ns: Option<f64>| ns.map_or(String::new(), |ns| format!("{:.1}", ns / 1e3));
    let ratio = |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"));
    for row in &rows {
        let order = match lock(script, row) {
            Lock::Fifo => "FIFO",
            Lock::Unordered => "none",
            Lock::Control => "none, yardstick",
            Lock::Peer if find(&row.key.variant).is_some_and(|peer| peer.fifo) => "FIFO, peer",
            Lock::Peer => "none, peer",
        };
        let mut cells = vec![
            row.key.variant.clone(),
            order.to_owned(),
            figure(throughput(row)),
            us(of_pass(row)),
            ratio(over(row, of_pass)),
        ];
        if has_windows {
            let found = windows(row);
            cells.push(us(of_window(row)));
            let interval = |found: LongestWaitDetail| {
                format!("{} .. {}", us(Some(found.ci_low)), us(Some(found.ci_high)))
            };
            cells.push(found.map(interval).unwrap_or_default());
            cells.push(ratio(over(row, of_window)));
        }
        table.add_row(cells);
    }
    // The screen is unknown here, so lay out for the narrowest one.
    let table = Screen::of_width(LEAST_WIDTH).figures(&table, 2);
    let mut text = format!(
        "Longest waits on {threads} threads, beside those of {}, the peer with the highest \
        throughput\n\n{table}\n\n",
        best.key.variant
    );
    let of = |wanted: Lock| rows.iter().copied().filter(move |row| lock(script, row) == wanted);
    let (fifo, peers): (Vec<_>, Vec<_>) = (of(Lock::Fifo).collect(), of(Lock::Peer).collect());
    text.extend(verdict("Longest wait of the pass", of_pass, &fifo, &peers));
    let count = windows(best).map_or(0, |found| found.windows);
    text.extend(verdict(
        &format!("Longest wait of a window (median of {count})"),
        of_window,
        &fifo,
        &peers,
    ));
    Some(text)
}

/// Compares the longest wait of the scenario's FIFO locks with a tenth of each peer's. Names the
/// peers on both sides of that limit. FIFO peers are left out.
fn verdict(what: &str, wait: Ns, fifo: &[&Row], peers: &[&Row]) -> Option<String> {
    let of_fifo = |row: &&Row| Some((row.key.variant.clone(), wait(row)?));
    let longest = fifo.iter().filter_map(of_fifo).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let unordered =
        peers.iter().filter(|row| find(&row.key.variant).is_some_and(|peer| !peer.fifo));
    let (within, beyond): (Vec<_>, Vec<_>) = unordered
        .filter_map(|row| Some((row.key.variant.as_str(), wait(row)?)))
        .partition(|(_, of_peer)| longest.1 <= of_peer / 10.0);
    let names = |of: Vec<(&str, f64)>| match of.as_slice() {
        [] => "none".to_owned(),
        of => of.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
    };
    Some(format!(
        "{what}: at most {:.1} us for the scenario's FIFO locks ({}). This is at most a tenth of \
         the wait of: {}. It is more than a tenth of the wait of: {}.\n",
        longest.1 / 1e3,
        longest.0,
        names(within),
        names(beyond)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{add, parse};
    use lockyard_results::cell_key::CellKey;
    use lockyard_results::details::{Details, MeasuredDetail};
    use lockyard_results::fairness::Waits;
    use lockyard_results::row::Measured;

    fn row(variant: &str, throughput: f64, longest: u64, of_window: f64, peer: bool) -> Row {
        let waits =
            Waits { p50: None, p90: None, p99: None, p999: None, maximum: longest, count: 1 };
        let longest_wait = LongestWaitDetail { ns: of_window, ..LongestWaitDetail::default() };
        let details = Details::of_measured(MeasuredDetail {
            waits: Some(waits),
            longest_wait: Some(longest_wait),
            peer: peer.then(|| "x".to_owned()),
            ..MeasuredDetail::default()
        });
        let measured =
            Measured { value: throughput, ci_low: throughput, ci_high: throughput, samples: 1 };
        Row::measured(CellKey::throughput_here("e", variant, 2), measured, details)
    }

    fn script() -> Script {
        let mut script = Script::shipped("spin-loop/same-node/embedded").unwrap();
        add(&mut script, "--peers", &parse("all").unwrap()).unwrap();
        script
    }

    #[test]
    fn fifo_locks_are_set_beside_the_peer_with_the_highest_throughput() {
        let rows = [
            row("ticket", 10.0, 900, 50.0, false),
            row("mcs", 9.0, 800, 100.0, false),
            row("test-and-set", 25.0, 9, 9.0, false),
            row("spin", 20.0, 10_000, 1_000.0, true),
            row("std-mutex", 15.0, 1, 1.0, true),
            row("mcslock", 1.0, 2, 2.0, true),
            row("bare", 30.0, 1, 1.0, true),
        ];
        let tables = tables(&script(), &rows);
        assert_eq!(tables.len(), 1);
        let text = &tables[0];
        assert!(text.starts_with("Longest waits on 2 threads, beside those of spin,"), "{text}");
        for expected in [
            "Longest wait of the pass: at most 0.9 us for the scenario's FIFO locks (ticket). \
             This is at most a tenth of the wait of: spin. It is more than a tenth of the wait of: \
             std-mutex.",
            "Longest wait of a window (median of 0): at most 0.1 us for the scenario's FIFO locks \
             (mcs). This is at most a tenth of the wait of: spin. It is more than a tenth of the \
             wait of: std-mutex.",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let order: Vec<usize> = ["bare", "test-and-set", "ticket"]
            .iter()
            .map(|v| text.find(&format!("\n{v} ")).expect("it has a line"))
            .collect();
        assert!(order.is_sorted(), "the highest throughput comes first: {text}");
    }

    #[test]
    fn without_a_peer_or_without_a_second_thread_there_is_no_table() {
        assert!(tables(&script(), &[row("ticket", 1.0, 1, 1.0, false)]).is_empty());
        let mut alone = row("spin", 1.0, 1, 1.0, true);
        alone.key.threads = Some(1);
        assert!(tables(&script(), &[alone]).is_empty());
    }

    #[test]
    fn windows_are_measured_where_all_threads_can_run() {
        assert!(has_windows(2, 2) && has_windows(2, 8));
        assert!(!has_windows(1, 8) && !has_windows(4, 2));
    }
}
