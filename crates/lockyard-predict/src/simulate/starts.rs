//! Start times of the tasks of a simulated run, and a check if the figure depends on their order.
//!
//! Tasks begin in a random order, microseconds apart, unless a script says otherwise. The reason is
//! that a queue of tasks that all come back keeps its first order for ever. Each seed has another
//! order, so the runs of a cell are also a check. If runs differ by more than each of them varies
//! in its own window, the figure depends on an arbitrary order. Then the row says so.

use lockyard_results::statistics;
use lockyard_scenarios::Starts;
use lockyard_sim::Simulation;

/// Number of parts of a window. A run's own interval is computed from them.
pub(super) const PARTS: usize = 8;

/// Maximum difference of figures that agree, relative to the lower one.
pub const NEAR: f64 = 0.05;

/// Start times of the tasks of one run.
pub(super) struct Beginnings {
    /// Cycles, one for each task; empty if tasks begin together.
    moments: Vec<u64>,
}

impl Beginnings {
    /// Draws the start times of `tasks` tasks.
    pub(super) fn draw(simulation: &mut Simulation, starts: Starts, tasks: usize) -> Beginnings {
        let moments = match starts {
            Starts::Random => simulation.random_starts(tasks),
            Starts::Together => Vec::new(),
        };
        Beginnings { moments }
    }

    /// Adds task number `task` of the run, in a group, on a hardware thread.
    pub(super) fn spawn(
        &self,
        simulation: &mut Simulation,
        task: usize,
        group: u32,
        place: usize,
        code: impl FnOnce() + 'static,
    ) {
        match self.moments.get(task) {
            Some(&moment) => simulation.spawn_in_at(group, place, moment, code),
            None => simulation.spawn_in(group, place, code),
        }
    }

    /// Cycle at which the last task begins. It is 0 if tasks begin together, because the first
    /// hundred nanoseconds are part of the warm-up.
    pub(super) fn end(&self) -> u64 {
        self.moments.iter().copied().max().unwrap_or(0)
    }

    /// Number of the task that begins first.
    pub(super) fn first(&self) -> usize {
        (0..self.moments.len()).min_by_key(|&task| self.moments[task]).unwrap_or(0)
    }

    /// Cycles from the start of task number `task` to the start of the last one.
    pub(super) fn until_all_have_begun(&self, task: usize) -> u64 {
        self.moments.get(task).map_or(0, |moment| self.end() - moment)
    }
}

/// Agreement of the start orders of a cell's runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orders {
    /// Highest throughput of an order divided by the lowest one, minus 1.
    pub spread: f64,
    /// `true` if these two agree: they differ by less than 5 %, or their intervals overlap.
    pub agree: bool,
}

impl Orders {
    /// Compares runs that began in different orders. Each has the figures of equal parts of its
    /// window. A run's interval has 95 % confidence if its parts are independent. Returns `None`
    /// with fewer than two runs.
    pub(super) fn of(runs: &[[f64; PARTS]]) -> Option<Orders> {
        // Lower end, mean, upper end.
        let interval = |parts: &[f64; PARTS]| {
            let mean = parts.iter().sum::<f64>() / PARTS as f64;
            let squares: f64 = parts.iter().map(|part| (part - mean).powi(2)).sum();
            let error = (squares / (PARTS * (PARTS - 1)) as f64).sqrt();
            let away = statistics::student(PARTS - 1) * error;
            (mean - away, mean, mean + away)
        };
        let intervals: Vec<_> = runs.iter().map(interval).collect();
        let by_mean = |a: &&(f64, f64, f64), b: &&(f64, f64, f64)| a.1.total_cmp(&b.1);
        let lowest = intervals.iter().min_by(by_mean)?;
        let highest = intervals.iter().max_by(by_mean)?;
        if runs.len() < 2 {
            return None;
        }
        let spread = if lowest.1 > 0.0 { highest.1 / lowest.1 - 1.0 } else { f64::INFINITY };
        Some(Orders { spread, agree: spread <= NEAR || highest.0 <= lowest.2 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_sim::Machine;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Cycles at which eight tasks really begin, in the order of their numbers.
    fn begun(starts: Starts, seed: u64) -> (Beginnings, Vec<u64>) {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let mut simulation = Simulation::new(&machine, seed);
        let beginnings = Beginnings::draw(&mut simulation, starts, 8);
        let moments = Rc::new(RefCell::new(vec![0; 8]));
        for task in 0..8 {
            let moments = Rc::clone(&moments);
            let code = move || moments.borrow_mut()[task] = lockyard_sim::now();
            beginnings.spawn(&mut simulation, task, 0, 3 * task, code);
        }
        assert!(matches!(simulation.run(), lockyard_sim::RunEnd::Finished));
        (beginnings, moments.take())
    }

    #[test]
    fn tasks_begin_in_a_random_order_a_microsecond_apart_and_the_seed_decides() {
        // The clock is 3 GHz.
        let (beginnings, moments) = begun(Starts::Random, 1);
        let mut sorted = moments.clone();
        sorted.sort_unstable();
        let distances: Vec<u64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distances.iter().all(|d| (3000..6000).contains(d)), "{distances:?}");
        assert_ne!(moments, sorted);
        assert!(distances.iter().any(|d| *d != distances[0]), "{distances:?}");
        assert_eq!((beginnings.end(), moments[beginnings.first()]), (sorted[7], sorted[0]));
        assert_eq!(beginnings.until_all_have_begun(beginnings.first()), sorted[7] - sorted[0]);
        assert_eq!(moments, begun(Starts::Random, 1).1);
        let order = |moments: &[u64]| {
            let mut tasks: Vec<usize> = (0..8).collect();
            tasks.sort_unstable_by_key(|&task| moments[task]);
            tasks
        };
        assert_ne!(order(&moments), order(&begun(Starts::Random, 2).1));
    }

    #[test]
    fn tasks_that_begin_together_do_so_within_a_tenth_of_a_microsecond() {
        let (beginnings, moments) = begun(Starts::Together, 1);
        assert!(moments.iter().all(|moment| *moment < 300), "{moments:?}");
        assert_eq!(beginnings.end(), 0);
    }

    #[test]
    fn orders_agree_within_their_intervals_or_within_a_twentieth() {
        let steady = |figure: f64| [figure; PARTS];
        let noisy = |figure: f64| {
            let mut parts = [0.7 * figure; PARTS];
            parts.iter_mut().step_by(2).for_each(|part| *part = 1.3 * figure);
            parts
        };
        let of = |runs: &[[f64; PARTS]]| Orders::of(runs).expect("there are two");
        assert!(of(&[steady(100.0), steady(104.9)]).agree);
        let apart = of(&[steady(100.0), steady(103.0), steady(106.0)]);
        assert!(!apart.agree && (apart.spread - 0.06).abs() < 1e-9, "{apart:?}");
        // The parts vary by 30 % in both directions, so each interval is 27 % wide.
        assert!(of(&[noisy(100.0), noisy(120.0)]).agree);
        assert!(!of(&[noisy(100.0), noisy(200.0)]).agree);
        assert_eq!(Orders::of(&[steady(1.0)]), None);
        assert!(!of(&[steady(0.0), steady(1.0)]).agree);
    }
}
