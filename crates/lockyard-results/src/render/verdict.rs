//! Verdict on the curves of several variants. Each point gets a sentence: the winner by thread
//! count, its lead, saturation, and the decline from the best figure.

use super::chart::Series;
use super::si::si;
use crate::compare::direction::Direction;
use lockyard_support::threads as in_words;

/// Variants are tied if their figures differ by at most this share.
const TIE: f64 = 0.02;

/// A curve has saturated if doubling the threads gains less than this share.
const LITTLE_GAIN: f64 = 0.05;

/// Largest gain from an ideal lock that is stated as a number. Beyond it the loop is hardly more
/// than its lock, and the number says nothing.
const MOST_GAIN: f64 = 100.0;

/// Units of time, each a thousand times the one before.
const TIMES: [&str; 4] = ["ns", "us", "ms", "s"];

/// Winner for a stretch of consecutive thread counts.
#[derive(Debug, PartialEq)]
struct Stretch {
    /// Names of the winners: more than one if they are tied.
    winners: Vec<String>,
    /// Thread counts of the stretch.
    threads: Vec<usize>,
    /// Lead over the next variant at each thread count, as a ratio of speeds; empty if all variants
    /// with a figure are tied.
    leads: Vec<f64>,
    /// Names of the variants that are not compared at these thread counts: those that have no
    /// figure, or one that is an input.
    absent: Vec<String>,
}

/// Gain from ideal locks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IdealGain {
    /// Number of threads.
    pub(super) threads: usize,
    /// Throughput with ideal locks divided by the predicted throughput, minus 1.
    pub(super) gain: f64,
}

/// Returns the verdict in sentences.
pub(super) fn verdict(
    series: &[Series],
    direction: Direction,
    unit: &str,
    ideal: Option<IdealGain>,
) -> String {
    let mut sentences = winners(series, direction);
    for of in spoken_of(series, direction) {
        sentences.extend(course(of, direction, unit));
    }
    if let Some(IdealGain { threads, gain }) = ideal {
        let of = match 1.0 + gain {
            endless if endless > MOST_GAIN => format!("more than {MOST_GAIN} times as much"),
            double if double >= 2.0 => format!("at most about {} times as much", times(double)),
            some => format!("at most about {} more", amount(some)),
        };
        sentences.push(format!("An ideal lock would give {of} at {}.", in_words(threads)));
    }
    sentences.join(" ")
}

/// Formats a lead in per cent, or as a factor from 2 up.
fn amount(ratio: f64) -> String {
    match ratio {
        double if double >= 2.0 => format!("a factor of {}", times(double)),
        some => format!("{:.0} %", (some - 1.0) * 100.0),
    }
}

/// Formats a factor with two digits or more.
fn times(factor: f64) -> String {
    if factor >= 9.95 { format!("{factor:.0}") } else { format!("{factor:.1}") }
}

/// Formats a figure with its unit. A time of a thousand or more gets a larger unit.
fn quantity(value: f64, unit: &str) -> String {
    let (mut value, mut unit) = (value, unit);
    while let Some(index) = TIMES.iter().position(|time| *time == unit) {
        match TIMES.get(index + 1) {
            // As rounded to three digits.
            Some(larger) if value >= 999.5 => (value, unit) = (value / 1000.0, larger),
            _ => break,
        }
    }
    if unit.is_empty() { si(value) } else { format!("{} {unit}", si(value)) }
}

fn range(threads: &[usize]) -> String {
    match threads {
        [] => String::new(),
        [one] => in_words(*one),
        [first, .., last] => format!("{first} to {last} threads"),
    }
}

fn at(of: &Series, threads: usize) -> Option<f64> {
    of.curve.iter().find(|(n, _)| *n == threads).map(|(_, value)| *value)
}

/// Returns the stretches of thread counts with the same winners among the same variants. Thread
/// counts with fewer than two variants are left out, and end a stretch.
fn stretches(series: &[Series], direction: Direction) -> Vec<Stretch> {
    let mut counts: Vec<usize> = series.iter().flat_map(|of| &of.curve).map(|(n, _)| *n).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut is_next = false;
    for threads in counts {
        let Some(one) = stretch(series, direction, threads) else {
            is_next = false;
            continue;
        };
        // With the same winners and the same absent variants, the others are the same too.
        let goes_on = |last: &&mut Stretch| {
            is_next && last.winners == one.winners && last.absent == one.absent
        };
        match stretches.last_mut().filter(goes_on) {
            Some(last) => {
                last.threads.extend(one.threads);
                last.leads.extend(one.leads);
            }
            None => stretches.push(one),
        }
        is_next = true;
    }
    stretches
}

/// Returns the stretch of one thread count; `None` if fewer than two variants have a figure there
/// that is not an input.
fn stretch(series: &[Series], direction: Direction, threads: usize) -> Option<Stretch> {
    let figure = |of: &Series| {
        let is_input = of.inputs.contains(&threads);
        at(of, threads).filter(|value| *value > 0.0 && !is_input)
    };
    let absent = series.iter().filter(|of| figure(of).is_none()).map(|of| of.name.clone());
    let figures = series.iter().filter_map(|of| Some((of.name.as_str(), figure(of)?)));
    let mut figures: Vec<(&str, f64)> = figures.collect();
    // Fastest first. The sort is stable, so variants of equal speed keep their order.
    figures.sort_by(|a, b| direction.speed(a.1, b.1).total_cmp(&1.0));
    let &(_, best) = figures.first().filter(|_| figures.len() > 1)?;
    let is_tied = |(_, value): &&(&str, f64)| direction.speed(*value, best) <= 1.0 + TIE;
    let (winners, others) = figures.split_at(figures.iter().take_while(is_tied).count());
    let mut winners: Vec<String> = winners.iter().map(|(name, _)| (*name).to_owned()).collect();
    winners.sort();
    Some(Stretch {
        winners,
        threads: vec![threads],
        leads: others.iter().take(1).map(|(_, value)| direction.speed(*value, best)).collect(),
        absent: absent.collect(),
    })
}

fn winners(series: &[Series], direction: Direction) -> Vec<String> {
    let two = series.len() == 2;
    let sentence = |stretch: &Stretch| {
        let Stretch { winners, threads, leads, absent } = stretch;
        let (range, without) = (range(threads), without(absent));
        let (Some(first), Some(last)) = (leads.first(), leads.last()) else {
            let within = format!("(within {:.0} %)", TIE * 100.0);
            if absent.is_empty() {
                let who = if two { "both" } else { "all" };
                return format!("At {range} {who} variants are tied {within}.");
            }
            return format!("{} are tied at {range} {within}{without}.", winners.join(" and "));
        };
        let (first, last) = (amount(*first), amount(*last));
        let by = match threads.as_slice() {
            [one, .., most] if first != last => format!("{first} at {one} and {last} at {most}"),
            _ => first,
        };
        let next = if series.len() - absent.len() == 2 { "" } else { " over the next" };
        match winners.as_slice() {
            [one] => format!("{one} wins at {range}, by {by}{next}{without}."),
            some => {
                let some = some.join(" and ");
                format!("{some} are tied at {range}, and win by {by}{next}{without}.")
            }
        }
    };
    // The most threads matter most.
    stretches(series, direction).iter().rev().map(sentence).collect()
}

/// Names the variants that are not compared, if there are any.
fn without(absent: &[String]) -> String {
    match absent {
        [] => String::new(),
        [one] => format!("; {one} is not compared there"),
        [a, b] => format!("; {a} and {b} are not compared there"),
        many => format!("; {} variants are not compared there", many.len()),
    }
}

/// Returns the variants whose curve the verdict describes. If there are many, these are only the
/// best and the worst at the greatest thread count.
fn spoken_of(series: &[Series], direction: Direction) -> Vec<&Series> {
    if series.len() <= 3 {
        return series.iter().collect();
    }
    let most = series.iter().filter_map(|of| of.curve.last()).map(|(n, _)| *n).max();
    let mut last: Vec<(&Series, f64)> =
        series.iter().filter_map(|of| Some((of, at(of, most?)?))).collect();
    last.sort_by(|a, b| direction.speed(a.1, b.1).total_cmp(&1.0));
    match last.as_slice() {
        [best, .., worst] => vec![best.0, worst.0],
        some => some.iter().map(|(of, _)| *of).collect(),
    }
}

/// Returns the thread count at which the curve saturates. From there to every later thread count,
/// the throughput gains less than 5 % per doubling. `None` if the curve still grows at its end.
fn saturation(curve: &[(usize, f64)]) -> Option<usize> {
    let gains = |&(n, value): &(usize, f64), &(m, later): &(usize, f64)| {
        let doublings = (m as f64 / n as f64).log2();
        later / value >= (1.0 + LITTLE_GAIN).powf(doublings)
    };
    let last = curve.len().checked_sub(1)?;
    let found = (0..last).find(|&i| !curve[i + 1..].iter().any(|later| gains(&curve[i], later)))?;
    Some(curve[found].0)
}

/// Describes the curve of one variant: saturation and decline, or the growth of a time.
fn course(of: &Series, direction: Direction, unit: &str) -> Option<String> {
    let name = &of.name;
    let (&(first, start), &(last, end)) = (of.curve.first()?, of.curve.last()?);
    if of.curve.len() < 3 || of.curve.iter().any(|(_, value)| *value <= 0.0) {
        return None;
    }
    if direction == Direction::Down {
        let (start, end, ratio) = (quantity(start, unit), quantity(end, unit), end / start);
        let change = match ratio {
            less if less < 1.0 - TIE => format!("falls to {:.0} %", less * 100.0),
            same if same <= 1.0 + TIE => "stays as it is".to_owned(),
            more => format!("grows by {}", amount(more)),
        };
        return Some(format!(
            "{name}: {change} ({start} at {}, {end} at {last}).",
            in_words(first)
        ));
    }
    let &(best_at, best) = of.curve.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut text = match saturation(&of.curve) {
        Some(threads) if threads == first => {
            let gains = if best > start { "gains little" } else { "never gains" };
            format!("{name} {gains} from more threads")
        }
        Some(threads) => format!("{name} saturates at {}", in_words(threads)),
        None => format!("{name} still gains at {}", in_words(last)),
    };
    let lost = 1.0 - end / best;
    if lost > TIE {
        text.push_str(&format!(
            " and falls by {:.0} % from its best ({} at {}) at {last}",
            lost * 100.0,
            quantity(best, unit),
            in_words(best_at)
        ));
    }
    Some(text + ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: [usize; 6] = [1, 2, 4, 8, 16, 32];

    fn series(name: &str, figures: [f64; 6]) -> Series {
        let curve = COUNTS.into_iter().zip(figures).collect();
        Series { name: name.into(), curve, ..Series::default() }
    }

    #[test]
    fn the_winner_of_each_stretch_and_its_lead_are_named() {
        let a = series("a", [100.0, 200.0, 300.0, 200.0, 100.0, 50.0]);
        let b = series("b", [101.0, 150.0, 302.0, 300.0, 300.0, 300.0]);
        let text = verdict(&[a, b], Direction::Up, "op/s", None);
        assert_eq!(
            text,
            "b wins at 8 to 32 threads, by 50 % at 8 and a factor of 6.0 at 32. \
             At 4 threads both variants are tied (within 2 %). a wins at 2 threads, by 33 %. \
             At 1 thread both variants are tied (within 2 %). \
             a saturates at 4 threads and falls by 83 % from its best (300 op/s at 4 threads) \
             at 32. b saturates at 4 threads."
        );
    }

    #[test]
    fn a_variant_without_a_figure_is_not_called_tied() {
        let of = |name: &str, counts: &[usize]| {
            let curve = counts.iter().map(|&n| (n, 100.0)).collect();
            Series { name: name.into(), curve, ..Series::default() }
        };
        let of_winners = |series: &[Series]| winners(series, Direction::Up).join(" ");
        let all = [of("a", &[1, 2, 4, 8]), of("b", &[1, 2, 4, 8]), of("c", &[1, 4])];
        assert_eq!(
            of_winners(&all),
            "a and b are tied at 8 threads (within 2 %); c is not compared there. \
             At 4 threads all variants are tied (within 2 %). \
             a and b are tied at 2 threads (within 2 %); c is not compared there. \
             At 1 thread all variants are tied (within 2 %)."
        );
        // A count at which nothing can be compared ends the range.
        let both = [of("a", &[1, 2, 4]), of("b", &[1, 4])];
        let tied = "variants are tied (within 2 %).";
        assert_eq!(of_winners(&both), format!("At 4 threads both {tied} At 1 thread both {tied}"));
        // The winner stays, and the variants that it beats change.
        let mut three = [of("a", &[1, 2]), of("b", &[1, 2]), of("c", &[1, 2])];
        three[2].curve[1].1 = 50.0;
        three[1].curve[0].1 = 50.0;
        three[2].curve[0].1 = 50.0;
        three[1].curve.remove(1);
        assert_eq!(
            of_winners(&three),
            "a wins at 2 threads, by a factor of 2.0; b is not compared there. \
             a wins at 1 thread, by a factor of 2.0 over the next."
        );
    }

    #[test]
    fn a_long_time_has_a_larger_unit() {
        let of = [(320.0, "ns"), (4140.0, "ns"), (999.9, "us"), (6120.0, "ms"), (4e7, "s")];
        let shown = of.map(|(value, unit)| quantity(value, unit));
        assert_eq!(shown, ["320 ns", "4.14 us", "1.00 ms", "6.12 s", "40.0 M s"]);
        assert_eq!([quantity(2e6, "op/s"), quantity(2.0, "")], ["2.00 M op/s", "2.00"]);
    }

    #[test]
    fn a_bound_without_meaning_has_no_number() {
        let of = |gain| verdict(&[], Direction::Up, "op/s", Some(IdealGain { threads: 8, gain }));
        assert_eq!(
            of(8.1),
            "An ideal lock would give at most about 9.1 times as much at 8 threads."
        );
        assert_eq!(
            of(2668.0),
            "An ideal lock would give more than 100 times as much at 8 threads."
        );
    }

    #[test]
    fn of_times_the_least_wins() {
        let a = series("a", [10.0, 20.0, 40.0, 80.0, 160.0, 320.0]);
        let b = series("b", [10.1, 18.0, 30.0, 40.0, 80.0, 100.0]);
        let text = verdict(&[a, b], Direction::Down, "ns", None);
        assert_eq!(
            text,
            "b wins at 2 to 32 threads, by 11 % at 2 and a factor of 3.2 at 32. \
             At 1 thread both variants are tied (within 2 %). \
             a: grows by a factor of 32 (10.0 ns at 1 thread, 320 ns at 32). \
             b: grows by a factor of 9.9 (10.1 ns at 1 thread, 100 ns at 32)."
        );
    }

    #[test]
    fn saturation_is_where_no_later_count_gains() {
        let of =
            |figures: [f64; 6]| saturation(&COUNTS.into_iter().zip(figures).collect::<Vec<_>>());
        assert_eq!(of([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), None);
        assert_eq!(of([1.0, 2.0, 4.0, 4.1, 4.2, 4.3]), Some(4));
        assert_eq!(of([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]), Some(1));
        // A dip with a later gain is not a saturation.
        assert_eq!(of([1.0, 2.0, 1.0, 4.0, 8.0, 16.0]), None);
        // 5 % per doubling is a gain; 4.9 % is not.
        let growing = |by: f64| [0, 1, 2, 3, 4, 5].map(|i| (1.0f64 + by).powi(i));
        assert_eq!(of(growing(0.0501)), None);
        assert_eq!(of(growing(0.049)), Some(1));
        assert_eq!(saturation(&[]), None);
    }

    #[test]
    fn of_many_variants_the_best_and_the_worst_are_described() {
        let rising = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let all = ["a", "b", "c", "d"].map(|name| {
            let factor = f64::from(name.as_bytes()[0] - b'a' + 1);
            series(name, rising.map(|figure| figure * factor))
        });
        let text = verdict(&all, Direction::Up, "op/s", None);
        assert!(text.starts_with("d wins at 1 to 32 threads, by 33 % over the next."), "{text}");
        assert!(text.contains("d still gains") && text.contains("a still gains"), "{text}");
        assert!(!text.contains("b ") && !text.contains("c "), "{text}");
    }

    #[test]
    fn ties_among_winners_and_ideal_locks_are_told() {
        let all = [series("a", [100.0; 6]), series("b", [101.0; 6]), series("c", [50.0; 6])];
        let ideal = Some(IdealGain { threads: 32, gain: 0.42 });
        let text = verdict(&all, Direction::Up, "op/s", ideal);
        assert!(
            text.starts_with("a and b are tied at 1 to 32 threads, and win by a factor of 2.0"),
            "{text}"
        );
        assert!(text.contains("a never gains from more threads."), "{text}");
        assert!(text.ends_with("An ideal lock would give at most about 42 % more at 32 threads."));
    }

    #[test]
    fn a_gain_below_the_limit_is_little_and_not_none() {
        let of = |figures| verdict(&[series("a", figures)], Direction::Up, "op/s", None);
        let text = of([100.0, 101.0, 104.0, 98.0, 98.0, 98.0]);
        let falls = "and falls by 6 % from its best (104 op/s at 4 threads) at 32.";
        assert_eq!(text, format!("a gains little from more threads {falls}"));
        let text = of([104.0, 101.0, 100.0, 98.0, 98.0, 98.0]);
        assert!(text.starts_with("a never gains from more threads and falls by 6 %"), "{text}");
    }

    #[test]
    fn a_gain_of_an_ideal_lock_from_double_is_a_multiple() {
        let of = |gain| {
            let ideal = Some(IdealGain { threads: 8, gain });
            verdict(&[series("a", [1.0; 6])], Direction::Up, "op/s", ideal)
        };
        assert!(of(1.5).ends_with("would give at most about 2.5 times as much at 8 threads."));
        assert!(of(20.0).ends_with("would give at most about 21 times as much at 8 threads."));
        assert!(of(0.99).ends_with("would give at most about 99 % more at 8 threads."));
    }

    #[test]
    fn one_variant_has_no_winner() {
        let text = verdict(&[series("a", [1.0; 6])], Direction::Up, "op/s", None);
        assert_eq!(text, "a never gains from more threads.");
    }
}
