//! Names of slices, without repetitions.

use std::collections::HashMap;

/// Names of slices, by number.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<String, usize>,
}

impl Names {
    /// Returns the number of a name.
    pub(super) fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.numbers.len();
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Returns the names, by number.
    pub(super) fn list(self) -> Vec<String> {
        let mut list = vec![String::new(); self.numbers.len()];
        for (name, number) in self.numbers {
            list[number] = name;
        }
        list
    }
}
