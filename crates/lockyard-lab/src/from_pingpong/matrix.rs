//! A latency matrix of CPUs: nanoseconds of one hand-over of a word.
//!
//! `core-to-core-latency` writes CSV without a header: a line for each CPU, with the latencies to
//! the CPUs before it. The JSON of `machines calibrate` has a list of pairs.

use lockyard_support::printable;
use serde_json::Value;
use std::collections::BTreeMap;

/// Maximum size of a file with a matrix.
pub const MAX_BYTES: u64 = 32 << 20;

/// Maximum number of CPUs: the most hardware threads of a machine.
const MOST_CPUS: usize = 4096;

/// Maximum latency in nanoseconds.
const MOST_NS: f64 = 1e6;

/// A matrix of latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Numbers of the CPUs, as the system gives them.
    cpus: Vec<usize>,
    /// Latencies by pair: indices of two CPUs, the lower one first.
    ns: BTreeMap<(usize, usize), f64>,
}

impl Matrix {
    /// Returns the groups of CPUs that pairs below `threshold` connect, in the order of their least
    /// CPUs.
    pub(super) fn connected(&self, threshold: f64) -> Vec<Vec<usize>> {
        let mut leader: Vec<usize> = (0..self.cpus().len()).collect();
        fn find(leader: &mut [usize], mut cpu: usize) -> usize {
            while leader[cpu] != cpu {
                leader[cpu] = leader[leader[cpu]];
                cpu = leader[cpu];
            }
            cpu
        }
        for ((a, b), _) in self.pairs().filter(|(_, ns)| *ns < threshold) {
            let (a, b) = (find(&mut leader, a), find(&mut leader, b));
            leader[a.max(b)] = a.min(b);
        }
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); leader.len()];
        for cpu in 0..leader.len() {
            let of = find(&mut leader, cpu);
            groups[of].push(cpu);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Reads a matrix. Errors call the file `origin`.
    ///
    /// # Errors
    ///
    /// One line that says where the error is, what is wrong, and what is allowed.
    pub fn parse(origin: &str, text: &str) -> Result<Matrix, String> {
        let found = match text.trim_start().starts_with('{') {
            true => of_json(origin, text)?,
            false => of_csv(origin, text)?,
        };
        let groups = found.connected(f64::INFINITY);
        if groups.len() > 1 {
            return Err(format!(
                "{origin}: no latency connects the CPUs {} and {}; a matrix has one for each pair",
                found.cpus[groups[0][0]], found.cpus[groups[1][0]]
            ));
        }
        Ok(found)
    }

    /// Returns the matrix of these CPUs with these pairs, by their indices.
    pub(super) fn of(
        cpus: Vec<usize>,
        pairs: impl Iterator<Item = ((usize, usize), f64)>,
    ) -> Matrix {
        let ordered = |((a, b), ns): ((usize, usize), f64)| ((a.min(b), a.max(b)), ns);
        Matrix { cpus, ns: pairs.map(ordered).collect() }
    }

    /// Returns the numbers of the CPUs.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Returns the latencies with the indices of their CPUs.
    pub fn pairs(&self) -> impl Iterator<Item = ((usize, usize), f64)> + '_ {
        self.ns.iter().map(|(pair, ns)| (*pair, *ns))
    }

    /// Returns the number of pairs that have a latency.
    pub fn len(&self) -> usize {
        self.ns.len()
    }

    /// Returns true if there is no latency.
    pub fn is_empty(&self) -> bool {
        self.ns.is_empty()
    }
}

/// Checks the number of CPUs.
fn enough(origin: &str, cpus: usize) -> Result<(), String> {
    if (2..=MOST_CPUS).contains(&cpus) {
        return Ok(());
    }
    Err(format!("{origin}: has {cpus} CPUs; allowed: 2 to {MOST_CPUS}"))
}

/// Reads lines of comma-separated latencies. Line n has the latencies to the CPUs before n. An
/// entry in the other half of the matrix is read too, and the two are averaged.
fn of_csv(origin: &str, text: &str) -> Result<Matrix, String> {
    let is_data = |(_, line): &(usize, &str)| !line.trim_start().starts_with('#');
    let lines = text.lines().enumerate().filter(is_data);
    // Only the first line may be empty: CPU 0 has no CPU before it.
    let lines: Vec<(usize, &str)> =
        lines.enumerate().filter(|(row, (_, l))| *row == 0 || !l.is_empty()).map(|r| r.1).collect();
    enough(origin, lines.len())?;
    let mut sums: BTreeMap<(usize, usize), (f64, u32)> = BTreeMap::new();
    for (row, (line, entries)) in lines.iter().enumerate() {
        for (column, entry) in entries.split(',').enumerate() {
            let entry = entry.trim();
            if entry.is_empty() || entry.eq_ignore_ascii_case("nan") || row == column {
                continue;
            }
            let at = format!("{origin}:{}: entry {}", line + 1, column + 1);
            if column >= lines.len() {
                return Err(format!("{at} has no CPU: there are {} lines", lines.len()));
            }
            let ns = entry.parse().ok().filter(|ns| (1e-3..=MOST_NS).contains(ns));
            let Some(ns) = ns else {
                let entry = printable(entry);
                return Err(format!(
                    "{at} is `{entry}`; allowed: nanoseconds above 0, at most {MOST_NS}, or nothing"
                ));
            };
            let sum: &mut (f64, u32) =
                sums.entry((row.min(column), row.max(column))).or_insert((0.0, 0));
            *sum = (sum.0 + ns, sum.1 + 1);
        }
    }
    let ns = sums.into_iter().map(|(pair, (sum, n))| (pair, sum / f64::from(n))).collect();
    Ok(Matrix { cpus: (0..lines.len()).collect(), ns })
}

/// Reads the pairs of `machines calibrate --format json`.
fn of_json(origin: &str, text: &str) -> Result<Matrix, String> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| format!("{origin}:{}: not JSON: {error}", error.line()))?;
    let Some(pairs) = json["pairs"].as_array() else {
        return Err(format!(
            "{origin}: lacks `pairs`, as `machines calibrate -f json` writes them"
        ));
    };
    let mut by_cpu: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (index, pair) in pairs.iter().enumerate().filter(|(_, p)| p["what"] == "ping_pong") {
        let cpu = |i: usize| pair["cpus"][i].as_u64().filter(|cpu| *cpu < 1 << 20);
        let ns = pair["ns"].as_f64().filter(|ns| (1e-3..=MOST_NS).contains(ns));
        match (cpu(0), cpu(1), ns) {
            (Some(a), Some(b), Some(ns)) if a != b => {
                by_cpu.insert((a.min(b) as usize, a.max(b) as usize), ns);
            }
            _ => {
                return Err(format!(
                    "{origin}: entry {index} of `pairs` must have `cpus`, two numbers, and `ns`, \
                     nanoseconds above 0 and at most {MOST_NS}"
                ));
            }
        }
    }
    let mut cpus: Vec<usize> = by_cpu.keys().flat_map(|&(a, b)| [a, b]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    enough(origin, cpus.len())?;
    let index = |cpu: usize| cpus.binary_search(&cpu).unwrap_or_default();
    let ns = by_cpu.into_iter().map(|((a, b), ns)| ((index(a), index(b)), ns)).collect();
    Ok(Matrix { cpus, ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_matrix_a_whole_one_and_a_list_of_pairs_are_the_same() {
        let half = Matrix::parse("m", ",,\n10,,\n20,30,\n").unwrap();
        assert_eq!(Matrix::parse("m", "0,10,20\n10,0,30\n20,30,0\n").unwrap(), half);
        assert_eq!(Matrix::parse("m", "# what it is\n\n10\n20,30\n").unwrap(), half);
        let json = r#"{"pairs": [{"what": "ping_pong", "cpus": [1, 0], "ns": 10},
            {"what": "ping_pong", "cpus": [0, 2], "ns": 20}, {"what": "atomic_add", "ns": 1},
            {"what": "ping_pong", "cpus": [1, 2], "ns": 30}]}"#;
        assert_eq!(Matrix::parse("m", json).unwrap(), half);
        assert_eq!(
            half.pairs().collect::<Vec<_>>(),
            [((0, 1), 10.0), ((0, 2), 20.0), ((1, 2), 30.0)]
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let error = |text: &str| Matrix::parse("m.csv", text).unwrap_err();
        assert_eq!(error(""), "m.csv: has 0 CPUs; allowed: 2 to 4096");
        assert_eq!(
            error("\n1\n2,x\n"),
            "m.csv:3: entry 2 is `x`; allowed: nanoseconds above 0, at most 1000000, or nothing"
        );
        for wrong in ["-1", "0", "inf", "1e9", "\u{1b}[31m"] {
            assert!(error(&format!("\n{wrong}\n")).starts_with("m.csv:2: entry 1 is `"), "{wrong}");
        }
        assert_eq!(error("\n1,2,3\n"), "m.csv:2: entry 3 has no CPU: there are 2 lines");
        assert_eq!(
            error("\n1\n,\n,,3\n"),
            "m.csv: no latency connects the CPUs 0 and 2; a matrix has one for each pair"
        );
        assert!(error("{").starts_with("m.csv:1: not JSON: "));
        assert!(error("{}").starts_with("m.csv: lacks `pairs`"));
        let pair = r#"{"pairs": [{"what": "ping_pong", "cpus": [1, 1], "ns": 10}]}"#;
        assert!(error(pair).starts_with("m.csv: entry 0 of `pairs` must have `cpus`"));
    }
}
