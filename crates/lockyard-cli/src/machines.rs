//! `lockyard machines`.

use crate::arguments::{Failure, Machines, MachinesCommand};
use crate::output;
use lockyard_lab::machines::{list, show};
use lockyard_lab::names;

pub(crate) fn run(options: &Machines) -> Result<(), Failure> {
    let format = options.format.into();
    match &options.command {
        None => output::write(&list(format)),
        Some(MachinesCommand::Show { machine }) => {
            output::write(&show(&names::machine(machine)?, format))
        }
    }
}
