//! The shipped scripts.

use crate::model::Script;

/// Names and files of the shipped scripts.
const SHIPPED: &[(&str, &str)] = &[
    ("open3", include_str!("../../../../scenarios/open3.toml")),
    ("fstat2", include_str!("../../../../scenarios/fstat2.toml")),
    ("access2", include_str!("../../../../scenarios/access2.toml")),
    (
        "spin-loop/same-node/standalone",
        include_str!("../../../../scenarios/spin-loop-same-node-standalone.toml"),
    ),
    (
        "spin-loop/same-node/embedded",
        include_str!("../../../../scenarios/spin-loop-same-node-embedded.toml"),
    ),
    (
        "spin-loop/different-nodes/standalone",
        include_str!("../../../../scenarios/spin-loop-different-nodes-standalone.toml"),
    ),
    (
        "spin-loop/different-nodes/embedded",
        include_str!("../../../../scenarios/spin-loop-different-nodes-embedded.toml"),
    ),
    ("page-ref", include_str!("../../../../scenarios/page-ref.toml")),
    ("aim7-disk/xfs", include_str!("../../../../scenarios/aim7-disk-xfs.toml")),
    ("aim7-disk/ext4", include_str!("../../../../scenarios/aim7-disk-ext4.toml")),
    ("ebizzy-m", include_str!("../../../../scenarios/ebizzy-m.toml")),
    ("stat-degradation", include_str!("../../../../scenarios/stat-degradation.toml")),
    ("timer-gettime", include_str!("../../../../scenarios/timer-gettime.toml")),
    (
        "connection-table/120kpps",
        include_str!("../../../../scenarios/connection-table-120kpps.toml"),
    ),
    ("openvswitch/flow-setup", include_str!("../../../../scenarios/openvswitch-flow-setup.toml")),
    (
        "openvswitch/packet-update",
        include_str!("../../../../scenarios/openvswitch-packet-update.toml"),
    ),
    (
        "buffer-cache/16-way-create",
        include_str!("../../../../scenarios/buffer-cache-16-way-create.toml"),
    ),
    (
        "buffer-cache/8-way-unlink",
        include_str!("../../../../scenarios/buffer-cache-8-way-unlink.toml"),
    ),
    ("controls", include_str!("../../../../scenarios/controls.toml")),
    ("dbench/overcommit-1x", include_str!("../../../../scenarios/dbench-overcommit-1x.toml")),
    ("dbench/overcommit-2x", include_str!("../../../../scenarios/dbench-overcommit-2x.toml")),
    ("dbench/overcommit-3x", include_str!("../../../../scenarios/dbench-overcommit-3x.toml")),
    ("dbench/overcommit-4x", include_str!("../../../../scenarios/dbench-overcommit-4x.toml")),
    ("dbench/loaded-guest", include_str!("../../../../scenarios/dbench-loaded-guest.toml")),
];

impl Script {
    /// Returns the names of the shipped scripts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Returns the text of the shipped script with this name, or `None` if there is none.
    pub fn shipped_text(name: &str) -> Option<&'static str> {
        SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
    }

    /// Returns the shipped script with this name, or `None` if there is none.
    ///
    /// # Panics
    ///
    /// If the shipped file is broken. A test reads all shipped files.
    pub fn shipped(name: &str) -> Option<Script> {
        let text = Script::shipped_text(name)?;
        Some(Script::parse(&format!("{name}.toml"), text).expect("a shipped script is valid"))
    }
}
