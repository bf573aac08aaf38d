//! Contents that a report or recording lacks, as the recorder noticed: locks that went past
//! it, programs that did not load it, locks of other kinds, and processes that still run. Counts
//! are exact only where all were seen.

use lockyard_profile::notes::Noted;
use lockyard_profile::program;
use lockyard_profile::records::Records;
use lockyard_records::{MOST_NOTES, note};
use lockyard_support::printable;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Maximum number of lines of one kind.
const MOST_LINES: usize = 3;

/// A process that still runs.
pub(super) struct Running {
    pid: u32,
    name: String,
}

/// Finds the processes that still run and record into a directory. Call this before the files are
/// read: what comes later is not in them. A child that has just begun has no file yet, but its
/// parent's mapping.
pub(super) fn running(directory: &Path) -> Vec<Running> {
    let shown = directory.as_os_str().as_bytes();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let still = pids.filter(|pid| {
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.windows(shown.len().max(1)).any(|part| part == shown)
    });
    still
        .map(|pid| {
            let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
            Running { pid, name: shown_name(String::from_utf8_lossy(&name).trim_end()) }
        })
        .collect()
}

/// Contents that the records lack.
#[derive(Debug, Default)]
pub(super) struct Noticed {
    /// Signs that something is missing, each a line.
    pub(super) missing: Vec<String>,
    /// Locks that the program uses and that are never recorded, each a line.
    pub(super) other_locks: Vec<String>,
}

impl Noticed {
    /// Returns what was noticed.
    pub(super) fn of(found: &[Records], running: &[Running]) -> Noticed {
        let mut noticed = Noticed::default();
        let mut missing = Lines::default();
        let mut executed = Lines::default();
        let mut others = Lines::default();
        let mut children = Lines::default();
        let mut programs: Vec<&str> = Vec::new();
        for records in found {
            if !programs.contains(&records.program.as_str()) {
                programs.push(&records.program);
                // A program that another one executes is not checked before.
                missing.extend(program::check(Path::new(&records.program)).err());
            }
            for note in &records.notes {
                match note.kind {
                    note::CHILD => children.add(format!(
                        "process {} ({}), a child of a fork, could not make its file of records: \
                         its acquisitions are missing",
                        note.pid,
                        shown_name(&note.texts[0])
                    )),
                    note::EXECUTED => executed.extend(not_loaded(records, note, found)),
                    note::SEMAPHORES => others.add(
                        "the program waits for semaphores (sem_wait), which are not recorded as locks"
                            .to_owned(),
                    ),
                    note::STANDARD => others.add(
                        "the program takes mutexes of standard C (mtx_lock), which are not \
                         recorded"
                            .to_owned(),
                    ),
                    _ => missing.extend(past(note)),
                }
            }
            if records.header.note_count > MOST_NOTES {
                missing.add(format!(
                    "process {} executed or forked more than {MOST_NOTES} programs, and whether \
                     the rest was recorded is not known",
                    records.header.pid
                ));
            }
        }
        let still = running.iter().map(|Running { pid, name }| {
            format!(
                "process {pid} ({name}) still runs: what it does from now on is not in this report"
            )
        });
        noticed.missing = missing.into_lines("more of this kind");
        noticed.missing.extend(executed.into_lines("more programs that did not load the recorder"));
        noticed.missing.extend(children.into_lines("more children of forks without records"));
        let mut running = Lines::default();
        running.extend(still);
        noticed.missing.extend(running.into_lines("more processes that still run"));
        noticed.other_locks = others.0;
        noticed
    }

    /// Returns true if nothing is known to be missing.
    pub(super) fn saw_all(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns the reasons for which no lock at all was recorded.
    pub(super) fn of_none(&self) -> Vec<String> {
        let reasons: Vec<String> = self.missing.iter().chain(&self.other_locks).cloned().collect();
        if reasons.is_empty() {
            return vec![
                "the program took no lock of POSIX threads. Locks of Rust, Go and others are \
                 compiled into a program (lockyard-recorded records them)"
                    .to_owned(),
            ];
        }
        reasons
    }
}

/// Lines, each once.
#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn add(&mut self, line: String) {
        if !self.0.contains(&line) {
            self.0.push(line);
        }
    }

    fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        lines.into_iter().for_each(|line| self.add(line));
    }

    /// Returns the first lines, and the number of the others.
    fn into_lines(mut self, others: &str) -> Vec<String> {
        let more = self.0.len().saturating_sub(MOST_LINES);
        self.0.truncate(MOST_LINES);
        if more > 0 {
            self.0.push(format!("{more} {others}"));
        }
        self.0
    }
}

fn shown_name(name: &str) -> String {
    printable(name).to_string()
}

/// Returns the line of locks that went past the recorder.
fn past(note: &Noted) -> Option<String> {
    let [first, second] = [0, 1].map(|part| match note.texts[part].as_str() {
        "" => "the program".to_owned(),
        text => shown_name(text),
    });
    Some(match note.kind {
        note::DEEP => format!(
            "{first} was opened with RTLD_DEEPBIND: locks that it takes may go past the recorder"
        ),
        note::NAMESPACE => format!(
            "{first} was opened in a namespace of its own (dlmopen): its locks are not seen"
        ),
        note::SEARCHED => format!(
            "{second} found {first} behind the recorder (dlsym): its calls of it are not seen"
        ),
        note::BEFORE => format!(
            "{second} defines {first} and comes before the recorder: calls that it serves itself \
             are not seen"
        ),
        _ => return None,
    })
}

/// Returns the line of a program that was executed and has no records.
fn not_loaded(by: &Records, note: &Noted, found: &[Records]) -> Option<String> {
    let has_records =
        |records: &Records| records.header.pid == note.pid && records.header.start >= note.ticks;
    if note.state & note::FAILED != 0 || found.iter().any(has_records) {
        return None;
    }
    let path = &note.texts[0];
    let by = by.program.rsplit('/').next().unwrap_or(&by.program);
    let (by, shown) = (shown_name(by), shown_name(path));
    if note.state & note::CLEARED != 0 {
        return Some(format!(
            "{by} executed {shown} with another LD_PRELOAD or LOCKYARD_RECORDS, so the executed \
             program did not load the recorder"
        ));
    }
    let variable = std::env::var_os("PATH");
    let checked = program::find(OsStr::new(path), variable.as_deref());
    let why = checked.ok().and_then(|path| program::check(&path).err());
    let why = why.unwrap_or_else(|| {
        "it runs on another C library or with other rights, or ended at once".to_owned()
    });
    Some(format!("{by} executed {shown}, which did not load the recorder: {why}"))
}
