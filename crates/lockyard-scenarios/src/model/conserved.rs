//! Chains of elements that operations may reorder, but neither lose nor duplicate.

use super::value::{FirstValue, Register, first_registers, index_of};
use std::collections::BTreeMap;

/// A chain of elements in arrays of words, such as a stack or a queue. Element 0 ends the chain.
///
/// After a run, the chain and the tasks' registers together have the same elements as before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conserved {
    /// The array of words. The lower half of each is the index of the next element.
    pub links: usize,
    /// The word whose lower half is the index of the first element.
    pub from: usize,
    /// The word whose lower half is the index of the last element.
    pub to: Option<usize>,
    /// The register in which each task has an element between two operations.
    pub held: Option<Register>,
}

/// The words of a chain at one moment.
pub(crate) struct ChainWords {
    pub(crate) from: u64,
    pub(crate) to: Option<u64>,
    pub(crate) links: Vec<u64>,
    /// Elements that the tasks hold.
    pub(crate) held: Vec<u64>,
}

impl Conserved {
    /// Returns the elements that these tasks hold before their first operations.
    pub(crate) fn held_at_first(&self, first: &[FirstValue], tasks: &[u64]) -> Vec<u64> {
        let Some(Register(held)) = self.held else { return Vec::new() };
        tasks.iter().map(|&task| first_registers(first, task)[usize::from(held)]).collect()
    }
}

impl ChainWords {
    /// Returns how often each element is in the chain, and held.
    ///
    /// # Errors
    ///
    /// If the chain has no end, leaves the array, or does not end where it should.
    fn elements(&self) -> Result<BTreeMap<u64, u32>, String> {
        let mut elements = BTreeMap::new();
        let mut last = 0;
        let mut element = index_of(self.from);
        while element != 0 {
            let Some(&next) = self.links.get(element as usize) else {
                return Err(format!("leads to element {element}, of {}", self.links.len()));
            };
            if elements.insert(element, 1).is_some() {
                return Err(format!("comes to element {element} twice"));
            }
            last = element;
            element = index_of(next);
        }
        if let Some(to) = self.to.map(index_of).filter(|&to| to != last) {
            return Err(format!("ends at element {last}, not {to}"));
        }
        // A task with 0 in its register has no element.
        for held in self.held.iter().map(|&held| index_of(held)).filter(|&held| held != 0) {
            *elements.entry(held).or_insert(0) += 1;
        }
        Ok(elements)
    }

    /// Checks that the elements are the same as in `before`.
    pub(crate) fn has_all_of(&self, before: &ChainWords) -> Result<(), String> {
        let (now, before) = (self.elements()?, before.elements()?);
        let lost: Vec<u64> = before.keys().filter(|e| !now.contains_key(e)).copied().collect();
        if let Some(first) = lost.first() {
            let more = if lost.len() > 1 { " and others" } else { "" };
            return Err(format!(
                "has lost {} of its {} elements: {first}{more}",
                lost.len(),
                before.len()
            ));
        }
        let wrong = now.iter().find(|(element, count)| before.get(element) != Some(count));
        match wrong {
            Some((element, count)) => {
                let had = before.get(element).copied().unwrap_or(0);
                Err(format!("has element {element} {count} times, not {had}"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(from: u64, links: &[u64], held: &[u64]) -> ChainWords {
        ChainWords { from, to: None, links: links.to_vec(), held: held.to_vec() }
    }

    #[test]
    fn what_is_lost_or_doubled_or_endless_is_said() {
        let before = chain(1, &[0, 2, 0, 0], &[3]);
        let after = |chain: ChainWords| chain.has_all_of(&before);
        assert_eq!(after(chain(3 | 5 << 32, &[0, 0, 0, 1 | 7 << 32], &[2 | 9 << 32])), Ok(()));
        let error = |chain: ChainWords| after(chain).expect_err("it is wrong");
        assert_eq!(error(chain(1, &[0, 0, 0, 0], &[3])), "has lost 1 of its 3 elements: 2");
        assert_eq!(error(chain(1, &[0; 4], &[])), "has lost 2 of its 3 elements: 2 and others");
        assert_eq!(error(chain(1, &[0, 2, 3, 0], &[3])), "has element 3 2 times, not 1");
        assert_eq!(error(chain(1, &[0, 2, 1, 0], &[3])), "comes to element 1 twice");
        assert_eq!(error(chain(9, &[0; 4], &[3])), "leads to element 9, of 4");
        let ends = ChainWords { to: Some(1), ..chain(1, &[0, 2, 0, 0], &[3]) };
        assert_eq!(error(ends), "ends at element 2, not 1");
        assert_eq!(after(chain(1, &[0, 2, 0, 0], &[3, 0])), Ok(()), "0 is no element");
        assert_eq!(error(chain(1, &[0, 2, 0, 0], &[3, 4])), "has element 4 1 times, not 0");
    }
}
