//! Comparison of two programs that ran in pairs: one pair per round, in random order.
//!
//! The two runs of a pair see the host at nearly the same moment, so a slow moment affects both.
//! Each row is therefore judged by the ratio within each round ([`super::sign_flip`]).
//!
//! The stated error rate then holds even on a busy host. With two separate runs it does not.

use super::bootstrap::COVERAGE;
use super::comparison::{
    Compared, Comparison, FAMILY_ERROR, Mean, Method, Options, Verdict, begin, is_beyond, mean,
    other_work,
};
use super::direction::Direction;
use super::read::{Figure, FigureKey, FigureKind, LEAST, ResultFile};
use super::sign_flip::{Tail, centre, sign_flip};
use super::{bootstrap, comparable, join};
use lockyard_support::{InputError, printable};
use std::collections::HashMap;

/// Minimum number of rounds for a verdict. With fewer rounds, even the strongest evidence occurs by
/// chance more often than [`FAMILY_ERROR`].
pub const FEWEST_PAIRS: usize = 6;

/// Joins a program's runs, one per round, into one file. Each of its figures has one value per
/// round. A figure that some round lacks is unusable, with the reason.
///
/// # Errors
///
/// If there is no run, or a simulated figure differs between them. The message names the round and
/// the figure.
pub fn join_rounds(origin: &str, runs: &[ResultFile]) -> Result<ResultFile, InputError> {
    let fail = |what: String| InputError(format!("{origin}: {what}"));
    let Some(first) = runs.first() else { return Err(fail("there is no round".to_owned())) };
    let mut index: HashMap<&FigureKey, usize> = HashMap::new();
    let mut found: Vec<(Figure, Vec<(usize, f64)>)> = Vec::new();
    for (round, run) in (1..).zip(runs) {
        for figure in &run.figures {
            let place = *index.entry(&figure.key).or_insert_with(|| {
                found.push((figure.clone(), Vec::with_capacity(runs.len())));
                found.len() - 1
            });
            found[place].1.push((round, figure.value));
        }
    }
    let mut figures = Vec::with_capacity(found.len());
    for (mut figure, values) in found {
        let missing = (1..=runs.len()).zip(&values).find(|&(round, &(of, _))| round != of);
        match figure.key.kind {
            _ if values.len() < runs.len() => {
                let round = missing.map_or(values.len() + 1, |(round, _)| round);
                figure.unusable = Some(format!("round {round} lacks it"));
            }
            FigureKind::Measured => {
                let rounds = values.iter().map(|(_, value)| value.clamp(LEAST, 1.0 / LEAST));
                settle(&mut figure, rounds.collect());
            }
            FigureKind::Simulated => {
                let other = values.iter().find(|&&(_, value)| value != figure.value);
                if let Some((round, other)) = other {
                    let what = printable(&figure.key.cell.to_string());
                    let one = figure.value;
                    return Err(fail(format!(
                        "{what}: simulated figures must be the same in all rounds; round 1 has \
                         {one}, round {round} has {other}"
                    )));
                }
            }
        }
        figures.push(figure);
    }
    Ok(ResultFile { origin: origin.to_owned(), figures, ..first.clone() })
}

/// Sets the rounds of a measured figure.
fn settle(figure: &mut Figure, rounds: Vec<f64>) {
    figure.value = bootstrap::median(&mut rounds.clone());
    let idle = figure.value <= LEAST || figure.value >= 1.0 / LEAST;
    figure.unusable = idle.then(|| "in half of its rounds no operation was finished".to_owned());
    figure.rounds = rounds;
}

/// Compares `b` with `a`, whose rounds are pairs: the n-th rounds of both ran together, in random
/// order.
///
/// # Errors
///
/// If the files cannot be compared, or have different numbers of rounds. The message names the
/// difference.
pub fn compare_pairs(
    a: &ResultFile,
    b: &ResultFile,
    options: Options,
) -> Result<Comparison, InputError> {
    let refused = |what: String| InputError(format!("{} and {}: {what}", a.origin, b.origin));
    let joined = join::join(a, b).map_err(refused)?;
    let notes = comparable::check(a, b, &joined.pairs, options.anyway).map_err(refused)?;
    let is_usable = |(a, b): &&(&Figure, &Figure)| {
        a.key.kind == FigureKind::Measured && a.unusable.is_none() && b.unusable.is_none()
    };
    let measured = joined.pairs.iter().filter(is_usable);
    let mut counts = measured.flat_map(|(a, b)| [a.rounds.len(), b.rounds.len()]);
    if let Some(first) = counts.next()
        && let Some(other) = counts.find(|&count| count != first)
    {
        return Err(refused(format!(
            "some figures have {first} rounds and others {other}; all must have the same number"
        )));
    }
    let (mut rows, mut logs, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for (of_a, of_b) in &joined.pairs {
        match begin(of_a, of_b, options.threshold) {
            Ok((mut row, direction)) => {
                logs.push(speeds(&mut row, of_a, of_b, direction));
                rows.push(row);
            }
            Err(reason) => left_out.push((of_a.key.clone(), reason)),
        }
    }
    if let (true, Some((key, reason))) = (rows.is_empty(), left_out.first()) {
        let what = format!("no row can be compared; the first: {}: {reason}", key.cell);
        return Err(refused(what));
    }
    judge(&mut rows, &logs, options.threshold);
    let mut notes = notes;
    notes.extend(other_work(&joined.pairs));
    notes.extend(too_few_rounds(&rows));
    Ok(Comparison {
        files: [a, b].map(|r| (r.origin.clone(), r.environment.clone())),
        options,
        method: Method::Pairs,
        means: means(&rows, &logs),
        same_seeds: comparable::same_seeds(&joined.pairs),
        rows,
        left_out,
        only: (joined.only_a.len(), joined.only_b.len()),
        notes,
    })
}

/// Returns the logarithm of the speed ratio B / A in each round, and stores the centre in the row.
/// `None` for a simulated row.
fn speeds(row: &mut Compared, a: &Figure, b: &Figure, direction: Direction) -> Option<Vec<f64>> {
    if row.key.kind == FigureKind::Simulated {
        return None;
    }
    let rounds = a.rounds.iter().zip(&b.rounds);
    let logs: Vec<f64> = rounds.map(|(&a, &b)| direction.speed(a, b).ln()).collect();
    let found = centre(&logs, COVERAGE);
    let difference = |log: f64| direction.figures(log.exp()) - 1.0;
    row.difference = difference(found.value);
    row.interval = found.interval.map(|(low, high)| {
        let (one, other) = (difference(low), difference(high));
        (one.min(other), one.max(other))
    });
    row.rounds = Some((a.rounds.len(), b.rounds.len()));
    Some(logs)
}

/// Sets the verdicts of the measured rows.
fn judge(rows: &mut [Compared], logs: &[Option<Vec<f64>>], threshold: f64) {
    let directions: Vec<Direction> = rows
        .iter()
        .map(|row| Direction::of(&row.key.cell.metric, &row.key.cell.unit).unwrap_or(Direction::Up))
        .collect();
    let measured: Vec<usize> = (0..rows.len()).filter(|&index| logs[index].is_some()).collect();
    let differs: Vec<Vec<f64>> = logs.iter().flatten().cloned().collect();
    // Rounds of B, sped up by the threshold.
    let shifted: Vec<Vec<f64>> = measured
        .iter()
        .zip(&differs)
        .map(|(&index, logs)| {
            let slowest = match directions[index] {
                Direction::Up => (1.0 - threshold).ln(),
                Direction::Down => -(1.0 + threshold).ln(),
            };
            logs.iter().map(|log| log - slowest).collect()
        })
        .collect();
    let (differs, slower) = (sign_flip(&differs, Tail::Both), sign_flip(&shifted, Tail::Below));
    for ((&index, differs), slower) in measured.iter().zip(differs).zip(slower) {
        let (row, direction) = (&mut rows[index], directions[index]);
        row.probability = Some(differs);
        let Some((low, high)) = row.interval else { continue };
        if differs <= FAMILY_ERROR && (low > 0.0 || high < 0.0) {
            let faster = (low > 0.0) == (direction == Direction::Up);
            row.verdict = if faster { Verdict::Faster } else { Verdict::Slower };
        }
        let slow = [low, high].into_iter().all(|end| is_beyond(end, direction, threshold));
        row.beyond = row.verdict == Verdict::Slower && slower <= FAMILY_ERROR && slow;
    }
}

/// Returns a note if even the strongest evidence may be too weak among this many rows. It is
/// strongest when all rounds of a row have the same sign. Only 2 of all sign combinations do.
fn too_few_rounds(rows: &[Compared]) -> Option<String> {
    let counts: Vec<usize> = rows.iter().filter_map(|row| row.rounds).map(|(a, _)| a).collect();
    let &rounds = counts.first()?;
    let enough = |rounds: usize| {
        let signs = f64::powi(2.0, i32::try_from(rounds).unwrap_or(i32::MAX));
        rounds >= FEWEST_PAIRS && counts.len() as f64 * 2.0 / signs <= FAMILY_ERROR
    };
    let wanted = (FEWEST_PAIRS..100).find(|&rounds| enough(rounds))?;
    (!enough(rounds)).then(|| {
        format!(
            "{rounds} rounds may be too few for a verdict among {} row{}: compare with --rounds \
             {wanted} or more.",
            counts.len(),
            if counts.len() == 1 { "" } else { "s" }
        )
    })
}

/// Returns the geometric means. For measured rows, it averages within each round and takes the
/// centre over the rounds, because the rows of a round are correlated.
fn means(rows: &[Compared], logs: &[Option<Vec<f64>>]) -> Vec<Mean> {
    let measured: Vec<&Vec<f64>> = logs.iter().flatten().collect();
    let of_measured = measured.first().map(|first| {
        let count = measured.len() as f64;
        let of_round = |round| measured.iter().map(|row| row[round]).sum::<f64>() / count;
        let found = centre(&(0..first.len()).map(of_round).collect::<Vec<f64>>(), COVERAGE);
        Mean {
            kind: FigureKind::Measured,
            rows: measured.len(),
            speed: found.value.exp(),
            interval: found.interval.map(|(low, high)| (low.exp(), high.exp())),
        }
    });
    let none = vec![None; rows.len()];
    of_measured.into_iter().chain(mean(FigureKind::Simulated, rows, &none)).collect()
}
