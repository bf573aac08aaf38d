//! The checks' processes, and the table of all kinds.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A check: its name, the sentence that it checks, and a function that panics if the sentence is
/// violated.
pub(crate) type Check = (&'static str, &'static str, fn());

/// Longest time of a check.
const LONGEST: Duration = Duration::from_secs(30);

/// Kinds of locks that replace the C library's.
const KINDS: [&str; 4] = ["mutex", "queued", "ticket", "pv-queued"];

/// True if the checks make only a tenth of their repetitions.
static QUICK: AtomicBool = AtomicBool::new(false);

/// Returns the number of repetitions in this run.
pub(crate) fn times(full: u32) -> u32 {
    if QUICK.load(Ordering::Relaxed) { full.div_ceil(10) } else { full }
}

pub(crate) fn main(groups: &[&[Check]]) -> ExitCode {
    let checks: Vec<Check> = groups.concat();
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--quick") {
        arguments.remove(0);
        QUICK.store(true, Ordering::Relaxed);
    }
    let named = |name: &str| checks.iter().find(|check| check.0 == name);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => {
            for (name, sentence, _) in &checks {
                println!("{name}: {sentence}");
            }
            ExitCode::SUCCESS
        }
        ["--here", name] => {
            let Some((_, _, check)) = named(name) else { return unknown(name) };
            check();
            ExitCode::SUCCESS
        }
        ["--table", library] if Path::new(library).is_file() => table(&checks, library),
        ["--table", library] => {
            eprintln!("conformance: {library}: no such file (the library to preload)");
            ExitCode::from(2)
        }
        [] => run(checks.iter()),
        ref names => match names.iter().find(|name| named(name).is_none()) {
            Some(name) => unknown(name),
            None => run(names.iter().filter_map(|name| named(name))),
        },
    }
}

fn unknown(name: &str) -> ExitCode {
    eprintln!("conformance: {name}: no such check (--list lists them)");
    ExitCode::from(2)
}

fn run<'a>(checks: impl Iterator<Item = &'a Check>) -> ExitCode {
    let (mut passed, mut failed) = (0, 0);
    for (name, sentence, _) in checks {
        match in_a_process(name, None) {
            Ok(()) => {
                println!("ok {name}");
                passed += 1;
            }
            Err(why) => {
                println!("FAILED {name}: {why}\n    {sentence}");
                failed += 1;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Prints a table of all checks, without the library and with each of its kinds. Fails if a kind
/// fails a check, or if the C library fails a check that does not go beyond POSIX.
fn table(checks: &[Check], library: &str) -> ExitCode {
    println!("| check | sentence | glibc | {} |", KINDS.join(" | "));
    println!("| --- | --- |{}", " --- |".repeat(1 + KINDS.len()));
    let mut passed = [0; 1 + KINDS.len()];
    let mut all_pass = true;
    for (name, sentence, _) in checks {
        let mut line = format!("| `{name}` | {sentence} |");
        let environments = [None].into_iter().chain(KINDS.map(|kind| Some((library, kind))));
        for (environment, passed) in environments.zip(&mut passed) {
            line += match in_a_process(name, environment) {
                Ok(()) => {
                    *passed += 1;
                    " yes |"
                }
                Err(why) => {
                    eprintln!("{name}, {}: {why}", environment.map_or("glibc", |(_, kind)| kind));
                    all_pass &= environment.is_none() && name.starts_with("beyond-");
                    " **no** |"
                }
            };
        }
        println!("{line}");
    }
    let counts = passed.map(|passed| format!("{passed} of {}", checks.len()));
    println!("| all | | {} |", counts.join(" | "));
    ExitCode::from(u8::from(!all_pass))
}

/// Runs a check in its own process, with a library and a kind if they are given.
fn in_a_process(name: &str, preload: Option<(&str, &str)>) -> Result<(), String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(me);
    if QUICK.load(Ordering::Relaxed) {
        command.arg("--quick");
    }
    if let Some((library, kind)) = preload {
        command.env("LD_PRELOAD", library).env("LOCKYARD_LOCK", kind);
    }
    let mut child = command
        .args(["--here", name])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if begin.elapsed() > LONGEST => {
                // Kill the child with its own children. SAFETY: the process group is the child's.
                unsafe { libc::killpg(child.id() as libc::pid_t, libc::SIGKILL) };
                let _ = child.wait();
                return Err(format!("it did not end within {} s", LONGEST.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let mut said = String::new();
    if let Some(mut stream) = child.stderr.take() {
        let _ = stream.read_to_string(&mut said);
    }
    match (status.success(), status.signal()) {
        (true, _) => Ok(()),
        (_, Some(signal)) => Err(format!("signal {signal}: {}", said.trim())),
        _ => Err(said.trim().replace('\n', " ")),
    }
}
