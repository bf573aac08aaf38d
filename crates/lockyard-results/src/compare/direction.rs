//! Direction of a metric: higher throughput is faster, longer time is slower.

/// Direction in which a figure moves when a program becomes faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Up: operations per second, for example.
    Up,
    /// Down: nanoseconds per operation, for example.
    Down,
}

impl Direction {
    /// Returns the direction of a metric in a unit; `None` if neither determines it. The unit is
    /// checked first, because a metric's name may mean anything. Figures per second should go up,
    /// figures in seconds should go down.
    pub fn of(metric: &str, unit: &str) -> Option<Direction> {
        match unit {
            "op/s" | "MB/s" | "jobs/s" | "jobs/min" | "records/s" | "transactions/s" => {
                Some(Direction::Up)
            }
            "ns" | "us" | "ms" | "s" | "cycles" => Some(Direction::Down),
            // Cost of a call relative to another call.
            "% of native" | "% of direct" => Some(Direction::Down),
            _ => match metric {
                "throughput" | "iterations" => Some(Direction::Up),
                "elapsed" | "cpu" | "time" | "stdev" => Some(Direction::Down),
                name if name.starts_with("gap-to-") => Some(Direction::Down),
                name if name.ends_with("-saved") => Some(Direction::Up),
                "rate-ratio" | "throughput-ratio" | "throughput-change" => Some(Direction::Up),
                name if name.starts_with("softirq-cpu-") => Some(Direction::Down),
                _ => None,
            },
        }
    }

    /// Returns the speed of B divided by that of A, computed from the two figures. It is above 1 if
    /// B is faster.
    pub fn speed(self, a: f64, b: f64) -> f64 {
        match self {
            Direction::Up => b / a,
            Direction::Down => a / b,
        }
    }

    /// Converts a ratio of speeds to the ratio of figures, B / A.
    pub fn figures(self, speed: f64) -> f64 {
        match self {
            Direction::Up => speed,
            Direction::Down => 1.0 / speed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;
    use lockyard_scenarios::{CPU_SHARE_PREFIX, SAMPLE_COUNT_PREFIX};

    #[test]
    fn a_throughput_that_goes_up_and_a_time_that_goes_down_are_faster() {
        assert_eq!(Direction::of("throughput", "op/s"), Some(Direction::Up));
        assert_eq!(Direction::of("elapsed", "ms"), Some(Direction::Down));
        assert_eq!(Direction::of("beauty", ""), None);
        assert!(Direction::Up.speed(100.0, 120.0) > 1.0);
        assert!(Direction::Down.speed(100.0, 120.0) < 1.0);
        for direction in [Direction::Up, Direction::Down] {
            let speed = direction.speed(100.0, 120.0);
            assert!((direction.figures(speed) - 1.2).abs() < 1e-12);
        }
    }

    #[test]
    fn every_published_figure_but_a_listing_s_has_a_direction() {
        for cell in published::shipped().unwrap().iter().flat_map(|table| &table.cells) {
            // A share may fall just because something else takes longer, so it has no direction.
            let is_share = [CPU_SHARE_PREFIX, SAMPLE_COUNT_PREFIX]
                .iter()
                .any(|of| cell.key.metric.starts_with(of));
            let direction = Direction::of(&cell.key.metric, &cell.key.unit);
            assert_eq!(direction.is_none(), is_share, "{cell:?}");
        }
    }
}
