//! Numbers of machines that one host decides, or that are assumed: the values between which an
//! interval varies them, and the cells in which they matter.
//!
//! Every number here has one entry in `VARIED`: its name, the values that hosts ask for, and a
//! predicate. An end of its range is the least or the greatest of these values. A machine whose own
//! value is an end, or lies beyond it, has one change instead of two. A cell in which a number
//! cannot matter has none, and pays nothing for it.
//!
//! Each value names the host that asks for it. So a host can be left out of its own ranges, which
//! shows how good they are for a host that nobody has measured (`examples/accuracy/coverage.rs` in
//! `lockyard-lab`).

use crate::machine::known_figures;
use lockyard_sim::Machine;
use lockyard_sim::machine::Parameter;

/// Facts about a cell that say whether a number can matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// Number of tasks.
    pub threads: usize,
    /// `true` if tasks are in several complexes.
    pub in_complexes: bool,
    /// `true` if two tasks are on different hardware threads of one core.
    pub on_siblings: bool,
    /// `true` if a socket has no task.
    pub leave_a_socket: bool,
    /// `true` if operations have local work.
    pub work: bool,
}

impl Tasks {
    /// Returns the facts of tasks at `places`, which are hardware threads of the machine.
    pub fn at(machine: &Machine, places: &[usize], work: bool) -> Tasks {
        let used = |of: &dyn Fn(usize) -> usize| {
            let mut all: Vec<usize> = places.iter().map(|&place| of(place)).collect();
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        let hardware_threads = used(&|place| place);
        Tasks {
            threads: places.len(),
            in_complexes: used(&|place| machine.place(place).complex) > 1,
            on_siblings: used(&|place| machine.place(place).core) < hardware_threads,
            leave_a_socket: used(&|place| machine.place(place).socket) < machine.sockets(),
            work,
        }
    }

    fn are_several(&self, _: &Parameter) -> bool {
        self.threads > 1
    }

    fn are_several_and_it_is_assumed(&self, number: &Parameter) -> bool {
        self.threads > 1 && number.assumed.is_some()
    }

    fn share_between_complexes(&self, _: &Parameter) -> bool {
        self.in_complexes
    }

    fn work_beside_siblings(&self, _: &Parameter) -> bool {
        self.on_siblings && self.work
    }

    fn wait_for_an_idle_socket(&self, number: &Parameter) -> bool {
        self.leave_a_socket && self.are_several_and_it_is_assumed(number)
    }
}

/// Unit of the values that hosts ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// The number's own.
    Own,
    /// A hand-over within a complex of the machine, of which the value is a share. The number is in
    /// cycles.
    HandOver,
    /// Nanoseconds. The number is in cycles.
    Nanoseconds,
}

/// A number, with the least and the greatest value that each host asks for.
#[derive(Clone, Copy, Debug)]
struct Varied {
    name: &'static str,
    unit: Unit,
    matters: fn(&Tasks, &Parameter) -> bool,
    asked: &'static [(&'static str, f64, f64)],
}

/// The training host of `amd-zen`: `lockhammer_x86-1`.
pub const X86_1: &str = "x86-1";
/// The training host of `intel-mesh`: `lockhammer_x86-2`.
pub const X86_2: &str = "x86-2";
/// The training host of `intel-ring`: `lockhammer_x86-3`.
pub const X86_3: &str = "x86-3";
/// Two CPUs of an Emerald Rapids (`training/ownership_emerald_rapids.csv`).
const EMERALD_RAPIDS: &str = "emerald-rapids";
/// Sixteen cores of another Emerald Rapids (`hosts/emerald-rapids-16`).
pub const EMERALD_RAPIDS_16: &str = "emerald-rapids-16";

/// All numbers that are varied between the values of hosts.
///
/// - Numbers of a protocol are those of the families (`machines/families/`), each of which was
///   fitted on one host. Three of them say how long the directory is busy. Those are no part of the
///   latency of a hand-over, which is what a machine's scale meets.
/// - `jitter`: by the rule of `machines calibrate`, whose factor `emerald-rapids-16` decides, that
///   host has 0.17 of a hand-over, and a Sapphire Rapids 0.25, the most that the rule allows.
/// - `granted_legs`: the rule of `intel-mesh` for other processors. `snoop_weight`: nothing is
///   known of it on a mesh.
/// - `smt_slowdown`: rows `empty` of lockhammer, which do nothing but work. The least is the value
///   of the host's machine file, from rows of many threads. The greatest is from the row of two
///   threads with 1,000 ns: its time over that of one thread. (Work of many threads was measured
///   beside busy siblings, so their rows show less than the whole slowdown.)
/// - `idle_answer`: 315 cycles at 2.4 GHz. The families assume that idle sockets answer at once.
/// - `exclusive_loads`, `early_stores`, `load_behind_lock`: facts of a generation, where a file
///   takes them from another one.
/// - `rmw_lock`, `pause`: of Arm processors, the values that their files call plausible; a pause
///   also as long as that of a client with the core of Sapphire Rapids.
const VARIED: &[Varied] = &[
    Varied {
        name: "cycles.jitter",
        unit: Unit::HandOver,
        matters: Tasks::are_several,
        asked: &[
            (X86_1, 0.10, 0.10),
            (X86_2, 0.07, 0.07),
            (X86_3, 0.06, 0.06),
            (EMERALD_RAPIDS_16, 0.17, 0.25),
        ],
    },
    Varied {
        name: "cycles.hold_exclusive",
        unit: Unit::HandOver,
        matters: Tasks::are_several,
        asked: &[(X86_1, 0.33, 0.33), (X86_2, 0.47, 0.47), (X86_3, 0.46, 0.46)],
    },
    Varied {
        name: "cycles.hold_shared",
        unit: Unit::HandOver,
        matters: Tasks::are_several,
        asked: &[(X86_1, 0.35, 0.35), (X86_2, 0.21, 0.21), (X86_3, 0.43, 0.43)],
    },
    Varied {
        name: "cycles.shared_read",
        unit: Unit::HandOver,
        matters: Tasks::are_several,
        asked: &[(X86_1, 1.27, 1.27), (X86_2, 0.56, 0.56), (X86_3, 0.35, 0.35)],
    },
    Varied {
        name: "protocol.granted_legs",
        unit: Unit::Own,
        matters: Tasks::share_between_complexes,
        asked: &[
            (X86_1, 0.28, 0.28),
            (X86_3, 1.0, 1.0),
            ("Platinum 8275CL", 0.82, 0.82),
            ("Ice Lake, id 15136398561", 0.65, 0.65),
            ("Gold 6242", 1.3, 1.3),
        ],
    },
    Varied {
        name: "protocol.snoop_weight",
        unit: Unit::Own,
        matters: Tasks::share_between_complexes,
        asked: &[(X86_1, 0.77, 0.77), (X86_3, 20.0, 20.0)],
    },
    Varied {
        name: "protocol.smt_slowdown",
        unit: Unit::Own,
        matters: Tasks::work_beside_siblings,
        asked: &[(X86_1, 1.09, 1.22), (X86_2, 1.0, 1.01), (X86_3, 1.36, 1.5)],
    },
    Varied {
        name: "cycles.idle_answer",
        unit: Unit::Nanoseconds,
        matters: Tasks::wait_for_an_idle_socket,
        asked: &[("families", 0.0, 0.0), ("Westmere-EX", 131.0, 131.0)],
    },
    Varied {
        name: "protocol.exclusive_loads",
        unit: Unit::Own,
        matters: Tasks::are_several_and_it_is_assumed,
        asked: &[(X86_2, 0.0, 0.0), (X86_3, 0.0, 0.0), (EMERALD_RAPIDS, 1.0, 1.0)],
    },
    Varied {
        name: "protocol.early_stores",
        unit: Unit::Own,
        matters: Tasks::are_several_and_it_is_assumed,
        asked: &[(X86_2, 0.0, 0.0), (X86_3, 0.0, 0.0), (EMERALD_RAPIDS, 1.0, 1.0)],
    },
    Varied {
        name: "protocol.load_behind_lock",
        unit: Unit::Own,
        matters: |_, number| number.assumed.is_some(),
        asked: &[
            (X86_1, 0.0, 0.0),
            ("Zen 4", 0.0, 0.0),
            ("Broadwell-EX", 12.0, 12.0),
            ("Skylake client", 13.0, 13.0),
        ],
    },
    Varied {
        name: "cycles.rmw_lock",
        unit: Unit::Own,
        matters: |_, number| number.assumed.is_some(),
        asked: &[("Arm, plausible", 3.0, 20.0)],
    },
    Varied {
        name: "cycles.pause",
        unit: Unit::Own,
        matters: Tasks::are_several_and_it_is_assumed,
        asked: &[("Arm, plausible", 10.0, 60.0), ("Golden Cove client", 160.0, 160.0)],
    },
];

impl Varied {
    /// Returns the least and the greatest value that hosts other than `left_out` ask for. Returns
    /// `None` if there is no other host.
    fn ends(&self, left_out: Option<&str>) -> Option<[f64; 2]> {
        let others = self.asked.iter().filter(|(host, ..)| Some(*host) != left_out);
        let ends = others.map(|&(_, least, greatest)| [least, greatest]);
        ends.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
    }

    /// Returns the machine with the number at those ends of its range that lie beyond its own
    /// value. `hand_over` has the cycles of a hand-over, if there is one.
    fn changes(
        &self,
        machine: &Machine,
        hand_over: &dyn Fn() -> Option<f64>,
        left_out: Option<&str>,
    ) -> Option<Vec<Machine>> {
        let value = |machine: &Machine| machine.number(self.name);
        let of_unit = match self.unit {
            Unit::Own => 1.0,
            Unit::HandOver => hand_over()?,
            Unit::Nanoseconds => machine.cycles(1000.0) as f64 / 1000.0,
        };
        let own = value(machine)?;
        let [least, greatest] = self.ends(left_out)?;
        let ends = [(least, -1.0), (greatest, 1.0)].into_iter();
        let changed = |(end, direction): (f64, f64)| {
            let changed = machine.clone().with(self.name, end * of_unit)?;
            // The number that the machine takes, which may be rounded.
            ((value(&changed)? - own) * direction > 0.0).then_some(changed)
        };
        Some(ends.filter_map(changed).collect())
    }
}

/// Returns the machine with each number that matters to a cell at the ends of its range: for each
/// number its name, and one or two machines. The values of the host `left_out` are not used.
pub fn changes(
    machine: &Machine,
    tasks: &Tasks,
    left_out: Option<&str>,
) -> Vec<(&'static str, Vec<Machine>)> {
    let simulated = std::cell::OnceCell::new();
    let hand_over = || {
        let ns = *simulated.get_or_init(|| known_figures::hand_over(machine));
        ns.map(|ns| machine.cycles(ns) as f64)
    };
    let of_cell = VARIED.iter().filter(|varied| {
        machine.parameter(varied.name).is_some_and(|number| (varied.matters)(tasks, number))
    });
    of_cell
        .filter_map(|varied| Some((varied.name, varied.changes(machine, &hand_over, left_out)?)))
        .filter(|(_, machines)| !machines.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn machine(name: &str) -> Machine {
        Machine::shipped(name).expect("it is shipped")
    }

    fn number(machine: &Machine, name: &str) -> f64 {
        machine.number(name).expect("it has it")
    }

    /// Returns the values to which numbers are changed, for tasks on hardware threads that begin
    /// with `places`.
    fn values(
        machine: &Machine,
        places: &[usize],
        work: bool,
        left_out: Option<&str>,
    ) -> BTreeMap<&'static str, Vec<f64>> {
        let tasks = Tasks::at(machine, places, work);
        let of = |(name, machines): (&'static str, Vec<Machine>)| {
            (name, machines.iter().map(|machine| number(machine, name)).collect())
        };
        changes(machine, &tasks, left_out).into_iter().map(of).collect()
    }

    #[test]
    fn a_number_changes_only_where_it_can_matter() {
        let machine = machine("cascade-lake-2s24c2t");
        let names = |places: &[usize], work| -> Vec<&str> {
            values(&machine, places, work, None).into_keys().collect()
        };
        assert_eq!(names(&[0], true), [""; 0]);
        let of_socket =
            ["cycles.hold_exclusive", "cycles.hold_shared", "cycles.jitter", "cycles.shared_read"];
        let of_idle = ["cycles.idle_answer"];
        let of_both = ["protocol.granted_legs", "protocol.snoop_weight"];
        let sorted = |parts: &[&[&'static str]]| {
            let mut all = parts.concat();
            all.sort_unstable();
            all
        };
        assert_eq!(names(&[0, 1], true), sorted(&[&of_socket, &of_idle]));
        assert_eq!(names(&[0, 24], true), sorted(&[&of_socket, &of_both]));
        assert_eq!(names(&[0, 24, 48], false), names(&[0, 24], true), "siblings without work");
        let siblings = sorted(&[&of_socket, &of_both, &["protocol.smt_slowdown"]]);
        assert_eq!(names(&[0, 24, 48], true), siblings);
        // Two tasks that share one hardware thread are no siblings.
        assert_eq!(names(&[0, 0, 24], true), names(&[0, 24], true));
    }

    #[test]
    fn the_ends_are_those_of_hosts_beyond_the_machine_s_own() {
        let cascade_lake = machine("cascade-lake-2s24c2t");
        let all = values(&cascade_lake, &[0, 24, 48], true, None);
        // Its own are 1.55, 1 and 0.82.
        assert_eq!(all["protocol.smt_slowdown"], [1.0]);
        assert_eq!(all["protocol.snoop_weight"], [0.77, 20.0]);
        assert_eq!(all["protocol.granted_legs"], [0.28, 1.3]);
        // A hand-over takes 47 ns, of 3 cycles each. Its own shared_read is 79, jitter 10.
        assert_eq!(all["cycles.shared_read"], [49.0, 178.0]);
        assert_eq!(all["cycles.jitter"], [8.0, 35.0]);
        assert_eq!(values(&cascade_lake, &[0, 1], true, None)["cycles.idle_answer"], [393.0]);
        let zen4 = machine("zen4-7840u");
        assert_eq!(values(&zen4, &[0, 8], true, None)["protocol.smt_slowdown"], [1.0, 1.5]);
    }

    #[test]
    fn a_host_that_is_left_out_decides_nothing() {
        let machine = machine("zen4-7840u");
        let left_out = |host| values(&machine, &[0, 8], true, Some(host));
        assert_eq!(left_out(X86_3)["protocol.smt_slowdown"], [1.0]);
        assert_eq!(left_out(X86_2)["protocol.smt_slowdown"], [1.09, 1.5]);
        let early = "protocol.early_stores";
        assert_eq!(left_out(X86_3)[early], [1.0]);
        assert!(!left_out(EMERALD_RAPIDS).contains_key(early), "the only host that has it");
    }

    #[test]
    fn facts_of_a_generation_change_where_they_are_assumed() {
        let names = |name| -> Vec<&str> {
            values(&machine(name), &[0, 1], true, None).into_keys().collect()
        };
        let of_arm = ["cycles.pause", "cycles.rmw_lock", "protocol.exclusive_loads"];
        let has = |names: &[&str], name| names.contains(&name);
        let (graviton, cascade_lake) = (names("graviton3-64c"), names("cascade-lake-2s24c2t"));
        for name in of_arm {
            assert!(has(&graviton, name) && !has(&cascade_lake, name), "{name}");
        }
        // Sapphire Rapids has two of them from measurements, and not the third.
        let sapphire_rapids = names("sapphire-rapids");
        assert!(!has(&sapphire_rapids, "protocol.early_stores"));
        assert!(has(&sapphire_rapids, "protocol.load_behind_lock"));
    }

    /// If a training host is fitted again, its values here have to follow.
    #[test]
    fn the_values_of_training_hosts_are_those_of_their_machines() {
        let hosts = [
            (X86_1, "zen1-8x4c2t"),
            (X86_2, "skylake-sp-1s24c2t"),
            (X86_3, "broadwell-ep-2s22c2t"),
        ];
        let mut compared = 0;
        for (host, name) in hosts {
            let machine = machine(name);
            let hand_over = known_figures::hand_over(&machine).expect("it has one");
            for varied in VARIED {
                let Some((_, asked, _)) = varied.asked.iter().find(|(of, ..)| *of == host) else {
                    continue;
                };
                let of_unit = match varied.unit {
                    Unit::HandOver => machine.cycles(hand_over) as f64,
                    Unit::Own | Unit::Nanoseconds => 1.0,
                };
                let own = number(&machine, varied.name) / of_unit;
                assert!((own - asked).abs() < 0.006, "{host}, {}: {own}, {asked}", varied.name);
                compared += 1;
            }
        }
        assert_eq!(compared, 24);
    }
}
