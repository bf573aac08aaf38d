//! The plan of a sweep: lists of scenarios, variants, machines, settings of parameters, numbers of
//! threads and seeds. Their product is the cells, which are numbered from 0. A cell is made from
//! its number when it is needed, so a plan of a million cells is small.

use crate::cell::Cell;
use crate::change;
use crate::files::Bundle;
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::request::{self, PredictRequest};
use lockyard_predict::simulate::RunLength;
use lockyard_scenarios::{LockKinds, Script};
use lockyard_sim::Machine;
use lockyard_support::InputError;
use std::collections::HashMap;
use std::fmt;

/// Maximum number of cells of a plan.
pub const MOST_CELLS: u64 = 10_000_000;

/// A scenario of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// Name of the file for errors.
    pub(crate) origin: String,
    pub(crate) text: String,
    pub(crate) script: Script,
    /// Names of the variants that the plan has.
    pub(crate) variants: Vec<String>,
}

/// Object that a parameter changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A number of the machine, by its name. True for multiples of the machine's own number.
    Machine(String, bool),
    /// A number of the scenario, by its place.
    Scenario(Vec<String>),
}

impl Target {
    /// Returns true if the number decides how many hardware threads the machine has.
    fn is_topology(&self) -> bool {
        matches!(self, Target::Machine(name, _) if name.starts_with("topology."))
    }
}

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name in results. It ends with `(times)` if the values are factors.
    pub name: String,
    /// Values.
    pub values: Vec<f64>,
    pub(crate) target: Target,
}

/// Rule by which the values of several parameters are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// Each value of each parameter with each value of all others.
    #[default]
    Product,
    /// The unchanged scenario and machine, and then each value of each parameter alone.
    OneAtATime,
}

/// A plan. All files that it names have been read.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) title: String,
    pub(crate) bundle: Bundle,
    pub(crate) locks: LockKinds,
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) combine: Combine,
    pub(crate) threads: Vec<usize>,
    /// Seeds of single runs; empty for the usual runs.
    pub(crate) seeds: Vec<u64>,
    pub(crate) placement: Option<String>,
    pub(crate) length: RunLength,
    pub(crate) intervals: bool,
    pub(crate) details: bool,
    /// True to leave out cells whose threads have no room on their machine.
    pub(crate) skip_too_many: bool,
    /// Positions in the product of the cells that are kept; all if `None`.
    pub(crate) kept: Option<Vec<u64>>,
}

/// Key that decides whether threads have room: scenario, machine, values of topology parameters,
/// and number of threads, as indices.
type Room = (usize, usize, Vec<(usize, usize)>, usize);

/// A position in the product, one index for each list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    scenario: usize,
    variant: usize,
    machine: usize,
    setting: u64,
    threads: usize,
    seed: usize,
}

impl Plan {
    /// Returns the title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the number of cells.
    pub fn count(&self) -> u64 {
        self.kept.as_ref().map_or_else(|| self.product(), |kept| kept.len() as u64)
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the plan with all files that it names, for another process.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Returns the number of positions in the product.
    pub(crate) fn product(&self) -> u64 {
        let subjects: usize = self.scenarios.iter().map(|scenario| scenario.variants.len()).sum();
        let lists = [subjects, self.machines.len(), self.threads.len(), self.seeds.len().max(1)];
        let all =
            lists.iter().fold(self.settings(), |all, &length| all.saturating_mul(length as u64));
        all.min(u64::MAX / 2)
    }

    /// Returns the number of settings of the parameters.
    fn settings(&self) -> u64 {
        let lengths = self.parameters.iter().map(|parameter| parameter.values.len() as u64);
        match self.combine {
            Combine::Product => lengths.fold(1, u64::saturating_mul),
            Combine::OneAtATime => 1 + lengths.sum::<u64>(),
        }
    }

    /// Returns a setting: indices of parameters and of their values.
    fn setting(&self, mut index: u64) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        match self.combine {
            Combine::Product => {
                for (number, parameter) in self.parameters.iter().enumerate().rev() {
                    let length = parameter.values.len() as u64;
                    found.push((number, (index % length) as usize));
                    index /= length;
                }
                found.reverse();
            }
            Combine::OneAtATime => {
                let Some(mut rest) = index.checked_sub(1) else { return found };
                for (number, parameter) in self.parameters.iter().enumerate() {
                    let length = parameter.values.len() as u64;
                    if rest < length {
                        found.push((number, rest as usize));
                        break;
                    }
                    rest -= length;
                }
            }
        }
        found
    }

    /// Returns the indices of the cell at a place in the product. The last list changes fastest.
    fn position(&self, mut at: u64) -> Position {
        let mut next = |length: u64| {
            let index = at % length.max(1);
            at /= length.max(1);
            index
        };
        let seed = next(self.seeds.len() as u64) as usize;
        let threads = next(self.threads.len() as u64) as usize;
        let setting = next(self.settings());
        let machine = next(self.machines.len() as u64) as usize;
        let (mut scenario, mut variant) = (0, at as usize);
        while let Some(found) = self.scenarios.get(scenario)
            && variant >= found.variants.len()
        {
            variant -= found.variants.len();
            scenario += 1;
        }
        Position { scenario, variant, machine, setting, threads, seed }
    }

    /// Returns the cell with this number.
    ///
    /// # Panics
    ///
    /// If the plan has no such cell.
    pub fn cell(&self, number: u64) -> Cell {
        assert!(number < self.count(), "the plan has no cell {number}");
        let at = self.kept.as_ref().map_or(number, |kept| kept[number as usize]);
        let position = self.position(at);
        let scenario = &self.scenarios[position.scenario];
        let mut machine = self.machines[position.machine].clone();
        let mut text = scenario.text.clone();
        let mut parameters = Vec::new();
        let mut broken = None;
        for (index, value) in self.setting(position.setting) {
            let parameter = &self.parameters[index];
            let value = parameter.values[value];
            parameters.push((parameter.name.clone(), value));
            let changed = match &parameter.target {
                Target::Machine(name, times) => {
                    change::machine(&machine, name, value, *times).map(|changed| machine = changed)
                }
                Target::Scenario(path) => {
                    change::scenario(&text, path, value).map(|changed| text = changed)
                }
            };
            if let Err(what) = changed {
                broken.get_or_insert(what);
            }
        }
        Cell {
            number,
            scenario: scenario.script.name.clone(),
            origin: scenario.origin.clone(),
            text,
            variant: scenario.variants[position.variant].clone(),
            machine,
            threads: self.threads[position.threads],
            seed: self.seeds.get(position.seed).copied(),
            placement: self.placement.clone(),
            length: self.length,
            intervals: self.intervals,
            details: self.details,
            parameters,
            broken,
        }
    }

    /// Checks all values of all parameters, one after another. Sets the cells that are kept.
    ///
    /// # Errors
    ///
    /// A message without a position, and the index of the parameter or `None` for the threads.
    pub(crate) fn check(&mut self) -> Result<(), (Option<usize>, String)> {
        for (index, parameter) in self.parameters.iter().enumerate() {
            let failed = |what: String| (Some(index), what);
            for &value in &parameter.values {
                match &parameter.target {
                    Target::Machine(name, times) => {
                        for machine in &self.machines {
                            change::machine(machine, name, value, *times).map_err(failed)?;
                        }
                    }
                    Target::Scenario(path) => {
                        for scenario in &self.scenarios {
                            self.check_scenario(scenario, path, value).map_err(failed)?;
                        }
                    }
                }
            }
        }
        let product = self.product();
        if product > MOST_CELLS {
            return Err((None, format!("the plan has {product} cells; at most {MOST_CELLS}")));
        }
        self.keep().map_err(|what| (None, what))
    }

    fn check_scenario(
        &self,
        scenario: &Scenario,
        path: &[String],
        value: f64,
    ) -> Result<(), String> {
        let text = change::scenario(&scenario.text, path, value)?;
        let read = Script::parse_with(&scenario.origin, &text, &self.locks);
        read.map(drop).map_err(|error| format!("with the value {value}: {error}"))
    }

    /// Finds the cells whose threads have room.
    fn keep(&mut self) -> Result<(), String> {
        let mut known: HashMap<Room, bool> = HashMap::new();
        let mut kept = Vec::new();
        let product = self.product();
        for at in 0..product {
            let position = self.position(at);
            let mut setting = self.setting(position.setting);
            setting.retain(|&(index, _)| self.parameters[index].target.is_topology());
            let key = (position.scenario, position.machine, setting, position.threads);
            let has_room = match known.get(&key) {
                Some(&has_room) => has_room,
                None => {
                    let has_room = self.check_cell(&key)?;
                    known.insert(key, has_room);
                    has_room
                }
            };
            if has_room {
                kept.push(at);
            }
        }
        if kept.is_empty() {
            return Err("no machine has room for the threads of any cell".to_owned());
        }
        self.kept = (kept.len() as u64 != product).then_some(kept);
        Ok(())
    }

    /// Checks the cells that differ only in other numbers. Returns false if they are left out.
    fn check_cell(&self, (scenario, machine, setting, threads): &Room) -> Result<bool, String> {
        let scenario = &self.scenarios[*scenario];
        let mut machine = self.machines[*machine].clone();
        for &(index, value) in setting {
            let parameter = &self.parameters[index];
            if let Target::Machine(name, times) = &parameter.target {
                machine = change::machine(&machine, name, parameter.values[value], *times)?;
            }
        }
        let placement = match &self.placement {
            Some(text) => match MachinePlacement::parse(text, &machine) {
                Ok(placement) => Some(placement),
                Err(_) if self.skip_too_many => return Ok(false),
                Err(error) => return Err(error.to_string()),
            },
            None => None,
        };
        let mut request = PredictRequest {
            variants: scenario.variants.clone(),
            placement,
            ..PredictRequest::new(scenario.script.clone(), machine, Vec::new())
        };
        // Without threads, only the variants can be wrong.
        request::check(&request).map_err(|error| error.to_string())?;
        request.threads.push(self.threads[*threads]);
        match request::check(&request) {
            Ok(()) => Ok(true),
            Err(_) if self.skip_too_many => Ok(false),
            Err(InputError(what)) => {
                Err(format!("{what} (or `too_many_threads = \"skip\"` in the plan)"))
            }
        }
    }
}

impl fmt::Display for Plan {
    /// Writes the lengths of the lists.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variants: usize = self.scenarios.iter().map(|scenario| scenario.variants.len()).sum();
        let count = |number: usize, of: &str| match number {
            1 => format!("1 {of}"),
            _ => format!("{number} {of}s"),
        };
        let mut parts = vec![count(variants, "variant"), count(self.machines.len(), "machine")];
        if self.combine == Combine::OneAtATime {
            parts.push(count(self.settings() as usize, "setting"));
        } else {
            let of = |p: &Parameter| format!("{} of {}", count(p.values.len(), "value"), p.name);
            parts.extend(self.parameters.iter().map(of));
        }
        parts.push(count(self.threads.len(), "thread count"));
        if !self.seeds.is_empty() {
            parts.push(count(self.seeds.len(), "seed"));
        }
        f.write_str(&parts.join(" x "))?;
        match self.product() - self.count() {
            0 => Ok(()),
            skipped => write!(f, ", without {skipped} whose machine has too few hardware threads"),
        }
    }
}
