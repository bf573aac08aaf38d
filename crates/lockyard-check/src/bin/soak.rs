//! `soak`: random programs over every primitive, for as long as asked, and a torture of the native
//! locks. It prints the seed that fails, with a smaller program. `.ci/soak` builds and runs it.
//!
//! The exit code is 0 if nothing was found, 1 if something was found, and 2 for bad usage.

use lockyard_check::soak::process::again;
use lockyard_check::soak::refusals::Refusing;
use lockyard_check::soak::{BackEnd, CONTROLS, Plan, control, draw, shrink, subjects, torture};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Allocations of the library fail at random during a torture.
#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

const USAGE: &str = "usage: soak [--seed N] [--minutes M] [--rounds R] [--only NAME]";

/// Argument of a process that runs the control of a round.
const CONTROL: &str = "--control";

/// Number of programs between two tortures. The first comes first.
const BETWEEN_TORTURES: u64 = 20;
/// Number of runs of a native program; the first run that fails ends it.
const ATTEMPTS: u64 = 3;

struct Arguments {
    seed: u64,
    time: Duration,
    rounds: u64,
    only: String,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        seed: 1,
        time: Duration::from_secs(120),
        rounds: u64::MAX,
        only: String::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} has no value; {USAGE}"))?;
        let number = |least: u64, most: u64| {
            let number = value.parse().ok().filter(|n| (least..=most).contains(n));
            number.ok_or_else(|| format!("{word} is `{value}`; allowed: {least} to {most}"))
        };
        match word.as_str() {
            "--seed" => found.seed = number(0, u64::MAX)?,
            "--minutes" => {
                let minutes = value.parse().ok().filter(|m| (0.01..=10_000.0).contains(m));
                let minutes: f64 = minutes
                    .ok_or_else(|| format!("--minutes is `{value}`; allowed: 0.01 to 10000"))?;
                found.time = Duration::from_secs_f64(minutes * 60.0);
            }
            "--rounds" => found.rounds = number(1, u64::MAX)?,
            "--only" => found.only = value,
            _ => return Err(format!("there is no option `{word}`; {USAGE}")),
        }
    }
    if !subjects().iter().any(|subject| subject.name.contains(&found.only)) {
        let names: Vec<&str> = subjects().iter().map(|subject| subject.name).collect();
        return Err(format!("--only is `{}`; there are: {}", found.only, names.join("; ")));
    }
    Ok(found)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [process, number] = &words[..]
        && let Ok(number) = number.parse()
    {
        match process.as_str() {
            torture::EXITS => torture::exit_in_the_middle(number),
            CONTROL if control(number).is_ok() => return ExitCode::SUCCESS,
            CONTROL => return ExitCode::FAILURE,
            _ => {}
        }
    }
    let asked = match arguments() {
        Ok(asked) => asked,
        Err(message) => {
            eprintln!("soak: {message}");
            return ExitCode::from(2);
        }
    };
    match soak(&asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Counts of one subject: programs on each back-end, and the largest number of threads.
#[derive(Default)]
struct Row {
    programs: BTreeMap<BackEnd, u64>,
    most_threads: BTreeMap<BackEnd, usize>,
}

fn soak(asked: &Arguments) -> Result<(), String> {
    let began = Instant::now();
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    let mut found = vec![0_u64; CONTROLS.len()];
    let mut tortures = torture::Done::default();
    let mut round = 0;
    while round < asked.rounds && began.elapsed() < asked.time {
        let seed = asked.seed.wrapping_add(round);
        let plan = draw(seed, &asked.only);
        if let Some(caught) = plan.run(ATTEMPTS) {
            let fails = |plan: &Plan| plan.run(10).is_some();
            let least = shrink(&plan, Duration::from_secs(60), fails);
            // A seed means another program if the set of primitives is another.
            let only = match asked.only.as_str() {
                "" => String::new(),
                only => format!(" --only '{only}'"),
            };
            return Err(format!(
                "seed {seed} fails: {caught}\n  {plan}\n  smaller: {least}\n  again: .ci/soak \
                 --seed {seed} --rounds 1{only}"
            ));
        }
        let row = rows.entry(plan.subject).or_default();
        *row.programs.entry(plan.back_end).or_default() += 1;
        let most = row.most_threads.entry(plan.back_end).or_default();
        *most = plan.ops.len().max(*most);
        // Each round includes a faulty primitive.
        control_in_a_process(round)?;
        found[(round % CONTROLS.len() as u64) as usize] += 1;
        if round.is_multiple_of(BETWEEN_TORTURES) {
            torture::torture_finds_a_broken_lock()?;
            let done = torture::torture(seed, Duration::from_secs(3))
                .map_err(|what| format!("torture of seed {seed} fails: {what}"))?;
            if done.refusals == 0 {
                return Err(format!("torture of seed {seed}: no allocation was refused"));
            }
            add(&mut tortures, &done);
        }
        round += 1;
    }
    report(asked, round, began.elapsed(), &rows, &found, &tortures);
    Ok(())
}

/// Runs the control of a round in a separate process. A fault ends a simulated run while threads
/// are suspended, and their stacks and the machine's memory are then never freed. In one process,
/// the memory would after some minutes be too large to fork.
fn control_in_a_process(round: u64) -> Result<(), String> {
    let name = CONTROLS[(round % CONTROLS.len() as u64) as usize].name;
    let complaint = match again(CONTROL, round) {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) if status.code() == Some(1) => "it is not found".to_owned(),
        Ok(status) => format!("its process ended with {status}"),
        Err(complaint) => complaint,
    };
    Err(format!("the fault \"{name}\": {complaint}\n  again: soak {CONTROL} {round}"))
}

fn add(all: &mut torture::Done, one: &torture::Done) {
    all.visits += one.visits;
    all.signals += one.signals;
    all.threads += one.threads;
    all.forks += one.forks;
    all.exits += one.exits;
    all.cpu_sets += one.cpu_sets;
    all.refusals += one.refusals;
}

fn report(
    asked: &Arguments,
    rounds: u64,
    time: Duration,
    rows: &BTreeMap<usize, Row>,
    found: &[u64],
    tortures: &torture::Done,
) {
    let minutes = time.as_secs_f64() / 60.0;
    println!("seeds {} to {}: nothing was found in {minutes:.1} minutes", asked.seed, {
        asked.seed.wrapping_add(rounds).wrapping_sub(1)
    });
    println!("\n| primitive | native | simulated | model |\n| --- | --- | --- | --- |");
    for (&subject, row) in rows {
        let cell = |back_end| match row.programs.get(&back_end) {
            None => "none".to_owned(),
            Some(programs) => {
                format!("{programs}, to {} threads", row.most_threads[&back_end])
            }
        };
        let cells = [BackEnd::Native, BackEnd::Simulated, BackEnd::Model].map(cell).join(" | ");
        println!("| {} | {cells} |", subjects()[subject].name);
    }
    println!("\nfaults that were found:");
    for (control, times) in CONTROLS.iter().zip(found).filter(|(_, times)| **times > 0) {
        println!("  {times} times {}", control.name);
    }
    println!(
        "torture: {} sections, {} signals handled, {} threads, {} forks, {} exits, {} CPU sets, \
         {} allocations refused",
        tortures.visits,
        tortures.signals,
        tortures.threads,
        tortures.forks,
        tortures.exits,
        tortures.cpu_sets,
        tortures.refusals
    );
}
