//! Idleness of the host between two moments, all its CPUs together, as the kernel counts it.

use std::fs;

/// Counts of the kernel for all CPUs since its start, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    /// Reads the present counts; `None` where the system does not say.
    pub(super) fn now() -> Option<Ticks> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line of proc(5)'s `/proc/stat`: user, nice, system, idle, iowait, irq,
    /// softirq, steal. The time of guests follows, which is contained in the first two.
    fn parse(stat: &str) -> Option<Ticks> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let mut ticks = [0u64; 8];
        let mut fields = line.split_whitespace();
        for (index, field) in ticks.iter_mut().enumerate() {
            match fields.next() {
                Some(text) => *field = text.parse().ok()?,
                // Old kernels have fewer fields.
                None if index >= 4 => break,
                None => return None,
            }
        }
        Some(Ticks { idle: ticks[3], all: ticks.iter().sum() })
    }

    /// Returns the share of time between `earlier` and now in which CPUs were idle, in per cent;
    /// `None` if no tick has passed.
    pub(super) fn idle_since(self, earlier: Ticks) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|&all| all > 0)?;
        // The kernel may correct its count of idle ticks downwards.
        Some(self.idle.saturating_sub(earlier.idle) as f64 / all as f64 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_the_fourth_field_over_the_first_eight() {
        let of = |line: &str| Ticks::parse(&format!("{line}\ncpu0 1 1 1 1\n")).unwrap();
        let before = of("cpu  100 0 100 1000 50 0 0 10 70 0");
        let after = of("cpu  150 0 120 1025 54 0 0 11 99 0");
        assert_eq!(after.idle_since(before), Some(25.0));
        assert_eq!(before.idle_since(before), None);
        assert_eq!(Ticks::parse("cpu  1 2 x 4"), None);
        assert_eq!(Ticks::parse("intr 1"), None);
    }
}
