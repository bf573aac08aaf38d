//! Recordings of one program with several numbers of threads, in one file.
//!
//! ```text
//! lockyard-recordings 1\n
//! {"command": [...], "runs": [{"threads": 1, "bytes": 4321, "rate": 2.5e6}, ...]}\n
//! recording recording ...                       each: `bytes` bytes, a whole recording (`file`)
//! ```
//!
//! A run may also have been measured without a recorder. `rate` is its operations a second; of
//! several such runs it is the median, and `rates` has all.

use crate::file;
use crate::recording::Recording;
use lockyard_support::{InputError, escaped, printable, read_file};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the format.
pub const VERSION: u32 = 1;

/// Beginning of the first line.
const NAME: &str = lockyard_support::RECORDINGS;

/// Maximum number of runs.
pub const MOST_RUNS: usize = 64;

/// Maximum number of threads of a run.
pub const MOST_THREADS: usize = 65_536;

/// Maximum number of rates of a run.
pub const MOST_RATES: usize = 1_000;

/// Largest rate: operations a second.
const MOST_RATE: f64 = 1e15;

/// Recordings of one program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// Words of the command, as the user gave them: `{threads}` stands for the number.
    pub command: Vec<String>,
    /// Runs, the one with the fewest threads first. No two have the same number.
    pub runs: Vec<Run>,
}

/// A run of the program with one number of threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Number of threads, as the user counts them.
    pub threads: usize,
    /// Operations a second of each run of the same command without the recorder.
    pub rates: Vec<f64>,
    /// The recording.
    pub recording: Recording,
}

impl Run {
    /// Returns the median of the rates without the recorder; `None` if there is none.
    pub fn rate(&self) -> Option<f64> {
        median(&self.rates)
    }
}

/// Returns the median of some rates.
fn median(rates: &[f64]) -> Option<f64> {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    match rates.len() {
        0 => None,
        many if many % 2 == 1 => Some(rates[middle]),
        _ => Some(f64::midpoint(rates[middle - 1], rates[middle])),
    }
}

/// Second line of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    command: Vec<String>,
    runs: Vec<RunHead>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunHead {
    threads: usize,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rates: Vec<f64>,
}

impl Runs {
    /// Returns runs in the order of their numbers of threads.
    ///
    /// # Errors
    ///
    /// Two have the same number, or a number or a rate is out of range: what is allowed, in a line.
    pub fn of(command: Vec<String>, mut runs: Vec<Run>) -> Result<Runs, String> {
        if runs.is_empty() || runs.len() > MOST_RUNS {
            return Err(format!("{} runs; allowed: 1 to {MOST_RUNS}", runs.len()));
        }
        for run in &runs {
            check(run.threads, &run.rates)?;
        }
        runs.sort_by_key(|run| run.threads);
        if let Some(pair) = runs.windows(2).find(|pair| pair[0].threads == pair[1].threads) {
            return Err(twice(pair[0].threads));
        }
        Ok(Runs { command, runs })
    }

    /// Joins recordings of one program, each with the name of its file. The number of threads of
    /// each is that of the threads that take locks at a time.
    ///
    /// # Errors
    ///
    /// Two are of other programs, or of the same number of threads: a line.
    pub fn join(recordings: Vec<(String, Recording)>) -> Result<Runs, String> {
        let mut runs: Vec<Run> = Vec::new();
        let mut origins: Vec<String> = Vec::new();
        for (origin, recording) in recordings {
            if let (Some(first), Some(of)) = (runs.first(), origins.first()) {
                let (one, other) = (program(&first.recording), program(&recording));
                if one != other {
                    return Err(format!(
                        "{origin}: records `{}`, and {of} records `{}`; allowed: recordings of \
                         one program",
                        printable(other),
                        printable(one)
                    ));
                }
            }
            let threads = recording.threads_at_a_time();
            if let Some(at) = runs.iter().position(|run| run.threads == threads) {
                let why = twice(threads);
                return Err(format!("{origin} and {}: {why}", origins[at]));
            }
            check(threads, &[]).map_err(|why| format!("{origin}: {why}"))?;
            runs.push(Run { threads, rates: Vec::new(), recording });
            origins.push(origin);
        }
        let command = runs.first().map(|run| run.recording.about.command.clone());
        Runs::of(command.unwrap_or_default(), runs)
    }

    /// Takes the rates of runs without the recorder, as [`rates`](crate::rates) has them. Returns
    /// the recorded numbers of threads that have none.
    ///
    /// # Errors
    ///
    /// No rate is of a recorded number of threads: a line.
    pub fn take_rates(&mut self, rates: &[(usize, f64)]) -> Result<Vec<usize>, String> {
        let mut without = Vec::new();
        for run in &mut self.runs {
            let own = rates.iter().filter(|(threads, _)| *threads == run.threads);
            let own: Vec<f64> = own.map(|(_, rate)| *rate).collect();
            if own.is_empty() {
                without.push(run.threads);
            } else {
                run.rates = own;
            }
        }
        if without.len() == self.runs.len() {
            return Err(format!(
                "no rate of a recorded number of threads; recorded: {}",
                listed(&without)
            ));
        }
        Ok(without)
    }
}

/// Returns numbers with commas between them.
fn listed(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the name of the recorded program, without its folder.
fn program(recording: &Recording) -> &str {
    let first = recording.about.command.first().map_or("", String::as_str);
    first.rsplit('/').next().unwrap_or(first)
}

fn twice(threads: usize) -> String {
    let number = lockyard_support::threads(threads);
    format!("two recordings with {number}; allowed: one for each number of threads")
}

fn check(threads: usize, rates: &[f64]) -> Result<(), String> {
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(format!("{threads} threads; allowed: 1 to {MOST_THREADS}"));
    }
    if rates.len() > MOST_RATES {
        return Err(format!("{} rates of a run; allowed: at most {MOST_RATES}", rates.len()));
    }
    match rates.iter().find(|rate| !is_rate(**rate)) {
        Some(rate) => Err(format!("a rate of {rate}; allowed: above 0, at most {MOST_RATE:e}")),
        None => Ok(()),
    }
}

fn is_rate(rate: f64) -> bool {
    rate > 0.0 && rate <= MOST_RATE
}

/// Returns true if these bytes are the beginning of recordings of any version.
pub fn are_recordings(bytes: &[u8]) -> bool {
    bytes.starts_with(NAME.as_bytes())
}

/// Returns the bytes of the file.
pub fn write(runs: &Runs) -> Vec<u8> {
    let files: Vec<Vec<u8>> = runs.runs.iter().map(|run| file::write(&run.recording)).collect();
    let head = |(run, file): (&Run, &Vec<u8>)| RunHead {
        threads: run.threads,
        bytes: file.len() as u64,
        rate: run.rate(),
        rates: if run.rates.len() > 1 { run.rates.clone() } else { Vec::new() },
    };
    let heads = runs.runs.iter().zip(&files).map(head).collect();
    let head = Head { command: runs.command.clone(), runs: heads };
    let mut bytes = format!("{NAME}{VERSION}\n").into_bytes();
    // Numbers, texts and lists cannot fail.
    bytes.extend(serde_json::to_vec(&head).unwrap_or_default());
    bytes.push(b'\n');
    files.iter().for_each(|file| bytes.extend(file));
    bytes
}

/// Reads recordings from their file. A file of one recording is one run, without a rate.
///
/// # Errors
///
/// The file cannot be read, or has no recordings: one line.
pub fn load(path: &Path) -> Result<Runs, InputError> {
    let bytes = read_file(path, file::MOST_BYTES).map_err(InputError)?;
    let shown = lockyard_support::shown(path);
    read(&bytes).map_err(|what| InputError(format!("{shown}: {what}")))
}

/// Reads recordings, or one.
///
/// # Errors
///
/// What is wrong, where, and what is allowed: a line.
pub fn read(bytes: &[u8]) -> Result<Runs, String> {
    if !are_recordings(bytes) {
        let recording = file::read(bytes)?;
        let threads = recording.threads_at_a_time().max(1);
        let command = recording.about.command.clone();
        return Runs::of(command, vec![Run { threads, rates: Vec::new(), recording }]);
    }
    let (first, rest) = file::line(bytes).unwrap_or((bytes, &[]));
    let version = String::from_utf8_lossy(first.get(NAME.len()..).unwrap_or_default());
    if version != VERSION.to_string() {
        return Err(format!(
            "recordings of version `{}`; this command reads version {VERSION}",
            printable(&version)
        ));
    }
    let Some((second, mut body)) = file::line(rest) else {
        return Err("truncated in line 2, which describes the runs".to_owned());
    };
    let head: Head = serde_json::from_slice(second).map_err(|error| file::of_line_2(&error))?;
    let mut runs = Vec::new();
    for of in head.runs {
        let rates = match (of.rate, of.rates) {
            (Some(rate), rates) if rates.is_empty() => vec![rate],
            (_, rates) => rates,
        };
        let threads = of.threads;
        let name = format!("the run with {}", lockyard_support::threads(threads));
        let length = usize::try_from(of.bytes).ok().filter(|length| *length <= body.len());
        let Some(length) = length else {
            return Err(format!("truncated: {name} has {} bytes of {}", body.len(), of.bytes));
        };
        let (own, rest) = body.split_at(length);
        let recording = file::read(own).map_err(|what| format!("{name}: {what}"))?;
        runs.push(Run { threads, rates, recording });
        body = rest;
    }
    if !body.is_empty() {
        return Err("damaged: the last run ends before the file does".to_owned());
    }
    Runs::of(head.command.iter().map(|word| escaped(word)).collect(), runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{About, Event, How, LockAbout, Window};

    /// Returns a recording in which this many threads take a lock at the same times.
    fn recording(threads: u32) -> Recording {
        let visit = [
            Event::Acquired { after: 90, lock: 0, site: 0, how: How::Waits, wait: 0 },
            Event::Released { after: 10, lock: 0 },
        ];
        let window = |thread| Window { thread, events: visit.repeat(30), ..Window::default() };
        Recording {
            about: About {
                command: vec!["./made".to_owned()],
                seconds: 1e-5,
                cpus: 4,
                locks: vec![LockAbout { name: "m".to_owned(), line: 1, ..LockAbout::default() }],
                sites: vec!["s".to_owned()],
                ..About::default()
            },
            windows: (0..threads).map(window).collect(),
        }
    }

    fn runs() -> Runs {
        let each = [(4, vec![3e6, 2e6, 4e6]), (1, vec![1.5]), (2, Vec::new())];
        let run = |(threads, rates): (usize, Vec<f64>)| Run {
            threads,
            rates,
            recording: recording(threads as u32),
        };
        let command = vec!["./made".to_owned(), "{threads}".to_owned()];
        Runs::of(command, each.map(run).to_vec()).expect("they are one program's")
    }

    #[test]
    fn a_file_holds_what_was_written() {
        let bytes = write(&runs());
        assert!(are_recordings(&bytes) && !file::is_recording(&bytes));
        let found = read(&bytes).expect("it is one");
        assert_eq!(found, runs());
        assert_eq!(found.runs.iter().map(|run| run.threads).collect::<Vec<_>>(), [1, 2, 4]);
        let rates: Vec<Option<f64>> = found.runs.iter().map(Run::rate).collect();
        assert_eq!(rates, [Some(1.5), None, Some(3e6)]);
        assert_eq!(median(&[1.0, 4.0]), Some(2.5));
    }

    #[test]
    fn one_recording_is_one_run() {
        let found = read(&file::write(&recording(2))).expect("it is one");
        assert_eq!((found.runs.len(), found.runs[0].threads), (1, 2));
        assert_eq!(found.runs[0].rates, [] as [f64; 0]);
    }

    #[test]
    fn every_truncation_and_every_change_of_a_byte_is_noticed_or_read() {
        let bytes = write(&runs());
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
            for value in [0, 1, b'9', 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[length] = value;
                if let Ok(found) = read(&damaged) {
                    assert_eq!(read(&write(&found)), Ok(found));
                }
            }
        }
        let wrong = |bytes: &[u8]| read(bytes).expect_err("it is wrong");
        assert!(wrong(&bytes[..bytes.len() - 1]).contains("truncated: the run with 4 threads"));
        assert!(wrong(&[&bytes[..], b"x"].concat()).contains("ends before the file does"));
        assert!(wrong(b"lockyard-recordings 2\n{}\n").contains("version `2`"));
        assert!(wrong(b"lockyard-recordings 1\n{\"runs\": 3}\n").contains("line 2, column"));
    }

    #[test]
    fn runs_of_one_program_are_joined() {
        let of = |threads| (format!("{threads}.rec"), recording(threads));
        let joined = Runs::join(vec![of(4), of(1)]).expect("they are");
        assert_eq!(joined.runs.iter().map(|run| run.threads).collect::<Vec<_>>(), [1, 4]);
        let wrong = |all| Runs::join(all).expect_err("it is wrong");
        let twice = wrong(vec![of(1), of(2), ("again.rec".to_owned(), recording(2))]);
        assert_eq!(
            twice,
            "again.rec and 2.rec: two recordings with 2 threads; allowed: one for each number of \
             threads"
        );
        let mut other = of(2);
        other.1.about.command = vec!["/usr/bin/other".to_owned()];
        assert_eq!(
            wrong(vec![of(1), other]),
            "2.rec: records `other`, and 1.rec records `made`; allowed: recordings of one program"
        );
        assert!(wrong(Vec::new()).contains("allowed: 1 to 64"));
        let empty = ("no.rec".to_owned(), Recording::default());
        assert_eq!(wrong(vec![empty]), "no.rec: 0 threads; allowed: 1 to 65536");
    }

    #[test]
    fn rates_belong_to_recorded_numbers_of_threads() {
        let mut runs = runs();
        let without = runs.take_rates(&[(2, 8.0), (2, 4.0), (4, 1.0), (8, 5.0)]);
        assert_eq!(without, Ok(vec![1]));
        assert_eq!(runs.runs[1].rate(), Some(6.0));
        assert_eq!(runs.runs[2].rate(), Some(1.0), "it replaces those of the file");
        let none = runs.take_rates(&[(8, 5.0)]).expect_err("there is none");
        assert_eq!(none, "no rate of a recorded number of threads; recorded: 1, 2, 4");
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let wrong = |threads, rates: &[f64]| {
            let run = Run { threads, rates: rates.to_vec(), recording: recording(1) };
            Runs::of(Vec::new(), vec![run]).expect_err("it is wrong")
        };
        assert_eq!(wrong(0, &[]), "0 threads; allowed: 1 to 65536");
        assert_eq!(wrong(2, &[0.0]), "a rate of 0; allowed: above 0, at most 1e15");
        assert!(wrong(2, &[f64::NAN]).contains("a rate of NaN"));
    }
}
