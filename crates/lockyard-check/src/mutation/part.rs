//! Parts of the suites: the suites whose names contain a text, or for example every fourth suite.

use super::Suite;

/// Keeps the suites of a part. `2/4` is every fourth suite from the second. Any other text is a
/// part of the suites' names.
pub fn keep(suites: &mut Vec<Suite>, part: &str) {
    match share(part) {
        Some((first, of)) => {
            let mut number = 0;
            suites.retain(|_| {
                number += 1;
                number % of == first % of
            });
        }
        None => suites.retain(|suite| suite.name.contains(part)),
    }
}

/// Reads `2/4`.
fn share(text: &str) -> Option<(usize, usize)> {
    let (first, of) = text.split_once('/')?;
    let (first, of) = (first.parse().ok()?, of.parse().ok()?);
    (1..=of).contains(&first).then_some((first, of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::suites;

    fn names(part: &str) -> Vec<&'static str> {
        let mut kept = suites::all();
        keep(&mut kept, part);
        kept.iter().map(|suite| suite.name).collect()
    }

    #[test]
    fn shares_are_disjoint_and_together_all() {
        let all: Vec<&str> = suites::all().iter().map(|suite| suite.name).collect();
        let mut kept: Vec<&str> = Vec::new();
        for part in ["1/4", "2/4", "3/4", "4/4"] {
            let share = names(part);
            assert!(share.len() >= all.len() / 4, "{part}: {share:?}");
            kept.extend(share);
        }
        assert_eq!(kept.len(), all.len());
        assert!(all.iter().all(|name| kept.contains(name)));
        assert_eq!((names("1/1"), names("")), (all.clone(), all));
    }

    #[test]
    fn what_is_no_share_is_a_part_of_a_name() {
        for part in ["0/4", "5/4", "1/0", "a/4", "1/", "/", "1/4/4"] {
            assert_eq!(names(part), [""; 0], "{part}");
        }
        assert!(names("lockref").len() > 1);
    }
}
