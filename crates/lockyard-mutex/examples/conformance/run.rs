//! The checks' processes.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A check: its name, the sentence that it checks, and a function that panics if it is not kept.
pub(crate) type Check = (&'static str, &'static str, fn());

/// Longest time of a check.
const LONGEST: Duration = Duration::from_secs(30);

pub(crate) fn main(groups: &[&[Check]]) -> ExitCode {
    let checks: Vec<Check> = groups.concat();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--list") => {
            for (name, sentence, _) in &checks {
                println!("{name}: {sentence}");
            }
            return ExitCode::SUCCESS;
        }
        Some("--here") => {
            let named = |check: &&Check| Some(check.0) == arguments.get(1).map(String::as_str);
            let Some((_, _, check)) = checks.iter().find(named) else { return unknown(&arguments) };
            check();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    if arguments.iter().any(|name| checks.iter().all(|check| check.0 != name)) {
        return unknown(&arguments);
    }
    let chosen =
        |check: &&Check| arguments.is_empty() || arguments.iter().any(|name| check.0 == name);
    let (mut passed, mut failed) = (0, 0);
    for (name, sentence, _) in checks.iter().filter(chosen) {
        match in_a_process(name) {
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

fn unknown(arguments: &[String]) -> ExitCode {
    eprintln!("conformance: {}: no such check (--list lists them)", arguments.join(" "));
    ExitCode::from(2)
}

fn in_a_process(name: &str) -> Result<(), String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(me)
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
                // With its children.
                // SAFETY: the group is the child's.
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
