//! Conditions of a host that spoil a measurement, each with a remedy. Unknown values cause no
//! warning, with one exception: without a known clock, nothing can be expressed in cycles.

use super::clock::Clock;
use super::description::Description;
use super::limits::Quota;
use serde::Serialize;

/// A condition that spoils a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Stable name of the warning.
    pub name: &'static str,
    /// Sentence: the condition, and its effect on figures.
    pub what: String,
    /// Sentence: the remedy.
    pub to_do: String,
}

impl Warning {
    /// Returns only the condition, without its effect, for a short line.
    pub fn brief(&self) -> &str {
        self.what.split_once(": ").map_or(self.what.trim_end_matches('.'), |(what, _)| what)
    }
}

/// Minimum number of CPUs to see how a program scales.
const FEW_CPUS: usize = 4;

/// Number of busy CPUs above which the warning about other processes appears. On large hosts the
/// limit is a hundredth of all CPUs.
const BUSY_CPUS: f64 = 0.2;

/// Minimum share of stolen time for a warning.
const STEAL: f64 = 0.01;

/// Clock sources that are read with an instruction, without a system call.
const FAST_CLOCKS: [&str; 7] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "riscv_clocksource",
    "timebase",
    "tod",
];

type Found = Option<(String, String)>;

/// Returns the conditions that spoil a measurement on this host, most harmful first.
pub fn warnings(host: &Description) -> Vec<Warning> {
    let checks: [(&'static str, Found); 15] = [
        ("few-cpus", few_cpus(host)),
        ("quota", quota(host)),
        ("load", load(host)),
        ("steal", steal(host)),
        ("virtual-machine", virtual_machine(host)),
        ("governor", governor(&host.clock)),
        ("turbo", turbo(&host.clock)),
        ("battery", battery(host)),
        ("smt", smt(host)),
        ("unequal-cpus", unequal(host)),
        ("affinity", affinity(host)),
        ("tsc", tsc(&host.clock)),
        ("clock-source", clock_source(&host.clock)),
        ("numa-balancing", numa_balancing(host)),
        ("clock", clock(&host.clock)),
    ];
    let found = checks.into_iter().filter_map(|(name, found)| Some((name, found?)));
    found.map(|(name, (what, to_do))| Warning { name, what, to_do }).collect()
}

fn few_cpus(host: &Description) -> Found {
    let what = match host.topology.allowed.len() {
        1 => "The process may use one CPU only: threads never run at the same time, \
              and a measurement with several threads measures the scheduler."
            .to_owned(),
        cpus @ 2..FEW_CPUS => {
            format!("The process may use {cpus} CPUs only: scaling cannot be seen.")
        }
        _ => return None,
    };
    let to_do = "Measure on a larger host; `lockyard predict` shows what a simulated one does.";
    Some((what, to_do.to_owned()))
}

fn quota(host: &Description) -> Found {
    let Some(Quota::Cpus(quota)) = host.limits.quota else { return None };
    let cpus = host.topology.allowed.len();
    if quota >= cpus as f64 {
        return None;
    }
    let period = host.limits.period_ms.map_or("each".to_owned(), |ms| format!("each {ms:.0} ms"));
    let group = host.limits.group.as_deref().unwrap_or("the control group");
    let file = if host.limits.version == Some(1) { "cpu.cfs_quota_us" } else { "cpu.max" };
    Some((
        format!(
            "The control group may use the time of {quota:.1} CPUs, on {cpus}: \
             with more running threads, all of them are stopped for part of {period} period."
        ),
        format!(
            "Lift the limit ({file} of {group} or of a group above it; \
             `docker run --cpus`, `resources.limits.cpu`, `CPUQuota=`), or measure with {}.",
            match quota as usize {
                0 | 1 => "one thread".to_owned(),
                threads => format!("at most {threads} threads"),
            }
        ),
    ))
}

fn load(host: &Description) -> Found {
    let to_do = "End them or wait (`top` shows them), \
                 or place the threads on CPUs that are idle (`--placement`).";
    let cpus = host.topology.allowed.len() as f64;
    if let Some(busy) = host.load.busy_cpus {
        let what = format!(
            "Other processes keep {busy:.1} of {cpus:.0} CPUs busy: \
             threads share CPUs with them, and wait for locks whose holders do not run."
        );
        return (busy > BUSY_CPUS.max(cpus / 100.0)).then_some((what, to_do.to_owned()));
    }
    // For a recorded host, or without per-CPU counters, only the load averages are known.
    let [last_minute, ..] = host.load.averages?;
    let what = format!(
        "Over the last minute {last_minute:.1} tasks wanted to run, on average, \
         and the process may use {cpus:.0} CPUs: threads share CPUs with them."
    );
    (last_minute > (2.0 * BUSY_CPUS).max(cpus / 20.0)).then_some((what, to_do.to_owned()))
}

fn steal(host: &Description) -> Found {
    let now = host.load.steal_now;
    let since_boot = host.load.steal_since_boot;
    let share = now.into_iter().chain(since_boot).fold(0.0, f64::max);
    let percent = |share: Option<f64>, when| {
        share.map(|part| format!("{} {when}", lockyard_support::share(part)))
    };
    let said: Vec<String> = [percent(now, "just now"), percent(since_boot, "since it was started")]
        .into_iter()
        .flatten()
        .collect();
    let what = format!(
        "The hypervisor gave the time of the CPUs to others: {}. \
         A thread that is stopped while it holds a lock makes all others wait.",
        said.join(", ")
    );
    let to_do = "Use CPUs that are not shared (dedicated or pinned ones, or bare metal), \
                 or measure at a quieter time and \
                 with more rounds (`--repeats`).";
    (share >= STEAL).then(|| (what, to_do.to_owned()))
}

fn virtual_machine(host: &Description) -> Found {
    if host.virtualisation.virtual_machine != Some(true) {
        return None;
    }
    let name = host.virtualisation.hypervisor.as_ref().map(|n| format!(" ({n})"));
    Some((
        format!(
            "This is a virtual machine{}: cores, caches and nodes are what the hypervisor shows, \
             and it may move or stop a CPU at any time.",
            name.unwrap_or_default()
        ),
        "Measure on the hardware itself for figures of the hardware. \
         Here, trust ratios within one run more than figures, and repeat at another time."
            .to_owned(),
    ))
}

fn governor(clock: &Clock) -> Found {
    let slow: Vec<&str> =
        clock.governors.iter().map(|(g, _)| g.as_str()).filter(|g| *g != "performance").collect();
    let what = format!(
        "The frequency governor is {}: the clock follows the load, \
         so figures depend on what ran before.",
        clock.governor()?
    );
    let to_do = "As root: `cpupower frequency-set -g performance`, or write `performance` to \
                 /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; undo it afterwards.";
    (!slow.is_empty()).then(|| (what, to_do.to_owned()))
}

fn turbo(clock: &Clock) -> Found {
    let turbo = clock.turbo.as_ref().filter(|turbo| turbo.on)?;
    Some((
        "Turbo is on: the fewer cores are busy, and the cooler they are, the faster they run. \
         Figures with few threads are too good compared with those with many."
            .to_owned(),
        format!("As root: `echo {} > {}`; undo it afterwards.", turbo.off, turbo.file),
    ))
}

fn battery(host: &Description) -> Found {
    (host.kernel.on_battery == Some(true)).then(|| {
        (
            "The host runs on battery: most hosts then lower the clock.".to_owned(),
            "Connect it to the mains.".to_owned(),
        )
    })
}

fn smt(host: &Description) -> Found {
    let threads = host.topology.threads_per_core().filter(|&threads| threads > 1)?;
    let cores = {
        let mine = host.topology.cpus.iter().filter(|cpu| cpu.allowed);
        mine.map(super::Cpu::core).collect::<std::collections::BTreeSet<_>>().len()
    };
    let control = match host.virtualisation.virtual_machine {
        Some(true) => "",
        _ => ", or switch it off, as root: `echo off > /sys/devices/system/cpu/smt/control`",
    };
    Some((
        format!(
            "SMT is on: {threads} of the process's CPUs share a core and slow each other, \
             and between them a cache line costs nothing to move."
        ),
        format!("Measure with at most {cores} threads and `--placement siblings-last`{control}."),
    ))
}

fn unequal(host: &Description) -> Found {
    let capacities = host.topology.capacities();
    let (least, most) = (capacities.first()?, capacities.last()?);
    // Cores of the same kind may differ slightly in their maximum frequency.
    if *least * 10 >= *most * 9 {
        return None;
    }
    let fast: Vec<usize> = {
        let mine = host.topology.cpus.iter().filter(|cpu| cpu.allowed);
        mine.filter(|c| c.capacity.is_some_and(|c| c * 10 >= most * 9)).map(|c| c.number).collect()
    };
    Some((
        format!(
            "The CPUs are not alike: the slowest has {least}/{most} of the capacity of the fastest."
        ),
        format!("Measure on those that are alike: `taskset -c {}`.", super::CpuList::new(fast)),
    ))
}

fn affinity(host: &Description) -> Found {
    let online = host.topology.online.as_ref()?;
    let left_out = online.without(&host.topology.allowed);
    (!left_out.is_empty()).then(|| {
        (
            format!(
                "The process may use {} of {} CPUs that are online ({}): \
                 other processes share caches and memory with them.",
                host.topology.allowed.len(),
                online.len(),
                host.topology.allowed.brief()
            ),
            format!(
                "If that is not intended, give it CPUs {} too (`taskset`, \
                 `docker run --cpuset-cpus`, `AllowedCPUs=`); if it is, keep them idle.",
                left_out.brief()
            ),
        )
    })
}

fn tsc(clock: &Clock) -> Found {
    (clock.tsc_constant == Some(false)).then(|| {
        (
            "The time-stamp counter is not constant: it may change its rate, or stop, \
             when the CPU does."
                .to_owned(),
            "Do not compare times in cycles, and set a fixed frequency (governor `performance`, \
             turbo off)."
                .to_owned(),
        )
    })
}

fn clock_source(clock: &Clock) -> Found {
    let source = clock.source.as_deref().filter(|source| !FAST_CLOCKS.contains(source))?;
    Some((
        format!(
            "The kernel takes the time from `{source}`: \
             reading it may be a system call, and waits are timed with it."
        ),
        "Check `clock_ns` in the results before you trust waits; \
         a faster source is in \
         /sys/devices/system/clocksource/clocksource0/available_clocksource, if there is one."
            .to_owned(),
    ))
}

fn numa_balancing(host: &Description) -> Found {
    let several = host.topology.nodes.len() > 1;
    (several && host.kernel.moves_memory == Some(true)).then(|| {
        (
            "The kernel moves memory between NUMA nodes while programs run, \
             and takes pages away to see which threads use them."
                .to_owned(),
            "As root: `echo 0 > /proc/sys/kernel/numa_balancing`; undo it afterwards.".to_owned(),
        )
    })
}

fn clock(clock: &Clock) -> Found {
    (clock.nominal.is_none() && clock.maximum.is_none()).then(|| {
        (
            "The clock's frequency is not available here: \
             figures cannot be given in cycles, and a change of the clock is not seen."
                .to_owned(),
            "Keep to nanoseconds, and to ratios within one run; \
             compare with another host's only if its data sheet is known."
                .to_owned(),
        )
    })
}
