//! Sets one number of a machine to give a simulated ping-pong a wanted latency. The scales and legs
//! of the shipped files come from this program.
//!
//! ```text
//! cargo study scale -- \
//!     cascade-lake-2s24c2t cycles.socket_leg=20..300 24 134
//! cargo study scale -- zen4-7840u family.scale=0.2..2 1 19
//! ```
//!
//! The arguments are: the machine (a name or a file), the number with its range, the hardware
//! thread that exchanges the line with thread 0, and nanoseconds. The latency must rise with the
//! number. Cycle counts are whole numbers, so the latency rises in steps. The program prints the
//! least number that reaches the latency, and one just below it.

use lockyard_predict::machine::known_figures;
use lockyard_sim::Machine;
use std::path::Path;
use std::process::ExitCode;

fn solve(arguments: &[String]) -> Result<(), String> {
    let [name, number, place, wanted] = arguments else {
        return Err("give machine, number=LEAST..GREATEST, hardware thread, nanoseconds".to_owned());
    };
    let machine = Machine::load(Path::new(name)).ok().or_else(|| Machine::shipped(name));
    let machine =
        machine.ok_or(format!("`{name}` is neither a shipped machine nor a machine file"))?;
    let wrong = || format!("`{number}` is not a number with its range");
    let (number, range) = number.split_once('=').ok_or_else(wrong)?;
    let (least, greatest) = range.split_once("..").ok_or_else(wrong)?;
    let value = |text: &str| text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"));
    let (mut below, mut above) = (value(least)?, value(greatest)?);
    let place: usize = place.parse().map_err(|_| format!("`{place}` is no hardware thread"))?;
    let wanted = value(wanted)?;
    let play = |x: f64| -> Result<f64, String> {
        let changed = machine.clone().with(number, x).ok_or(format!("{number} cannot be {x}"))?;
        known_figures::ping_pong(&changed, place, 0)
            .ok_or("that ping-pong cannot be played".to_owned())
    };
    if play(below)? >= wanted || play(above)? < wanted {
        return Err(format!("{wanted} ns is not between {number} = {below} and {above}"));
    }
    while above - below > 1e-4 * above {
        let middle = (below + above) / 2.0;
        if play(middle)? < wanted { below = middle } else { above = middle }
    }
    println!("{number} = {below:.4}: {:.2} ns; {above:.4}: {:.2} ns", play(below)?, play(above)?);
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match solve(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("scale: {what}");
            ExitCode::from(2)
        }
    }
}
