//! A scenario script, checked: objects, steps, variants, placement, calibration.

use crate::figures::RunOf;
use crate::file::{self, ScriptError};
use crate::foreign::ForeignLock;
use crate::kinds::LockKind;
use crate::metric::Metric;
use crate::pages::PageKind;
use crate::pairs::Pair;
use crate::profile::Profile;
use crate::samples::{Disturbance, Samples};
use crate::starts::Starts;
use crate::tables::{Key, Operation, Table};
use lockyard::platform::{Activity, Region};
use std::path::Path;

/// The shipped scripts: name and file.
const SHIPPED: &[(&str, &str)] = &[
    ("open3", include_str!("../../../scenarios/open3.toml")),
    ("fstat2", include_str!("../../../scenarios/fstat2.toml")),
    ("access2", include_str!("../../../scenarios/access2.toml")),
    (
        "spin-loop/same-node/standalone",
        include_str!("../../../scenarios/spin-loop-same-node-standalone.toml"),
    ),
    (
        "spin-loop/same-node/embedded",
        include_str!("../../../scenarios/spin-loop-same-node-embedded.toml"),
    ),
    (
        "spin-loop/different-nodes/standalone",
        include_str!("../../../scenarios/spin-loop-different-nodes-standalone.toml"),
    ),
    (
        "spin-loop/different-nodes/embedded",
        include_str!("../../../scenarios/spin-loop-different-nodes-embedded.toml"),
    ),
    ("page-ref", include_str!("../../../scenarios/page-ref.toml")),
    ("aim7-disk/xfs", include_str!("../../../scenarios/aim7-disk-xfs.toml")),
    ("aim7-disk/ext4", include_str!("../../../scenarios/aim7-disk-ext4.toml")),
    ("ebizzy-m", include_str!("../../../scenarios/ebizzy-m.toml")),
    ("stat-degradation", include_str!("../../../scenarios/stat-degradation.toml")),
    ("timer-gettime", include_str!("../../../scenarios/timer-gettime.toml")),
    ("connection-table/120kpps", include_str!("../../../scenarios/connection-table-120kpps.toml")),
    ("openvswitch/flow-setup", include_str!("../../../scenarios/openvswitch-flow-setup.toml")),
    (
        "openvswitch/packet-update",
        include_str!("../../../scenarios/openvswitch-packet-update.toml"),
    ),
    (
        "buffer-cache/16-way-create",
        include_str!("../../../scenarios/buffer-cache-16-way-create.toml"),
    ),
    (
        "buffer-cache/8-way-unlink",
        include_str!("../../../scenarios/buffer-cache-8-way-unlink.toml"),
    ),
    ("controls", include_str!("../../../scenarios/controls.toml")),
    ("dbench/overcommit-1x", include_str!("../../../scenarios/dbench-overcommit-1x.toml")),
    ("dbench/overcommit-2x", include_str!("../../../scenarios/dbench-overcommit-2x.toml")),
    ("dbench/overcommit-3x", include_str!("../../../scenarios/dbench-overcommit-3x.toml")),
    ("dbench/overcommit-4x", include_str!("../../../scenarios/dbench-overcommit-4x.toml")),
    ("dbench/loaded-guest", include_str!("../../../scenarios/dbench-loaded-guest.toml")),
];

/// What a shared object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A lock in its own word.
    Lock {
        /// Which.
        lock: LockKind,
    },
    /// A lock that is not the library's: no script names one, [`Variant::with_foreign_lock`] puts it in.
    Foreign {
        /// Which.
        lock: ForeignLock,
    },
    /// A lock and a reference count.
    LockRef {
        /// The lock in it.
        lock: LockKind,
        /// A pause after each failed compare-exchange.
        pause: bool,
        /// Wait once for the lock to be released before taking it.
        trywait: bool,
        /// References at the beginning.
        count: u32,
    },
    /// A page reference count.
    Page {
        /// How references are taken.
        page: PageKind,
        /// References at the beginning.
        count: u32,
    },
    /// A 64-bit atomic word.
    Word,
    /// A 64-bit word that is not atomic: it is written under a lock, or never.
    Data,
    /// A table with its entries.
    Table {
        /// Which, and what it holds.
        table: Table,
    },
}

/// A shared object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ObjectKind,
    /// Its line: objects with the same index lie one after another.
    pub line: usize,
}

/// How a reference is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetOperation {
    /// `LockRef::get`
    Get,
    /// `LockRef::get_not_zero`
    GetNotZero,
    /// `LockRef::get_not_dead`
    GetNotDead,
}

/// How a reference is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOperation {
    /// `LockRef::put_return`, and under the lock if that refuses.
    PutReturn,
    /// `LockRef::put_not_zero`, and under the lock if that refuses.
    PutNotZero,
    /// `LockRef::put_or_lock`, and the last reference under the lock that it returns.
    PutOrLock,
}

/// A step of an operation. Objects are indices into the variant's objects.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Local work of so many nanoseconds.
    Work {
        /// How long.
        nanoseconds: f64,
        /// What it is.
        activity: Activity,
    },
    /// A share of the calibrated local work.
    CalibratedWork {
        /// The share, 0 to 1; the shares of an operation add up to 1.
        share: f64,
        /// What it is.
        activity: Activity,
    },
    /// One pause.
    Pause,
    /// Interrupts all other tasks of the same guest, and waits until each has answered.
    WaitForOthers {
        /// In one of so many operations, at random.
        one_in: u32,
    },
    /// Takes a lock, performs steps, and releases it.
    Locked {
        /// The lock, or the lockref.
        object: usize,
        /// What waiting for it is: [`Region::LockWait`], or a part of that.
        wait: Activity,
        /// What is done under it.
        steps: Vec<Step>,
    },
    /// Takes a reference.
    Get {
        /// The lockref, or the page.
        object: usize,
        /// How; a page's variant says it instead.
        operation: GetOperation,
    },
    /// Drops a reference.
    Put {
        /// The lockref, or the page.
        object: usize,
        /// How; a page has one way.
        operation: PutOperation,
    },
    /// Reads a word or data.
    Read {
        /// Which.
        object: usize,
    },
    /// Changes a word (a store) or data (a store under a lock).
    Write {
        /// Which.
        object: usize,
    },
    /// An atomic addition to a word.
    Add {
        /// Which.
        object: usize,
        /// How much.
        value: i32,
    },
    /// Uses a table.
    Table {
        /// Which.
        object: usize,
        /// How.
        operation: Operation,
        /// Which of its entries, unless it is one that is inserted or removed.
        key: Key,
    },
}

/// A part of a region, by the name that steps give it: a function, say, as a profiler's listing has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name.
    pub name: String,
    /// The region.
    pub region: Region,
}

/// A variant: the objects and steps that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name, as in the published table.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// Its objects.
    pub objects: Vec<Object>,
    /// The steps of one operation.
    pub steps: Vec<Step>,
    /// The parts of regions that its steps name: part 1 is the first.
    pub parts: Vec<Part>,
    /// What other tasks do in the course of a run with samples.
    pub disturbances: Vec<Disturbance>,
    /// How many guests share the CPUs, each with objects and all tasks of its own; `None`: tasks do not share CPUs.
    pub guests: Option<usize>,
    /// Whether operations differ in their local work: all work steps of an operation are multiplied by a number of its own,
    /// exponentially distributed with mean 1.
    pub work_varies: bool,
    /// When its tasks begin in a simulated run.
    pub starts: Starts,
}

impl Variant {
    /// Whether a step waits for the answers of other processors.
    pub fn waits_for_others(&self) -> bool {
        fn waits(steps: &[Step]) -> bool {
            steps.iter().any(|step| match step {
                Step::WaitForOthers { .. } => true,
                Step::Locked { steps, .. } => waits(steps),
                _ => false,
            })
        }
        waits(&self.steps)
    }

    /// The name of what a thread is doing: that of the part, or of the region.
    pub fn name_of(&self, activity: Activity) -> &str {
        Part::of(&self.parts, activity).map_or(activity.region.name(), |part| &part.name)
    }

    /// Its tables.
    pub fn tables(&self) -> impl Iterator<Item = Table> {
        self.objects.iter().filter_map(|object| match object.kind {
            ObjectKind::Table { table } => Some(table),
            _ => None,
        })
    }

    /// How many tasks there are in all, with so many in each guest.
    pub fn tasks(&self, threads: usize) -> usize {
        threads * self.guests.unwrap_or(1)
    }

    /// This variant, called `name`, with `lock` in place of each of its locks. A lockref keeps its own: there the lock
    /// is a part of a word. `None` if the variant has no lock in a word of its own.
    pub fn with_foreign_lock(&self, name: &str, title: &str, lock: ForeignLock) -> Option<Variant> {
        let mut variant = self.clone();
        variant.name = name.to_owned();
        variant.title = title.to_owned();
        let mut found = false;
        for object in &mut variant.objects {
            if let ObjectKind::Lock { .. } = object.kind {
                object.kind = ObjectKind::Foreign { lock };
                found = true;
            }
        }
        found.then_some(variant)
    }

    /// Whether all its locks serve in the order of arrival; what a foreign lock does is not known here.
    pub fn is_fifo(&self) -> bool {
        self.objects.iter().all(|object| match object.kind {
            ObjectKind::Lock { lock } | ObjectKind::LockRef { lock, .. } => lock.is_fifo(),
            ObjectKind::Foreign { .. } => false,
            ObjectKind::Page { .. }
            | ObjectKind::Word
            | ObjectKind::Data
            | ObjectKind::Table { .. } => true,
        })
    }

    /// The names of its foreign locks.
    pub fn foreign_locks(&self) -> impl Iterator<Item = &'static str> {
        self.objects.iter().filter_map(|object| match object.kind {
            ObjectKind::Foreign { lock } => Some(lock.name()),
            _ => None,
        })
    }
}

/// The order in which tasks are placed on hardware threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Core by core, all threads of a core before the next one.
    Fill,
    /// Whole cores, socket by socket, then their siblings in the same order.
    SiblingsLast,
    /// The sockets in turn, whole cores first: the first task on each, then the second.
    Spread,
    /// Not pinned: on the host where the operating system puts them, on a simulated machine on random cores, siblings only
    /// when every core has a task, anew for each run.
    Unpinned,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 4] = [Order::Fill, Order::SiblingsLast, Order::Spread, Order::Unpinned];

    /// The name that scripts and arguments use.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Fill => "fill",
            Order::SiblingsLast => "siblings-last",
            Order::Spread => "spread",
            Order::Unpinned => "unpinned",
        }
    }
}

/// What the calibration cell gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// The local work of an operation.
    LocalWork,
    /// The machine's latencies; they are in its file.
    Latencies,
    /// Numbers of the script, which stand there.
    Numbers,
    /// How much of the metric's unit one operation is: then only the ratios of figures count.
    Unit,
    /// Both: the local work from a second cell of the same run, CPU time in a region, the unit from the script's metric.
    WorkAndUnit {
        /// The region whose CPU time the second cell is.
        region: Region,
    },
}

/// The published cell that gives the local work, or the machine's latencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// What it gives.
    pub gives: Gives,
    /// The machines that have such a cell. Others take over what the first one gives.
    pub machines: Vec<String>,
    /// The experiment of the cell; the script's own where none is named.
    pub experiment: Option<String>,
    /// Its number of threads, if the table says one.
    pub threads: Option<usize>,
    /// Its variant; where none is named, each variant has its own cell.
    pub variant: Option<String>,
    /// Its metric; the script's own where none is named. Another one is in operations a second.
    pub metric: Option<String>,
    /// Other metrics of the same run that the script's numbers were taken from, and that are no predictions.
    pub also: Vec<String>,
}

impl Calibration {
    /// Whether it gives how much of the metric's unit one operation is.
    pub fn gives_unit(&self) -> bool {
        matches!(self.gives, Gives::Unit | Gives::WorkAndUnit { .. })
    }

    /// Whether the cell gives the local work of an operation.
    pub fn gives_local_work(&self) -> bool {
        matches!(self.gives, Gives::LocalWork | Gives::WorkAndUnit { .. })
    }
}

/// A metric that the published table has too, and that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The metric.
    pub metric: String,
    /// Why.
    pub reason: String,
    /// Whether that is because it is an input, and no result.
    pub input: bool,
}

/// Published cells that are reported apart, because something is known to be wrong with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubtful {
    /// The machine.
    pub machine: String,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Why.
    pub reason: String,
}

/// A scenario script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Its name: the experiment, in published tables.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// What one operation is, for people.
    pub operation: String,
    /// What is measured, as in published tables.
    pub metric: Metric,
    /// What the table does not say of its runs.
    pub run: RunOf,
    /// The samples of a run, if it has any.
    pub samples: Option<Samples>,
    /// Other metrics of the published table.
    pub left_out: Vec<LeftOut>,
    /// The published profile, and what its symbols are here.
    pub profile: Profile,
    /// Published cells that are reported apart.
    pub doubtful: Vec<Doubtful>,
    /// Variants whose change from one to the other is compared with the published one.
    pub pairs: Vec<Pair>,
    /// Its variants, at least one.
    pub variants: Vec<Variant>,
    /// How tasks are placed; those of each guest alike.
    pub order: Order,
    /// The socket whose memory the objects are in; the last one of a machine that has fewer.
    pub home: usize,
    /// The cell that calibrates, if there is one.
    pub calibration: Option<Calibration>,
}

impl Script {
    /// Reads the text of a script. `origin` is what errors call the file.
    ///
    /// # Errors
    ///
    /// One line that says where, what, and what is allowed.
    pub fn parse(origin: &str, text: &str) -> Result<Script, ScriptError> {
        file::parse(origin, text)
    }

    /// Reads a script file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is larger than [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES), is not
    /// UTF-8, or is not a script.
    pub fn load(path: &Path) -> Result<Script, ScriptError> {
        file::load(path)
    }

    /// The names of the shipped scripts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// A shipped script.
    ///
    /// # Panics
    ///
    /// If the shipped file is broken; a test reads them all.
    pub fn shipped(name: &str) -> Option<Script> {
        let (name, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
        Some(Script::parse(&format!("{name}.toml"), text).expect("a shipped script is valid"))
    }

    /// Why the published cells of `machine` at `threads` threads are reported apart, if they are.
    pub fn doubt(&self, machine: &str, threads: usize) -> Option<&str> {
        let found =
            self.doubtful.iter().find(|d| d.machine == machine && d.threads.contains(&threads));
        found.map(|doubtful| doubtful.reason.as_str())
    }

    /// How many tasks run for published cells of so many threads; `None` if neither the cell nor the script says.
    pub fn tasks(&self, threads: Option<usize>) -> Option<usize> {
        self.run.tasks.or(threads).or(self.run.tasks_unsaid)
    }

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|v| v.name == name)
    }
}
