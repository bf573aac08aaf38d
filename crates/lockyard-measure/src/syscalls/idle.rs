//! Idle time of the host between two moments, summed over all CPUs, as counted by the kernel.

use std::fs;

/// Ticks counted by the kernel for all CPUs since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    /// Reads the current counts; `None` if the system does not report them.
    pub(super) fn now() -> Option<Ticks> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line of `/proc/stat`, see proc(5): user, nice, system, idle, iowait, irq,
    /// softirq, steal. The guest times that follow are already included in user and nice.
    fn parse(stat: &str) -> Option<Ticks> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let mut ticks = [0u64; 8];
        let mut fields = line.split_whitespace();
        for (index, field) in ticks.iter_mut().enumerate() {
            match fields.next() {
                Some(text) => *field = text.parse().ok()?,
                // Old kernels report fewer fields.
                None if index >= 4 => break,
                None => return None,
            }
        }
        Some(Ticks { idle: ticks[3], all: ticks.iter().sum() })
    }

    /// Returns the idle share of CPU time between `earlier` and now, in per cent; `None` if no tick
    /// has passed.
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
