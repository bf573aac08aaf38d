//! Draft of a machine file: each number with its origin, and the text of the file.

use super::{Alone, LineDistance, Measurements, Pair, layout};
use lockyard_results::row::Measured;
use lockyard_sim::Machine;

/// Maximum length of a quotation. A text in a machine file may have 400 bytes.
const QUOTED: usize = 120;

/// Maximum number of notes in a machine file.
const MOST_NOTES: usize = 20;

/// Origin of a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Origin {
    /// Measured or solved for on this host.
    Source(String),
    /// Taken from elsewhere.
    Assumed(String),
    /// Solved for on this host, under an assumption that is not proved.
    Both(String, String),
}

/// A number in the file.
#[derive(Clone, Debug)]
struct Number {
    section: &'static str,
    name: &'static str,
    value: f64,
    origin: Origin,
}

/// A figure in `[checks]`.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// Name of the figure.
    pub name: String,
    /// Measured figure.
    pub figure: Measured,
    /// True if the figure determined a number in the file.
    pub is_input: bool,
}

/// Factor on a family's latencies.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// Factor itself.
    pub factor: f64,
    /// Origin of the factor.
    pub origin: Origin,
}

/// The draft.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Lines at the beginning of the file.
    pub head: Vec<String>,
    /// Name of the machine.
    pub name: String,
    /// Description of the machine.
    pub title: String,
    /// Notes for readers of any figure of the machine.
    pub notes: Vec<String>,
    /// Family of the machine.
    pub family: String,
    /// Factor on the family's latencies.
    pub scale: Scale,
    /// Name of the kernel that gives the costs of calls that were not measured; `None` if the
    /// host's kernel is not known.
    pub kernel: Option<&'static str>,
    numbers: Vec<Number>,
    /// Figures to compare with.
    pub checks: Vec<Check>,
    /// Text with which the source of each measured figure begins.
    pub measured: String,
}

impl Draft {
    pub(super) fn new(name: &str, title: &str, family: &str, scale: Scale) -> Draft {
        Draft {
            head: Vec::new(),
            name: name.to_owned(),
            title: plain(title, QUOTED * 3),
            notes: Vec::new(),
            family: family.to_owned(),
            scale,
            kernel: None,
            numbers: Vec::new(),
            checks: Vec::new(),
            measured: String::new(),
        }
    }

    /// Sets or replaces a number.
    pub(super) fn set(
        &mut self,
        section: &'static str,
        name: &'static str,
        value: f64,
        origin: Origin,
    ) {
        let number = Number { section, name, value, origin };
        let same = |n: &&mut Number| n.section == section && n.name == name;
        match self.numbers.iter_mut().find(same) {
            Some(found) => *found = number,
            None => self.numbers.push(number),
        }
    }

    /// Records that this figure determined a number.
    pub(super) fn is_input(&mut self, check: &str) {
        if let Some(check) = self.checks.iter_mut().find(|found| found.name == check) {
            check.is_input = true;
        }
    }

    /// Returns the machine that the file describes.
    ///
    /// # Errors
    ///
    /// If a number is out of range.
    pub(super) fn machine(&self) -> Result<Machine, String> {
        Machine::parse(&format!("{}.toml", self.name), &self.text())
            .map_err(|error| error.to_string())
    }

    /// Returns the notes in the format of the file, or empty text if there are none.
    fn notes_text(&self) -> String {
        if self.notes.is_empty() {
            return String::new();
        }
        let lines = self.notes.iter().take(MOST_NOTES);
        let lines: String = lines.map(|note| format!("    {},\n", quoted(note))).collect();
        format!("notes = [\n{lines}]\n")
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.head {
            text.push_str(&format!("# {}\n", plain(line, 400)));
        }
        text.push_str(&format!(
            "\nname = {}\ntitle = {}\n{}family = {}\nscale = {}\n",
            quoted(&self.name),
            quoted(&self.title),
            self.notes_text(),
            quoted(&self.family),
            entry(self.scale.factor, &self.scale.origin)
        ));
        for section in ["topology", "clock", "cycles", "protocol", "kernel"] {
            let kernel = self.kernel.filter(|_| section == "kernel");
            if kernel.is_none() && section == "kernel" {
                continue;
            }
            text.push_str(&format!("\n[{section}]\n"));
            text.extend(kernel.map(|name| format!("as = {}\n", quoted(name))));
            for number in self.numbers.iter().filter(|number| number.section == section) {
                let entry = entry(number.value, &number.origin);
                text.push_str(&format!("{} = {entry}\n", number.name));
            }
        }
        if !self.checks.is_empty() {
            text.push_str(
                "\n# Figures that are not inputs, unless they say so: what the model makes of \
                them is its test.\n[checks]\n",
            );
        }
        for check in &self.checks {
            let input = if check.is_input { "input = true, " } else { "" };
            let percentile = [("_p10", "10th"), ("_p90", "90th")]
                .iter()
                .find(|(ending, _)| check.name.ends_with(ending));
            let what = match percentile {
                Some((_, which)) => format!("{which} percentile of {} pairs", check.figure.samples),
                None => figure_text(check.figure, "ns"),
            };
            let source = quoted(&format!("{}: {what}", self.measured));
            text.push_str(&format!(
                "{} = {{ value = {}, unit = \"ns\", {input}source = {source} }}\n",
                check.name,
                rounded(check.figure.value)
            ));
        }
        text
    }
}

fn entry(value: f64, origin: &Origin) -> String {
    let origin = match origin {
        Origin::Source(text) => format!("source = {}", quoted(text)),
        Origin::Assumed(text) => format!("assumed = {}", quoted(text)),
        Origin::Both(source, assumed) => {
            format!("source = {}, assumed = {}", quoted(source), quoted(assumed))
        }
    };
    format!("{{ value = {value}, {origin} }}")
}

/// Formats a figure for a source.
pub(super) fn figure_text(figure: Measured, unit: &str) -> String {
    format!(
        "{} {unit}, {} to {}, {} samples",
        rounded(figure.value),
        rounded(figure.ci_low),
        rounded(figure.ci_high),
        figure.samples
    )
}

/// Rounds to two decimals.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Returns one line of printable ASCII with at most `most` bytes.
fn plain(text: &str, most: usize) -> String {
    let text: String =
        text.chars().map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' }).collect();
    if text.len() <= most { text } else { format!("{}...", &text[..most.saturating_sub(3)]) }
}

/// Returns the text as a quoted TOML string.
fn quoted(text: &str) -> String {
    let text = plain(text, 400);
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a shortened quotation of another file's statement about a number.
pub(super) fn quote(text: &str) -> String {
    plain(text, QUOTED)
}

/// Makes a machine name from a text: its letters and digits, with a single dash for anything
/// between them.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.replace("(R)", "").replace("(TM)", "").chars().take(80) {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "host".to_owned() } else { slug.to_owned() }
}

/// Returns the measured figures that can appear in `[checks]`, with their names there.
pub(super) fn figures(measurements: &Measurements) -> Vec<(String, Measured)> {
    let mut figures = Vec::new();
    let mut push = |name: &str, figure: Option<Measured>| {
        figures.extend(figure.map(|figure| (name.to_owned(), figure)));
    };
    push("atomic_add_uncontended", measurements.alone(Alone::FetchAdd));
    for distance in LineDistance::ALL {
        let name = format!("ping_pong_{}", layout::name(distance));
        push(&name, measurements.pair(Pair::HandOver, distance));
        if !matches!(distance, LineDistance::Complex | LineDistance::Remote) {
            continue;
        }
        let spread = measurements.spread(Pair::HandOver, distance);
        let samples = measurements.pairs_at(Pair::HandOver, distance).len();
        for (name, value) in spread
            .into_iter()
            .flat_map(|(p10, p90)| [(format!("{name}_p10"), p10), (format!("{name}_p90"), p90)])
        {
            push(&name, Some(Measured { value, ci_low: value, ci_high: value, samples }));
        }
    }
    let near = |what| measurements.pair(what, LineDistance::Complex);
    push("load_modified_same_socket", near(Pair::LoadHomedReader));
    for (name, what) in [
        ("load_modified_remote_homed_writer", Pair::LoadHomedWriter),
        ("load_modified_remote_homed_reader", Pair::LoadHomedReader),
    ] {
        push(name, measurements.pair(what, LineDistance::Remote));
    }
    push("atomic_add_two_threads", near(Pair::Add));
    push("compare_exchange_two_threads", near(Pair::CompareExchange));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_what_a_name_may_have() {
        assert_eq!(slug("Intel(R) Xeon(R) Processor @ 2.30GHz"), "intel-xeon-processor-2-30ghz");
        assert_eq!(slug("  \u{1b}[31m  "), "31m");
        assert_eq!(slug(""), "host");
        assert_eq!(slug("(R)--"), "host");
    }

    #[test]
    fn text_in_quotes_is_one_printable_line() {
        assert_eq!(quoted("a \"b\" \\ c\n\u{e9}"), "\"a \\\"b\\\" \\\\ c??\"");
        assert_eq!(quoted(&"x".repeat(1000)).len(), 402);
    }
}
