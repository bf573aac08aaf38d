//! Growth of a recorded program with the number of threads: from measured rates of some numbers of
//! threads, and replays of its smallest recording.
//!
//! The replay of one recorded thread has times that nothing disturbs, and says how locks saturate.
//! What it says of the recorded numbers of threads is compared with their measured rates. The rest
//! is not explained by locks: caches, memory, waits in user space, or a replay that waits too much.
//! Beyond the recorded numbers this rest follows a law with one constant.
//!
//! | file | content |
//! | --- | --- |
//! | `crowd` | cost of many threads that wait in the kernel for one lock |
//! | `spread` | errors of such predictions, by number of threads away |
//!
//! A [`Law`] is chosen by the largest measured number, predicted from the smaller ones: that which
//! errs least, and the simpler one of two that err alike. If none is within [`MOST_ERROR`], the
//! rest stays as it is.

mod crowd;
pub mod spread;

pub use crowd::{Crowd, FITTED, HandOver};

use lockyard_results::details::CostsDetail;
pub use lockyard_results::growth::Law;

/// Largest error, as a logarithm, with which a law is believed.
pub const MOST_ERROR: f64 = 0.262;

/// Error by which a law must be better than a simpler one: rates vary by as much.
const MARGIN: f64 = 0.02;

/// All laws, the simplest first.
const LAWS: [Law; 3] = [Law::Constant, Law::Threads, Law::Pairs];

/// Simulated rate of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Acquisitions a second.
    pub rate: f64,
    /// Threads that wait in the kernel for one lock.
    pub crowd: Crowd,
}

impl Replayed {
    /// Returns the rate of a simulated cell.
    pub fn of(rate: f64, costs: &CostsDetail) -> Replayed {
        Replayed { rate, crowd: Crowd::of(rate, costs) }
    }
}

/// A measured number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Number of threads.
    pub threads: usize,
    /// Measured rate.
    pub rate: f64,
    /// Replay with that number.
    pub replayed: Replayed,
}

/// A number of threads that is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Target {
    /// Number of threads.
    pub threads: usize,
    /// Replay with that number.
    pub replayed: Replayed,
    /// Hardware threads of its machine.
    pub cpus: usize,
    /// True if its machine is the host of the measured rates.
    pub is_host: bool,
}

/// What is known of a program on its host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fit {
    points: Vec<Point>,
    cpus: usize,
    hand_over: HandOver,
    law: Law,
}

impl Fit {
    /// Fits measured numbers of threads, the smallest first. The host has `cpus` hardware threads.
    /// Returns `None` if there is no number.
    pub fn of(points: &[Point], cpus: usize, hand_over: HandOver) -> Option<Fit> {
        let last = points.last()?;
        let fit = |points: &[Point], law| Fit { points: points.to_vec(), cpus, hand_over, law };
        let before = &points[..points.len() - 1];
        // Two numbers have one growth: any law has that.
        let error = |law| {
            let predicted = fit(before, law).predict(&fit(before, law).target(last));
            (predicted / last.rate).ln().abs()
        };
        let mut law = Law::Constant;
        if before.len() >= 2 {
            let mut least = MOST_ERROR + MARGIN;
            for each in LAWS {
                let of_law = error(each);
                if of_law < least - MARGIN {
                    (law, least) = (each, of_law);
                }
            }
        }
        Some(fit(points, law))
    }

    /// Returns the law of the growth that is not explained.
    pub fn law(&self) -> Law {
        self.law
    }

    /// Returns the prediction of the largest number of threads from the smaller ones; `None` if
    /// there are none.
    pub fn of_last(&self) -> Option<f64> {
        let (last, before) = self.points.split_last()?;
        let fit = Fit::of(before, self.cpus, self.hand_over)?;
        Some(fit.predict(&fit.target(last)))
    }

    fn target(&self, point: &Point) -> Target {
        let Point { threads, replayed, .. } = *point;
        Target { threads, replayed, cpus: self.cpus, is_host: true }
    }

    /// Returns the predicted rate, in the unit of the measured ones.
    pub fn predict(&self, target: &Target) -> f64 {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return target.replayed.rate;
        };
        let rate = target.replayed.crowd.rate(target.replayed.rate, self.hand_over);
        let explained = rate / self.replayed(first) * first.rate;
        let predicted = explained / self.growth(target);
        if !target.is_host || target.threads <= last.threads {
            return predicted;
        }
        // What is shared and full keeps its rate: growth alone makes no more threads do less than
        // the last number did. And threads of a closed loop do not help each other.
        let least = last.rate.min(explained / self.growth_at(last));
        let most = last.rate * target.threads as f64 / last.threads as f64;
        predicted.max(least).min(most)
    }

    /// Returns the rate of a point's replay in its crowd.
    fn replayed(&self, point: &Point) -> f64 {
        point.replayed.crowd.rate(point.replayed.rate, self.hand_over)
    }

    /// Returns the ratio of an operation's measured time to its replayed time, at a measured number
    /// of threads. The ratio is scaled to be 1 at the smallest number.
    pub fn growth_at(&self, point: &Point) -> f64 {
        let Some(first) = self.points.first() else { return 1.0 };
        self.replayed(point) / self.replayed(first) * first.rate / point.rate
    }

    /// Returns the same ratio at any number of threads: by the law, or interpolated between the
    /// measured numbers.
    fn growth(&self, target: &Target) -> f64 {
        let of = |point: &Point| self.growth_at(point);
        // Threads that wait for a saturated lock have that time to spare.
        let outside = 1.0 - target.replayed.crowd.decides();
        let Some(last) = self.points.last() else { return 1.0 };
        let measured = of(last);
        if target.threads >= last.threads {
            let by_law = |threads: usize, cpus: usize| self.law.of(threads.min(cpus.max(1)));
            let from = by_law(last.threads, self.cpus);
            if self.law == Law::Constant || measured <= 1.0 || from <= 0.0 {
                return measured;
            }
            let then = 1.0 + (measured - 1.0) * by_law(target.threads, target.cpus) / from;
            return measured + (then - measured) * outside;
        }
        let place = |threads: usize| (threads.max(1) as f64).ln();
        let between = self.points.windows(2).find(|pair| target.threads < pair[1].threads);
        let Some([low, high]) = between else { return measured };
        if target.threads <= low.threads {
            return of(low);
        }
        let share = (place(target.threads) - place(low.threads))
            / (place(high.threads) - place(low.threads));
        of(low) + (of(high) - of(low)) * share
    }
}

/// The function of a law, without its constant.
trait OfThreads {
    fn of(self, running: usize) -> f64;
}

impl OfThreads for Law {
    fn of(self, running: usize) -> f64 {
        let running = running as f64;
        match self {
            Law::Constant => 1.0,
            Law::Threads => running - 1.0,
            Law::Pairs => running * (running - 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a point whose replay scales without limit: 1,000 ns for an operation.
    fn point(threads: usize, ns: f64) -> Point {
        let replayed = Replayed { rate: threads as f64 * 1e6, ..Replayed::default() };
        Point { threads, rate: threads as f64 * 1e9 / ns, replayed }
    }

    fn target(threads: usize) -> Target {
        let replayed = point(threads, 1.0).replayed;
        Target { threads, replayed, cpus: 16, is_host: true }
    }

    /// Returns the predicted time of an operation.
    fn time(fit: &Fit, threads: usize) -> f64 {
        threads as f64 * 1e9 / fit.predict(&target(threads))
    }

    #[test]
    fn growth_with_threads_and_with_pairs_is_told_apart() {
        let of = |ns: fn(f64) -> f64| {
            let points = [1, 2, 4].map(|threads| point(threads, ns(threads as f64)));
            Fit::of(&points, 16, HandOver::default()).expect("there are points")
        };
        let threads = of(|n| 500.0 + 50.0 * n);
        assert_eq!(threads.law(), Law::Threads);
        assert!((time(&threads, 16) - 1300.0).abs() < 1e-6, "{}", time(&threads, 16));
        assert!((time(&threads, 64) - 1300.0).abs() < 1e-6, "threads without a CPU do not run");
        assert!((time(&threads, 2) - 600.0).abs() < 1e-6, "what was measured stays");
        assert!((time(&threads, 3) / 657.5 - 1.0).abs() < 0.01, "{}", time(&threads, 3));
        let pairs = of(|n| 500.0 + 5.0 * n * (n - 1.0));
        assert_eq!(pairs.law(), Law::Pairs);
        assert!((time(&pairs, 8) - 780.0).abs() < 1e-6, "{}", time(&pairs, 8));
        let none = of(|_| 700.0);
        assert_eq!(none.law(), Law::Constant);
        assert!((time(&none, 16) - 700.0).abs() < 1e-6);
    }

    #[test]
    fn growth_outside_of_locks_costs_nothing_where_a_lock_is_saturated() {
        let points = [1, 2, 4].map(|threads| point(threads, 500.0 + 50.0 * threads as f64));
        let fit = Fit::of(&points, 16, HandOver::default()).expect("there are points");
        let mut saturated = target(16);
        saturated.replayed.crowd.busy = 1.0;
        let ns = 16e9 / fit.predict(&saturated);
        assert!((ns - 700.0).abs() < 1e-6, "as with four threads: {ns}");
    }

    #[test]
    fn growth_that_no_law_foresaw_stays_as_it_is() {
        let fit =
            Fit::of(&[point(1, 500.0), point(2, 500.0), point(4, 3000.0)], 16, HandOver::default());
        let fit = fit.expect("there are points");
        assert_eq!(fit.law(), Law::Constant);
        assert!((time(&fit, 8) - 3000.0).abs() < 1e-6);
        let seen = fit.of_last().expect("there are smaller numbers");
        assert!((seen / 8e6 - 1.0).abs() < 1e-9, "the gate sees it: {seen}");
        assert_eq!(Fit::of(&[], 16, HandOver::default()), None);
        let one = Fit::of(&[point(1, 500.0)], 16, HandOver::default()).expect("there is a point");
        assert_eq!(one.of_last(), None);
    }

    #[test]
    fn growth_with_pairs_does_not_make_more_threads_do_less() {
        let points = [1, 2, 4].map(|n| point(n, 100.0 + 12.0 * (n * (n - 1)) as f64));
        let fit = Fit::of(&points, 16, HandOver::default()).expect("there are points");
        assert_eq!(fit.law(), Law::Pairs);
        assert!((fit.predict(&target(16)) / points[2].rate - 1.0).abs() < 1e-9);
        // A replay that falls goes on falling.
        let mut falls = target(16);
        falls.replayed.rate = points[2].replayed.rate / 2.0;
        assert!((fit.predict(&falls) / points[2].rate - 0.5).abs() < 1e-9);
    }

    #[test]
    fn more_threads_do_at_most_their_share_more_on_their_host() {
        // The replay with two threads was three times too slow.
        let mut slow = point(2, 500.0);
        slow.replayed.rate /= 3.0;
        let fit =
            Fit::of(&[point(1, 500.0), slow], 16, HandOver::default()).expect("there are points");
        assert!((fit.predict(&target(8)) / 16e6 - 1.0).abs() < 1e-9);
        let elsewhere = Target { is_host: false, ..target(8) };
        assert!(fit.predict(&elsewhere) > 40e6, "another machine may be faster");
    }
}
