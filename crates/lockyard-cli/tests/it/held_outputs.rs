//! Outputs that must not change while the facts behind them move into tables: help, documents of
//! each format, explanations, sweeps, and runs of each machine.
//!
//! This file and `data/held.txt` are deleted at the end of that work (issue 46). Recorded programs
//! are left out. An output that the file does not name yet is no error. After an intended change,
//! `LOCKYARD_BLESS=1 cargo test -p lockyard-cli --test it held_outputs` writes the file again. With
//! `-- --ignored` it also compares or writes the slow outputs: all scenarios on three machines, and
//! all published tables. The outputs themselves stay in the directory that a failure names, for
//! comparison.

use crate::support::{folders::directory, optimised, optimised_file, text};
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{Machine, RunEnd, Simulated, SimulatedU64, Simulation};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Machines of the predictions: two sockets, complexes, and no SMT siblings.
const MACHINES: &str = "cascade-lake-2s24c2t,zen4-7840u,graviton3-64c";

/// Hash of each output, by name.
type Held = BTreeMap<String, String>;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/held.txt")
}

/// FNV-1a.
fn hash(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

fn read() -> Held {
    let text = fs::read_to_string(file()).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    lines.map(|(hash, name)| (name.to_owned(), hash.to_owned())).collect()
}

/// Outputs of one test. Their names begin with the test's name.
struct Outputs {
    test: &'static str,
    folder: PathBuf,
    hashes: Held,
}

impl Outputs {
    fn new(test: &'static str) -> Self {
        Outputs { test, folder: directory("held", test), hashes: Held::new() }
    }

    fn add(&mut self, name: &str, output: &str) {
        let path = self.folder.join(name.replace('/', ":"));
        fs::write(path, output).expect("there is room");
        let name = format!("{}: {name}", self.test);
        assert!(self.hashes.insert(name.clone(), hash(output)).is_none(), "{name} twice");
    }

    /// Adds the standard output of the command. That includes its exit code.
    fn command(&mut self, arguments: &str) -> String {
        let output = optimised(&arguments.split(' ').collect::<Vec<_>>());
        let output = format!("{}\n{:?}\n", text(&output.stdout), output.status.code());
        self.add(arguments, &output);
        output
    }

    /// Compares the hashes with the file's hashes, or writes them to the file.
    fn check(self) {
        let of_test = |name: &String| name.starts_with(&format!("{}: ", self.test));
        let mut held = read();
        if std::env::var_os("LOCKYARD_BLESS").is_some() {
            // Tests of this file run concurrently.
            static WRITES: std::sync::Mutex<()> = std::sync::Mutex::new(());
            let _writes = WRITES.lock();
            held = read();
            held.retain(|name, _| !of_test(name));
            held.extend(self.hashes);
            let lines = held.iter().map(|(name, hash)| format!("{hash}  {name}\n"));
            fs::write(file(), lines.collect::<String>()).expect("there is room");
            return;
        }
        let of_test = held.iter().filter(|(name, _)| of_test(name));
        let changed: Vec<&String> = of_test
            .clone()
            .filter(|(name, hash)| self.hashes.get(*name) != Some(hash))
            .map(|(name, _)| name)
            .collect();
        assert!(of_test.count() > 0, "no output of {} is held", self.test);
        let folder = self.folder.display();
        assert!(changed.is_empty(), "changed, see {folder}, or gone: {changed:#?}");
    }
}

/// Returns the subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty() && !line.starts_with("   "));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn help_of_each_command() {
    let mut outputs = Outputs::new("help");
    let help = outputs.command("--help");
    for name in subcommands(&help) {
        // Recorded programs have new options while this test is there.
        if ["why", "profile", "record"].contains(&name.as_str()) {
            continue;
        }
        let help = outputs.command(&format!("{name} --help"));
        for sub in subcommands(&help) {
            outputs.command(&format!("{name} {sub} --help"));
        }
    }
    outputs.check();
}

#[test]
fn runs_of_each_machine() {
    let mut outputs = Outputs::new("runs");
    for name in Machine::names() {
        let machine = Machine::shipped(name).expect("it is shipped");
        let mut hashes = String::new();
        for seed in 1..=20 {
            writeln!(hashes, "{seed} {:016x}", run(&machine, seed)).expect("it is a text");
        }
        outputs.add(name, &hashes);
    }
    outputs.check();
}

/// Returns the hash of a run: up to four tasks take two locks, and add to a word.
fn run(machine: &Machine, seed: u64) -> u64 {
    let mut simulation = Simulation::new(machine, seed);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let queued = simulation.place(lockyard::on::QSpinLock::<u64, Simulated>::new(0), 64, 0);
    let mutex = simulation.place(lockyard::on::Mutex::<u64, Simulated>::new(0), 64, 0);
    let last = machine.hardware_threads() - 1;
    for place in BTreeSet::from([0, 1, last / 2, last]) {
        let (word, queued, mutex) = (word.clone(), queued.clone(), mutex.clone());
        simulation.spawn(place, move || {
            for _ in 0..30 {
                word.fetch_add(1, Ordering::AcqRel);
                let mut count = queued.lock();
                *count ^= word.load(Ordering::Relaxed);
                Simulated::relax();
                word.store(*count & 0xff, Ordering::Release);
                drop(count);
                *mutex.lock() += 1;
            }
        });
    }
    assert!(matches!(simulation.run(), RunEnd::Finished), "{}", machine.name());
    simulation.hash()
}

/// Writes a plan of all scenarios, and returns its directory. Cells of scenarios with samples have
/// no seeds, so another test predicts that scenario. Locks that are wrong on purpose stop the run.
fn plan() -> PathBuf {
    let folder = directory("held", "plan");
    let others = ["stat-degradation", "controls"];
    let names = lockyard_scenarios::Script::names().filter(|name| !others.contains(name));
    let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
    let machines = MACHINES.replace(',', "\", \"");
    let plan = format!(
        "scenarios = [{}]\nmachines = [\"{machines}\"]\nthreads = [3]\nseeds = [1]\n\
         runs = \"quick\"\ndetails = true\n",
        names.join(", ")
    );
    fs::write(folder.join("plan.toml"), plan).expect("there is room");
    folder
}

#[test]
#[ignore = "takes a minute: to be run by hand before a fact moves"]
fn each_scenario_on_three_machines() {
    let folder = plan();
    let [plan, rows, json, csv] = ["plan.toml", "rows", "all.json", "all.csv"]
        .map(|name| folder.join(name).to_str().expect("it is text").to_owned());
    let mut outputs = Outputs::new("sweep");
    let output = optimised(&["sweep", &plan, "--out", &rows]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let all = fs::read_dir(&rows).expect("it is there").count();
    assert!(all > 0);
    for file in [&json, &csv] {
        let output = optimised(&["merge", &rows, "--out", file]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let mut of_scenarios: BTreeMap<&str, String> = BTreeMap::new();
    let csv = fs::read_to_string(csv).expect("it is there");
    for name in lockyard_scenarios::Script::names() {
        let lines = csv.lines().filter(|line| line.split(',').any(|field| field == name));
        of_scenarios.entry(name).or_default().extend(lines.map(|line| format!("{line}\n")));
    }
    for (name, lines) in of_scenarios.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        outputs.add(name, &lines);
    }
    outputs.add("all.json", &fs::read_to_string(json).expect("it is there"));
    outputs.check();
}

#[test]
fn documents_of_each_command() {
    let mut outputs = Outputs::new("documents");
    for name in lockyard_scenarios::Script::names() {
        outputs.command(&format!("scenarios show {name}"));
    }
    for name in Machine::names() {
        outputs.command(&format!("machines show {name}"));
    }
    outputs.command("scenarios");
    outputs.command("machines --names");
    let predictions = [
        "predict fstat2 -m cascade-lake-2s24c2t -t 1,2,4,8 --fit --explain --attribution --waits",
        "predict openvswitch/packet-update -m zen4-7840u,graviton3-64c -t 1,4 --explain",
        "reproduce qspinlock-loop id-table-timer-gettime --no-measure",
    ];
    for format in ["table", "json", "csv", "markdown"] {
        outputs.command(&format!("machines -f {format}"));
        for arguments in predictions {
            outputs.command(&format!("{arguments} -f {format}"));
        }
    }
    let few = [
        "predict open3 -m zen4-7840u -t 1,4",
        "predict buffer-cache/8-way-unlink -m cascade-lake-2s24c2t -t 1,16",
        "predict aim7-disk/xfs -m cascade-lake-2s24c2t -t 32",
        "predict stat-degradation -m cascade-lake-2s24c2t,zen4-7840u,graviton3-64c -t 2",
        "predict dbench/overcommit-2x -m sandy-bridge-32c-kvm -t 8",
        "predict page-ref -m graviton3-64c -t 4",
        "predict spin-loop/same-node/embedded -m westmere-ex-4s10c -t 4",
    ];
    for arguments in few {
        let variant = first_variant(arguments);
        outputs.command(&format!("{arguments} -v {variant} --explain --attribution"));
    }
    // A page contains its command. Relative names are the same in each clone.
    let folder = directory("held", "pages");
    let predict = |arguments: &str| {
        let mut command = Command::new(optimised_file());
        command.args(arguments.split(' ')).current_dir(&folder);
        let output = command.output().expect("the command runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = predict(
        "predict fstat2 -m cascade-lake-2s24c2t -t 1,2,4,8 --fit --explain --report page.html \
         --picture picture.svg --trace trace.json -f json",
    );
    for name in ["page.html", "picture.svg", "trace.json"] {
        outputs.add(name, &fs::read_to_string(folder.join(name)).expect("it is there"));
    }
    let slower = "predict fstat2 -m cascade-lake-2s24c2t -t 1,2,4 --placement spread -f json";
    for (name, output) in [("a.json", first), ("b.json", predict(slower))] {
        fs::write(folder.join(name), output).expect("there is room");
    }
    for format in ["table", "json", "csv", "markdown"] {
        let output = Command::new(optimised_file())
            .args(["compare", "a.json", "b.json", "-f", format])
            .env("COLUMNS", "100")
            .env_remove("TERM")
            .current_dir(&folder)
            .output()
            .expect("the command runs");
        outputs.add(&format!("compare -f {format}"), &text(&output.stdout));
    }
    outputs.check();
}

/// Returns the first variant of the scenario that a command predicts.
fn first_variant(arguments: &str) -> String {
    let name = arguments.split(' ').nth(1).expect("it names one");
    let script = lockyard_scenarios::Script::shipped(name).expect("it is shipped");
    script.variants[0].name.clone()
}

#[test]
#[ignore = "simulates all tables: to be run by hand before a fact moves"]
fn each_published_table() {
    let text = match std::env::var_os("LOCKYARD_RESULTS") {
        Some(file) => fs::read_to_string(file).expect("the file is there"),
        None => text(&optimised(&["reproduce", "--no-measure", "-f", "json"]).stdout),
    };
    let results: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let mut of_tables: BTreeMap<String, String> = BTreeMap::new();
    for row in results["rows"].as_array().expect("there are rows") {
        let lines = of_tables.entry(row["table"].to_string()).or_default();
        for key in ["experiment", "machine", "variant", "threads", "metric", "unit"] {
            write!(lines, "{} ", row[key]).expect("it is a text");
        }
        // The status and its reason may depend on what was measured.
        let figures = ["published", "predicted", "error", "trivial"];
        let figures = figures.map(|key| row[key].to_string()).join(" ");
        writeln!(lines, "{figures} {}", row["detail"]["simulated"]).expect("it is a text");
    }
    let mut outputs = Outputs::new("reproduce");
    for (table, lines) in of_tables {
        outputs.add(table.trim_matches('"'), &lines);
    }
    outputs.check();
}
