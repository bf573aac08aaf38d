//! Output of a host's description: picture, table and warnings for readers, JSON and CSV for
//! programs.

use super::description::Description;
use super::environment::NOT_AVAILABLE;
use super::limits::Quota;
use super::picture::picture;
use super::size::size;
use super::warnings::{Warning, warnings};
use comfy_table::Table;
use lockyard_results::render::{self, Format, Screen};
use serde_json::json;

/// Version of the JSON format. It changes when a field is removed or changes its meaning.
const SCHEMA: &str = "lockyard-host-1";

/// A line of the table.
struct Fact {
    part: &'static str,
    what: String,
    /// `None` means not available here.
    value: Option<String>,
    unit: &'static str,
}

/// Renders the host in a format. The text ends with a line feed. Tables for readers are laid out
/// for the screen.
pub fn render(host: &Description, format: Format, screen: &Screen) -> String {
    let warnings = warnings(host);
    match format {
        Format::Json => json(host, &warnings),
        Format::Csv => csv(host, &warnings),
        Format::Table | Format::Markdown => {
            screen.wrap_in(text(host, &warnings, format, screen), format)
        }
    }
}

fn json(host: &Description, warnings: &[Warning]) -> String {
    let object = json!({
        "schema": SCHEMA,
        "lockyard": env!("CARGO_PKG_VERSION"),
        "host": host,
        "sockets": host.topology.packages().map(|packages| packages.len()),
        "complexes": host.topology.complexes().map(|complexes| complexes.len()),
        "cores": host.topology.cores().map(|cores| cores.len()),
        "warnings": warnings,
    });
    render::pretty(&object)
}

/// Returns the facts, then the warnings with their remedies, in four columns. Unavailable values
/// are empty.
fn csv(host: &Description, warnings: &[Warning]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |part: &str, what: &str, value: &str, unit: &str| {
        // Writing to memory cannot fail, and all records have the same length.
        let _ = writer.write_record([part, what, value, unit]);
    };
    write("part", "what", "value", "unit");
    for fact in facts(host) {
        write(fact.part, &fact.what, fact.value.as_deref().unwrap_or_default(), fact.unit);
    }
    for warning in warnings {
        write("warning", warning.name, &warning.what, "");
        write("what to do", warning.name, &warning.to_do, "");
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn text(host: &Description, warnings: &[Warning], format: Format, screen: &Screen) -> String {
    let markdown = format == Format::Markdown;
    let mut table = Table::new();
    table.set_header(["part", "what", "value"]);
    let mut before = "";
    for fact in facts(host) {
        let value = match (fact.value, fact.unit) {
            (None, _) => NOT_AVAILABLE.to_owned(),
            (Some(value), "") => value,
            (Some(value), unit) => format!("{value} {unit}"),
        };
        // Print the name of each part only once.
        let part = if fact.part == before { "" } else { fact.part };
        before = fact.part;
        table.add_row([part.to_owned(), fact.what, value]);
    }
    let table = screen.words_in(&table, format);
    // In Markdown the picture is fenced, because spaces align it.
    let (heading, fence) = if markdown { ("### ", "```\n") } else { ("", "") };
    let model =
        host.processor.model.as_deref().unwrap_or("a processor whose model is not available");
    let mut text = format!(
        "{heading}This host: {model}\n\n{fence}{}{fence}\n{table}\n",
        picture(host, screen.width)
    );
    if warnings.is_empty() {
        text.push_str("\nNo condition is known that would spoil a measurement here.\n");
        return text;
    }
    text.push_str(&format!(
        "\n{heading}What spoils a measurement here, and what to do about it\n\n"
    ));
    for Warning { name, what, to_do } in warnings {
        if markdown {
            text.push_str(&format!("- **{name}**: {what}\n  *What to do:* {to_do}\n"));
        } else {
            text.push_str(&format!("  {name}: {what}\n      What to do: {to_do}\n"));
        }
    }
    text
}

/// Facts of a host, in the order of the report.
struct Facts<'h> {
    host: &'h Description,
    all: Vec<Fact>,
}

fn facts(host: &Description) -> Vec<Fact> {
    let mut facts = Facts { host, all: Vec::new() };
    facts.processor();
    facts.cpus();
    facts.caches();
    facts.nodes();
    facts.clock();
    facts.virtualisation();
    facts.limits();
    facts.load();
    facts.kernel();
    facts.all
}

fn list(list: &Option<super::CpuList>) -> Option<String> {
    let list = list.as_ref()?;
    Some(if list.is_empty() { "none".to_owned() } else { list.brief() })
}

fn yes_or_no(value: Option<bool>) -> Option<String> {
    value.map(|v| if v { "yes" } else { "no" }.to_owned())
}

fn on_or_off(value: Option<bool>) -> Option<String> {
    value.map(|v| if v { "on" } else { "off" }.to_owned())
}

impl Facts<'_> {
    fn add(&mut self, part: &'static str, what: &str, value: Option<String>, unit: &'static str) {
        self.all.push(Fact { part, what: what.to_owned(), value, unit });
    }

    /// Adds the processor.
    fn processor(&mut self) {
        let Description { processor, virtualisation, .. } = self.host;
        self.add("processor", "model", processor.model.clone(), "");
        self.add("processor", "architecture", processor.architecture.map(str::to_owned), "");
        self.add("processor", "microcode", processor.microcode.clone(), "");
        self.add("processor", "machine (from its firmware)", virtualisation.product.clone(), "");
    }

    /// Adds the CPUs and their cores.
    fn cpus(&mut self) {
        let host = self.host;
        let Description { topology, .. } = self.host;
        let count = |count: Option<usize>| count.map(|count| count.to_string());
        let allowed = Some(topology.allowed.clone()).filter(|list| !list.is_empty());
        self.add("CPUs", "that the process may use", list(&allowed), "");
        self.add("CPUs", "number of these", allowed.map(|list| list.len().to_string()), "");
        self.add("CPUs", "online", list(&topology.online), "");
        self.add("CPUs", "switched off", list(&topology.offline), "");
        self.add("CPUs", "isolated from the scheduler", list(&topology.isolated), "");
        self.add("CPUs", "sockets", count(topology.packages().map(|p| p.len())), "");
        self.add(
            "CPUs",
            "core complexes (L3 domains)",
            count(topology.complexes().map(|c| c.len())),
            "",
        );
        self.add("CPUs", "cores", count(topology.cores().map(|c| c.len())), "");
        self.add("CPUs", "SMT (from the kernel)", on_or_off(host.smt), "");
        let threads = topology.threads_per_core().filter(|&threads| threads > 0);
        self.add("CPUs", "threads of a core that the process may use", count(threads), "");
        let capacities: Vec<String> = topology.capacities().iter().map(u32::to_string).collect();
        let capacities = (!capacities.is_empty()).then(|| capacities.join(", "));
        self.add("CPUs", "capacities (1024: the fastest)", capacities, "");
    }

    /// Adds the caches.
    fn caches(&mut self) {
        let host = self.host;
        if host.caches.is_empty() {
            self.add("caches", "all", None, "");
        }
        for cache in &host.caches {
            let of =
                |text: Option<String>, what| text.map_or(format!("{what} {NOT_AVAILABLE}"), |t| t);
            let kind = cache.kind.as_deref().map(|kind| format!(" {}", kind.to_lowercase()));
            let value = format!(
                "{}, {}, {}; {}",
                of(cache.size_kib.map(size), "size"),
                of(cache.line_bytes.map(|bytes| format!("lines of {bytes} B")), "lines"),
                of(cache.ways.map(|ways| format!("{ways} ways")), "ways"),
                shared(cache)
            );
            self.add(
                "caches",
                &format!("L{}{}", cache.level, kind.unwrap_or_default()),
                Some(value),
                "",
            );
        }
    }

    /// Adds the NUMA nodes.
    fn nodes(&mut self) {
        let Description { topology, .. } = self.host;
        if topology.nodes.is_empty() {
            self.add("NUMA nodes", "all", None, "");
        }
        for node in &topology.nodes {
            let memory = node.memory_mib.map(|mib| format!("{mib} MiB"));
            let distances = node.distances.as_ref().map(|distances| {
                let each: Vec<String> = distances.iter().map(u32::to_string).collect();
                format!("distances {}", each.join(" "))
            });
            let value = format!(
                "CPUs {}; {}; {}",
                list(&node.cpus).unwrap_or(NOT_AVAILABLE.to_owned()),
                memory.unwrap_or(format!("memory {NOT_AVAILABLE}")),
                distances.unwrap_or(format!("distances {NOT_AVAILABLE}"))
            );
            self.add("NUMA nodes", &format!("node {}", node.number), Some(value), "");
        }
    }

    /// Adds clocks and frequencies.
    fn clock(&mut self) {
        let Description { clock, kernel, .. } = self.host;
        for (what, frequency) in [
            ("nominal", &clock.nominal),
            ("maximum", &clock.maximum),
            ("now, of the first CPU", &clock.current),
            ("time-stamp counter", &clock.tsc),
        ] {
            let name = match frequency {
                Some(frequency) => format!("{what} ({})", frequency.source),
                None => what.to_owned(),
            };
            self.add("clock", &name, frequency.as_ref().map(|f| format!("{:.0}", f.mhz)), "MHz");
        }
        self.add("clock", "time-stamp counter is constant", yes_or_no(clock.tsc_constant), "");
        self.add("clock", "the kernel's source of time", clock.source.clone(), "");
        self.add("clock", "governor", clock.governor(), "");
        self.add("clock", "driver", clock.driver.clone(), "");
        self.add("clock", "preference", clock.preference.clone(), "");
        self.add("clock", "turbo", on_or_off(clock.turbo.as_ref().map(|turbo| turbo.on)), "");
        self.add("clock", "on battery", yes_or_no(kernel.on_battery), "");
    }

    /// Adds the hypervisor and the container.
    fn virtualisation(&mut self) {
        let Description { virtualisation, load, .. } = self.host;
        self.add(
            "virtualisation",
            "virtual machine",
            yes_or_no(virtualisation.virtual_machine),
            "",
        );
        let hypervisor = match virtualisation.virtual_machine {
            Some(false) => Some("none".to_owned()),
            _ => virtualisation.hypervisor.clone(),
        };
        self.add("virtualisation", "hypervisor", hypervisor, "");
        let container = virtualisation.container.clone().unwrap_or("none seen".to_owned());
        self.add("virtualisation", "container", Some(container), "");
        let percent = |share: Option<f64>| share.map(|share| format!("{:.2}", share * 100.0));
        self.add("virtualisation", "stolen time, just now", percent(load.steal_now), "%");
        self.add(
            "virtualisation",
            "stolen time, since it was started",
            percent(load.steal_since_boot),
            "%",
        );
    }

    /// Adds the limits of the control group.
    fn limits(&mut self) {
        let Description { limits, .. } = self.host;
        let version = limits.version.map(|version| format!("version {version}"));
        self.add("limits", "control groups", version, "");
        self.add("limits", "group", limits.group.clone(), "");
        match limits.quota {
            Some(Quota::Cpus(cpus)) => {
                self.add("limits", "CPU time", Some(format!("{cpus:.2}")), "CPUs")
            }
            Some(Quota::Unlimited) => {
                self.add("limits", "CPU time", Some("unlimited".to_owned()), "")
            }
            None => self.add("limits", "CPU time", None, "CPUs"),
        }
        self.add("limits", "period", limits.period_ms.map(|ms| format!("{ms:.0}")), "ms");
        self.add(
            "limits",
            "periods in which it was stopped",
            limits.throttled.map(|n| n.to_string()),
            "",
        );
        self.add("limits", "cpuset", list(&limits.cpuset), "");
    }

    /// Adds the load caused by other processes.
    fn load(&mut self) {
        let Description { load, .. } = self.host;
        let averages = load.averages.map(|a| format!("{:.2} {:.2} {:.2}", a[0], a[1], a[2]));
        self.add("load", "runnable tasks, over 1, 5, 15 min", averages, "");
        let busy = load.busy_cpus.map(|busy| format!("{busy:.2}"));
        self.add("load", "kept busy by others, just now", busy, "CPUs");
    }

    /// Adds the kernel, and the files that could not be parsed.
    fn kernel(&mut self) {
        let host = self.host;
        let Description { kernel, .. } = self.host;
        self.add("kernel", "release", kernel.release.clone(), "");
        self.add("kernel", "moves memory between nodes", yes_or_no(kernel.moves_memory), "");
        self.add("kernel", "flaws of the processor", kernel.flaws(), "");
        for (flaw, said) in kernel.flaws.iter().filter(|(_, said)| *said != "Not affected") {
            self.add("kernel", &format!("flaw {flaw}"), Some(said.clone()), "");
        }
        for odd in &host.not_understood {
            self.add("not understood", "file", Some(odd.clone()), "");
        }
    }
}

/// Returns a text such as `2 of them, each of 8 CPUs: 0-7; 8-15`. If there are many, the text has
/// only the first ones; JSON output has all.
fn shared(cache: &super::Cache) -> String {
    const SHOWN: usize = 4;
    let lists = &cache.shared_by;
    let Some(first) = lists.first() else {
        return format!("sharing {NOT_AVAILABLE}");
    };
    let count = match lists.len() {
        1 => "one of them".to_owned(),
        several => format!("{several} of them, each"),
    };
    let cpus = match first.len() {
        _ if lists.iter().any(|list| list.len() != first.len()) => "different numbers of CPUs",
        1 => "1 CPU",
        several => &format!("{several} CPUs"),
    };
    let shown: Vec<String> = lists.iter().take(SHOWN).map(super::CpuList::brief).collect();
    let more = if lists.len() > SHOWN { "; ..." } else { "" };
    let not_known = match &cache.sharing_not_known {
        none if none.is_empty() => String::new(),
        some => format!("; sharing of CPUs {} {NOT_AVAILABLE}", some.brief()),
    };
    format!("{count} of {cpus}: {}{more}{not_known}", shown.join("; "))
}
