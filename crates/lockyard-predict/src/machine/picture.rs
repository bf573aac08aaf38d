//! Picture of a machine's topology as text: sockets, complexes, cores, hardware threads, and the
//! distances between them.

use crate::machine::known_figures::ping_pong;
use lockyard_results::render::boxes::{DRAWN, drawn, framed};
use lockyard_sim::Machine;
use lockyard_sim::machine::Value;

/// Returns the picture, at most `most` columns wide. It ends with a line feed.
pub fn picture(machine: &Machine, most: usize) -> String {
    let sockets = machine.sockets();
    let complexes = machine.complexes() / sockets;
    let mut boxes: Vec<Vec<String>> = Vec::new();
    for socket in drawn(sockets) {
        let Some(socket) = socket else {
            boxes.push(vec![format!("... {} more sockets like it", sockets - DRAWN + 1)]);
            continue;
        };
        let mut lines = vec![format!("socket {socket}: NUMA node {socket}")];
        for complex in drawn(complexes) {
            lines.push(match complex {
                Some(complex) => line(machine, socket * complexes + complex),
                None => format!("... {} more complexes like it", complexes - DRAWN + 1),
            });
        }
        boxes.push(lines);
    }
    let mut text = framed(&boxes, &format!("| {}", distance(machine, "socket_leg")), most);
    if sockets > 2 {
        text.push_str("Each socket is one leg from every other.\n");
    }
    if complexes > 1 {
        text.push_str(&format!(
            "Between complexes of a socket: {}.\n",
            distance(machine, "complex_leg")
        ));
    }
    text.push_str(&format!("Simulated ping-pong: {}.\n", ping_pongs(machine)));
    text
}

fn line(machine: &Machine, complex: usize) -> String {
    let cores = machine.cores_per_complex();
    let first = complex * cores;
    let range = |from: usize| {
        let last = from + cores - 1;
        if cores == 1 { from.to_string() } else { format!("{from}-{last}") }
    };
    let threads: Vec<String> =
        (0..machine.threads_per_core()).map(|s| range(s * machine.cores() + first)).collect();
    format!(
        "complex {complex}: {cores} cores x {} threads; cores {}, hardware threads {}",
        machine.threads_per_core(),
        range(first),
        threads.join(" and ")
    )
}

fn distance(machine: &Machine, leg: &str) -> String {
    let name = format!("cycles.{leg}");
    let cycles = machine.parameter(&name).map(|p| &p.value);
    match cycles {
        Some(Value::Whole(cycles)) => {
            format!("{cycles} cycles = {:.1} ns one way", machine.nanoseconds(*cycles))
        }
        _ => String::new(),
    }
}

fn ping_pongs(machine: &Machine) -> String {
    let complex = machine.cores_per_complex();
    let socket = machine.cores() / machine.sockets();
    let places = [
        ("threads of a core", machine.threads_per_core() > 1, machine.cores()),
        ("cores of a complex", complex > 1, 1),
        ("complexes of a socket", socket > complex, complex),
        ("sockets", machine.sockets() > 1, socket),
    ];
    let found: Vec<String> = places
        .into_iter()
        .filter(|(_, there, _)| *there)
        .filter_map(|(name, _, place)| {
            Some(format!("{name} {:.1} ns", ping_pong(machine, place, 0)?))
        })
        .collect();
    found.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_machine_has_a_picture() {
        for name in Machine::names() {
            let machine = Machine::shipped(name).expect("it is shipped");
            let picture = picture(&machine, 100);
            println!("{name}\n{picture}");
            let boxes: Vec<&str> =
                picture.lines().filter(|l| l.starts_with('|') || l.starts_with('+')).collect();
            assert!(boxes.iter().all(|line| line.len() == boxes[0].len()), "{name}\n{picture}");
            let last = machine.hardware_threads() - 1;
            assert!(picture.contains(&format!("-{last}")), "{name}: every thread is in a range");
        }
    }
}
