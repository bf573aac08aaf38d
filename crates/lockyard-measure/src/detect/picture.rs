//! Text picture of a host: sockets, core complexes, CPUs, and the distances between NUMA nodes.

use super::description::Description;
use super::environment::NOT_AVAILABLE;
use super::list::CpuList;
use lockyard_results::render::boxes::{drawn, framed};

/// Draws the picture, at most `most` columns wide. The text ends with a line feed.
pub(super) fn picture(host: &Description, most: usize) -> String {
    let topology = &host.topology;
    let Some(packages) = topology.packages() else {
        return format!(
            "Sockets: {NOT_AVAILABLE}. CPUs that the process may use: {}.\n",
            list(&topology.allowed)
        );
    };
    let mut boxes = Vec::new();
    for index in drawn(packages.len()) {
        let Some(index) = index else {
            boxes.push(vec![format!("... {} more sockets", packages.len() + 1 - boxes.len() - 1)]);
            continue;
        };
        boxes.push(socket(host, packages[index]));
    }
    let mut text = framed(&boxes, "|", most);
    text.push_str(&distances(host));
    let allowed = &topology.allowed;
    let others = match topology.online.as_ref().map(|online| online.without(allowed)) {
        Some(others) if !others.is_empty() => format!("; not CPUs {}", others.brief()),
        _ => String::new(),
    };
    let offline = topology.offline.as_ref().filter(|offline| !offline.is_empty());
    let offline =
        offline.map(|cpus| format!(" Switched off: {}.", cpus.brief())).unwrap_or_default();
    text.push_str(&format!("The process may use CPUs {}{others}.{offline}\n", list(allowed)));
    text
}

fn list(cpus: &CpuList) -> String {
    if cpus.is_empty() { NOT_AVAILABLE.to_owned() } else { cpus.brief() }
}

/// Returns the lines of a socket: first the socket, then its core complexes. If the complexes are
/// unknown, its cores follow instead.
fn socket(host: &Description, package: usize) -> Vec<String> {
    let topology = &host.topology;
    let inside = topology.cpus.iter().filter(|cpu| cpu.package == Some(package));
    let cpus = CpuList::new(inside.clone().map(|cpu| cpu.number).collect());
    let mut nodes: Vec<usize> = inside.filter_map(|cpu| cpu.node).collect();
    nodes.dedup();
    let nodes = match CpuList::new(nodes) {
        nodes if nodes.is_empty() => String::new(),
        nodes if nodes.len() == 1 => format!(": NUMA node {}", nodes.brief()),
        nodes => format!(": NUMA nodes {}", nodes.brief()),
    };
    let mut lines = vec![format!("socket {package}{nodes}")];
    let complexes = topology.complexes().unwrap_or_default();
    let mine: Vec<(usize, &CpuList)> = complexes
        .iter()
        .enumerate()
        .filter(|(_, complex)| !complex.both(&cpus).is_empty())
        .collect();
    if mine.is_empty() {
        lines.push(format!("{}; core complexes {NOT_AVAILABLE}", cores(host, &cpus)));
    }
    for index in drawn(mine.len()) {
        lines.push(match index {
            Some(index) => {
                let (number, complex) = mine[index];
                format!("complex {number}: {}{}", cores(host, complex), third(host, complex))
            }
            None => format!("... {} more complexes", mine.len() + 2 - lines.len() - 1),
        });
    }
    lines
}

/// Returns a text such as `4 cores x 2 threads; CPUs 0-3 and 8-11`.
fn cores(host: &Description, cpus: &CpuList) -> String {
    let online: Vec<usize> =
        host.topology.cpus.iter().map(|c| c.number).filter(|c| cpus.contains(*c)).collect();
    let online = CpuList::new(online);
    let cores: Option<Vec<CpuList>> = host
        .topology
        .cores()
        .map(|cores| cores.into_iter().filter(|core| !core.both(&online).is_empty()).collect());
    let Some(cores) = cores else {
        return format!("CPUs {}; cores {NOT_AVAILABLE}", online.brief());
    };
    let (least, most) = (
        cores.iter().map(CpuList::len).min().unwrap_or(0),
        cores.iter().map(CpuList::len).max().unwrap_or(0),
    );
    let threads = if least == most { most.to_string() } else { format!("{least} or {most}") };
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    // First threads of all cores, then second threads. No core has more than eight threads.
    let of_rank = |rank: usize| {
        let cpus = cores.iter().filter_map(|core| core.numbers().get(rank).copied());
        CpuList::new(cpus.collect()).brief()
    };
    let ranks: Vec<String> = match most {
        0..=8 => (0..most).map(of_rank).collect(),
        _ => vec![online.brief()],
    };
    format!(
        "{} core{} x {threads} thread{}; CPUs {}",
        cores.len(),
        plural(cores.len()),
        plural(most),
        ranks.join(" and ")
    )
}

/// Returns the size of the level-3 cache shared by `complex`.
fn third(host: &Description, complex: &CpuList) -> String {
    let cache = host.caches.iter().find(|c| c.level == 3 && c.shared_by.contains(complex));
    match cache.and_then(|cache| cache.size_kib) {
        Some(kib) => format!("; L3 {}", super::size::size(kib)),
        None => String::new(),
    }
}

/// Returns the distances between NUMA nodes, if there are several.
fn distances(host: &Description) -> String {
    let nodes = &host.topology.nodes;
    if nodes.len() < 2 {
        return String::new();
    }
    let rows: Option<Vec<&Vec<u32>>> = nodes.iter().map(|node| node.distances.as_ref()).collect();
    let Some(rows) = rows.filter(|rows| rows.iter().all(|row| row.len() == nodes.len())) else {
        return format!("Distances between NUMA nodes: {NOT_AVAILABLE}.\n");
    };
    let mut text =
        String::from("Distances between NUMA nodes, as the firmware says (10: the node's own):\n");
    let cell = |text: String| format!("{text:>6}");
    let header: String = nodes.iter().map(|node| cell(node.number.to_string())).collect();
    text.push_str(&format!("  node{header}\n"));
    for (node, row) in nodes.iter().zip(rows) {
        let row: String = row.iter().map(|distance| cell(distance.to_string())).collect();
        text.push_str(&format!("  {:>4}{row}\n", node.number));
    }
    text
}
