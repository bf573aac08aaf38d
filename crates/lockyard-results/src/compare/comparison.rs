//! Verdicts on the figures of two files, and the evidence for them.
//!
//! Each measured pair gets two tests. One asks whether the rounds differ at all; the other asks
//! whether the second file is slower by more than the threshold.
//!
//! Among many rows, some differ by chance. So the probabilities of each test are corrected for the
//! number of rows (S. Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, 1979). The
//! probability of any false verdict is then at most [`FAMILY_ERROR`], even if rows depend on each
//! other.
//!
//! A verdict also requires that the interval of the difference of medians agrees. Simulated figures
//! are either equal or different. With the same seeds they have no sampling error.

use super::bootstrap::{self, Side};
use super::direction::Direction;
use super::rank_test::RankTests;
use super::read::{Figure, FigureKey, FigureKind, ResultFile};
use super::{comparable, join};
use lockyard_support::InputError;
use std::collections::BTreeMap;

/// Maximum probability of any false verdict among all measured rows.
pub const FAMILY_ERROR: f64 = 0.05;

/// Minimum number of rounds, in each file, for an interval and a verdict.
pub const FEWEST_ROUNDS: usize = 5;

/// Minimum relative difference in local work that is reported.
const WORK_DIFFERENCE: f64 = 0.01;

/// Choices of the user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Threshold: a row counts as slower if the evidence shows a slowdown greater than this share.
    pub threshold: f64,
    /// True to compare even if hosts, machine files or seeds differ.
    pub anyway: bool,
}

/// Verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// B is faster.
    Faster,
    /// B is slower.
    Slower,
    /// The rounds do not show that either is faster.
    NoEvidence,
    /// The simulated figures are equal.
    Same,
}

impl Verdict {
    /// Returns the name of the verdict in tables.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoEvidence => "no evidence",
            Verdict::Same => "same",
        }
    }
}

/// A row that both files have.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Key of the figures.
    pub key: FigureKey,
    /// Figure of the first file.
    pub a: f64,
    /// Figure of the second file.
    pub b: f64,
    /// `b / a - 1`.
    pub difference: f64,
    /// Confidence interval of the difference, at level [`bootstrap::COVERAGE`]. `None` for
    /// simulated rows, and with too few rounds.
    pub interval: Option<(f64, f64)>,
    /// Numbers of rounds of the two figures; `None` for simulated rows.
    pub rounds: Option<(usize, usize)>,
    /// Probability of a difference at least this large by chance, corrected for the number of rows.
    pub probability: Option<f64>,
    /// Verdict on the row.
    pub verdict: Verdict,
    /// True if the evidence shows that B is slower by more than the threshold.
    pub beyond: bool,
}

/// Geometric mean of the speeds of all rows of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Kind of the rows.
    pub kind: FigureKind,
    /// Number of rows.
    pub rows: usize,
    /// Mean speed of B divided by that of A.
    pub speed: f64,
    /// Interval of the mean. `None` for simulated rows, or if any row has too few rounds.
    pub interval: Option<(f64, f64)>,
}

/// Method by which the measured rounds of two files are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Two separate runs: all rounds of one against all rounds of the other.
    Runs,
    /// Pairs: both programs ran in each round, in random order ([`super::paired`]).
    Pairs,
}

/// Comparison of two files.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Name and environment of each file.
    pub files: [(String, BTreeMap<String, String>); 2],
    /// Options of the user.
    pub options: Options,
    /// Method by which rounds were compared.
    pub method: Method,
    /// Rows that both files have, in the order of the first file.
    pub rows: Vec<Compared>,
    /// Common rows that cannot be compared, with the reason.
    pub left_out: Vec<(FigureKey, String)>,
    /// Numbers of figures that only the first file has, and that only the second has.
    pub only: (usize, usize),
    /// One mean for each kind of row.
    pub means: Vec<Mean>,
    /// True if the seeds of all simulated rows are known and equal.
    pub same_seeds: bool,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Comparison {
    /// Returns the number of rows that the evidence shows to be slower by more than the threshold.
    pub fn slower_beyond_threshold(&self) -> usize {
        self.rows.iter().filter(|row| row.beyond).count()
    }

    /// Returns the number of rows with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Returns the number of rows of this kind.
    pub fn of_kind(&self, kind: FigureKind) -> usize {
        self.rows.iter().filter(|row| row.key.kind == kind).count()
    }
}

/// Compares `b` with `a`. The cost is [`bootstrap::REPLICATES`] draws for each round.
///
/// # Errors
///
/// If the files are not comparable. The message names the difference.
pub fn compare(a: &ResultFile, b: &ResultFile, options: Options) -> Result<Comparison, InputError> {
    let refused = |what: String| InputError(format!("{} and {}: {what}", a.origin, b.origin));
    let joined = join::join(a, b).map_err(refused)?;
    let mut notes = comparable::check(a, b, &joined.pairs, options.anyway).map_err(refused)?;
    let mut left_out = Vec::new();
    let mut rows = Vec::new();
    let mut evidence = Vec::new();
    let mut tests = RankTests::default();
    for (of_a, of_b) in &joined.pairs {
        match one(of_a, of_b, options.threshold, &mut tests) {
            Ok((row, of_row)) => {
                rows.push(row);
                evidence.push(of_row);
            }
            Err(reason) => left_out.push((of_a.key.clone(), reason)),
        }
    }
    if rows.is_empty() {
        let (key, reason) = &left_out[0];
        let what = format!("no row can be compared; the first: {}: {reason}", key.cell);
        return Err(refused(what));
    }
    judge(&mut rows, &evidence, options.threshold);
    let means = [FigureKind::Measured, FigureKind::Simulated]
        .into_iter()
        .filter_map(|kind| mean(kind, &rows, &evidence))
        .collect();
    notes.extend(other_work(&joined.pairs));
    notes.extend(too_few_rounds(&rows));
    notes.extend(all_alike(&rows));
    Ok(Comparison {
        files: [a, b].map(|r| (r.origin.clone(), r.environment.clone())),
        options,
        method: Method::Runs,
        rows,
        left_out,
        only: (joined.only_a.len(), joined.only_b.len()),
        means,
        same_seeds: comparable::same_seeds(&joined.pairs),
        notes,
    })
}

/// Evidence from the rounds of a measured row. Its probabilities are not yet corrected.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    /// Probability of a difference at least this large by chance.
    differs: f64,
    /// Probability of rounds at least this slow if B's slowdown is exactly the threshold.
    beyond: f64,
    /// Logarithm of the speed ratio B / A in each replicate.
    speeds: Vec<f64>,
}

/// Returns a row, and the direction of its metric. A simulated row already has its verdict; a
/// measured row gets it later.
///
/// # Errors
///
/// The reason why the figures cannot be compared.
pub(super) fn begin(
    a: &Figure,
    b: &Figure,
    threshold: f64,
) -> Result<(Compared, Direction), String> {
    for (figure, name) in [(a, "A"), (b, "B")] {
        if let Some(reason) = &figure.unusable {
            return Err(format!("{name}: {reason}"));
        }
    }
    let key = &a.key;
    let Some(direction) = Direction::of(&key.cell.metric, &key.cell.unit) else {
        return Err(format!("it is unknown whether more {} is faster", key.cell.metric));
    };
    let note = |figure: &Figure| figure.identity.get("note").cloned();
    if note(a) != note(b) {
        let said = |figure| note(figure).map_or("nothing".to_owned(), |note| format!("`{note}`"));
        return Err(format!("how it was measured differs: A says {}, B {}", said(a), said(b)));
    }
    let mut row = Compared {
        key: key.clone(),
        a: a.value,
        b: b.value,
        difference: b.value / a.value - 1.0,
        interval: None,
        rounds: None,
        probability: None,
        verdict: Verdict::NoEvidence,
        beyond: false,
    };
    if key.kind == FigureKind::Simulated {
        let speed = direction.speed(a.value, b.value);
        row.verdict = match speed.total_cmp(&1.0) {
            std::cmp::Ordering::Less => Verdict::Slower,
            std::cmp::Ordering::Equal => Verdict::Same,
            std::cmp::Ordering::Greater => Verdict::Faster,
        };
        row.beyond = is_beyond(row.difference, direction, threshold);
    }
    Ok((row, direction))
}

/// Returns a row, and its evidence if it is measured. A measured row gets its verdict later.
fn one(
    a: &Figure,
    b: &Figure,
    threshold: f64,
    tests: &mut RankTests,
) -> Result<(Compared, Option<Evidence>), String> {
    let (mut row, direction) = begin(a, b, threshold)?;
    if row.key.kind == FigureKind::Simulated {
        return Ok((row, None));
    }
    row.rounds = Some((a.rounds.len(), b.rounds.len()));
    let medians_of_b = bootstrap::medians(&b.rounds, Side::B);
    let medians = bootstrap::medians(&a.rounds, Side::A).into_iter().zip(medians_of_b);
    let speeds: Vec<f64> = medians.map(|(a, b)| direction.speed(a, b).ln()).collect();
    if a.rounds.len().min(b.rounds.len()) >= FEWEST_ROUNDS {
        let (low, high) = bootstrap::interval(speeds.clone());
        let ends = [low, high].map(|end| direction.figures(end.exp()) - 1.0);
        row.interval = Some((ends[0].min(ends[1]), ends[0].max(ends[1])));
    }
    // Rounds of B, sped up by the threshold.
    let shifted: Vec<f64> = match direction {
        Direction::Up => b.rounds.iter().map(|round| round / (1.0 - threshold)).collect(),
        Direction::Down => b.rounds.iter().map(|round| round / (1.0 + threshold)).collect(),
    };
    let shifted = tests.test(&a.rounds, &shifted);
    let evidence = Evidence {
        differs: tests.test(&a.rounds, &b.rounds).two_sided(),
        beyond: match direction {
            Direction::Up => shifted.below,
            Direction::Down => shifted.above,
        },
        speeds,
    };
    Ok((row, Some(evidence)))
}

/// Returns true if the difference is a slowdown greater than the threshold.
pub(super) fn is_beyond(difference: f64, direction: Direction, threshold: f64) -> bool {
    match direction {
        Direction::Up => difference < -threshold,
        Direction::Down => difference > threshold,
    }
}

/// Sets the verdicts of the measured rows.
fn judge(rows: &mut [Compared], evidence: &[Option<Evidence>], threshold: f64) {
    let corrected = |of: fn(&Evidence) -> f64| {
        let all: Vec<f64> = evidence.iter().flatten().map(of).collect();
        let mut corrected = holm(&all).into_iter();
        evidence.iter().map(|e| e.as_ref().and_then(|_| corrected.next())).collect::<Vec<_>>()
    };
    let (differs, slower) = (corrected(|e| e.differs), corrected(|e| e.beyond));
    for ((row, differs), slower) in rows.iter_mut().zip(differs).zip(slower) {
        let (Some(differs), Some(slower)) = (differs, slower) else { continue };
        row.probability = Some(differs);
        let Some((low, high)) = row.interval else { continue };
        let Some(direction) = Direction::of(&row.key.cell.metric, &row.key.cell.unit) else {
            continue;
        };
        if differs <= FAMILY_ERROR && (low > 0.0 || high < 0.0) {
            let faster = (low > 0.0) == (direction == Direction::Up);
            row.verdict = if faster { Verdict::Faster } else { Verdict::Slower };
        }
        let slow = is_beyond(low, direction, threshold) && is_beyond(high, direction, threshold);
        row.beyond = row.verdict == Verdict::Slower && slower <= FAMILY_ERROR && slow;
    }
}

/// Applies Holm's correction to the probabilities. The results can be compared with the family-wise
/// error rate.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&x, &y| probabilities[x].total_cmp(&probabilities[y]));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut most = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        let factor = (probabilities.len() - rank) as f64;
        most = most.max((probabilities[index] * factor).min(1.0));
        corrected[index] = most;
    }
    corrected
}

/// Returns the geometric mean of the speeds of all rows of one kind. Within a replicate, rows of a
/// file with the same number of rounds draw the same rounds.
pub(super) fn mean(
    kind: FigureKind,
    rows: &[Compared],
    evidence: &[Option<Evidence>],
) -> Option<Mean> {
    let of_kind: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].key.kind == kind).collect();
    let count = of_kind.len();
    if count == 0 {
        return None;
    }
    let log = |row: &Compared| {
        let direction = Direction::of(&row.key.cell.metric, &row.key.cell.unit)?;
        Some(direction.speed(row.a, row.b).ln())
    };
    let sum: f64 = of_kind.iter().filter_map(|&index| log(&rows[index])).sum();
    let all = of_kind.iter().all(|&index| rows[index].interval.is_some());
    let interval = all.then(|| {
        let mut sums = vec![0.0; bootstrap::REPLICATES];
        for evidence in of_kind.iter().filter_map(|&index| evidence[index].as_ref()) {
            sums.iter_mut().zip(&evidence.speeds).for_each(|(sum, one)| *sum += one);
        }
        let (low, high) = bootstrap::interval(sums);
        ((low / count as f64).exp(), (high / count as f64).exp())
    });
    Some(Mean { kind, rows: count, speed: (sum / count as f64).exp(), interval })
}

/// Returns a note on pairs whose local work differs, because that explains part of the difference.
pub(super) fn other_work(pairs: &[(&Figure, &Figure)]) -> Option<String> {
    let differs = |(a, b): &&(&Figure, &Figure)| match (a.local_work, b.local_work) {
        (Some(a), Some(b)) => (a - b).abs() > WORK_DIFFERENCE * a.max(b),
        _ => false,
    };
    let first = pairs.iter().find(differs)?;
    let count = pairs.iter().filter(differs).count();
    let (a, b) = (first.0.local_work?, first.1.local_work?);
    Some(format!(
        "The local work of {count} row{} differs ({}: A {a:.1} ns, B {b:.1} ns): \
         part of their difference comes from it.",
        if count == 1 { "" } else { "s" },
        first.0.key.cell
    ))
}

/// Returns a note if some rows have too few rounds to reach a verdict among this many rows.
fn too_few_rounds(rows: &[Compared]) -> Option<String> {
    let measured = rows.iter().filter(|row| row.rounds.is_some()).count() as f64;
    let enough = |n: usize, m: usize| {
        // Strongest evidence possible: all rounds of one file lie above all rounds of the other. Of
        // all orderings, 2 are this extreme.
        let ways = (1..=n).fold(1.0, |ways, i| ways * (m + i) as f64 / i as f64);
        n.min(m) >= FEWEST_ROUNDS && 2.0 / ways * measured <= FAMILY_ERROR
    };
    let few = rows.iter().filter_map(|row| row.rounds).filter(|&(a, b)| !enough(a, b)).count();
    let wanted = (FEWEST_ROUNDS..1000).find(|&n| enough(n, n))?;
    (few > 0).then(|| {
        format!(
            "{few} row{} too few rounds for a verdict among {measured} rows: \
             measure with --repeats {wanted} or more.",
            if few == 1 { " has" } else { "s have" }
        )
    })
}

/// Returns a note if all measured rows have the same verdict, because the host is then a likely
/// cause.
fn all_alike(rows: &[Compared]) -> Option<String> {
    let measured: Vec<&Compared> = rows.iter().filter(|row| row.rounds.is_some()).collect();
    let first = measured.first()?.verdict;
    let alike = first == Verdict::Faster || first == Verdict::Slower;
    (measured.len() >= 4 && alike && measured.iter().all(|row| row.verdict == first)).then(|| {
        format!(
            "All {} measured rows are {}: the cause is more often the host than the program. \
             Measure A again.",
            measured.len(),
            first.name()
        )
    })
}
