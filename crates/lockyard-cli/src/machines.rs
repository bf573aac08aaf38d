//! `lockyard machines`.

use crate::arguments::{Machines, MachinesCommand};
use crate::errors::Failure;
use crate::screen::screen;
use crate::{calibrate, machines_new, output};
use lockyard_measure::detect;
use lockyard_predict::machine::known_figures;
use lockyard_predict::machine::report::{self, list, show};
use lockyard_predict::names;
use lockyard_results::render::Extent;
use lockyard_sim::Machine;

pub(crate) fn run(options: &Machines) -> Result<(), Failure> {
    let format = options.format.into();
    match &options.command {
        None | Some(MachinesCommand::List) if options.names => output::write(&report::names()),
        None | Some(MachinesCommand::List) => output::write(&list(format, &screen())),
        Some(MachinesCommand::Show { machine }) => {
            output::write(&show(&names::machine(machine)?, format, &screen()))
        }
        Some(MachinesCommand::Detect { root: None }) => {
            output::write(&detect::render(detect::here(), format, &screen()))
        }
        Some(MachinesCommand::Detect { root: Some(root) }) => {
            output::write(&detect::render(&detect::recorded(root)?, format, &screen()))
        }
        Some(MachinesCommand::Check { machines }) => {
            let shipped: Vec<String> = Machine::names().map(str::to_owned).collect();
            let wanted = if machines.is_empty() { &shipped } else { machines };
            let machines: Result<Vec<Machine>, _> =
                wanted.iter().map(|name| names::machine(name)).collect();
            let machines = machines?;
            let checks = known_figures::Checks::of(&machines);
            let interrupted = output::end_work();
            output::write(&checks.render(format, &screen()))?;
            let extent =
                Extent { finished: checks.finished(), asked: checks.asked, things: "figures" };
            output::result(None, interrupted, extent)
        }
        Some(MachinesCommand::Calibrate(options)) => calibrate::run(options, format),
        Some(MachinesCommand::New(options)) => machines_new::run(options, format),
    }
}
