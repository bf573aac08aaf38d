//! Properties of each reader of lockyard, for any input. A target takes bytes and panics if the
//! property does not hold.
//!
//! `fuzz/` searches for such bytes. The tests of this crate replay the inputs that it has kept, and
//! small changes of each.
//!
//! | module | inputs |
//! | --- | --- |
//! | `scripts`, `machines`, `plans` | TOML: scenarios, machine files, plans of sweeps |
//! | `figures` | CSV and JSON: published tables, data of `fit`, result files |
//! | `hosts` | measurements of a host, latencies between cores, topologies |
//! | `recordings` | binary files of `record` and `profile`; rates beside them |
//! | `arguments` | command lines |
//! | `control` | a reader that is wrong, which a search must find |

mod arguments;
mod control;
mod errors;
mod figures;
mod hosts;
mod machines;
mod plans;
mod recordings;
mod scripts;

/// A target of a search.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target, and of the directory of its inputs.
    pub name: &'static str,
    /// Panics if the property does not hold for this input.
    pub run: fn(&[u8]),
}

/// All targets whose properties hold.
pub const TARGETS: &[Target] = &[
    Target { name: "arguments", run: arguments::arguments },
    Target { name: "bundle", run: plans::bundle },
    Target { name: "fit-data", run: figures::fit_data },
    Target { name: "latencies", run: hosts::latencies },
    Target { name: "machine", run: machines::machine },
    Target { name: "measurements", run: hosts::measurements },
    Target { name: "plan", run: plans::plan },
    Target { name: "published", run: figures::published },
    Target { name: "rates", run: recordings::rates },
    Target { name: "recording", run: recordings::recording },
    Target { name: "recordings", run: recordings::recordings },
    Target { name: "records", run: recordings::records },
    Target { name: "results", run: figures::results },
    Target { name: "script", run: scripts::script },
];

/// The target that is wrong on purpose.
pub const CONTROL: Target = Target { name: "control", run: control::control };

/// Runs the target with this name.
///
/// # Panics
///
/// Panics if there is no such target, or if its property does not hold.
pub fn run(name: &str, input: &[u8]) {
    let all = TARGETS.iter().chain([&CONTROL]);
    let target = all.clone().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("no target `{name}`")).run)(input);
}
