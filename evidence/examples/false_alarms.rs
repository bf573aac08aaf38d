//! Counts false alarms of `lockyard compare` on a real host. A program is compared with itself many
//! times: in pairs (`--ab`), and by separate runs, each with the previous one. No row differs, so
//! every verdict is false.
//!
//! ```text
//! cargo build --release -p lockyard-cli
//! cargo study false_alarms -- \
//!     target/release/lockyard 100 9 \
//!     measure page-ref --threads 1,2 --variant locked-bit --seconds 0.02
//! ```
//!
//! The arguments are the program, the number of comparisons, the number of rounds, and the
//! arguments of the program.

use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Outcomes of the comparisons.
#[derive(Default)]
struct Tally {
    comparisons: usize,
    rows: usize,
    with_verdict: usize,
    rows_with_verdict: usize,
    exit_code_1: usize,
}

impl Tally {
    /// Counts a comparison, given as the output of `lockyard compare --format json`.
    fn count(&mut self, output: &Output) -> Result<(), Box<dyn Error>> {
        let code = output.status.code();
        if code != Some(0) && code != Some(1) {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let found: Value = serde_json::from_slice(&output.stdout)?;
        let number = |name: &str| found["summary"][name].as_u64().unwrap_or_default() as usize;
        let verdicts = number("faster") + number("slower");
        self.comparisons += 1;
        self.rows += found["rows"].as_array().map_or(0, Vec::len);
        self.with_verdict += usize::from(verdicts > 0);
        self.rows_with_verdict += verdicts;
        self.exit_code_1 += usize::from(code == Some(1));
        Ok(())
    }

    fn print(&self, name: &str) {
        println!(
            "{name}: {} comparisons of {} rows in all: {} with a verdict (on {} rows), {} with \
             exit code 1",
            self.comparisons,
            self.rows,
            self.with_verdict,
            self.rows_with_verdict,
            self.exit_code_1
        );
    }
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Measures all rounds in one run, and writes its results to a file.
fn run(program: &str, rounds: &str, arguments: &[String], to: &Path) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(program);
    command.args(arguments).args(["--repeats", rounds, "--format", "json"]);
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(std::fs::write(to, output.stdout)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [program, count, rounds, arguments @ ..] = all.as_slice() else {
        return Err("needs PROGRAM COMPARISONS ROUNDS ARGUMENTS...".into());
    };
    let count: usize = count.parse()?;
    let directory = std::env::temp_dir().join(format!("false-alarms-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let file = |index: usize| -> PathBuf { directory.join(format!("{index}.json")) };
    let compare = || {
        let mut command = Command::new(program);
        command.args(["compare", "--format", "json"]);
        command
    };
    let (mut pairs, mut runs, mut loads) = (Tally::default(), Tally::default(), Vec::new());
    run(program, rounds, arguments, &file(0))?;
    for index in 1..=count {
        let mut paired = compare();
        paired.args(["--ab", program, program, "--rounds", rounds, "--"]).args(arguments);
        pairs.count(&paired.output()?)?;
        run(program, rounds, arguments, &file(index))?;
        runs.count(&compare().arg(file(index - 1)).arg(file(index)).output()?)?;
        loads.push(load());
    }
    let _ = std::fs::remove_dir_all(&directory);
    println!("{program} {}, {rounds} rounds", arguments.join(" "));
    pairs.print("in pairs (--ab)");
    runs.print("by separate runs");
    println!("load averages: {}", loads.join(" "));
    Ok(())
}
