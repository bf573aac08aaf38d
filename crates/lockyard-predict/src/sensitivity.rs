//! Sensitivity of a prediction: the machine's numbers that would change it most if they were wrong
//! by 20 %, and the interval that follows.
//!
//! The times of the machine, the numbers of its protocol and the local work are made 20 % smaller
//! and 20 % larger, one at a time. The cell is simulated anew for each change. Two intervals
//! follow.
//!
//! - One interval takes the changes as independent. Its lower end is the root of the sum of squares
//!   of all downward changes. The upper end is the same for all upward changes.
//! - The other interval is for one wrong input, no matter which. Its ends are the largest single
//!   changes downward and upward.
//!
//! Numbers of a family were fitted together, so they may all be wrong together. The row
//! `family.scale` shows that effect. It is in the second interval only, because the first one
//! already has its parts. A whole number is changed to the nearest whole number. For a small
//! number, this change is not 20 %. The output names such numbers with their changed values, and
//! also numbers that do not change.

use crate::explain::Costs;
use crate::simulate::{CellSpec, RunPlan, SimulationError, simulate};
use lockyard_results::details::{EffectDetail, SensitivityDetail};
use lockyard_scenarios::Metric;
use lockyard_sim::Machine;
use lockyard_support::jobs;

/// Relative change of a number.
const CHANGE: f64 = 0.2;

/// Number of inputs in the displayed table.
const SHOWN: usize = 8;

/// Name of the local work as an input.
const LOCAL_WORK: &str = "local work";

/// Name of the row in which all latencies of a family change together.
const SCALE: &str = "family.scale";

/// Effect of a change of one input, relative to the figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The input.
    pub input: String,
    /// Value of the input, for display.
    pub value: String,
    /// Effect of 20 % less.
    pub less: f64,
    /// Effect of 20 % more.
    pub more: f64,
}

impl Effect {
    /// The larger of the two changes.
    pub fn most(&self) -> f64 {
        self.less.abs().max(self.more.abs())
    }
}

/// Dependence of a figure on its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Figure to which effects and intervals refer.
    pub figure: f64,
    /// Effects, largest first.
    pub effects: Vec<Effect>,
    /// Interval if all inputs may be wrong independently: the root of the sum of squares.
    pub interval: (f64, f64),
    /// Interval if one input is wrong, no matter which: the largest single changes.
    pub single: (f64, f64),
    /// Inputs that do not change, because 20 % more and less round to the same whole number.
    pub unchanged: Vec<String>,
    /// Inputs that were changed by a share other than 20 %, because the exact value is not a whole
    /// number, or not allowed. Each entry includes the changed values, for display.
    pub coarse: Vec<String>,
}

/// Returns the numbers to change. Numbers of things (cores, threads, bytes) are not among them.
fn inputs(machine: &Machine, local_work: f64) -> Vec<(String, f64)> {
    let mut inputs = Vec::new();
    for parameter in machine.parameters() {
        let Some(value) = parameter.value.number() else { continue };
        if value > 0.0 && !parameter.name.starts_with("topology.") {
            inputs.push((parameter.name.clone(), value));
        }
    }
    if local_work > 0.0 {
        inputs.push((LOCAL_WORK.to_owned(), local_work));
    }
    inputs
}

/// Returns the sensitivity of a cell, in the unit of a metric, from runs of the plan. Returns
/// `None` after an interrupt. Calls `done` after each simulation.
///
/// # Errors
///
/// If a run fails.
pub fn of(
    cell: &CellSpec,
    plan: &RunPlan,
    metric: Metric,
    jobs: usize,
    done: &(impl Fn() + Sync),
) -> Result<Option<Sensitivity>, SimulationError> {
    let inputs = inputs(cell.machine, cell.local_work);
    let mut changes: Vec<Option<(&str, f64)>> = vec![None];
    for (name, value) in &inputs {
        changes.push(Some((name, value * (1.0 - CHANGE))));
        changes.push(Some((name, value * (1.0 + CHANGE))));
    }
    let figure = |change: &Option<(&str, f64)>| {
        let (mut machine, mut work) = (cell.machine.clone(), cell.local_work);
        match *change {
            Some((LOCAL_WORK, value)) => work = value,
            Some((name, value)) => {
                if let Some(changed) = machine.clone().with(name, value) {
                    machine = changed;
                }
            }
            None => {}
        }
        simulate(&CellSpec { machine: &machine, local_work: work, ..*cell }, plan)
            .map(|prediction| metric.figure(prediction.throughput, cell.threads))
    };
    let mut figures = Vec::new();
    for figure in jobs::run(&changes, jobs, figure, done) {
        let Some(figure) = figure else { return Ok(None) };
        figures.push(figure?);
    }
    let base = figures[0];
    let mut effects: Vec<Effect> = inputs
        .iter()
        .zip(figures[1..].chunks(2))
        .map(|((name, value), changed)| Effect {
            input: name.clone(),
            value: format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned(),
            less: changed[0] / base - 1.0,
            more: changed[1] / base - 1.0,
        })
        .collect();
    effects.sort_by(|a, b| b.most().total_cmp(&a.most()).then_with(|| a.input.cmp(&b.input)));
    let squares = |direction: f64| -> f64 {
        let of = |effect: &Effect| {
            let most = (effect.less * direction).max(effect.more * direction).max(0.0);
            most * most
        };
        effects.iter().filter(|effect| effect.input != SCALE).map(of).sum::<f64>().sqrt()
    };
    let largest = |direction: f64| -> f64 {
        let of = |effect: &Effect| (effect.less * direction).max(effect.more * direction);
        effects.iter().map(of).fold(0.0, f64::max)
    };
    let around =
        |down: f64, up: f64| -> (f64, f64) { (base * (1.0 - down).max(0.0), base * (1.0 + up)) };
    let interval = around(squares(-1.0), squares(1.0));
    let single = around(largest(-1.0), largest(1.0));
    let (unchanged, coarse) = rounded(cell.machine, &inputs);
    Ok(Some(Sensitivity { figure: base, effects, interval, single, unchanged, coarse }))
}

/// Maximum deviation from 20 % at which a change still counts as 20 %.
const NEARLY: f64 = 0.05;

/// Returns two lists. The first has the inputs of a machine that a change of 20 % does not affect,
/// after rounding and the limits of the file format. The second has the inputs that it changes by
/// another share.
fn rounded(machine: &Machine, inputs: &[(String, f64)]) -> (Vec<String>, Vec<String>) {
    let (mut unchanged, mut coarse) = (Vec::new(), Vec::new());
    for (name, value) in inputs {
        let changed = |asked: f64| {
            let changed = machine.clone().with(name, asked)?;
            changed.number(name)
        };
        let (less, more) = (changed(value * (1.0 - CHANGE)), changed(value * (1.0 + CHANGE)));
        let (Some(less), Some(more)) = (less, more) else { continue };
        let is_another = |to: f64| ((to / value - 1.0).abs() - CHANGE).abs() > NEARLY;
        if less == *value && more == *value {
            unchanged.push(name.clone());
        } else if is_another(less) || is_another(more) {
            coarse.push(format!("{name} ({value} to {less} and {more})"));
        }
    }
    (unchanged, coarse)
}

/// Returns the number of simulations that [`of`] runs.
pub fn count(machine: &Machine) -> usize {
    1 + 2 * inputs(machine, 1.0).len()
}

impl Sensitivity {
    /// Applies the changes to `prediction`, a figure from longer runs than those made here.
    #[must_use]
    pub fn around(mut self, prediction: f64) -> Sensitivity {
        let factor = prediction / self.figure;
        for end in [
            &mut self.interval.0,
            &mut self.interval.1,
            &mut self.single.0,
            &mut self.single.1,
            &mut self.figure,
        ] {
            *end *= factor;
        }
        self
    }

    /// Returns the details of a row.
    pub fn detail(&self) -> SensitivityDetail {
        let effect = |effect: &Effect| {
            let Effect { input, less, more, .. } = effect;
            EffectDetail { input: input.clone(), less: *less, more: *more }
        };
        SensitivityDetail {
            range: self.interval.into(),
            single: self.single.into(),
            unchanged: self.unchanged.clone(),
            coarse: self.coarse.clone(),
            most_sensitive_to: self.effects.first().map(|effect| effect.input.clone()),
            effects: self.effects.iter().map(effect).collect(),
        }
    }

    /// Returns a table for display.
    pub fn table(&self, heading: &str, unit: &str, costs: &Costs) -> String {
        let percent = |share: f64| format!("{:+.1} %", share * 100.0);
        let mut text = format!(
            "{heading}\n  {:.4e} {unit}; {} dominates\n",
            self.figure,
            costs.cause().0.name()
        );
        text.push_str(&format!(
            "  from {:.4e} to {:.4e} if every input may be wrong by 20 % on its own (root of the \
            sum of squares)\n",
            self.interval.0, self.interval.1
        ));
        let most = self.effects.first().map_or("none", |effect| &effect.input);
        text.push_str(&format!(
            "  from {:.4e} to {:.4e} if any one input is wrong by 20 %; {most} moves it most\n",
            self.single.0, self.single.1
        ));
        let (value, less, more) = ("value", "20 % less", "20 % more");
        text.push_str(&format!("  {:<26} {value:>9} {less:>11} {more:>11}\n", "input"));
        for effect in self.effects.iter().take(SHOWN) {
            text.push_str(&format!(
                "  {:<26} {:>9} {:>11} {:>11}\n",
                effect.input,
                effect.value,
                percent(effect.less),
                percent(effect.more)
            ));
        }
        let rest = self.effects.iter().skip(SHOWN).map(Effect::most).fold(0.0, f64::max);
        let count = self.effects.len().saturating_sub(SHOWN);
        text.push_str(&format!(
            "  {count} more, none of which moves it by more than {:.1} %\n",
            rest * 100.0
        ));
        if !self.unchanged.is_empty() {
            text.push_str(&format!(
                "  not changed, because 20 % more and less round to the same whole number: {}\n",
                self.unchanged.join(", ")
            ));
        }
        if !self.coarse.is_empty() {
            text.push_str(&format!(
                "  changed by another share, to the nearest value that a machine file allows: {}\n",
                self.coarse.join(", ")
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::MachinePlacement;
    use crate::simulate::SimulationEffort;
    use lockyard_scenarios::{Order, Script};

    #[test]
    fn an_operation_alone_depends_on_its_own_work_and_the_clock() {
        let machine = Machine::shipped("skylake-client-4c").expect("it is shipped");
        let script = Script::shipped("fstat2").expect("it is shipped");
        let placement = MachinePlacement::Order(Order::SiblingsLast);
        let cell =
            CellSpec { local_work: 1000.0, ..CellSpec::first_of(&machine, &script, &placement, 1) };
        let plan = RunPlan::of_windows(SimulationEffort::SEARCH);
        let found = of(&cell, &plan, script.metric, 1, &|| ())
            .expect("it runs")
            .expect("nobody interrupts");
        assert_eq!(found.effects[0].input, LOCAL_WORK);
        let effect = &found.effects[0];
        // The effect is a little more than 20 %, because some of the work always hides.
        assert!(effect.less > 0.2 && effect.less < 0.26, "{effect:?}");
        assert!(effect.more < -0.14 && effect.more > -0.17, "{effect:?}");
        let leg = found.effects.iter().find(|effect| effect.input == "cycles.leg").unwrap();
        assert_eq!((leg.less, leg.more), (0.0, 0.0), "nothing moves");
        assert!(found.interval.0 < found.figure && found.figure < found.interval.1);
        let single = (found.single.0 / found.figure - 1.0, found.single.1 / found.figure - 1.0);
        let (least, most) = (effect.more, effect.less);
        assert!((single.0 - least).abs() < 1e-9 && (single.1 - most).abs() < 1e-9, "{single:?}");
        assert!(found.interval.0 <= found.single.0 && found.single.1 <= found.interval.1);
        // These numbers are 1 and 2 cycles, and a switch.
        let unchanged = ["cycles.dispatch", "cycles.invalidate", "caches.shared_inclusive"];
        assert_eq!(found.unchanged, unchanged);
    }

    #[test]
    fn a_small_whole_number_is_named_with_what_it_was_changed_to() {
        let machine = Machine::shipped("skylake-client-4c").expect("it is shipped");
        let machine = machine.with("cycles.dispatch", 3.0).expect("it has it");
        let inputs: Vec<(String, f64)> = inputs(&machine, 0.0)
            .into_iter()
            .filter(|(name, _)| name == "cycles.dispatch" || name == "cycles.pause")
            .collect();
        assert_eq!(inputs.len(), 2);
        let (unchanged, coarse) = rounded(&machine, &inputs);
        assert_eq!(coarse, ["cycles.dispatch (3 to 2 and 4)"]);
        assert!(unchanged.is_empty());
    }

    #[test]
    fn the_interval_of_all_inputs_is_the_root_of_the_sum_of_squares_without_the_scale() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let script = Script::shipped("fstat2").expect("it is shipped");
        let placement = MachinePlacement::Order(Order::SiblingsLast);
        let cell =
            CellSpec { local_work: 100.0, ..CellSpec::first_of(&machine, &script, &placement, 4) };
        let plan = RunPlan::of_windows(SimulationEffort::SEARCH);
        let found = of(&cell, &plan, script.metric, 2, &|| ())
            .expect("it runs")
            .expect("nobody interrupts");
        let (mut down, mut up): (f64, f64) = (0.0, 0.0);
        for effect in found.effects.iter().filter(|effect| effect.input != SCALE) {
            let (low, high) = (effect.less.min(effect.more), effect.less.max(effect.more));
            down += low.min(0.0).powi(2);
            up += high.max(0.0).powi(2);
        }
        let relative = |figure: f64| figure / found.figure - 1.0;
        assert!((relative(found.interval.0) + down.sqrt()).abs() < 1e-9);
        assert!((relative(found.interval.1) - up.sqrt()).abs() < 1e-9);
        let scale = found.effects.iter().find(|effect| effect.input == SCALE).expect("a family");
        assert!(relative(found.single.0) <= scale.more + 1e-9, "the scale is one of them");
        assert!(found.effects.is_sorted_by(|a, b| a.most() >= b.most()));
        let (figure, low) = (found.figure, found.interval.0);
        let moved = found.around(2.0 * figure);
        assert_eq!((moved.figure, moved.interval.0), (2.0 * figure, 2.0 * low));
    }
}
