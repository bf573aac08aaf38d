//! Rules that map the name of a published metric to its figure.
//!
//! Some metrics need facts about the published run, or a second variant. Only scripts with such
//! facts or variants have these metrics.

use super::figure::{DIRECTION_PREFIX, Figure};
use super::metric::Metric;
use super::published_run::{Length, PublishedRun};
use super::samples::OfTasks;
use super::script::Script;
use lockyard::platform::Region;

/// Regions whose CPU time is in published tables. `system-time` is all time outside the other two.
const TIMED: [Region; 3] = [Region::System, Region::User, Region::Idle];

impl PublishedRun {
    /// Returns the CPU time in a region, of one task or of all tasks, depending on the table.
    fn time(&self, region: Region, length: Length) -> Figure {
        if self.times_of_one_task {
            Figure::TaskTime(region, length)
        } else {
            Figure::CpuTime(region, length)
        }
    }
}

impl Script {
    /// Returns the additional figures of a script that has samples, or the length of the published
    /// run. Each has a metric, a unit and a rule.
    pub fn figures(&self) -> Vec<(String, &'static str, Figure)> {
        let mut figures = Vec::new();
        for index in 0..self.samples.map_or(0, |samples| samples.number) {
            for (name, of) in OfTasks::ALL {
                let metric = format!("throughput-{name}@sample{index}");
                figures.push((metric, "op/s", Figure::Sample { index, of }));
            }
        }
        if let Some(length) = self.run.length {
            figures.push(("real-time".to_owned(), "s", Figure::RealTime(length)));
            for region in TIMED {
                let metric = format!("{}-time", region.name());
                figures.push((metric, "s", self.run.time(region, length)));
            }
        }
        figures
    }

    /// Returns the figure that a published table calls `metric`, for a variant on a machine.
    ///
    /// # Errors
    ///
    /// A message for the user: the reason why the script has no such figure.
    pub fn figure(
        &self,
        machine: &str,
        variant: &str,
        metric: &str,
        unit: &str,
    ) -> Result<Figure, String> {
        let own = format!("{} in {}", self.metric.name(), self.metric.unit());
        if metric == self.metric.name() {
            let right = unit == self.metric.unit();
            return if right { Ok(Figure::Own) } else { Err(format!("the scenario gives {own}")) };
        }
        let in_units = |units: &[&str], figure: Figure| {
            if units.contains(&unit) {
                return Ok(figure);
            }
            Err(format!("the scenario gives {metric} in {}", units.join(" or ")))
        };
        if let Some((index, of)) = sample(metric) {
            if self.samples.is_none_or(|samples| index >= samples.number) {
                return Err(format!("the scenario has no sample {index}"));
            }
            return in_units(&["op/s"], Figure::Sample { index, of });
        }
        if let Some(reference) = metric.strip_prefix("gap-to-") {
            if self.variant(reference).is_none() {
                return Err(format!("the scenario has no variant `{reference}`"));
            }
            let gap = Figure::Gap { reference: reference.to_owned(), per_cent: unit == "%" };
            let direction = unit.starts_with(DIRECTION_PREFIX);
            return if direction { Ok(gap) } else { in_units(&["ratio", "%"], gap) };
        }
        for region in TIMED {
            let name = region.name();
            if metric == format!("{name}-time") {
                return in_units(&["s"], self.run.time(region, self.length(metric)?));
            }
            if metric == format!("{name}-cpu-saved") {
                let reference = self.paired_with(variant)?;
                return in_units(&["%"], Figure::CpuSaved { region, reference });
            }
        }
        let has_variant = |name: &str| self.variant(name).is_some();
        if let Some(figure) = self.profile.figure(has_variant, variant, metric, unit) {
            return figure;
        }
        match metric {
            "stdev" => in_units(&["%"], Figure::Deviation),
            "time" if self.metric == Metric::Cpu => {
                let divided = self.run.time_divided_on.iter().any(|divided| divided == machine);
                in_units(&["ns"], Figure::Time { divided })
            }
            "real-time" => in_units(&["s"], Figure::RealTime(self.length(metric)?)),
            _ => Err(format!("the scenario gives {own}")),
        }
    }

    /// Returns the length of the published run, on which `metric` depends.
    fn length(&self, metric: &str) -> Result<Length, String> {
        self.run.length.ok_or_else(|| {
            format!("the scenario does not give the length of the run, on which {metric} depends")
        })
    }

    /// Returns the variant with which the script pairs `variant`.
    fn paired_with(&self, variant: &str) -> Result<String, String> {
        let pair = self.variant_pairs.iter().find(|pair| pair.second == variant);
        pair.map(|pair| pair.first.clone())
            .ok_or_else(|| format!("the scenario pairs no variant with `{variant}`"))
    }
}

/// Returns the sample in a metric's name, and the tasks whose operations count in it.
fn sample(metric: &str) -> Option<(usize, OfTasks)> {
    let (of, index) = metric.strip_prefix("throughput-")?.split_once("@sample")?;
    let (_, of) = OfTasks::ALL.into_iter().find(|(name, _)| *name == of)?;
    Some((index.parse().ok()?, of))
}
