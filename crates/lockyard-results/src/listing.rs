//! CPU time laid out as a profiler's listing: a share for each region of the code, and for each
//! named part of a region. Scripts name the parts.
//!
//! Simulated runs account for every cycle; native runs are sampled. A profiler only sees code that
//! runs. So both exclude idle time and the time of pre-empted threads.

use crate::cell_key::CellKey;
use crate::published::PublishedTable;
use crate::row::{Measured, Row, Status};
use crate::statistics::half_width;
use lockyard_scenarios::{Activity, Figure, Region, RegionPart, Script};
pub use lockyard_scenarios::{CPU_SHARE_PREFIX, SAMPLE_COUNT_PREFIX};

/// A line of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct ListingEntry {
    /// Name of the region, or of a part of it.
    pub name: String,
    /// Region of the line, or the region that the part belongs to.
    pub region: Region,
    /// Share of the CPU time, from 0 to 1. The share of a region excludes its named parts.
    pub share: f64,
}

/// Shares of CPU time, which add up to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Regions and parts with any CPU time, largest first.
    pub entries: Vec<ListingEntry>,
    /// Number of samples of equal weight behind the shares; `None` if they are exact.
    pub samples: Option<f64>,
}

impl Listing {
    /// Makes a listing from the CPU times of activities, in any unit. Each activity appears once.
    /// `parts` are the region parts named by the variant's steps.
    pub fn new(times: impl IntoIterator<Item = (Activity, f64)>, parts: &[RegionPart]) -> Listing {
        let named = |activity: Activity| match RegionPart::of(parts, activity) {
            Some(part) => (part.name.clone(), part.region),
            None => (activity.region.name().to_owned(), activity.region),
        };
        let mut entries: Vec<ListingEntry> = Vec::new();
        for (activity, share) in times {
            let (name, region) = named(activity);
            if region != Region::Idle && share > 0.0 {
                entries.push(ListingEntry { name, region, share });
            }
        }
        let all: f64 = entries.iter().map(|entry| entry.share).sum();
        entries.iter_mut().for_each(|entry| entry.share /= all);
        entries.sort_by(|a, b| b.share.total_cmp(&a.share));
        Listing { entries, samples: None }
    }

    /// Returns the total share, 0 to 1, of the regions and parts with these names.
    pub fn share_of(&self, names: &[String]) -> f64 {
        let of = self.entries.iter().filter(|entry| names.contains(&entry.name));
        of.map(|entry| entry.share).sum()
    }

    /// Returns a share as a measured figure in per cent; `None` if the share is exact.
    pub fn measured(&self, share: f64) -> Option<Measured> {
        let samples = self.samples?;
        let half = half_width(samples, share);
        Some(Measured {
            value: share * 100.0,
            ci_low: (share - half).max(0.0) * 100.0,
            ci_high: (share + half).min(1.0) * 100.0,
            samples: samples as usize,
        })
    }
}

/// Run that a listing describes.
#[derive(Clone, Copy, Debug)]
pub struct Of<'a> {
    /// Script.
    pub script: &'a Script,
    /// Machine; `None` for this host, whose listing is compared with published listings of any
    /// machine.
    pub machine: Option<&'a str>,
    /// Variant.
    pub variant: &'a str,
    /// Number of tasks.
    pub threads: usize,
}

impl Of<'_> {
    fn row(self, listing: &Listing, name: &str, share: f64) -> Row {
        let measured = listing.measured(share);
        let metric = format!("{CPU_SHARE_PREFIX}{name}");
        let key = CellKey::here(&self.script.name, self.variant, self.threads, &metric, "%");
        let Some(machine) = self.machine else {
            return Row { measured, ..Row::new(key, Status::Measured) };
        };
        let key = CellKey { machine: machine.to_owned(), ..key };
        Row { predicted: Some(share * 100.0), ..Row::new(key, Status::Predicted) }
    }
}

/// Returns one row, in per cent, for each line of a listing. Lines of the published listing come
/// first, in its order, each next to our share. Lines that it lacks follow.
pub fn rows(listing: &Listing, of: Of, tables: &[PublishedTable]) -> Vec<Row> {
    let script = of.script;
    let stands_for = script.profile.machine.as_deref();
    let cells = tables.iter().flat_map(|table| &table.cells).filter(|cell| {
        let same = |machine| machine == cell.key.machine || stands_for == Some(machine);
        let same_run =
            |machine| same(machine) && script.tasks(cell.key.threads) == Some(of.threads);
        cell.key.experiment == script.name
            && cell.key.variant == of.variant
            && of.machine.is_none_or(same_run)
    });
    let mut rows = Vec::new();
    let mut shown: Vec<String> = Vec::new();
    for cell in cells {
        let figure =
            script.figure(&cell.key.machine, &cell.key.variant, &cell.key.metric, &cell.key.unit);
        let (Some(name), Ok(Figure::CpuShare { names })) =
            (cell.key.metric.strip_prefix(CPU_SHARE_PREFIX), figure)
        else {
            continue;
        };
        let mut row = of.row(listing, name, listing.share_of(&names));
        row.published = Some(cell.value);
        if row.measured.is_none() && script.profile.is_input(of.variant, &cell.key.metric) {
            row.status = Status::Calibration;
        }
        rows.push(row);
        shown.extend(names);
    }
    let others = listing.entries.iter().filter(|entry| !shown.contains(&entry.name));
    rows.extend(others.map(|entry| of.row(listing, &entry.name, entry.share)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_key::HERE;

    fn parts() -> Vec<RegionPart> {
        let part = |name: &str, region| RegionPart { name: name.to_owned(), region };
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
    }

    /// Returns a script and a published listing for it.
    fn profiled() -> (Script, Vec<PublishedTable>) {
        let script = r#"
name = "x"
title = "x"
operation = "x"
metric = "throughput"
unit = "op/s"
work_varies = false
steps = [
    { do = "work", ns = 1.0, region = "copy", name = "__memcpy" },
    { do = "work", ns = 1.0 },
]
variants = [{ name = "before", title = "b" }, { name = "after", title = "a" }]
symbols = [
    { name = "find", is = ["look-up", "lock-wait"] },
    { name = "memcpy", is = ["__memcpy"], given_by = ["before"] },
    { name = "driver", left_out = "no device is modelled" },
]
[run]
tasks = 4
[profile]
machine = "relative"
[placement]
order = "fill"
"#;
        let table = "# source: s\nexperiment,machine,variant,threads,metric,value,unit\n\
            x,m,before,,cpu-share:find,30,%\nx,m,before,,cpu-share:driver,20,%\n\
            x,m,before,,cpu-share:memcpy,40,%\nx,m,after,,cpu-share:find,7,%\n";
        let script = Script::parse("x.toml", script).expect("it is valid");
        (script, vec![crate::published::parse("t", "t.csv", table).expect("it is valid")])
    }

    #[test]
    fn the_published_listing_stands_beside_ours_and_the_rest_below() {
        let (script, tables) = profiled();
        let times = [
            (Region::LookUp.into(), 3.0),
            (Region::LockWait.into(), 1.0),
            (Activity::part_of(Region::Copy, 1), 4.0),
            (Region::System.into(), 2.0),
        ];
        let listing = Listing::new(times, &script.variants[0].parts);
        let of = |machine, variant, threads| Of { script: &script, machine, variant, threads };
        let show = |rows: Vec<Row>| -> Vec<(String, Option<f64>, Option<f64>, Status)> {
            let round = |value: f64| (value * 1e6).round() / 1e6;
            let one =
                |row: Row| (row.key.metric, row.published, row.predicted.map(round), row.status);
            rows.into_iter().map(one).collect()
        };
        let line = |metric: &str, published, share, status| {
            (format!("{CPU_SHARE_PREFIX}{metric}"), published, Some(share), status)
        };
        use Status::{Calibration, Predicted};
        assert_eq!(
            show(rows(&listing, of(Some("relative"), "before", 4), &tables)),
            [
                line("find", Some(30.0), 40.0, Predicted),
                line("memcpy", Some(40.0), 40.0, Calibration),
                line("system", None, 20.0, Predicted),
            ]
        );
        let after = show(rows(&listing, of(Some("m"), "after", 4), &tables));
        assert_eq!(after[0], line("find", Some(7.0), 40.0, Predicted));
        assert_eq!(after.len(), 3);
        // The published listing does not apply to other machines or other numbers of tasks.
        for other in [of(Some("other"), "before", 4), of(Some("m"), "before", 3)] {
            let found = show(rows(&listing, other, &tables));
            assert_eq!(found[0], line("__memcpy", None, 40.0, Predicted));
            assert_eq!(found.len(), 4);
        }
        let sampled = Listing { samples: Some(400.0), ..listing };
        let here = rows(&sampled, of(None, "before", 2), &tables);
        assert_eq!((here[0].published, here[0].predicted), (Some(30.0), None));
        assert_eq!((here[0].status, here[0].key.machine.as_str()), (Status::Measured, HERE));
        let measured = here[0].measured.expect("it was sampled");
        assert!((measured.value - 40.0).abs() < 1e-9 && measured.ci_low < 40.0);
    }
}
