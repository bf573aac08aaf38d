//! A machine as boxes: sockets, complexes, cores with their hardware threads, caches.

use crate::fact::{Fact, attributes};
use crate::svg::{Anchor, Chart, Shown, Svg, WIDTH, cut, number};
use lockyard_sim::Machine;
use serde_json::{Map, Value, json};

/// Numbers of the machine's file that are listed below the picture: name, text before, text after.
const NUMBERS: [[&str; 3]; 5] = [
    ["clock.ghz", "clock", "GHz"],
    ["caches.first_kib", "first-level cache of a core", "KiB"],
    ["caches.second_kib", "second-level cache of a core", "KiB"],
    ["caches.shared_kib", "cache of a complex", "KiB"],
    ["topology.line_bytes", "cache line", "bytes"],
];

/// Returns the numbers that the picture shows, for the embedded document.
pub(crate) fn json(machine: &Machine) -> Value {
    let mut numbers = Map::new();
    for [name, ..] in NUMBERS {
        if let Some(value) = value(machine, name) {
            numbers.insert(name.to_owned(), value.into());
        }
    }
    json!({
        "name": machine.name(),
        "title": machine.title(),
        "sockets": machine.sockets(),
        "complexes": machine.complexes(),
        "cores": machine.cores(),
        "hardware_threads": machine.hardware_threads(),
        "numbers": numbers,
    })
}

fn value(machine: &Machine, name: &str) -> Option<f64> {
    machine.number(name).filter(|&value| value > 0.0)
}

/// Returns a list of the machine's numbers. `index` is the machine's index in the embedded
/// document.
pub(crate) fn list(machine: &Machine, index: usize) -> String {
    let entry = |pointer: &str, value: f64, before: &str, after: &str| {
        let at = format!("/report/machines/{index}/{pointer}");
        let facts = attributes(&[Fact { at, value }]);
        format!("<li>{before} <b{facts}>{value}</b> {after}</li>")
    };
    let plural = |value: usize, one: &str, many: &str| {
        if value == 1 { one.to_owned() } else { many.to_owned() }
    };
    let count = |pointer: &str, value: usize, one: &str, many: &str| {
        entry(pointer, value as f64, "", &plural(value, one, many))
    };
    let mut text = String::from("<ul class=\"facts\">");
    text.push_str(&count("sockets", machine.sockets(), "socket", "sockets"));
    text.push_str(&count("complexes", machine.complexes(), "core complex", "core complexes"));
    text.push_str(&count("cores", machine.cores(), "core", "cores"));
    let threads = machine.hardware_threads();
    text.push_str(&count("hardware_threads", threads, "hardware thread", "hardware threads"));
    for [name, before, after] in NUMBERS {
        if let Some(value) = value(machine, name) {
            text.push_str(&entry(&format!("numbers/{name}"), value, before, after));
        }
    }
    text.push_str("</ul>\n");
    text
}

/// Returns the picture.
pub(crate) fn chart(machine: &Machine) -> Chart {
    let mut svg = Svg::default();
    let title = machine.title().to_owned();
    svg.text("h", [16.0, 28.0], Anchor::Start, &cut(&title, 17.0, WIDTH - 32.0));
    let sockets = machine.sockets();
    let in_row = sockets.min(if sockets > 4 { 4 } else { 2 });
    let width = (WIDTH - 32.0 - 16.0 * (in_row - 1) as f64) / in_row as f64;
    let layout = Layout::new(machine, width);
    for socket in 0..sockets {
        let x = 16.0 + (socket % in_row) as f64 * (width + 16.0);
        let y = 44.0 + (socket / in_row) as f64 * (layout.height + 16.0);
        layout.socket(&mut svg, socket, [x, y]);
    }
    let lines = sockets.div_ceil(in_row) as f64;
    let description = format!(
        "{title}: {} sockets, {} core complexes, {} cores, {} hardware threads. Each small box is \
         a core, each filled box in it a hardware thread.",
        machine.sockets(),
        machine.complexes(),
        machine.cores(),
        machine.hardware_threads()
    );
    svg.chart(title, description, 44.0 + lines * (layout.height + 16.0))
}

/// Sizes that all sockets of a machine share.
struct Layout {
    width: f64,
    height: f64,
    complexes: usize,
    cores: usize,
    threads: usize,
    /// Number of complexes side by side.
    across: usize,
    /// Size of a complex.
    complex: [f64; 2],
    /// Number of cores side by side in a complex.
    columns: usize,
    caches: [bool; 3],
}

const CORE: [f64; 2] = [24.0, 18.0];
const CORE_GAP: f64 = 5.0;
const PADDING: f64 = 10.0;
const CACHE: f64 = 20.0;

impl Layout {
    fn new(machine: &Machine, width: f64) -> Layout {
        let complexes = machine.complexes() / machine.sockets();
        let cores = machine.cores_per_complex();
        let inner = width - 2.0 * PADDING;
        let across = match complexes {
            1 => 1,
            some if inner < 300.0 => some.min(2),
            some => some.min(4),
        };
        let complex_width = (inner - 8.0 * (across - 1) as f64) / across as f64;
        let fits = ((complex_width - 2.0 * PADDING + CORE_GAP) / (CORE[0] + CORE_GAP)).floor();
        let most = (fits as usize).clamp(1, cores.max(1));
        // Lines of equal length look better than full lines and a short last one.
        let columns = cores.div_ceil(cores.div_ceil(most));
        let has = |name: &str| value(machine, name).is_some();
        let caches = [has("caches.first_kib"), has("caches.second_kib"), has("caches.shared_kib")];
        let lines = cores.div_ceil(columns) as f64;
        let shared = if caches[2] { CACHE + 6.0 } else { 0.0 };
        let height = 2.0 * PADDING + lines * (CORE[1] + CORE_GAP) - CORE_GAP + shared;
        let rows = complexes.div_ceil(across) as f64;
        Layout {
            width,
            height: 34.0 + rows * (height + 8.0) + PADDING - 8.0,
            complexes,
            cores,
            threads: machine.threads_per_core(),
            across,
            complex: [complex_width, height],
            columns,
            caches,
        }
    }

    fn socket(&self, svg: &mut Svg, index: usize, [x, y]: [f64; 2]) {
        let nothing = Shown::default();
        svg.rectangle("box", [x, y], [self.width, self.height], &nothing);
        svg.text("b", [x + PADDING, y + 22.0], Anchor::Start, &format!("socket {index}"));
        for complex in 0..self.complexes {
            let left = x + PADDING + (complex % self.across) as f64 * (self.complex[0] + 8.0);
            let top = y + 34.0 + (complex / self.across) as f64 * (self.complex[1] + 8.0);
            self.complex(svg, [left, top]);
        }
    }

    fn complex(&self, svg: &mut Svg, [x, y]: [f64; 2]) {
        let nothing = Shown::default();
        svg.rectangle("box", [x, y], self.complex, &nothing);
        let line = self.columns as f64 * (CORE[0] + CORE_GAP) - CORE_GAP;
        let left = x + (self.complex[0] - line) / 2.0;
        let (mut cores, mut threads) = (String::new(), String::new());
        for core in 0..self.cores {
            let at = [
                left + (core % self.columns) as f64 * (CORE[0] + CORE_GAP),
                y + PADDING + (core / self.columns) as f64 * (CORE[1] + CORE_GAP),
            ];
            cores.push_str(&rectangle(at, CORE));
            let width = (CORE[0] - 4.0 - 3.0 * (self.threads - 1) as f64) / self.threads as f64;
            for thread in 0..self.threads {
                let from = at[0] + 2.0 + thread as f64 * (width + 3.0);
                threads.push_str(&rectangle([from, at[1] + 3.0], [width, CORE[1] - 6.0]));
            }
        }
        svg.path("box", &cores, &nothing);
        svg.path("soft s0", &threads, &nothing);
        if self.caches[2] {
            let top = y + self.complex[1] - PADDING - CACHE + 4.0;
            let size = [self.complex[0] - 2.0 * PADDING, CACHE];
            svg.rectangle("band s2", [x + PADDING, top], size, &nothing);
            let middle = x + self.complex[0] / 2.0;
            svg.text("n", [middle, top + 14.0], Anchor::Middle, "shared cache");
        }
    }
}

fn rectangle([x, y]: [f64; 2], [width, height]: [f64; 2]) -> String {
    format!("M{} {}h{}v{}h-{}Z", number(x), number(y), number(width), number(height), number(width))
}
