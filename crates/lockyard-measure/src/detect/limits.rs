//! Limits that control groups (version 1 and 2) set on the process: CPU time (quota) and CPUs
//! (cpuset).
//!
//! Parent groups limit the process too, as far as they are visible from inside a container. The
//! kernel's administration guide defines the formats of `cpu.max` and `cpu.stat` (version 2) and
//! `cpu.cfs_quota_us` (version 1). Mount points come from `/proc/self/mountinfo`, see proc(5).

use super::list::CpuList;
use super::tree::{Tree, clean};
use serde::{Serialize, Serializer};
use std::path::{Component, Path, PathBuf};

/// Maximum number of group levels to read.
const MOST_LEVELS: usize = 64;

/// CPU time that a group may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quota {
    /// No limit.
    Unlimited,
    /// Time of this many CPUs.
    Cpus(f64),
}

impl Serialize for Quota {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Quota::Unlimited => serializer.serialize_str("unlimited"),
            Quota::Cpus(cpus) => serializer.serialize_f64(*cpus),
        }
    }
}

impl Quota {
    fn tighter(self, other: Quota) -> Quota {
        match (self, other) {
            (Quota::Cpus(a), Quota::Cpus(b)) => Quota::Cpus(a.min(b)),
            (Quota::Cpus(a), Quota::Unlimited) | (Quota::Unlimited, Quota::Cpus(a)) => {
                Quota::Cpus(a)
            }
            (Quota::Unlimited, Quota::Unlimited) => Quota::Unlimited,
        }
    }
}

/// Limits of the process's control groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// Version of control groups that reports CPU time.
    pub version: Option<u32>,
    /// Path of the group relative to its mount point.
    pub group: Option<String>,
    /// CPU time that the group may use.
    pub quota: Option<Quota>,
    /// Period of the group's own quota, in milliseconds.
    pub period_ms: Option<f64>,
    /// Number of times that the group was throttled because its quota was used up.
    pub throttled: Option<u64>,
    /// CPUs of the group's cpuset.
    pub cpuset: Option<CpuList>,
}

/// Mount point of a group hierarchy.
struct Mount {
    /// Mounted part of the hierarchy.
    root: PathBuf,
    /// Mount point, relative to the root of the tree.
    point: PathBuf,
    kind: String,
    options: String,
}

pub(super) fn read(tree: &Tree) -> Limits {
    let mounts: Vec<Mount> =
        tree.text("proc/self/mountinfo").unwrap_or_default().lines().filter_map(mount).collect();
    let groups = tree.text("proc/self/cgroup").unwrap_or_default();
    let levels = |controller: Option<&str>| levels(&mounts, &groups, controller);
    let mut limits = Limits::default();
    let (cpu, cpuset, unified) = (levels(Some("cpu")), levels(Some("cpuset")), levels(None));
    for (version, levels, quota) in
        [(1, &cpu, quota_1 as fn(&Tree, &str) -> _), (2, &unified, quota_2)]
    {
        let found: Vec<(Quota, f64)> =
            levels.iter().filter_map(|level| quota(tree, level)).collect();
        let Some(((own, period_ms), above)) = found.split_first() else { continue };
        limits.version = Some(version);
        limits.group = levels.first().and_then(|level| clean(&format!("/{level}")));
        limits.quota = Some(above.iter().fold(*own, |quota, (other, _)| quota.tighter(*other)));
        limits.period_ms = (*period_ms > 0.0).then_some(*period_ms);
        limits.throttled = levels.first().and_then(|level| throttled(tree, level));
        break;
    }
    if limits.quota.is_none()
        && let Some(level) = unified.first()
        && tree.exists(&format!("{level}/cgroup.controllers"))
        && !unified.iter().any(|level| tree.exists(&format!("{level}/cpu.max")))
    {
        // No visible group has a limit. The root group has no file for it, and neither has a group
        // without the controller.
        limits.version = Some(2);
        limits.group = clean(&format!("/{level}"));
        limits.quota = Some(Quota::Unlimited);
    }
    let set = |level: Option<&String>, name| {
        let list = tree.list(&format!("{}/{name}", level?))?;
        // An empty list means that the parent group decides.
        (!list.is_empty()).then_some(list)
    };
    limits.cpuset = set(cpuset.first(), "cpuset.effective_cpus")
        .or_else(|| set(cpuset.first(), "cpuset.cpus"))
        .or_else(|| set(unified.first(), "cpuset.cpus.effective"));
    limits
}

/// Returns the directories of the process's group and its parents, relative to the root of the
/// tree. They belong to the version 1 hierarchy with `controller`, or to version 2 if there is no
/// `controller`.
fn levels(mounts: &[Mount], groups: &str, controller: Option<&str>) -> Vec<String> {
    let path = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let wanted = match controller {
            Some(name) => controllers.split(',').any(|c| c == name),
            None => controllers.is_empty(),
        };
        wanted.then_some(path)
    });
    let mount = mounts.iter().find(|mount| match controller {
        Some(name) => mount.kind == "cgroup" && mount.options.split(',').any(|o| o == name),
        None => mount.kind == "cgroup2",
    });
    let (Some(path), Some(mount)) = (path, mount) else { return Vec::new() };
    // A path outside the local mount cannot be followed. (`..` means outside the namespace.)
    let relative = plain(Path::new(path))
        .and_then(|path| path.strip_prefix(&mount.root).ok().map(Path::to_owned));
    let relative = relative.unwrap_or_default();
    let levels = relative.ancestors().take(MOST_LEVELS);
    let text = |level: &Path| mount.point.join(level).to_string_lossy().into_owned();
    levels.map(|level| text(level).trim_end_matches('/').to_owned()).collect()
}

/// Parses a line of `mountinfo`: `36 35 98:0 /root /point options ... - type source options`.
fn mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, point) = (left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (kind, _, options) = (right.next()?, right.next()?, right.next()?);
    Some(Mount {
        root: plain(Path::new(&unescaped(root)))?,
        point: plain(Path::new(&unescaped(point)))?,
        kind: kind.to_owned(),
        options: options.to_owned(),
    })
}

/// Returns the path without its leading `/`; `None` if it contains `..`.
fn plain(path: &Path) -> Option<PathBuf> {
    let parts = path.components().filter(|part| *part != Component::RootDir);
    parts.map(|part| matches!(part, Component::Normal(_)).then_some(part)).collect()
}

/// Decodes the escapes of `mountinfo`. For example, a space is written as `\040`.
fn unescaped(text: &str) -> String {
    ["\\040 ", "\\011\t", "\\012\n", "\\134\\"]
        .iter()
        .fold(text.to_owned(), |text, pair| text.replace(&pair[..4], &pair[4..]))
}

/// Reads the quota of a version 2 group, and its period in milliseconds. The file contains `max
/// 100000` or `250000 100000`.
fn quota_2(tree: &Tree, level: &str) -> Option<(Quota, f64)> {
    tree.parsed(&format!("{level}/cpu.max"), |text| {
        let mut fields = text.split_whitespace();
        let (quota, period) = (fields.next()?, fields.next().unwrap_or("100000"));
        let period = period.parse().ok()?;
        if quota == "max" {
            return Some((Quota::Unlimited, period as f64 / 1e3));
        }
        share(quota.parse().ok()?, period)
    })
}

/// Reads the quota of a version 1 group; -1 means unlimited.
fn quota_1(tree: &Tree, level: &str) -> Option<(Quota, f64)> {
    let period = tree.number::<u64>(&format!("{level}/cpu.cfs_period_us"))?;
    tree.parsed(&format!("{level}/cpu.cfs_quota_us"), |text| {
        match text.trim().parse::<i64>().ok()? {
            -1 => Some((Quota::Unlimited, period as f64 / 1e3)),
            quota => share(u64::try_from(quota).ok()?, period),
        }
    })
}

fn share(quota: u64, period: u64) -> Option<(Quota, f64)> {
    let possible = quota > 0 && period > 0;
    possible.then(|| (Quota::Cpus(quota as f64 / period as f64), period as f64 / 1e3))
}

fn throttled(tree: &Tree, level: &str) -> Option<u64> {
    let text = tree.text(&format!("{level}/cpu.stat"))?;
    text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mounts: &[&str], groups: &str, controller: Option<&str>) -> Vec<String> {
        let mounts: Vec<Mount> = mounts.iter().filter_map(|line| mount(line)).collect();
        levels(&mounts, groups, controller)
    }

    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate";

    #[test]
    fn a_group_and_those_above_it_are_found_below_the_mount_point() {
        assert_eq!(
            of(&[UNIFIED], "0::/user.slice/a.scope\n", None),
            ["sys/fs/cgroup/user.slice/a.scope", "sys/fs/cgroup/user.slice", "sys/fs/cgroup"]
        );
        let version_1 =
            "34 25 0:29 /docker/ab /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";
        let groups = "4:cpu,cpuacct:/docker/ab/c\n3:cpuset:/docker/ab\n0::/x\n";
        assert_eq!(
            of(&[version_1], groups, Some("cpu")),
            ["sys/fs/cgroup/cpu,cpuacct/c", "sys/fs/cgroup/cpu,cpuacct"]
        );
        assert!(of(&[version_1], groups, Some("cpuset")).is_empty(), "it is not mounted");
        assert!(of(&[version_1], groups, None).is_empty());
    }

    #[test]
    fn no_group_leads_out_of_the_mount_point() {
        for path in ["/../../etc", "/a/../..", "..", ""] {
            assert_eq!(of(&[UNIFIED], &format!("0::{path}\n"), None), ["sys/fs/cgroup"]);
        }
        let outside = UNIFIED.replace(" /sys/fs/cgroup ", " /../x ");
        assert!(of(&[&outside], "0::/\n", None).is_empty());
        let space = UNIFIED.replace(" /sys/fs/cgroup ", " /a\\040b ");
        assert_eq!(of(&[&space], "0::/\n", None), ["a b"]);
        let deep = "/x".repeat(10_000);
        assert_eq!(of(&[UNIFIED], &format!("0::{deep}\n"), None).len(), MOST_LEVELS);
        for broken in ["", " - ", "1 2 3 / /x - cgroup2", "- - -", "1 2 3 - cgroup2 x rw"] {
            assert!(of(&[broken], "0::/\n", None).is_empty(), "{broken}");
        }
    }

    #[test]
    fn the_tightest_quota_counts() {
        let (two, four) = (Quota::Cpus(2.0), Quota::Cpus(4.0));
        assert_eq!(two.tighter(four), two);
        assert_eq!(four.tighter(Quota::Unlimited), four);
        assert_eq!(Quota::Unlimited.tighter(two), two);
        assert_eq!(share(250_000, 100_000), Some((Quota::Cpus(2.5), 100.0)));
        assert_eq!((share(0, 1), share(1, 0)), (None, None));
    }
}
