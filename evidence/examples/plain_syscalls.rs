//! Checks that `lockyard syscalls` agrees with a plain loop of the same system call.
//!
//! It runs two processes alternately, round by round, on the same CPU and the same file. The first
//! runs as under the command, with counter and flag in shared memory. The second has a plain loop
//! that reads the clock every 256 calls. The output shows both medians, and the ratio of the pairs
//! with its interval. Nothing is asserted, because this is a measurement.
//!
//! ```text
//! cargo study plain_syscalls -- [ROUNDS] [SECONDS]
//! ```

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == lockyard_measure::syscalls::TASK) {
        return lockyard_measure::syscalls::task::perform(arguments);
    }
    match on_linux::plain_or_compare() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("plain_syscalls: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("plain_syscalls: the system calls of Linux are measured, and this is another system");
}

#[cfg(target_os = "linux")]
mod on_linux {
    use lockyard_measure::cpus::{Cpus, Placement, pin};
    use lockyard_measure::syscalls::{
        Directory, Experiment, Launcher, Plan, Stopped, TaskKind, Times, sample, task,
    };
    use lockyard_results::statistics::{median, median_interval};
    use std::ffi::CString;
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Number of calls between two clock reads.
    const BATCH: u64 = 256;
    /// First argument of the process with the plain loop.
    const PLAIN: &str = "plain-loop";

    pub(super) fn plain_or_compare() -> Result<(), String> {
        let mut arguments: Vec<String> = std::env::args().skip(1).collect();
        if arguments.first().is_none_or(|first| first != PLAIN) {
            return compare(arguments.into_iter());
        }
        let mut arguments = arguments.drain(1..);
        let mut next = || arguments.next().ok_or("an argument is missing".to_owned());
        let experiment = Experiment::parse(&next()?).map_err(|error| error.to_string())?;
        let path = next()?;
        let cpu = number(Some(next()?), 0)?;
        let [warm_up, window] = [next()?, next()?].map(|text| number(Some(text), 0.0));
        if !pin(cpu) {
            return Err(format!("this process cannot be pinned to CPU {cpu}"));
        }
        looped(experiment, &path, Duration::from_secs_f64(warm_up?))?;
        println!("{}", looped(experiment, &path, Duration::from_secs_f64(window?))?);
        Ok(())
    }

    fn compare(mut numbers: impl Iterator<Item = String>) -> Result<(), String> {
        let rounds: usize = number(numbers.next(), 21)?;
        let window = Duration::try_from_secs_f64(number(numbers.next(), 0.5)?)
            .map_err(|error| error.to_string())?;
        let cpus = Cpus::allowed();
        let cpu = cpus.cpu(cpus.len() - 1);
        let directory = Directory::new(None).map_err(|error| error.to_string())?;
        let launcher = Launcher::this_program()?;
        let placement = Placement::Pinned(vec![cpu]);
        println!("{rounds} rounds of {} s each, on CPU {cpu}", window.as_secs_f64());
        println!("experiment  lockyard, op/s  plain, op/s  lockyard / plain  interval (95 %)");
        for experiment in Experiment::ALL {
            let plan = Plan {
                experiment,
                kind: TaskKind::Processes,
                tasks: 1,
                placement: &placement,
                directory: &directory,
                launcher: &launcher,
            };
            let times =
                Times { warm_up: window / 5, window, stalled_after: Duration::from_secs(10) };
            let (mut ours, mut plain) = (Vec::new(), Vec::new());
            for round in 0..rounds {
                // Alternate the order, so a drift affects both processes equally.
                if round % 2 == 0 {
                    ours.push(measured(&plan, times)?);
                }
                plain.push(process(&plan, times, cpu)?);
                if round % 2 == 1 {
                    ours.push(measured(&plan, times)?);
                }
            }
            let ratios: Vec<f64> = ours.iter().zip(&plain).map(|(a, b)| a / b).collect();
            let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
            let Some(interval) = median_interval(&ratios) else { return Ok(()) };
            println!(
                "{:<10} {:>15.0} {:>12.0} {:>17.3}  {:.3} .. {:.3}",
                experiment.name(),
                middle(&ours),
                middle(&plain),
                middle(&ratios),
                interval.low,
                interval.high
            );
        }
        Ok(())
    }

    /// Returns the operations per second of a plain loop in a separate process.
    fn process(plan: &Plan, times: Times, cpu: usize) -> Result<f64, String> {
        let output = Command::new(&plan.launcher.program)
            .args([PLAIN, plan.experiment.name()])
            .arg(plan.directory.file())
            .args([cpu.to_string()])
            .args([times.warm_up, times.window].map(|time| time.as_secs_f64().to_string()))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| error.to_string())?;
        number(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()), 0.0)
    }

    fn number<N: std::str::FromStr>(text: Option<String>, default: N) -> Result<N, String> {
        let Some(text) = text else { return Ok(default) };
        text.parse().map_err(|_| format!("`{text}` is not a number; arguments: [ROUNDS] [SECONDS]"))
    }

    /// Returns the operations per second as measured by the command.
    fn measured(plan: &Plan, times: Times) -> Result<f64, String> {
        match sample(plan, times) {
            Ok(sample) => {
                Ok(sample.counts.iter().sum::<u64>() as f64 / sample.window.as_secs_f64())
            }
            Err(Stopped::Failed(message)) => Err(message),
            Err(Stopped::Interrupted) => Err("interrupted".to_owned()),
        }
    }

    /// Returns the operations per second of a plain loop.
    fn looped(experiment: Experiment, file: &str, window: Duration) -> Result<f64, String> {
        let path = CString::new(file).map_err(|error| error.to_string())?;
        let file = OpenOptions::new().read(true).write(true).open(file);
        let file = file.map_err(|error| error.to_string())?;
        let descriptor = file.as_raw_fd();
        match experiment {
            Experiment::Open3 => plain(window, || task::open_and_close(&path)),
            Experiment::Fstat2 => plain(window, || task::stat_of_open_file(descriptor)),
            Experiment::Access2 => plain(window, || task::access(&path)),
            Experiment::Stat2 => plain(window, || task::stat(&path)),
        }
    }

    fn plain(window: Duration, call: impl Fn() -> bool) -> Result<f64, String> {
        let begin = Instant::now();
        let mut count = 0u64;
        loop {
            for _ in 0..BATCH {
                if !call() {
                    return Err(std::io::Error::last_os_error().to_string());
                }
            }
            count += BATCH;
            let elapsed = begin.elapsed();
            if elapsed >= window {
                return Ok(count as f64 / elapsed.as_secs_f64());
            }
        }
    }
}
