//! The file's section `[kernel]`: costs of the system calls with which threads sleep and wake each
//! other.
//!
//! The costs differ more between guests and bare metal than between processors: a wake-up in a
//! guest may need a virtual CPU that the hypervisor has descheduled. So the file names one of the
//! two kernels for costs that were not measured, and each measured cost says where it was measured.

use super::Measurements;
use super::draft::Draft;
use super::inputs::measured;
use lockyard_measure::kernel::{Cost, find};

/// Upper bound of a call or a wake-up in nanoseconds, for a host that is too busy to measure it.
const MOST: f64 = 1e6;

/// Sets the section. There is no section if a relative was given and nothing was measured: a
/// latency matrix says nothing about the kernel.
pub(super) fn set(draft: &mut Draft, measurements: &Measurements) {
    let costs = &measurements.kernel;
    if costs.is_empty() && measurements.given.relative.is_some() {
        return;
    }
    let (name, place) = match measurements.processor.virtualised {
        true => ("linux-guest", "in a virtual machine"),
        false => ("linux-metal", "not in a virtual machine"),
    };
    draft.kernel = Some(name);
    let wakeup = find(costs, Cost::Wakeup).map_or(0.0, |figure| figure.value.min(MOST));
    for &(what, figure) in costs {
        let value = match what {
            // Noise must not make the longer sleep the lighter one.
            Cost::DeepWakeup => figure.value.max(wakeup).min(MOST),
            Cost::DeepAfter => figure.value,
            _ => figure.value.min(MOST),
        };
        let said = format!("{place}: {}", what.describe());
        draft.set(
            "kernel",
            what.name(),
            value.round(),
            measured(measurements, figure, "ns", &said),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{exactly, imitated};
    use super::super::{Given, calibrate, figures};
    use super::*;
    use lockyard_measure::kernel::Costs;
    use lockyard_sim::Machine;
    use lockyard_sim::machine::{Parameter, Value};

    fn host(virtualised: bool, kernel: Costs) -> Measurements {
        let (_, mut measurements) = imitated("cascade-lake-2s24c2t", 85, 2);
        measurements.processor.virtualised = virtualised;
        Measurements { kernel, ..measurements }
    }

    fn number<'m>(machine: &'m Machine, name: &str) -> (f64, &'m Parameter) {
        let parameter = machine.parameter(name).expect("every machine has it");
        match parameter.value {
            Value::Real(value) => (value, parameter),
            _ => panic!("{name} is no cost"),
        }
    }

    #[test]
    fn measured_costs_are_in_the_file_and_the_others_are_a_guest_s_or_hardware_s() {
        let costs = vec![
            (Cost::WaitChanged, exactly(293.4)),
            (Cost::Wakeup, exactly(14_700.0)),
            (Cost::DeepAfter, exactly(2_000_000.0)),
        ];
        let figures =
            [(true, "linux-guest", 153.0, 26_718.0), (false, "linux-metal", 153.0, 12_000.0)];
        for (virtualised, name, nobody, deep) in figures {
            let measurements = host(virtualised, costs.clone());
            let found = calibrate(&measurements, None).expect("it is a machine");
            assert!(found.file.contains(&format!("[kernel]\nas = \"{name}\"\n")), "{}", found.file);
            let machine = Machine::parse("file", &found.file).expect("it is a machine file");
            for (what, value) in
                [("wait_changed", 293.0), ("wakeup", 14_700.0), ("deep_after", 2e6)]
            {
                let (found, parameter) = number(&machine, &format!("kernel.{what}"));
                let said = parameter.source.as_ref().expect("it was measured");
                assert_eq!(found, value);
                assert_eq!(said.contains(": not in a virtual"), !virtualised, "{said}");
            }
            assert_eq!(number(&machine, "kernel.wake_nobody").0, nobody);
            assert_eq!(number(&machine, "kernel.deep_wakeup").0, deep);
            let rows = figures::measured(&measurements).rows;
            let of = |row: &&figures::CalibrationRow| row.figure.starts_with("kernel_");
            assert_eq!(rows.iter().filter(of).count(), costs.len());
        }
    }

    #[test]
    fn a_deep_wake_up_is_no_shorter_than_another_and_none_takes_seconds() {
        let costs = vec![
            (Cost::Wake, exactly(5e9)),
            (Cost::Wakeup, exactly(9000.0)),
            (Cost::DeepWakeup, exactly(8000.0)),
        ];
        let machine = calibrate(&host(true, costs), None).expect("it is a machine").machine;
        assert_eq!(number(&machine, "kernel.deep_wakeup").0, 9000.0);
        assert_eq!(number(&machine, "kernel.wake").0, MOST);
    }

    #[test]
    fn without_costs_a_host_names_its_kernel_and_a_matrix_none() {
        let of_host = calibrate(&host(true, Costs::new()), None).expect("it is a machine");
        assert!(of_host.file.contains("[kernel]\nas = \"linux-guest\"\n\n"), "{}", of_host.file);
        let relative = Some("cascade-lake-2s24c2t".to_owned());
        let given = Given { relative, ..Given::default() };
        let matrix = Measurements { given, ..host(false, Costs::new()) };
        let of_matrix = calibrate(&matrix, None).expect("it is a machine");
        assert!(!of_matrix.file.contains("[kernel]"), "{}", of_matrix.file);
        let (_, wakeup) = number(&of_matrix.machine, "kernel.wakeup");
        assert!(wakeup.assumed.is_some(), "{wakeup:?}");
    }
}
