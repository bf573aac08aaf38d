//! A machine, as its file describes it.

use super::parameters::{self, Field, Numbers, Parameter, Value};
use super::source::allowed_values;

/// The order in which a home agent serves the requests that wait for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceOrder {
    /// Random order, because conflicting requests are rejected and retried.
    Random,
    /// Oldest request first.
    Fifo,
}

/// A hardware thread of a machine.
///
/// They are numbered as operating systems usually do: the first threads of all cores, socket by
/// socket, then the second threads in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Socket, from 0.
    pub socket: usize,
    /// Core complex (a first-level coherence domain), from 0, over the whole machine.
    pub complex: usize,
    /// Core, from 0, over the whole machine.
    pub core: usize,
    /// Thread of the core, from 0.
    pub sibling: usize,
}

/// A machine, as its file describes it.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) family: Option<String>,
    pub(super) numbers: Numbers,
    pub(super) order: ServiceOrder,
    pub(super) parameters: Vec<Parameter>,
    pub(super) checks: Vec<Parameter>,
    pub(super) notes: Vec<String>,
}

impl Machine {
    /// The machine's name, as in the published tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the family from which the machine takes numbers.
    pub fn family(&self) -> Option<&str> {
        self.family.as_deref()
    }

    /// Title of the machine, for display.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Every number of the file with its source, in the order in which the format lists them.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The number with this name, for example `cycles.leg`.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// The value of the number with this name; `None` if there is none, or if it is a word.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.parameter(name)?.value.number()
    }

    /// Measured figures to compare with. Figures that are not inputs test the model.
    pub fn checks(&self) -> &[Parameter] {
        &self.checks
    }

    /// Notes of the file, for readers of any figure of this machine.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Share of the parameters that are assumed rather than sourced, from 0 to 1.
    pub fn assumed_share(&self) -> f64 {
        let assumed = self.parameters.iter().filter(|p| p.assumed.is_some()).count();
        assumed as f64 / self.parameters.len() as f64
    }

    /// The order in which a home agent serves waiting requests.
    pub fn order(&self) -> ServiceOrder {
        self.order
    }

    /// Returns the same machine with another service order, for ablations.
    #[must_use]
    pub fn with_order(mut self, order: ServiceOrder) -> Machine {
        self.order = order;
        self
    }

    /// Returns the same machine with another value of the number `name` (`section.name`), for
    /// fitting and for what-if questions. A whole number is rounded, and the value is limited to
    /// the range that a file may use. The number's source does not change.
    ///
    /// Returns `None` if machines have no such number, or `value` is not a number.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Option<Machine> {
        if value.is_nan() {
            return None;
        }
        if name == "family.scale" {
            return self.with_scale(value);
        }
        let value = parameters::set(&mut self.numbers, name, value)?;
        let scale = self.scale();
        if !self.parameters.iter().any(|p| p.name == name) {
            // The number is in a section that the file leaves out.
            self.parameters.push(parameters::not_in_the_file(name, value)?);
            return Some(self);
        }
        let parameter = self.parameters.iter_mut().find(|p| p.name == name)?;
        if parameter.at_scale_1.is_some() {
            parameter.at_scale_1 = value.number().zip(scale).map(|(value, scale)| value / scale);
        }
        parameter.value = value;
        Some(self)
    }

    /// Returns the names of all numbers that [`with`](Self::with) can set on this machine.
    pub fn number_names(&self) -> Vec<String> {
        let scale = self.family.as_ref().map(|_| "family.scale".to_owned());
        let names = parameters::SPECS.iter().filter(|spec| !matches!(spec.field, Field::Order));
        scale
            .into_iter()
            .chain(names.map(|spec| format!("{}.{}", spec.section, spec.name)))
            .collect()
    }

    /// Returns the values that a machine file may give to the number `name`, in words. Returns
    /// `None` if machines have no such number.
    pub fn allowed(&self, name: &str) -> Option<String> {
        if name == "family.scale" {
            return self.family.as_ref().map(|_| "allowed: 0.05 to 20".to_owned());
        }
        let (section, name) = name.split_once('.')?;
        let spec = parameters::SPECS.iter().find(|s| s.section == section && s.name == name)?;
        let whole = if matches!(spec.field, Field::Whole { .. }) { ", whole numbers" } else { "" };
        Some(format!("{}{whole}", allowed_values(spec)))
    }

    /// The factor on the family's latencies; `None` if the machine has no family.
    pub fn scale(&self) -> Option<f64> {
        self.number("family.scale")
    }

    /// Sets all latencies from the family to another scale.
    fn with_scale(mut self, scale: f64) -> Option<Machine> {
        self.parameters.iter_mut().find(|p| p.name == "family.scale")?.value = Value::Real(scale);
        for parameter in &mut self.parameters {
            let Some(latency) = parameter.at_scale_1 else { continue };
            let value = parameters::scaled(latency, scale);
            parameter.value = parameters::set(&mut self.numbers, &parameter.name, value)?;
        }
        Some(self)
    }

    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Number of sockets, each a NUMA node.
    pub fn sockets(&self) -> usize {
        self.numbers.sockets as usize
    }

    /// Number of core complexes in all.
    pub fn complexes(&self) -> usize {
        self.sockets() * self.numbers.complexes as usize
    }

    /// Number of cores in all.
    pub fn cores(&self) -> usize {
        self.complexes() * self.cores_per_complex()
    }

    /// Number of cores of a complex.
    pub fn cores_per_complex(&self) -> usize {
        self.numbers.cores as usize
    }

    /// Number of hardware threads of a core.
    pub fn threads_per_core(&self) -> usize {
        self.numbers.threads as usize
    }

    /// Number of hardware threads in all.
    pub fn hardware_threads(&self) -> usize {
        self.cores() * self.threads_per_core()
    }

    /// Size of a cache line, in bytes.
    pub fn line_bytes(&self) -> usize {
        self.numbers.line_bytes as usize
    }

    /// Converts nanoseconds to cycles, rounded.
    pub fn cycles(&self, nanoseconds: f64) -> u64 {
        (nanoseconds * self.numbers.ghz).round() as u64
    }

    /// Converts cycles to nanoseconds.
    pub fn nanoseconds(&self, cycles: u64) -> f64 {
        cycles as f64 / self.numbers.ghz
    }

    /// Place of hardware thread `index`.
    ///
    /// # Panics
    ///
    /// If the machine has no such thread.
    pub fn place(&self, index: usize) -> Place {
        assert!(index < self.hardware_threads(), "the machine has no hardware thread {index}");
        let core = index % self.cores();
        let complex = core / self.cores_per_complex();
        Place {
            socket: complex / self.numbers.complexes as usize,
            complex,
            core,
            sibling: index / self.cores(),
        }
    }
}
