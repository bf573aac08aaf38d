//! Solves again for the numbers of shipped machines that were set by a latency between cores:
//! `cargo study rescale [NAME]...`.
//!
//! A machine's `[checks]` say which figures are inputs. Each decides one number: the scale of the
//! family, the turn between siblings, or a leg. The output has the index of the file beside the
//! solved one. They differ after a change of the family or of the engine.

use lockyard_predict::machine::known_figures::check;
use lockyard_sim::Machine;
use lockyard_sim::machine::Value;

/// Inputs and the numbers that they decide, from near to far. The last two are for a machine
/// without ping-pongs.
const INPUTS: [(&str, &str); 6] = [
    ("ping_pong_same_socket", "family.scale"),
    ("ping_pong_same_core", "cycles.sibling_turn"),
    ("ping_pong_other_complex", "cycles.complex_leg"),
    ("ping_pong_remote", "cycles.socket_leg"),
    ("load_modified_same_socket", "family.scale"),
    ("load_modified_remote_homed_writer", "cycles.socket_leg"),
];

/// Number of turns between siblings to try, one by one: a ping-pong does not grow steadily with
/// them.
const TURNS: u32 = 40;

/// Returns a simulated figure of the machine.
fn figure(machine: &Machine, name: &str) -> Option<f64> {
    check(machine).into_iter().find(|checked| checked.name == name)?.simulated
}

/// Returns the machine with a number that brings the figure nearest to `target`.
fn solved(machine: &Machine, name: &str, number: &str, target: f64) -> Option<Machine> {
    let with = |value: f64| machine.clone().with(number, value);
    let miss = |machine: &Machine| {
        figure(machine, name).map_or(f64::INFINITY, |found| (found / target - 1.0).abs())
    };
    let best = |all: Vec<Machine>| all.into_iter().min_by(|a, b| miss(a).total_cmp(&miss(b)));
    if number == "cycles.sibling_turn" {
        return best((0..TURNS).filter_map(|turn| with(f64::from(turn))).collect());
    }
    let (mut low, mut high) = if number == "family.scale" { (0.05, 20.0) } else { (0.0, 4000.0) };
    let mut tried = Vec::new();
    for _ in 0..20 {
        let middle =
            if number == "family.scale" { f64::sqrt(low * high) } else { (low + high) / 2.0 };
        let machine = with(middle)?;
        if figure(&machine, name)? < target {
            low = middle
        } else {
            high = middle
        }
        tried.push(machine);
    }
    best(tried)
}

fn shown(machine: &Machine, number: &str) -> String {
    match machine.parameter(number).map(|parameter| &parameter.value) {
        Some(Value::Real(value)) => format!("{value:.4}"),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{:24} {:34} {:22} {:>8} {:>8} {:>8}",
        "machine", "input", "number", "file", "solved", "figure"
    );
    let wanted = |name: &&str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    for name in Machine::names().filter(wanted) {
        let Some(file) = Machine::shipped(name) else { continue };
        let mut machine = file.clone();
        let is_input = |input: &str| {
            let name = format!("checks.{input}");
            let check = file.checks().iter().find(|check| check.name == name && check.is_input);
            check.and_then(|check| check.value.number())
        };
        for (input, number) in INPUTS {
            let Some(target) = is_input(input) else { continue };
            let Some(found) = solved(&machine, input, number, target) else { continue };
            machine = found;
            println!(
                "{name:24} {input:34} {number:22} {:>8} {:>8} {:>8.2}",
                shown(&file, number),
                shown(&machine, number),
                figure(&machine, input).unwrap_or(f64::NAN)
            );
        }
    }
}
