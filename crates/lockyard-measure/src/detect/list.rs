//! Lists of CPUs in Linux's format: `0-3,8`.

use crate::cpus::affinity::MOST_CPUS;
use serde::{Serialize, Serializer};
use std::fmt;

/// Ascending set of CPU (or NUMA node) numbers. It is printed in Linux's format: `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuList(Vec<usize>);

impl CpuList {
    /// Creates a list from numbers in any order.
    pub fn new(mut cpus: Vec<usize>) -> CpuList {
        cpus.sort_unstable();
        cpus.dedup();
        CpuList(cpus)
    }

    /// Parses a list written by Linux. Empty text and white space give the empty list. Returns
    /// `None` if the text is malformed, or a number is too large for any machine.
    pub fn parse(text: &str) -> Option<CpuList> {
        let mut cpus = Vec::new();
        if text.trim().is_empty() {
            return Some(CpuList(cpus));
        }
        for part in text.trim().split(',') {
            let mut ends = part.splitn(2, '-').map(|end| end.parse::<usize>());
            let first = ends.next()?.ok()?;
            let last = ends.next().unwrap_or(Ok(first)).ok()?;
            // Also bounds the total length, and thus the memory of a list.
            if first > last || last >= MOST_CPUS || cpus.len() + (last - first) >= MOST_CPUS {
                return None;
            }
            cpus.extend(first..=last);
        }
        Some(CpuList::new(cpus))
    }

    /// Returns the numbers, ascending.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the smallest number.
    pub fn first(&self) -> Option<usize> {
        self.0.first().copied()
    }

    /// Returns true if the list contains `cpu`.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// Returns a short text for readers. If the list has many gaps, the text has only its beginning
    /// and the number of entries.
    pub fn brief(&self) -> String {
        const LONGEST: usize = 48;
        let whole = self.to_string();
        match whole.get(..LONGEST).and_then(|start| start.rsplit_once(',')) {
            Some((start, _)) => format!("{start},... ({} CPUs)", self.len()),
            None => whole,
        }
    }

    /// Returns the entries that are also in `other`.
    pub fn both(&self, other: &CpuList) -> CpuList {
        CpuList(self.0.iter().copied().filter(|&cpu| other.contains(cpu)).collect())
    }

    /// Returns the entries that are not in `other`.
    pub fn without(&self, other: &CpuList) -> CpuList {
        CpuList(self.0.iter().copied().filter(|&cpu| !other.contains(cpu)).collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.0.chunk_by(|a, b| a + 1 == *b);
        for (index, range) in ranges.enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match range {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [only] => write!(f, "{comma}{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_as_linux_writes_them() {
        for (text, numbers) in [
            ("0-3,8\n", &[0, 1, 2, 3, 8][..]),
            ("5", &[5]),
            ("", &[]),
            ("\n", &[]),
            ("0,2,4-5", &[0, 2, 4, 5]),
            ("65535", &[65535]),
        ] {
            let list = CpuList::parse(text).unwrap();
            assert_eq!(list.numbers(), numbers);
            assert_eq!(list.to_string(), text.trim());
        }
        let overlapping = CpuList::parse("4,0-2,1-3").unwrap();
        assert_eq!(overlapping.to_string(), "0-4", "in order, each once");
    }

    #[test]
    fn a_malformed_or_impossible_list_is_none() {
        for text in [
            "x",
            "1-",
            "-1",
            "3-1",
            "0,,1",
            "0-1-2",
            "1 2",
            "0-4294967295",
            "65536",
            "0x3",
            "\u{0}",
            "99999999999999999999999",
        ] {
            assert_eq!(CpuList::parse(text), None, "{text:?}");
        }
        let long = vec!["0-65535"; 1000].join(",");
        assert_eq!(CpuList::parse(&long), None, "it would not end to grow");
    }

    #[test]
    fn of_a_long_list_the_beginning_is_shown() {
        assert_eq!(CpuList::new((0..65_000).collect()).brief(), "0-64999");
        let odd = CpuList::new((0..200).map(|n| 2 * n + 1).collect());
        assert_eq!(odd.brief(), "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,... (200 CPUs)");
    }

    #[test]
    fn lists_have_common_and_other_members() {
        let (a, b) = (CpuList::new(vec![3, 1, 2]), CpuList::new(vec![2, 5]));
        assert_eq!(a.both(&b).numbers(), [2]);
        assert_eq!(a.without(&b).numbers(), [1, 3]);
        assert!(a.contains(3) && !a.contains(5));
    }
}
