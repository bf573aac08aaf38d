//! The table of all numbers of a machine: position in the file, meaning, and allowed values. It
//! drives the parser, the errors and `machines show`. So a new number is one field and one line
//! here.

/// The numbers of a machine. Times are in cycles; the scheduler's numbers of type `f64` are in
/// microseconds, and the numbers of `kernel` in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub sockets: u64,
    pub complexes: u64,
    pub cores: u64,
    pub threads: u64,
    pub line_bytes: u64,
    pub ghz: f64,
    pub load: u64,
    pub rmw_before_lock: u64,
    pub rmw_lock: u64,
    pub sibling_turn: u64,
    pub pause: u64,
    pub poll: u64,
    pub miss: u64,
    pub leg: u64,
    pub owner_snoop: u64,
    pub transfer: u64,
    pub dispatch: u64,
    pub hold_exclusive: u64,
    pub hold_shared: u64,
    pub shared_read: u64,
    pub last_level: u64,
    pub invalidate: u64,
    pub jitter: u64,
    pub socket_leg: u64,
    pub complex_leg: u64,
    pub directory: u64,
    pub idle_answer: u64,
    pub memory: u64,
    pub granted_legs: f64,
    pub granted_spread: f64,
    pub snoop_weight: f64,
    pub redirect: u64,
    pub store_buffer: u64,
    pub smt_slowdown: f64,
    pub run_ahead: u64,
    pub exclusive_loads: u64,
    pub load_behind_lock: u64,
    pub early_stores: u64,
    pub period: f64,
    pub granularity: f64,
    pub lead: f64,
    pub switch: f64,
    pub pause_gap: u64,
    pub pause_window: u64,
    pub pause_exit: f64,
    pub directed_yield: u64,
    pub interrupt: f64,
    pub interrupt_work: f64,
    pub first_kib: f64,
    pub second_kib: f64,
    pub second_load: u64,
    pub shared_kib: f64,
    pub shared_inclusive: u64,
    pub dram: u64,
    pub kernel: KernelNumbers,
}

/// The costs of system calls that put threads to sleep and wake them, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct KernelNumbers {
    pub wait_changed: f64,
    pub wake_nobody: f64,
    pub wake: f64,
    pub wake_next: f64,
    pub wakeup: f64,
    pub deep_wakeup: f64,
    pub deep_after: f64,
    pub block: f64,
    pub bucket: f64,
    pub yields: f64,
}

/// The sections that a machine file may leave out. `scheduler` is used only when threads share
/// CPUs. Without `caches`, every cache holds everything. `kernel` comes from a shared file, see
/// `kernel.rs`.
pub(super) const OPTIONAL: &[&str] = &["caches", "scheduler"];

/// Name under which files before 2026-11-27 have `kernel.wakeup`, in cycles.
pub(super) const FORMER_WAKEUP: &str = "wakeup";

impl Numbers {
    /// Numbers of a file without `[caches]` and without `[scheduler]`. Cache sizes of 0 mean that
    /// the caches hold everything. All numbers of the scheduler are assumed. Time slices are the
    /// defaults of Linux 2.6.23 to 6.5 on 8 or more CPUs. The window and the gap are KVM's first
    /// values. The costs are of the order of one or two system calls.
    pub(super) fn before_the_file() -> Numbers {
        Numbers {
            period: 24_000.0,
            granularity: 3_000.0,
            lead: 4_000.0,
            switch: 2.0,
            pause_gap: 128,
            pause_window: 4096,
            pause_exit: 1.0,
            directed_yield: 1,
            interrupt: 2.0,
            interrupt_work: 1.0,
            ..Numbers::default()
        }
    }
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Word(String),
}

impl Value {
    /// The number; `None` for a word.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Whole(n) => Some(*n as f64),
            Value::Real(x) => Some(*x),
            Value::Word(_) => None,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Whole(n) => write!(f, "{n}"),
            Value::Real(x) => write!(f, "{x}"),
            Value::Word(w) => f.write_str(w),
        }
    }
}

/// One number of a machine file, with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name, as `section.name`.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Its unit; empty if it has none.
    pub unit: String,
    /// Source of the number.
    pub source: Option<String>,
    /// Reason for the assumption, if the number is not known for this machine.
    pub assumed: Option<String>,
    /// Its meaning.
    pub meaning: &'static str,
    /// `true` for a check figure from which a number of the file was set.
    pub is_input: bool,
    /// Value at scale 1, not rounded, for a latency of the machine's family.
    pub at_scale_1: Option<f64>,
}

/// The field of a number.
pub(super) enum Field {
    Whole { field: fn(&mut Numbers) -> &mut u64, min: u64, max: u64 },
    Real { field: fn(&mut Numbers) -> &mut f64, min: f64, max: f64 },
    Order,
}

/// One line of the table.
pub(super) struct Spec {
    pub section: &'static str,
    pub name: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
    pub field: Field,
}

macro_rules! whole {
    (
        $section:literal, $field:ident, $unit:literal, $min:literal ..= $max:literal,
        $meaning:literal
    ) => {
        Spec {
            section: $section,
            name: stringify!($field),
            unit: $unit,
            meaning: $meaning,
            field: Field::Whole { field: |n| &mut n.$field, min: $min, max: $max },
        }
    };
}

macro_rules! real {
    (
        $section:literal, $field:ident, $unit:literal, $min:literal ..= $max:literal,
        $meaning:literal
    ) => {
        Spec {
            section: $section,
            name: stringify!($field),
            unit: $unit,
            meaning: $meaning,
            field: Field::Real { field: |n| &mut n.$field, min: $min, max: $max },
        }
    };
}

/// A number of `[kernel]`, by its name in files and its field.
macro_rules! kernel {
    ($name:literal, $field:ident, $min:literal ..= $max:literal, $meaning:literal) => {
        Spec {
            section: "kernel",
            name: $name,
            unit: "ns",
            meaning: $meaning,
            field: Field::Real { field: |n| &mut n.kernel.$field, min: $min, max: $max },
        }
    };
}

/// Latencies of a family, to which a machine's `scale` applies.
pub(super) const SCALED: &[&str] = &[
    "cycles.miss",
    "cycles.leg",
    "cycles.owner_snoop",
    "cycles.transfer",
    "cycles.dispatch",
    "cycles.hold_exclusive",
    "cycles.hold_shared",
    "cycles.shared_read",
    "cycles.last_level",
    "cycles.invalidate",
    "cycles.memory",
];

/// Returns a latency of a family at another scale, in whole cycles. A latency of at least 1 stays
/// at least 1.
pub(super) fn scaled(latency: f64, scale: f64) -> f64 {
    (latency * scale).round().max(latency.min(1.0))
}

/// The sections, in their order in the format.
pub(super) const SECTIONS: &[&str] =
    &["topology", "clock", "cycles", "protocol", "caches", "scheduler", "kernel", "checks"];

/// The table. The section `checks` is not in it, because its names are free.
#[rustfmt::skip]
pub(super) const SPECS: &[Spec] = &[
    whole!("topology", sockets, "", 1..=8, "sockets, each a NUMA node"),
    whole!("topology", complexes, "", 1..=32,
        "core complexes a socket: first-level coherence domains"),
    whole!("topology", cores, "", 1..=128, "cores a complex"),
    whole!("topology", threads, "", 1..=8, "hardware threads a core"),
    whole!("topology", line_bytes, "bytes", 64..=128, "cache line"),
    real!("clock", ghz, "GHz", 0.1..=10.0, "clock whose cycles are counted"),
    whole!("cycles", load, "cycles", 1..=100, "load that hits"),
    whole!("cycles", rmw_before_lock, "cycles", 0..=100,
        "part of a locked operation before it locks the line"),
    whole!("cycles", rmw_lock, "cycles", 1..=200, "part of a locked operation that holds the line"),
    whole!("cycles", sibling_turn, "cycles", 0..=500,
        "gap between locked operations of two threads of a core on one line"),
    whole!("cycles", pause, "cycles", 1..=1000, "pause instruction"),
    whole!("cycles", poll, "cycles", 1..=100, "one round of a waiting loop without its pause"),
    whole!("cycles", miss, "cycles", 0..=1000, "core's path from a miss to its request"),
    whole!("cycles", leg, "cycles", 1..=1000, "core to home agent, one way"),
    whole!("cycles", owner_snoop, "cycles", 0..=1000, "owner's processing of a snoop"),
    whole!("cycles", transfer, "cycles", 1..=2000,
        "data from the owner until the requester's operation can start"),
    whole!("cycles", dispatch, "cycles", 0..=1000, "home agent, one request"),
    whole!("cycles", hold_exclusive, "cycles", 0..=2000,
        "home agent busy beyond the owner's answer, exclusive transfer"),
    whole!("cycles", hold_shared, "cycles", 0..=2000,
        "the same, after a read demotes a modified line"),
    whole!("cycles", shared_read, "cycles", 0..=5000,
        "home agent busy with one read of a shared line"),
    whole!("cycles", last_level, "cycles", 1..=2000, "data from the home agent's cache"),
    whole!("cycles", invalidate, "cycles", 0..=1000, "sharer's processing of an invalidation"),
    whole!("cycles", jitter, "cycles", 0..=1000,
        "longest extra time of a message, drawn uniformly"),
    whole!("cycles", socket_leg, "cycles", 0..=5000, "between sockets, one way"),
    whole!("cycles", complex_leg, "cycles", 0..=5000, "between complexes of one socket, one way"),
    whole!("cycles", directory, "cycles", 0..=5000,
        "look-up when the home's own socket asks for a line modified elsewhere"),
    whole!("cycles", idle_answer, "cycles", 0..=50000,
        "from the home agent's snoops until a socket without threads answers; 0: \
         no answer is needed"),
    whole!("cycles", memory, "cycles", 1..=5000,
        "home agent's look-up of a line that no domain has, in its own last-level cache"),
    Spec {
        section: "protocol",
        name: "order",
        unit: "",
        meaning: "order in which a home agent serves waiting requests",
        field: Field::Order,
    },
    real!("protocol", granted_legs, "legs", 0.0..=20.0,
        "mean time that an agent is busy after an exclusive grant, in legs of the line's path"),
    real!("protocol", granted_spread, "", 0.0..=1.0,
        "variation of that time from grant to grant: uniform, at most this share of it"),
    real!("protocol", snoop_weight, "requests", 0.01..=1000.0,
        "weight of another domain's request in the draw; a domain's own weighs 1"),
    whole!("protocol", redirect, "cycles", 0..=1000,
        "from a misprediction until the instructions of the right path arrive"),
    whole!("protocol", store_buffer, "entries", 1..=1024, "stores that can wait for their lines"),
    whole!("protocol", run_ahead, "cycles", 0..=10000,
        "work that a core does ahead of an incomplete operation: its reorder buffer"),
    whole!("protocol", exclusive_loads, "", 0..=1,
        "1: a load fetches its line exclusively if a locked operation or a store on the line \
         follows"),
    whole!("protocol", load_behind_lock, "cycles", 0..=1000,
        "a load of the line that a locked operation has just changed; \
         0: such loads execute before that operation is complete"),
    whole!("protocol", early_stores, "", 0..=1,
        "1: a store asks for its line when it can execute; \
         0: when all earlier stores are in cache"),
    real!("protocol", smt_slowdown, "", 1.0..=8.0,
        "factor on local work while another thread of the core is active"),
    real!("caches", first_kib, "KiB", 0.0..=65536.0,
        "first-level data cache of a core, which its threads share; 0: holds everything"),
    real!("caches", second_kib, "KiB", 0.0..=1048576.0,
        "second-level cache of a core, with all that is in the first; 0: holds everything"),
    whole!("caches", second_load, "cycles", 0..=1000, "load that hits there"),
    real!("caches", shared_kib, "KiB", 0.0..=16777216.0,
        "last-level cache of a complex; 0: holds everything"),
    whole!("caches", shared_inclusive, "", 0..=1,
        "1: it has every line of its cores' caches; 0: it takes the lines that they evict"),
    whole!("caches", dram, "cycles", 0..=10000,
        "cost of a line that is in memory only, beyond a look-up in the last-level cache"),
    real!("scheduler", period, "us", 1.0..=1e7,
        "time in which each thread that shares a CPU gets one turn"),
    real!("scheduler", granularity, "us", 1.0..=1e7, "shortest time slice"),
    real!("scheduler", lead, "us", 0.0..=1e7,
        "lead in run time up to which a thread is preferred after a yield and not preempted"),
    real!("scheduler", switch, "us", 0.0..=1e5,
        "from one thread leaving a CPU until the next runs"),
    whole!("scheduler", pause_gap, "cycles", 0..=1000000,
        "longest time between two pauses of one loop"),
    whole!("scheduler", pause_window, "cycles", 0..=1000000000,
        "time after which a loop of pauses is noticed; 0: never"),
    real!("scheduler", pause_exit, "us", 0.0..=1e5,
        "cost of noticing a loop of pauses if no other thread then runs"),
    whole!("scheduler", directed_yield, "", 0..=1,
        "1: a spinning thread yields to any other of its group; 0: to the next of its CPU"),
    real!("scheduler", interrupt, "us", 0.0..=1e5,
        "from interrupting a running thread until it has answered"),
    real!("scheduler", interrupt_work, "us", 0.0..=1e5,
        "time that an interrupt takes from the answering thread"),
    kernel!("wait_changed", wait_changed, 0.0..=1e6,
        "call that would sleep, but finds the word changed"),
    kernel!("wake_nobody", wake_nobody, 0.0..=1e6, "call that wakes, but finds no thread"),
    kernel!("wake", wake, 0.0..=1e7,
        "call that wakes one thread, until it returns in the caller"),
    kernel!("wake_next", wake_next, 0.0..=1e7,
        "time that the call takes for each further thread that it wakes"),
    kernel!("wakeup", wakeup, 0.0..=1e8,
        "from the call that wakes a thread until it runs; its CPU has been idle for a short time"),
    kernel!("deep_wakeup", deep_wakeup, 0.0..=1e8,
        "the same; its CPU has been idle for long"),
    kernel!("deep_after", deep_after, 0.0..=1e9, "idle time from which on it is long"),
    kernel!("block", block, 0.0..=1e6,
        "from the end of a call that sleeps until its CPU is idle; a thread that is woken before \
         goes on"),
    kernel!("bucket", bucket, 0.0..=1e6,
        "0: calls on one word share no bucket. Otherwise the time for which each of several calls \
         keeps the others out; it is for comparison, because the bucket's line decides"),
    kernel!("yield", yields, 0.0..=1e7, "yield of a CPU for which no other thread waits"),
];

/// Sets the number `name` (`section.name`). The value is rounded if the number is whole, and
/// limited to the allowed range. Returns the new value.
pub(super) fn set(numbers: &mut Numbers, name: &str, value: f64) -> Option<Value> {
    let (section, name) = name.split_once('.')?;
    let spec = SPECS.iter().find(|s| s.section == section && s.name == name)?;
    match spec.field {
        Field::Whole { field, min, max } => {
            let value = (value.round().max(0.0) as u64).clamp(min, max);
            *field(numbers) = value;
            Some(Value::Whole(value))
        }
        Field::Real { field, min, max } => {
            let value = value.clamp(min, max);
            *field(numbers) = value;
            Some(Value::Real(value))
        }
        Field::Order => None,
    }
}

/// Returns the parameter for a number that was set later, in a section that the file left out.
pub(super) fn not_in_the_file(name: &str, value: Value) -> Option<Parameter> {
    let (section, field) = name.split_once('.')?;
    let spec = SPECS.iter().find(|s| s.section == section && s.name == field)?;
    Some(Parameter {
        name: name.to_owned(),
        value,
        unit: spec.unit.to_owned(),
        source: None,
        assumed: Some("set for a question".to_owned()),
        meaning: spec.meaning,
        is_input: false,
        at_scale_1: None,
    })
}
