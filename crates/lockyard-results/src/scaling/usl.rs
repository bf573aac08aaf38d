//! Universal Scalability Law: throughput of N threads if part of the work is serial, and each pair
//! of threads must keep shared state coherent.
//!
//! ```text
//! X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))
//! ```
//!
//! N. J. Gunther, *A Simple Capacity Model of Massively Parallel Transaction Systems*, CMG 1993;
//! *Guerrilla Capacity Planning*, 2007, chapter 4.
//!
//! `lambda` is the throughput of a single thread. `sigma` (contention) is the serial share of the
//! work. `kappa` (coherence) is the cost of each pair of threads, relative to the work of one
//! operation.
//!
//! If `kappa` is 0, this is Amdahl's law. If `kappa` is above 0, there is a knee: beyond this
//! number of threads, more threads do less in total.

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Operations per second of a single thread.
    pub lambda: f64,
    /// Contention: at least 0. Above 1, two threads together do less than one thread.
    pub sigma: f64,
    /// Coherence: at least 0.
    pub kappa: f64,
}

impl Usl {
    /// Returns the operations per second of `threads` threads together.
    pub fn throughput(&self, threads: f64) -> f64 {
        let others = threads - 1.0;
        self.lambda * threads / (1.0 + self.sigma * others + self.kappa * threads * others)
    }

    /// Returns the number of threads with the highest throughput, `sqrt((1 - sigma) / kappa)`, but
    /// at least 1. The knee is infinite if throughput never declines.
    pub fn knee(&self) -> f64 {
        if self.sigma >= 1.0 && self.kappa + self.sigma > 1.0 {
            return 1.0;
        }
        if self.kappa <= 0.0 {
            return f64::INFINITY;
        }
        ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0)
    }

    /// Returns the highest throughput for any number of threads, or its limit if there is no knee.
    /// The limit is infinite if `sigma` is 0.
    pub fn most(&self) -> f64 {
        let knee = self.knee();
        if knee.is_finite() {
            return self.throughput(knee);
        }
        self.lambda / self.sigma
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn its_special_cases_are_those_of_the_textbook() {
        let linear = Usl { lambda: 5.0, sigma: 0.0, kappa: 0.0 };
        assert_eq!((linear.throughput(8.0), linear.knee()), (40.0, f64::INFINITY));
        assert_eq!(linear.most(), f64::INFINITY);
        // Amdahl: a tenth of the work is serial, so the speed-up is at most ten.
        let amdahl = Usl { lambda: 1.0, sigma: 0.1, kappa: 0.0 };
        assert_eq!((amdahl.most(), amdahl.knee()), (10.0, f64::INFINITY));
        assert!((amdahl.throughput(10.0) - 10.0 / 1.9).abs() < 1e-12);
        // Gunther's example of a retrograde law: the peak is at sqrt(0.96/0.0006) = 40.
        let retrograde = Usl { lambda: 1.0, sigma: 0.04, kappa: 0.0006 };
        assert!((retrograde.knee() - 40.0).abs() < 1e-9);
        let shrinking = Usl { lambda: 1.0, sigma: 4.0, kappa: 0.0 };
        assert_eq!((shrinking.knee(), shrinking.most()), (1.0, 1.0));
    }

    proptest! {
        #[test]
        fn no_number_of_threads_does_more_than_the_knee(
            sigma in 0.0f64..2.0, kappa in 1e-6f64..0.5, threads in 1.0f64..4096.0,
        ) {
            let law = Usl { lambda: 3.0, sigma, kappa };
            prop_assert!(law.throughput(threads) <= law.most() * (1.0 + 1e-12));
            prop_assert_eq!(law.throughput(1.0), 3.0);
        }
    }
}
