//! Throughput with ideal locks, whose hand-overs take no time, and with shorter critical sections.
//!
//! The throughput is computed from counted times, not simulated. An operation of a thread takes *Z*
//! nanoseconds outside of locks, and *D* nanoseconds in the critical sections of each lock. Work
//! that the thread did while it waited for a lock is added to the section, or to *Z*. With an ideal
//! lock, this work takes additional time. The throughput of *N* threads is at most
//!
//! ```text
//! min(N / (Z + sum of D), 1 / largest D)
//! ```
//!
//! operations per second, for every distribution of the times. These are the asymptotic bounds (E.
//! Lazowska and others, *Quantitative System Performance*, 1984, chapter 5). With one lock and
//! operations that all take the same time, the threads fall into lockstep and reach these bounds.
//! If the script says that operations differ (`work_varies`), threads also collide below the knee.
//! Then the estimate is that of the machine repairman, M/M/1//N. With several locks it is that of
//! mean value analysis, which gives the same result for one lock (M. Reiser and S. Lavenberg,
//! *Journal of the ACM* 27, 1980).

use super::bound::Bound;
use super::costs::Costs;
use super::lock_time::LockTime;

/// Gain of an ideal lock, relative to the throughput, below which a faster lock changes little.
/// The median error of predictions of published figures is about this large (see the README).
pub const LITTLE: f64 = 0.1;

impl Costs {
    /// Returns the throughput with ideal locks. Returns `None` if the times do not determine it:
    ///
    /// - no lock was taken;
    /// - threads share CPUs, so a spinning waiter takes time from others;
    /// - a lock is in a lockref, whose count moves with the lock and changes under it;
    /// - a lock has readers, which hold it together.
    pub fn ideal(&self) -> Option<Bound> {
        let lent: u64 = self.locks.values().map(|lock| lock.lent).sum();
        let cycle = self.without_waits() + self.in_operation(lent);
        let sections = self.locks.values().map(|lock| self.in_operation(lock.section()));
        self.throughput_of(cycle, &sections.collect::<Vec<f64>>())
    }

    /// Returns the throughput if the bottleneck's critical section took half as long, with
    /// unchanged hand-overs. Returns `None` if [`ideal`](Self::ideal) does, or without a
    /// bottleneck.
    pub fn half_section(&self) -> Option<Bound> {
        let (bottleneck, of_bottleneck) = self.bottleneck()?;
        let handed_over: u64 = self.locks.values().map(LockTime::handed_over).sum();
        let saved =
            self.in_operation(of_bottleneck.held.saturating_sub(of_bottleneck.nested)) / 2.0;
        let services = self.locks.iter().map(|(name, lock)| {
            self.in_operation(lock.busy) - if name == bottleneck { saved } else { 0.0 }
        });
        let cycle = self.without_waits() + self.in_operation(handed_over) - saved;
        self.throughput_of(cycle, &services.collect::<Vec<f64>>())
    }

    /// Returns the throughput if the bottleneck were split into two locks. Each operation takes one
    /// of them at random, with unchanged holds and hand-overs. Returns `None` if
    /// [`ideal`](Self::ideal) does, or without a bottleneck.
    pub fn second_lock(&self) -> Option<Bound> {
        let (bottleneck, _) = self.bottleneck()?;
        let handed_over: u64 = self.locks.values().map(LockTime::handed_over).sum();
        let mut services = Vec::new();
        for (name, lock) in &self.locks {
            let service = self.in_operation(lock.busy);
            let locks = if name == bottleneck { 2 } else { 1 };
            services.extend(vec![service / locks as f64; locks]);
        }
        let cycle = self.without_waits() + self.in_operation(handed_over);
        self.throughput_of(cycle, &services)
    }

    /// Returns the operations per second if the bottleneck were held all the time. This is 1 / hold
    /// time for a lock that each operation takes once. Returns `None` without a bottleneck.
    pub fn hold_bound(&self) -> Option<f64> {
        let (_, lock) = self.bottleneck()?;
        let hold = self.in_operation(lock.held.saturating_sub(lock.nested));
        (hold > 0.0).then(|| 1e9 / hold)
    }

    /// Number of times that an operation takes the bottleneck, on average. Returns `None` without a
    /// bottleneck.
    pub(super) fn holds(&self) -> Option<f64> {
        let (_, lock) = self.bottleneck()?;
        Some((lock.acquired - lock.acquired_nested) as f64 / self.operations_of_guest())
    }

    /// Nanoseconds per operation.
    fn in_operation(&self, cycles: u64) -> f64 {
        cycles as f64 * self.cycle / self.operations_of_guest()
    }

    /// Operations per second of all threads of one guest.
    pub(super) fn throughput(&self) -> f64 {
        if self.window > 0.0 { self.operations_of_guest() / self.window * 1e9 } else { 0.0 }
    }

    /// Throughput if a thread's operation takes `cycle` nanoseconds without queues, of which it
    /// spends `services` in each lock.
    fn throughput_of(&self, cycle: f64, services: &[f64]) -> Option<Bound> {
        let has_readers = self.locks.values().any(|lock| lock.shared > 0);
        if self.locks.is_empty() || has_readers || self.locks_in_counts || self.shares_cpus() {
            return None;
        }
        let threads = self.threads();
        let at_most = bound(threads, cycle, services) * 1e9;
        // An inner lock has no queue, because the outer lock admits one thread at a time.
        let nests = self.locks.values().any(|lock| lock.acquired_nested > 0);
        let estimate = if self.work_varies && !nests {
            mean_value(threads.round() as usize, cycle, services) * 1e9
        } else {
            at_most
        };
        let now = self.throughput();
        // The result is at least the present throughput.
        let throughput = estimate.max(now);
        Some(Bound { throughput, at_most: at_most.max(now), gain: throughput / now - 1.0 })
    }
}

/// Returns the maximum number of operations per nanosecond.
fn bound(threads: f64, cycle: f64, sections: &[f64]) -> f64 {
    let longest = sections.iter().copied().fold(0.0, f64::max);
    let by_threads = threads / cycle;
    if longest > 0.0 { by_threads.min(1.0 / longest) } else { by_threads }
}

/// Returns the operations per nanosecond, with exponentially distributed times. The method is exact
/// mean value analysis of a closed network, with one queue for each lock, and delays.
fn mean_value(threads: usize, cycle: f64, sections: &[f64]) -> f64 {
    let outside = cycle - sections.iter().sum::<f64>();
    let mut queues = vec![0.0; sections.len()];
    let mut throughput = 0.0;
    for threads in 1..=threads {
        let times: Vec<f64> = sections.iter().zip(&queues).map(|(d, q)| d * (1.0 + q)).collect();
        throughput = threads as f64 / (outside + times.iter().sum::<f64>());
        queues = times.iter().map(|time| throughput * time).collect();
    }
    throughput
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Throughput of the machine repairman, from the probabilities of its states.
    fn repairman(threads: usize, outside: f64, section: f64) -> f64 {
        let mut state = 1.0;
        let mut states = vec![state];
        for free in (1..=threads).rev() {
            state *= free as f64 * section / outside;
            states.push(state);
        }
        (1.0 - states[0] / states.iter().sum::<f64>()) / section
    }

    #[test]
    fn with_one_lock_the_estimate_is_the_machine_repairman() {
        for threads in [1, 2, 7, 8, 9, 48] {
            for (outside, section) in [(2100.0, 300.0), (100.0, 300.0)] {
                let expected = repairman(threads, outside, section);
                let found = mean_value(threads, outside + section, &[section]);
                assert!((found / expected - 1.0).abs() < 1e-9, "{threads}: {found}, {expected}");
                let at_most = bound(threads as f64, outside + section, &[section]);
                assert!(found <= at_most * (1.0 + 1e-9), "{threads}: {found}, {at_most}");
            }
        }
    }

    #[test]
    fn with_equal_locks_the_estimate_is_the_balanced_networks() {
        // N threads, K equal queues and no delay: N / (D (N + K - 1)).
        for (threads, locks) in [(1, 1), (4, 4), (12, 4)] {
            let sections = vec![200.0; locks];
            let found = mean_value(threads, 200.0 * locks as f64, &sections);
            let expected = threads as f64 / (200.0 * (threads + locks - 1) as f64);
            assert!((found / expected - 1.0).abs() < 1e-9, "{threads}: {found}, {expected}");
        }
    }

    /// Returns the throughput of threads at a first-come, first-served lock whose hand-overs take
    /// no time. One random factor multiplies all times of an operation, as with `work_varies`.
    fn played(threads: usize, outside: f64, section: f64) -> f64 {
        let mut state = 1u64;
        let mut exponential = || {
            // The multiplier and increment of Knuth's MMIX generator.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            -(((state >> 11) + 1) as f64 / (1u64 << 53) as f64).ln()
        };
        let mut arrivals: Vec<(f64, f64)> = (0..threads)
            .map(|_| {
                let factor = exponential();
                (outside * factor, section * factor)
            })
            .collect();
        let (mut free_at, operations) = (0.0f64, 100_000);
        for _ in 0..operations {
            let first = (0..threads).min_by(|&a, &b| arrivals[a].0.total_cmp(&arrivals[b].0));
            let (arrives, takes) = arrivals[first.expect("there are threads")];
            free_at = arrives.max(free_at) + takes;
            let factor = exponential();
            arrivals[first.expect("there are threads")] =
                (free_at + outside * factor, section * factor);
        }
        f64::from(operations) / free_at
    }

    #[test]
    fn operations_that_vary_as_a_whole_come_near_the_estimate() {
        for threads in [2, 4, 6, 8, 12, 24] {
            let found = mean_value(threads, 2400.0, &[300.0]);
            let expected = played(threads, 2100.0, 300.0);
            let difference = found / expected - 1.0;
            println!("{threads} threads: {:+.1} %", difference * 100.0);
            assert!(difference.abs() < 0.02, "{threads}: {found}, {expected}");
        }
    }
}
