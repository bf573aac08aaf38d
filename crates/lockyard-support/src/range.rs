//! Ranges of whole numbers in options and files: `A`, `A-B`, `A-B:S`.

/// Numbers from `first` to `last` in steps of `step`. `last` is always included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: usize,
    last: usize,
    step: usize,
}

impl Range {
    /// Reads `A`, `A-B` or `A-B:S`.
    pub fn parse(text: &str) -> Option<Range> {
        let (bounds, step) = match text.split_once(':') {
            Some((bounds, step)) => (bounds, step.trim().parse().ok().filter(|&step| step > 0)?),
            None => (text, 1),
        };
        let Some((first, last)) = bounds.split_once('-') else {
            let number = bounds.parse().ok().filter(|_| bounds == text)?;
            return Some(Range { first: number, last: number, step });
        };
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last).then_some(Range { first, last, step })
    }

    /// Returns the first number.
    pub fn first(self) -> usize {
        self.first
    }

    /// Returns all numbers.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        let before = (self.first..self.last).step_by(self.step);
        before.chain(std::iter::once(self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_always_has_its_last_number() {
        let numbers = |text| Range::parse(text).map(|range| range.numbers().collect::<Vec<_>>());
        assert_eq!(numbers("3"), Some(vec![3]));
        assert_eq!(numbers("1-4"), Some(vec![1, 2, 3, 4]));
        assert_eq!(numbers("1-8:3"), Some(vec![1, 4, 7, 8]));
        assert_eq!(
            [numbers("4-1"), numbers("1-4:0"), numbers("x"), numbers("3:2")],
            [const { None }; 4]
        );
    }
}
