//! Random programs over every primitive, for as long as asked: on threads of the host, on simulated
//! machines, and in a model checker. A seed is a program, so a failure is found again from it.
//!
//! [`draw`] makes the program of a seed, [`Plan::run`] runs it, [`shrink`] makes a failing program
//! smaller. Each round also runs a [`control`]: a primitive with a fault, which must be found.

mod controls;
pub mod process;
mod random;
pub mod refusals;
mod subjects;
#[cfg(unix)]
pub mod torture;

pub use controls::{CONTROLS, Control, control};
pub use random::Random;
pub use subjects::{MOST_SIMULATED, Subject, subjects};

use crate::finding::Caught;
use lockyard_sim::Machine;
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Back-end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackEnd {
    /// Threads of this host.
    Native,
    /// A simulated machine.
    Simulated,
    /// The model checker.
    Model,
}

impl fmt::Display for BackEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackEnd::Native => "native",
            BackEnd::Simulated => "simulated",
            BackEnd::Model => "model",
        })
    }
}

/// Maximum number of threads of the host.
const MOST_NATIVE: usize = 8;
/// Maximum number of sections of a simulated program, all threads together.
const MOST_SECTIONS: usize = 1_500;

/// Machines of simulated programs: one and two sockets, small and large domains, up to 512 hardware
/// threads.
const MACHINES: [&str; 4] =
    ["cascade-lake-2s24c2t", "bergamo-9754-2s128c2t", "genoa-9654-2s96c2t", "broadwell-ex-8s10c2t"];

/// A program: a primitive, a back-end, and the operation of each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Index in [`subjects`].
    pub subject: usize,
    /// Its back-end.
    pub back_end: BackEnd,
    /// Operation of each thread, an index in the subject's operations.
    pub ops: Vec<usize>,
    /// Number of times that each thread performs its operation.
    pub rounds: u32,
    /// Seed of a simulated machine's order of service, and of the yields of native threads.
    pub seed: u64,
    /// Machine of a simulated program.
    pub machine: &'static str,
    /// Hardware thread of each simulated thread.
    pub places: Vec<usize>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = &subjects()[self.subject];
        write!(f, "{}, {}, ", subject.name, self.back_end)?;
        if self.back_end == BackEnd::Simulated {
            write!(f, "{}, ", self.machine)?;
        }
        let ops: Vec<&str> = self.ops.iter().map(|&op| subject.ops[op].as_str()).collect();
        write!(f, "{} threads x {} rounds: {}", ops.len(), self.rounds, ops.join(" "))
    }
}

/// Returns the program of a seed. `only` restricts it to the subjects whose names contain it.
///
/// # Panics
///
/// If no subject's name contains `only`.
pub fn draw(seed: u64, only: &str) -> Plan {
    let all = subjects();
    let chosen: Vec<usize> = (0..all.len()).filter(|&i| all[i].name.contains(only)).collect();
    assert!(!chosen.is_empty(), "no subject is called `{only}`");
    let mut random = Random::new(seed);
    let subject = chosen[random.below(chosen.len())];
    let kind = &all[subject];
    let back_end = match random.below(20) {
        0..8 => BackEnd::Native,
        _ if !kind.is_simulated => BackEnd::Native,
        8..17 => BackEnd::Simulated,
        _ if kind.model.is_some() => BackEnd::Model,
        _ => BackEnd::Simulated,
    };
    let threads = match back_end {
        BackEnd::Native => 2 + random.below(MOST_NATIVE.min(kind.most_threads) - 1),
        // Small numbers are as likely as large ones.
        BackEnd::Simulated if kind.most_threads > 4 => {
            let order = 1 + random.below(8);
            ((1 << order) + random.below(1 << order)).min(kind.most_threads)
        }
        BackEnd::Simulated => 2 + random.below(kind.most_threads - 1),
        BackEnd::Model => 2 + usize::from(random.below(4) == 0),
    };
    let ops = loop {
        let ops: Vec<usize> = (0..threads).map(|_| random.below(kind.ops.len())).collect();
        if (kind.allows)(&ops) {
            break ops;
        }
    };
    let most_rounds = match back_end {
        BackEnd::Native => 400,
        BackEnd::Simulated => (MOST_SECTIONS / threads).clamp(1, 60),
        BackEnd::Model => 1,
    };
    let rounds = if kind.one_round { 1 } else { 1 + random.below(most_rounds) as u32 };
    static SIZES: OnceLock<Vec<(&str, usize)>> = OnceLock::new();
    let sizes = SIZES.get_or_init(|| {
        MACHINES.iter().map(|name| (*name, machine(name).hardware_threads())).collect()
    });
    let fits: Vec<(&str, usize)> =
        sizes.iter().filter(|(_, places)| *places >= threads).copied().collect();
    let (machine, places) = fits[random.below(fits.len())];
    let places = random.some_of(places, threads);
    Plan { subject, back_end, ops, rounds, seed: random.next(), machine, places }
}

fn machine(name: &str) -> Machine {
    Machine::shipped(name).expect("the machine is shipped")
}

impl Plan {
    /// Runs the program; on native threads `attempts` times, each with other yields.
    pub fn run(&self, attempts: u64) -> Option<Caught> {
        let subject = &subjects()[self.subject];
        match self.back_end {
            BackEnd::Native => {
                (0..attempts).find_map(|n| (subject.native)(&self.ops, self.rounds, self.seed ^ n))
            }
            BackEnd::Simulated => (subject.simulated)(
                &machine(self.machine),
                &self.places,
                self.seed,
                &self.ops,
                self.rounds,
            ),
            BackEnd::Model => {
                let model = subject.model.as_ref().expect("drawn only if there is one");
                model(&self.ops).err().map(|failed| failed.caught)
            }
        }
    }

    /// Returns the program without thread `thread`.
    fn without(&self, thread: usize) -> Plan {
        let mut plan = self.clone();
        plan.ops.remove(thread);
        plan.places.remove(thread);
        plan
    }
}

/// Returns a smaller program that also `fails`: fewer threads, fewer rounds, the first operations
/// of the subject's list. Stops when nothing can be left out, or when `time` is over.
pub fn shrink(plan: &Plan, time: Duration, fails: impl Fn(&Plan) -> bool) -> Plan {
    let end = Instant::now() + time;
    let allows = subjects()[plan.subject].allows;
    let mut least = plan.clone();
    let smaller = |candidate: Plan, least: &mut Plan| {
        let is_smaller = allows(&candidate.ops)
            && !candidate.ops.is_empty()
            && Instant::now() < end
            && fails(&candidate);
        if is_smaller {
            *least = candidate;
        }
        is_smaller
    };
    loop {
        let before = least.clone();
        // First tries to remove half of the threads: with 256 threads, one at a time would take too
        // long.
        while least.ops.len() > 3 {
            let mut half = least.clone();
            half.ops.truncate(least.ops.len() / 2);
            half.places.truncate(least.ops.len() / 2);
            if !smaller(half, &mut least) {
                break;
            }
        }
        for thread in (0..least.ops.len()).rev() {
            smaller(least.without(thread), &mut least);
        }
        while least.rounds > 1 {
            let half = Plan { rounds: least.rounds / 2, ..least.clone() };
            let one_less = Plan { rounds: least.rounds - 1, ..least.clone() };
            if !smaller(half, &mut least) && !smaller(one_less, &mut least) {
                break;
            }
        }
        for thread in 0..least.ops.len() {
            for op in 0..least.ops[thread] {
                let mut simpler = least.clone();
                simpler.ops[thread] = op;
                if smaller(simpler, &mut least) {
                    break;
                }
            }
        }
        if least == before || Instant::now() >= end {
            return least;
        }
    }
}
