//! Machines: what the simulated machine is told about a real one.
//!
//! A machine is a TOML file (see `machines/` for the shipped ones, which are in the binary too).
//! Every number in it carries its source, or says that it is assumed and from what. Nothing about
//! a particular processor is in the code.

mod checks;
mod family;
mod file;
mod parameters;

pub use checks::{CHECK_NAMES, walked_kib};
pub use file::{MAX_FILE_BYTES, MachineError};
pub use parameters::{Parameter, Value};

use parameters::Numbers;

/// The order in which a home agent serves the requests that wait for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A random one of those waiting: requests that conflict are rejected and retried.
    Random,
    /// The oldest.
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
    name: String,
    title: String,
    family: Option<String>,
    numbers: Numbers,
    order: Order,
    parameters: Vec<Parameter>,
    checks: Vec<Parameter>,
    notes: Vec<String>,
}

/// The shipped machines: name and file.
const SHIPPED: &[(&str, &str)] = &[
    ("broadwell-ep-2s22c2t", include_str!("../../../../machines/broadwell-ep-2s22c2t.toml")),
    ("broadwell-ex-8s10c2t", include_str!("../../../../machines/broadwell-ex-8s10c2t.toml")),
    ("cascade-lake-2s24c2t", include_str!("../../../../machines/cascade-lake-2s24c2t.toml")),
    ("ivy-bridge-ex-4s15c", include_str!("../../../../machines/ivy-bridge-ex-4s15c.toml")),
    ("nehalem-2s4c2t", include_str!("../../../../machines/nehalem-2s4c2t.toml")),
    ("sandy-bridge-32c-kvm", include_str!("../../../../machines/sandy-bridge-32c-kvm.toml")),
    ("sapphire-rapids", include_str!("../../../../machines/sapphire-rapids.toml")),
    ("skylake-client-4c", include_str!("../../../../machines/skylake-client-4c.toml")),
    ("skylake-sp-1s24c2t", include_str!("../../../../machines/skylake-sp-1s24c2t.toml")),
    ("westmere-ex-4s10c", include_str!("../../../../machines/westmere-ex-4s10c.toml")),
    ("xen", include_str!("../../../../machines/xen.toml")),
    ("zen4-7840u", include_str!("../../../../machines/zen4-7840u.toml")),
];

impl Machine {
    /// Reads the text of a machine file. `origin` is what errors call the file.
    ///
    /// # Errors
    ///
    /// One line that says where, what, and what is allowed.
    pub fn parse(origin: &str, text: &str) -> Result<Machine, MachineError> {
        file::parse(origin, text, None)
    }

    /// Reads a machine file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is larger than [`MAX_FILE_BYTES`], is not UTF-8, or is not a
    /// machine.
    pub fn load(path: &std::path::Path) -> Result<Machine, MachineError> {
        file::load(path)
    }

    /// The names of the shipped machines.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// A shipped machine.
    ///
    /// # Panics
    ///
    /// If the shipped file is broken; a test reads them all.
    pub fn shipped(name: &str) -> Option<Machine> {
        let (name, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
        Some(Machine::parse(&format!("{name}.toml"), text).expect("a shipped machine is valid"))
    }

    /// The machine's name, as in the published tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The family whose numbers it takes over.
    pub fn family(&self) -> Option<&str> {
        self.family.as_deref()
    }

    /// What the machine is, for people.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Every number of the file with its source, in the order in which the format lists them.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The number with this name, as `cycles.leg`.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Figures to compare with. Those that are not inputs are the model's test.
    pub fn checks(&self) -> &[Parameter] {
        &self.checks
    }

    /// What a reader of any figure of this machine should know, in the file's own words.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The share of the parameters that are assumed rather than sourced, 0 to 1.
    pub fn assumed_share(&self) -> f64 {
        let assumed = self.parameters.iter().filter(|p| p.assumed.is_some()).count();
        assumed as f64 / self.parameters.len() as f64
    }

    /// The order in which a home agent serves waiting requests.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The same machine with another service order: for ablations.
    #[must_use]
    pub fn with_order(mut self, order: Order) -> Machine {
        self.order = order;
        self
    }

    /// The same machine with another value of the number `name` (`section.name`): for fitting and for questions
    /// of the kind "what if". The new value is rounded where the number is whole, and kept within what a file
    /// may say; its source is not changed.
    ///
    /// `None` if a machine has no such number, or `value` is not a number.
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
            // Of a section that the file leaves out.
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

    /// The factor on the family's latencies; `None` if the machine has no family.
    pub fn scale(&self) -> Option<f64> {
        self.parameters.iter().find(|p| p.name == "family.scale")?.value.number()
    }

    /// All latencies that come from the family, as another scale would have them.
    fn with_scale(mut self, scale: f64) -> Option<Machine> {
        self.parameters.iter_mut().find(|p| p.name == "family.scale")?.value = Value::Real(scale);
        for parameter in &mut self.parameters {
            let Some(latency) = parameter.at_scale_1 else { continue };
            let value = family::scaled(latency, scale);
            parameter.value = parameters::set(&mut self.numbers, &parameter.name, value)?;
        }
        Some(self)
    }

    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// How many sockets, each a NUMA node.
    pub fn sockets(&self) -> usize {
        self.numbers.sockets as usize
    }

    /// How many core complexes in all.
    pub fn complexes(&self) -> usize {
        self.sockets() * self.numbers.complexes as usize
    }

    /// How many cores in all.
    pub fn cores(&self) -> usize {
        self.complexes() * self.cores_per_complex()
    }

    /// How many cores a complex has.
    pub fn cores_per_complex(&self) -> usize {
        self.numbers.cores as usize
    }

    /// How many hardware threads a core has.
    pub fn threads_per_core(&self) -> usize {
        self.numbers.threads as usize
    }

    /// How many hardware threads in all.
    pub fn hardware_threads(&self) -> usize {
        self.cores() * self.threads_per_core()
    }

    /// The size of a cache line, in bytes.
    pub fn line_bytes(&self) -> usize {
        self.numbers.line_bytes as usize
    }

    /// Cycles in `nanoseconds`, rounded.
    pub fn cycles(&self, nanoseconds: f64) -> u64 {
        (nanoseconds * self.numbers.ghz).round() as u64
    }

    /// Nanoseconds in `cycles`.
    pub fn nanoseconds(&self, cycles: u64) -> f64 {
        cycles as f64 / self.numbers.ghz
    }

    /// Where hardware thread `index` is.
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
