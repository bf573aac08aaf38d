//! Descriptions of recorded hosts: a server, a container, a laptop, one with several core
//! complexes, and one with broken files. Recorded facts are shown, missing facts are not guessed,
//! and no file content is fatal.

use crate::support::{recording, unpack, write};
use lockyard_measure::detect::{
    CpuList, Description, Environment, NOT_AVAILABLE, Quota, recorded, render, warnings,
};
use lockyard_results::render::{Format, Screen};
use std::path::Path;

const HOSTS: [&str; 5] =
    ["server-2s4c2t", "container-quota", "laptop-powersave", "amd-4-complexes", "broken"];

fn host(name: &str) -> Description {
    recorded(&unpack(name, &recording(name))).expect("it has sys and proc")
}

fn list(text: &str) -> CpuList {
    CpuList::parse(text).expect("it is a list")
}

fn names(host: &Description) -> Vec<&'static str> {
    warnings(host).iter().map(|warning| warning.name).collect()
}

/// Returns a warning and its remedy.
fn warning(host: &Description, name: &str) -> (String, String) {
    let found = warnings(host).into_iter().find(|warning| warning.name == name);
    let found = found.unwrap_or_else(|| panic!("no warning `{name}` in {:?}", names(host)));
    (found.what, found.to_do)
}

#[test]
fn a_server_is_described_with_all_that_it_says() {
    let host = host("server-2s4c2t");
    let topology = &host.topology;
    assert_eq!(topology.packages(), Some(vec![0, 1]));
    assert_eq!(topology.complexes(), Some(vec![list("0-3,8-11"), list("4-7,12-15")]));
    let cores = topology.cores().expect("they are recorded");
    assert_eq!((cores.len(), &cores[5]), (8, &list("5,13")));
    assert_eq!((host.smt, topology.threads_per_core()), (Some(true), Some(2)));
    assert_eq!(topology.cpus[13].node, Some(1));
    let node = &topology.nodes[1];
    assert_eq!((node.memory_mib, node.distances.as_deref()), (Some(128_000), Some(&[21, 10][..])));
    let third = host.caches.last().expect("there are caches");
    assert_eq!((third.level, third.size_kib, third.line_bytes), (3, Some(23_040), Some(64)));
    assert_eq!(third.shared_by, [list("0-3,8-11"), list("4-7,12-15")]);
    assert_eq!(host.caches.len(), 4, "data, instructions, L2, L3");
    let mhz = |f: &Option<lockyard_measure::detect::Frequency>| f.as_ref().map(|f| f.mhz);
    assert_eq!((mhz(&host.clock.nominal), mhz(&host.clock.maximum)), (Some(2600.0), Some(4100.0)));
    assert_eq!(mhz(&host.clock.tsc), None, "a recording cannot ask the processor");
    assert_eq!(host.clock.tsc_constant, Some(true));
    assert_eq!(host.clock.governor().as_deref(), Some("performance"));
    assert_eq!(host.virtualisation.virtual_machine, Some(false));
    assert_eq!(host.virtualisation.product.as_deref(), Some("Dell Inc. PowerEdge R660"));
    assert_eq!((host.limits.version, host.limits.quota), (Some(2), Some(Quota::Unlimited)));
    assert_eq!(host.load.averages, Some([0.0, 0.03, 0.05]));
    assert_eq!(host.load.busy_cpus, None, "nothing is known of just now");
    assert_eq!(host.kernel.flaws().as_deref(), Some("1 mitigated, 0 vulnerable, of 3"));
    assert_eq!(host.not_understood, Vec::<String>::new());
    assert_eq!(names(&host), ["turbo", "smt", "numa-balancing"]);
    let (_, to_do) = warning(&host, "turbo");
    assert!(to_do.contains("echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"), "{to_do}");
    let (_, to_do) = warning(&host, "smt");
    assert!(to_do.contains("at most 8 threads and `--placement siblings-last`"), "{to_do}");
}

#[test]
fn a_container_says_its_quota_and_what_it_is_not_shown() {
    let host = host("container-quota");
    assert_eq!(host.topology.allowed, list("2-5"));
    assert_eq!(host.limits.quota, Some(Quota::Cpus(2.5)));
    assert_eq!((host.limits.throttled, &host.limits.cpuset), (Some(4123), &Some(list("2-5"))));
    assert_eq!(host.topology.packages(), Some(vec![0]));
    assert_eq!((host.topology.cores(), host.topology.complexes()), (None, None));
    assert_eq!((host.topology.threads_per_core(), host.smt), (None, None));
    assert!(host.caches.is_empty() && host.topology.nodes.is_empty());
    assert_eq!(host.virtualisation.hypervisor.as_deref(), Some("KVM"), "by its clock");
    assert_eq!(host.virtualisation.container.as_deref(), Some("Docker"));
    assert_eq!(
        names(&host),
        ["quota", "load", "steal", "virtual-machine", "affinity", "clock"],
        "no warning of what is not known, but of the clock"
    );
    let (what, to_do) = warning(&host, "quota");
    assert!(what.contains("2.5 CPUs, on 4") && what.contains("each 100 ms period"), "{what}");
    assert!(to_do.contains("cpu.max of /sys/fs/cgroup "), "{to_do}");
    assert!(to_do.contains("at most 2 threads"), "{to_do}");
    let (what, _) = warning(&host, "steal");
    assert!(what.contains("3.2 % since it was started"), "{what}");
    let (what, to_do) = warning(&host, "affinity");
    assert!(what.contains("4 of 8 CPUs that are online (2-5)"), "{what}");
    assert!(to_do.contains("CPUs 0-1,6-7 too"), "{to_do}");
    let table = render(&host, Format::Table, &Screen::default());
    for absent in ["nominal", "cores", "governor", "turbo", "switched off"] {
        let line = table.lines().find(|line| line.contains(&format!("┆ {absent} ")));
        assert!(line.is_some_and(|line| line.contains(NOT_AVAILABLE)), "{absent}: {line:?}");
    }
}

#[test]
fn a_laptop_is_warned_of_its_governor_its_battery_and_its_slow_cores() {
    let host = host("laptop-powersave");
    assert_eq!(host.topology.offline, Some(list("7")));
    assert_eq!(host.topology.cores().map(|cores| cores.len()), Some(5));
    assert_eq!(host.limits.quota, Some(Quota::Unlimited), "version 2 without a file for a limit");
    assert_eq!(host.kernel.on_battery, Some(true));
    assert_eq!(
        names(&host),
        ["governor", "turbo", "battery", "smt", "unequal-cpus", "clock-source"]
    );
    let (what, to_do) = warning(&host, "governor");
    assert!(what.contains("is powersave:") && to_do.contains("-g performance"), "{what} {to_do}");
    let (what, to_do) = warning(&host, "unequal-cpus");
    assert!(what.contains("512/1024") && to_do.contains("taskset -c 0-3"), "{what} {to_do}");
    assert!(warning(&host, "clock-source").0.contains("from `hpet`"));
    let data: Vec<_> = host.caches.iter().filter(|cache| cache.level == 1).collect();
    assert_eq!(data.len(), 2, "the cores' caches differ");
    assert_eq!(data[0].shared_by, [list("4"), list("5"), list("6")]);
    let picture = render(&host, Format::Table, &Screen::default());
    assert!(picture.contains("5 cores x 1 or 2 threads; CPUs 0,2,4-6 and 1,3"), "{picture}");
    assert!(picture.contains("Switched off: 7."), "{picture}");
}

#[test]
fn several_complexes_and_a_quota_above_the_group_are_seen() {
    let host = host("amd-4-complexes");
    assert_eq!(host.topology.allowed, list("0-3,8"));
    let complexes = host.topology.complexes().expect("they are recorded");
    assert_eq!((complexes.len(), &complexes[3]), (4, &list("6-7,14-15")));
    assert_eq!((host.limits.version, host.limits.quota), (Some(1), Some(Quota::Cpus(3.0))));
    assert_eq!((host.limits.period_ms, host.limits.throttled), (Some(100.0), Some(3)));
    assert_eq!(host.clock.tsc_constant, Some(false), "it may stop");
    assert_eq!(
        host.clock.governor().as_deref(),
        Some("performance (CPUs 0-1,8), schedutil (CPUs 2-3)")
    );
    assert_eq!(names(&host), ["quota", "load", "governor", "turbo", "smt", "affinity", "tsc"]);
    assert!(warning(&host, "quota").1.contains("cpu.cfs_quota_us of "));
    assert!(warning(&host, "turbo").1.contains("echo 0 > /sys/devices/system/cpu/cpufreq/boost"));
    let (what, to_do) = warning(&host, "smt");
    assert!(what.contains("2 of the process's CPUs share a core"), "CPUs 0 and 8: {what}");
    assert!(to_do.contains("at most 4 threads"), "CPUs 0-3: {to_do}");
    let picture = render(&host, Format::Table, &Screen::default());
    assert!(
        picture.contains("complex 3: 2 cores x 2 threads; CPUs 6-7 and 14-15; L3 32 MiB"),
        "{picture}"
    );
}

#[test]
fn what_is_broken_is_not_believed_and_is_named() {
    let host = host("broken");
    assert_eq!(host.topology.allowed, list("0-1,5"), "as the process's status says");
    assert_eq!((&host.topology.online, host.smt), (&None, None));
    assert_eq!((host.topology.packages(), host.topology.cores()), (None, None));
    assert_eq!(host.topology.cpus[1].siblings, None, "it is not among its own siblings");
    assert_eq!(
        (&host.clock.turbo, &host.clock.nominal, &host.clock.maximum),
        (&None, &None, &None)
    );
    assert_eq!((host.load.averages, host.limits.quota), (None, None));
    assert!(host.topology.nodes.iter().all(|node| node.cpus.is_none()));
    let named = host.not_understood.join("\n");
    for file in ["cpu/online: `0-1,4294967295`", "smt/active: `maybe`", "index0/size: `12Q`"] {
        assert!(named.contains(file), "{file} in {named}");
    }
    for format in [Format::Table, Format::Csv, Format::Json, Format::Markdown] {
        let text = render(&host, format, &Screen::default());
        let harmless = |c: char| c == '\n' || !c.is_control();
        assert!(text.chars().all(harmless), "{format:?}: {text:?}");
    }
    let cells = render(&host, Format::Markdown, &Screen::default());
    assert!(cells.contains("red?[0m \\| processor"), "a `|` does not end a cell: {cells}");
}

#[test]
fn a_host_that_says_nothing_is_described_all_the_same() {
    for directory in ["sys", "proc"] {
        let root = unpack(&format!("nothing-but-{directory}"), &Default::default());
        std::fs::create_dir_all(root.join(directory)).expect("there is room");
        let host = recorded(&root).expect("one of the two is enough");
        assert!(host.topology.cpus.is_empty());
        let json: serde_json::Value =
            serde_json::from_str(&render(&host, Format::Json, &Screen::default()))
                .expect("it is JSON");
        assert!(json["sockets"].is_null() && json["host"]["smt"].is_null());
        assert_eq!(names(&host), ["clock"]);
        assert!(render(&host, Format::Table, &Screen::default()).contains(NOT_AVAILABLE));
        let environment = Environment::of(&host);
        assert_eq!(environment.get("governor"), Some(NOT_AVAILABLE));
        assert_eq!(environment.get("cgroup_cpu_quota"), Some(NOT_AVAILABLE));
    }
    let error = recorded(Path::new("no-such-directory")).expect_err("there is none");
    assert!(error.to_string().contains("no-such-directory: has no directory `sys` or `proc`"));
}

#[test]
fn results_say_of_their_host_what_makes_them_comparable() {
    let environment = Environment::of(&host("amd-4-complexes"));
    for (name, value) in [
        ("cpu", "AMD EPYC 72F3 8-Core Processor"),
        ("cpus", "5"),
        ("cpu_list", "0-3,8"),
        ("kernel", "5.4.0-150-generic"),
        ("governor", "performance (CPUs 0-1,8), schedutil (CPUs 2-3)"),
        ("turbo", "on"),
        ("virtualised", "no"),
        ("virtualisation", "none"),
        ("cgroup_cpu_quota", "3.00"),
        ("nominal_mhz", "3700"),
        ("load_at_start", "2.00"),
        ("busy_cpus_at_start", NOT_AVAILABLE),
        ("warnings", "quota,load,governor,turbo,smt,affinity,tsc"),
    ] {
        assert_eq!(environment.get(name), Some(value), "{name}");
    }
    let quiet = {
        let mut files = recording("server-2s4c2t");
        let mut put = |path: &str, text: &str| files.insert(path.to_owned(), text.into());
        put("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
        put("proc/sys/kernel/numa_balancing", "0\n");
        put("proc/self/status", "Cpus_allowed_list:\t0-7\n");
        put("sys/devices/system/cpu/online", "0-7\n");
        recorded(&unpack("quiet", &files)).expect("it has sys and proc")
    };
    assert_eq!(Environment::of(&quiet).get("warnings"), Some("none"));
    assert!(
        render(&quiet, Format::Table, &Screen::default())
            .contains("No condition is known that would spoil")
    );
}

/// Renders every format, and the texts for results and warnings.
fn exercise(host: &Description) {
    for format in [Format::Table, Format::Csv, Format::Json, Format::Markdown] {
        assert!(render(host, format, &Screen::default()).ends_with('\n'));
    }
    assert!(!Environment::of(host).pairs().is_empty());
    for warning in warnings(host) {
        assert!(warning.what.ends_with('.') && warning.to_do.ends_with('.'), "{warning:?}");
    }
}

#[test]
fn every_format_has_every_host() {
    for name in HOSTS {
        let host = host(name);
        exercise(&host);
        let boxes = render(&host, Format::Table, &Screen::default());
        let boxes: Vec<&str> = boxes.lines().filter(|l| l.starts_with(['+', '|'])).collect();
        let framed = boxes.iter().filter(|line| line.len() > 1 && !line.ends_with(' '));
        let widths: std::collections::BTreeSet<usize> =
            framed.map(|line| line.chars().count()).collect();
        assert!(widths.len() <= 1, "{name}: {boxes:?}");
        let csv = render(&host, Format::Csv, &Screen::default());
        assert!(csv.starts_with("part,what,value,unit\nprocessor,model,"), "{csv}");
        let json: serde_json::Value =
            serde_json::from_str(&render(&host, Format::Json, &Screen::default()))
                .expect("it is JSON");
        assert_eq!(json["schema"], "lockyard-host-1");
        assert_eq!(json["host"]["topology"]["allowed"], host.topology.allowed.to_string());
    }
}

#[test]
fn no_contents_of_any_file_are_fatal() {
    const HOSTILE: [&[u8]; 9] = [
        b"",
        b"\n\n\n",
        b"-1",
        b"18446744073709551615",
        b"99999999999999999999999999",
        b"0-1023",
        b"\xff\xfe\x00\x1b[31m|,:",
        b"NaN inf max 0 - / .. cgroup2 : 0::/../..",
        "\u{202e}\u{1f600}\u{301}".as_bytes(),
    ];
    for name in ["container-quota", "laptop-powersave"] {
        let files = recording(name);
        let root = unpack(&format!("{name}-hostile"), &files);
        for (path, content) in &files {
            std::fs::remove_file(root.join(path)).expect("it was written");
            exercise(&recorded(&root).expect("it has sys and proc"));
            for hostile in HOSTILE {
                write(&root, path, hostile);
                exercise(&recorded(&root).expect("it has sys and proc"));
            }
            // Put a directory in place of the file.
            std::fs::remove_file(root.join(path)).expect("it was written");
            std::fs::create_dir(root.join(path)).expect("there is room");
            exercise(&recorded(&root).expect("it has sys and proc"));
            std::fs::remove_dir(root.join(path)).expect("it was made");
            write(&root, path, content);
        }
    }
    let mut files = recording("amd-4-complexes");
    for path in
        ["online", "cpu0/topology/thread_siblings_list", "cpu3/cache/index3/shared_cpu_list"]
    {
        files.insert(format!("sys/devices/system/cpu/{path}"), b"0-65535".to_vec());
    }
    exercise(&recorded(&unpack("very-large", &files)).expect("it has sys and proc"));
    // Change all files at once; several get the same content.
    for seed in 0..HOSTILE.len() {
        let mut files = recording("amd-4-complexes");
        for (index, content) in files.values_mut().enumerate() {
            *content = HOSTILE[(index * (seed + 1) + seed) % HOSTILE.len()].to_vec();
        }
        exercise(&recorded(&unpack("all-hostile", &files)).expect("it has sys and proc"));
    }
}
