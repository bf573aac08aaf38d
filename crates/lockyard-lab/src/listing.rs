//! Where CPU time went, as a profiler's listing: a share for each region of the code, and for each part of one that a script names.
//!
//! Simulated runs account for every cycle, native ones sample. A profiler sees what runs, so neither counts what is idle, nor
//! threads that another has displaced.

use crate::host::attribution::Tally;
use crate::rows::Detail;
use lockyard_scenarios::{Activity, Part, Region};
use std::collections::BTreeMap;

/// In details: what the names of shares begin with, as in published tables.
pub const SHARE: &str = "cpu-share:";
/// In details: what the names of their intervals begin with.
const HALF_WIDTH: &str = "cpu-share-half-width:";

/// A line of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name of the region, or of a part.
    pub name: String,
    /// The region.
    pub region: Region,
    /// The share of the CPU time, 0 to 1. That of a region is without its named parts.
    pub share: f64,
    /// Half the width of the interval of a sampled share; `None` of an exact one.
    pub half_width: Option<f64>,
}

/// Shares of CPU time; they add up to 1. The largest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The lines: regions and parts in which any time was spent.
    pub entries: Vec<Entry>,
}

impl Listing {
    /// Of the CPU time of activities, in any unit, each once; of a variant whose steps name `parts`.
    pub fn new(times: impl IntoIterator<Item = (Activity, f64)>, parts: &[Part]) -> Listing {
        let named = |activity: Activity| {
            let part = usize::from(activity.part).checked_sub(1).and_then(|n| parts.get(n));
            let (name, region) = match part {
                Some(part) => (part.name.as_str(), part.region),
                None => (activity.region.name(), activity.region),
            };
            (name.to_owned(), region)
        };
        let mut entries: Vec<Entry> = Vec::new();
        for (activity, share) in times {
            let (name, region) = named(activity);
            if region != Region::Idle && share > 0.0 {
                entries.push(Entry { name, region, share, half_width: None });
            }
        }
        let all: f64 = entries.iter().map(|entry| entry.share).sum();
        entries.iter_mut().for_each(|entry| entry.share /= all);
        entries.sort_by(|a, b| b.share.total_cmp(&a.share));
        Listing { entries }
    }

    /// Of what a sampler saw, by [activity](Activity::index).
    pub fn of_tally(tally: &Tally, parts: &[Part]) -> Listing {
        let region = |index: usize| match index.checked_sub(Region::COUNT) {
            None => Region::ALL[index].into(),
            // The list says of which region it is.
            Some(part) => Activity::part_of(Region::System, part as u16 + 1),
        };
        let shares = tally.shares().unwrap_or_default();
        let times = shares.into_iter().enumerate().map(|(index, share)| (region(index), share));
        let mut listing = Listing::new(times, parts);
        for entry in &mut listing.entries {
            entry.half_width = Some(tally.half_width(entry.share));
        }
        listing
    }

    /// The share of regions and parts, by their names, 0 to 1.
    pub fn share_of(&self, names: &[String]) -> f64 {
        let of = self.entries.iter().filter(|entry| names.contains(&entry.name));
        of.map(|entry| entry.share).sum()
    }

    /// For programs: a share for each line.
    pub fn detail(&self, detail: &mut BTreeMap<String, Detail>) {
        for entry in &self.entries {
            detail.insert(format!("{SHARE}{}", entry.name), Detail::Number(entry.share));
            if let Some(half) = entry.half_width {
                detail.insert(format!("{HALF_WIDTH}{}", entry.name), Detail::Number(half));
            }
        }
    }

    /// What [`detail`](Self::detail) said, of whatever a row's details are: names, shares, and half the widths of their intervals. The largest
    /// first.
    pub fn of_detail(detail: &BTreeMap<String, Detail>) -> Vec<(&str, f64, Option<f64>)> {
        let number = |key: &str| match detail.get(key) {
            Some(Detail::Number(number)) => Some(*number),
            _ => None,
        };
        let shares = detail.iter().filter_map(|(key, _)| {
            let name = key.strip_prefix(SHARE)?;
            Some((name, number(key)?, number(&format!("{HALF_WIDTH}{name}"))))
        });
        let mut shares: Vec<_> = shares.collect();
        shares.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        let part = |name: &str, region| Part { name: name.to_owned(), region };
        vec![part("__memcpy", Region::Copy), part("halt", Region::Idle)]
    }

    #[test]
    fn a_listing_has_what_ran_and_adds_up_to_all_of_it() {
        let times = [
            (Region::System.into(), 10.0),
            (Activity::part_of(Region::Copy, 1), 30.0),
            (Region::Copy.into(), 20.0),
            (Region::Idle.into(), 5.0),
            (Activity::part_of(Region::Idle, 2), 50.0),
            (Region::LookUp.into(), 0.0),
        ];
        let listing = Listing::new(times, &parts());
        let lines: Vec<(&str, f64)> =
            listing.entries.iter().map(|entry| (entry.name.as_str(), entry.share)).collect();
        assert_eq!(lines, [("__memcpy", 0.5), ("copy", 1.0 / 3.0), ("system", 1.0 / 6.0)]);
        let names = ["copy".to_owned(), "system".to_owned(), "look-up".to_owned()];
        assert!((listing.share_of(&names) - 0.5).abs() < 1e-12);
        let mut detail = BTreeMap::new();
        listing.detail(&mut detail);
        let read = Listing::of_detail(&detail);
        let exact: Vec<_> = lines.iter().map(|&(name, share)| (name, share, None)).collect();
        assert_eq!(read, exact);
    }

    #[test]
    fn a_sampled_listing_has_intervals_and_the_names_of_parts() {
        use std::time::Duration;
        let mut tally = Tally::new(Region::COUNT + 2);
        let ms = Duration::from_millis(1);
        let memcpy = Region::COUNT as u32;
        for (activity, times) in [(0, 3), (memcpy, 5), (Region::Idle as u32, 8), (memcpy + 1, 4)] {
            for _ in 0..times {
                tally.add((activity, activity), (ms, ms));
            }
        }
        let listing = Listing::of_tally(&tally, &parts());
        let names: Vec<&str> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["__memcpy", "system"]);
        assert_eq!(listing.entries[0].share, 0.625);
        assert!(listing.entries.iter().all(|entry| entry.half_width.is_some_and(|h| h > 0.0)));
        assert_eq!(Listing::of_tally(&Tally::new(3), &[]), Listing::default());
    }
}
