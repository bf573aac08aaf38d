//! Caches: level, kind, size, line, and the CPUs that share each cache.

use super::list::CpuList;
use super::tree::Tree;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of cache indices to read per CPU.
const MOST_CACHES: usize = 16;

/// A group of identical caches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// Level of the cache; 1 is nearest to the core.
    pub level: u32,
    /// `Data`, `Instruction`, `Unified`.
    pub kind: Option<String>,
    /// Size of each cache in KiB.
    pub size_kib: Option<u64>,
    /// Line size in bytes.
    pub line_bytes: Option<u32>,
    /// Associativity.
    pub ways: Option<u32>,
    /// Lists of the CPUs that share a cache, one list per cache.
    pub shared_by: Vec<CpuList>,
    /// CPUs for which the sharing is unknown.
    pub sharing_not_known: CpuList,
}

type Alike = (u32, Option<String>, Option<u64>, Option<u32>, Option<u32>);

/// Reads the caches of `cpus`, sorted by level; within a level data, instructions, unified.
pub(super) fn read(tree: &Tree, cpus: impl Iterator<Item = usize>) -> Vec<Cache> {
    let mut found: BTreeMap<Alike, (BTreeSet<CpuList>, Vec<usize>)> = BTreeMap::new();
    for cpu in cpus {
        let at = format!("sys/devices/system/cpu/cpu{cpu}/cache");
        for index in tree.numbered(&at, "index").into_iter().take(MOST_CACHES) {
            let at = format!("{at}/index{index}");
            let Some(level) = tree.number::<u32>(&format!("{at}/level")) else { continue };
            let kind = tree.line(&format!("{at}/type"));
            let size = tree.parsed(&format!("{at}/size"), kib);
            let line = optional(tree, &format!("{at}/coherency_line_size"));
            let ways = optional(tree, &format!("{at}/ways_of_associativity"));
            let (shared, not_known) = found.entry((level, kind, size, line, ways)).or_default();
            match tree.list(&format!("{at}/shared_cpu_list")) {
                Some(list) if list.contains(cpu) => {
                    shared.insert(list);
                }
                _ => not_known.push(cpu),
            }
        }
    }
    let cache = |((level, kind, size_kib, line_bytes, ways), (shared, not_known)): (Alike, _)| {
        let (shared, not_known): (BTreeSet<CpuList>, Vec<usize>) = (shared, not_known);
        Cache {
            level,
            kind,
            size_kib,
            line_bytes,
            ways,
            shared_by: shared.into_iter().collect(),
            sharing_not_known: CpuList::new(not_known),
        }
    };
    found.into_iter().map(cache).collect()
}

/// Reads a number above 0. A value of 0 means that the hardware does not report it.
fn optional(tree: &Tree, path: &str) -> Option<u32> {
    tree.number::<u32>(path).filter(|&number| number > 0)
}

/// Parses `48K` or `32M` as KiB. A value of 0 means that the hardware does not report it.
fn kib(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let factor = match &text[digits.len()..] {
        "K" => 1,
        "M" => 1024,
        "G" => 1024 * 1024,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).filter(|&size| size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_is_not() {
        assert_eq!(
            (kib("48K\n"), kib("32M"), kib("1G")),
            (Some(48), Some(32 * 1024), Some(1 << 20))
        );
        for text in ["", "K", "0K", "48", "48KB", "-1K", "12Q", "18446744073709551615G", "1KK"] {
            assert_eq!(kib(text), None, "{text:?}");
        }
    }
}
