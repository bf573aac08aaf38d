//! Placement of tasks on this host.

use super::Cpus;
use lockyard_scenarios::Order;
use lockyard_support::{InputError, hint, printable};

/// Placement of tasks. If there are more tasks than CPUs, it starts over with the first CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// On these CPUs, in this order.
    Pinned(Vec<usize>),
    /// On CPUs chosen by the operating system.
    Unpinned,
}

impl Placement {
    /// Returns the placement for a script's order.
    pub fn of(order: Order, cpus: &Cpus) -> Placement {
        match order {
            Order::Fill => Placement::Pinned(cpus.siblings_together()),
            Order::SiblingsLast => Placement::Pinned(cpus.all().to_vec()),
            Order::Spread => Placement::Pinned(cpus.spread()),
            Order::Unpinned => Placement::Unpinned,
        }
    }

    /// Parses the name of a placement, or a list of CPUs such as `0,2,5`. The names are `fill` (the
    /// threads of a core follow each other), `siblings-last` (one thread of each core, package by
    /// package, then the siblings), `spread` (alternating between packages) and `unpinned`.
    ///
    /// # Errors
    ///
    /// If the text is neither, or lists a CPU that this process may not use.
    pub fn parse(text: &str, cpus: &Cpus) -> Result<Placement, InputError> {
        if let Some(order) = Order::ALL.into_iter().find(|order| order.name() == text) {
            return Ok(Placement::of(order, cpus));
        }
        let mut list = Vec::new();
        for part in text.split(',') {
            let Ok(cpu) = part.trim().parse::<usize>() else {
                let hint = hint(text, &Order::ALL.map(Order::name), "allowed");
                let text = printable(text);
                return Err(InputError(format!(
                    "--placement: `{text}` is not a placement; \
                     {hint} (or a list of CPUs, such as 0,1)"
                )));
            };
            if !cpus.all().contains(&cpu) {
                let mut all = cpus.all().to_vec();
                all.sort_unstable();
                let all: Vec<String> = all.iter().map(usize::to_string).collect();
                return Err(InputError(format!(
                    "--placement: this process may not use CPU {cpu}; it may use {}",
                    all.join(",")
                )));
            }
            if list.len() == 4096 {
                return Err(InputError("--placement lists more than 4096 CPUs".to_owned()));
            }
            list.push(cpu);
        }
        Ok(Placement::Pinned(list))
    }

    /// Returns the CPU of task `index`, if the task is pinned.
    pub fn cpu(&self, index: usize) -> Option<usize> {
        match self {
            Placement::Pinned(cpus) => Some(cpus[index % cpus.len()]),
            Placement::Unpinned => None,
        }
    }

    /// Number of CPUs available to the tasks.
    pub fn cpus(&self, cpus: &Cpus) -> usize {
        match self {
            Placement::Pinned(list) => {
                let mut list = list.clone();
                list.sort_unstable();
                list.dedup();
                list.len()
            }
            Placement::Unpinned => cpus.len(),
        }
    }

    /// Returns the name of the placement for results.
    pub fn describe(&self) -> String {
        match self {
            Placement::Pinned(cpus) => {
                let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
                format!("CPUs {}, in this order", cpus.join(","))
            }
            Placement::Unpinned => "not pinned".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_in_its_order_and_from_the_beginning_again() {
        let cpus = Cpus::allowed();
        let first = cpus.cpu(0);
        let placement = Placement::parse(&format!("{first}, {first}"), &cpus).unwrap();
        assert_eq!((placement.cpu(0), placement.cpu(5)), (Some(first), Some(first)));
        assert_eq!(placement.cpus(&cpus), 1);
    }

    #[test]
    fn each_placement_has_every_cpu_once() {
        let cpus = Cpus::allowed();
        let mut all = cpus.all().to_vec();
        all.sort_unstable();
        for name in ["fill", "siblings-last", "spread"] {
            let Placement::Pinned(mut list) = Placement::parse(name, &cpus).unwrap() else {
                panic!("{name} is pinned");
            };
            list.sort_unstable();
            assert_eq!(list, all, "{name}");
        }
        assert_eq!(Placement::parse("unpinned", &cpus).unwrap().cpu(3), None);
    }

    #[test]
    fn a_wrong_placement_is_named_with_what_is_allowed() {
        let error = |text| Placement::parse(text, &Cpus::allowed()).unwrap_err().to_string();
        assert!(error("spraed").contains("`spraed` is not a placement; did you mean `spread`?"));
        assert!(error("").contains("allowed: fill, siblings-last, spread, unpinned"));
        assert!(error("100000").contains("this process may not use CPU 100000; it may use "));
        assert!(error("0,,1").contains("`0,,1` is not a placement"));
    }
}
