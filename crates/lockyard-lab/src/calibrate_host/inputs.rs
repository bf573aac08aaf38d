//! Numbers of a host's machine file that are not solved for. Measured numbers are used directly.
//! The others come from the nearest relative among the shipped machines.

use super::draft::{self, Check, Draft, Origin, Scale, figure_text};
use super::{Alone, Measurements, slug, steady};
use lockyard_results::row::Measured;
use lockyard_sim::machine::Value;
use lockyard_sim::{Machine, Parameter};

/// Relative that provides the missing numbers.
pub(super) struct Taken {
    /// The relative's machine.
    pub machine: Machine,
    why: &'static str,
    /// True if the family was fitted on processors of the host's generation.
    pub member: bool,
    /// Vendor of the host's processor, if the family belongs to another vendor.
    pub foreign_to: Option<String>,
}

impl Taken {
    /// Finds the nearest relative.
    ///
    /// # Errors
    ///
    /// If the relative is not among the shipped machines.
    pub(super) fn of(measurements: &Measurements) -> Result<Taken, String> {
        if let Some(name) = &measurements.given.relative {
            return Taken::given(name);
        }
        let relative = measurements.processor.relative();
        let Some(machine) = Machine::shipped(relative.machine) else {
            return Err(format!("there is no machine `{}` to take numbers from", relative.machine));
        };
        let maker = measurements.processor.maker().to_owned();
        let foreign_to = relative.foreign.then_some(maker);
        Ok(Taken { machine, why: relative.why, member: relative.member, foreign_to })
    }

    /// Takes the relative that the user gave.
    fn given(name: &str) -> Result<Taken, String> {
        let Some(machine) = Machine::shipped(name) else {
            return Err(format!("there is no machine `{name}` to take numbers from"));
        };
        let borrows = machine.parameter("family.scale").and_then(|scale| scale.assumed.as_ref());
        // A relative that borrows its family says which vendor's processors the family describes.
        let of_others = borrows.and_then(|why| {
            let (_, rest) = why.split_once("no family is fitted on ")?;
            rest.strip_suffix(" processors").map(str::to_owned)
        });
        Ok(Taken { machine, why: "as given", member: false, foreign_to: of_others })
    }

    /// Returns the family that replaces a vendor's missing family, with a note that says so.
    pub(super) fn borrowed(&self) -> Option<(String, String)> {
        let (maker, family) = (self.foreign_to.as_ref()?, self.machine.family()?);
        let said = format!(
            "no family of machines is fitted on {maker} processors: the protocol's constants are \
             borrowed from {family} (Intel), which is an assumption"
        );
        Some((family.to_owned(), said))
    }

    /// Returns a description for the user.
    pub(super) fn describe(&self) -> String {
        format!("{} ({})", self.machine.name(), self.why)
    }

    fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.machine.parameter(name)
    }

    /// Returns a number of the relative.
    pub(super) fn number(&self, name: &str) -> f64 {
        match self.parameter(name).map(|p| &p.value) {
            Some(Value::Whole(value)) => *value as f64,
            Some(Value::Real(value)) => *value,
            _ => f64::NAN,
        }
    }

    /// Returns true if the relative's number differs from its family's number.
    fn is_its_own(&self, name: &str) -> bool {
        let said = self.parameter(name).into_iter().flat_map(|p| p.source.iter().chain(&p.assumed));
        !said.into_iter().any(|said| said.starts_with("family "))
    }

    /// Returns the reason why the relative's number is used for the host.
    pub(super) fn assumed(&self, name: &str) -> Origin {
        let said = self.parameter(name).and_then(|p| p.source.as_ref().or(p.assumed.as_ref()));
        let said = said.map(|text| format!(": {}", draft::quote(text))).unwrap_or_default();
        Origin::Assumed(format!("as {}, the nearest relative{said}", self.machine.name()))
    }
}

/// Begins the file with everything except the latencies between CPUs, for which it uses the
/// relative's latencies at first.
///
/// # Errors
///
/// If the clock or an atomic addition was not measured, a figure is not a number, or the host is
/// larger than a machine file allows.
pub(super) fn begin(
    measurements: &Measurements,
    taken: &Taken,
    name: Option<&str>,
) -> Result<Draft, String> {
    sound(measurements)?;
    let layout = &measurements.layout;
    let (clock, of_clock) = clock(measurements, taken)?;
    let ghz = (clock * 1000.0).round() / 1000.0;
    let processor = measurements.processor.describe();
    let own_name = format!(
        "{}-{}s{}c{}t",
        slug(&measurements.processor.name),
        layout.sockets,
        layout.complexes * layout.cores,
        layout.threads
    );
    let title = format!("{}, {}", measurements.processor.name, layout.describe());
    let family = taken.machine.family().ok_or("the nearest relative has no family")?;
    // Keep the nanoseconds the same until the hand-over determines another scale.
    let scale = taken.number("family.scale") * ghz / taken.number("clock.ghz");
    let of_relative = Origin::Assumed(format!("in nanoseconds as {}", taken.describe()));
    let mut draft = Draft::new(
        name.unwrap_or(&own_name),
        &title,
        family,
        Scale { factor: round4(scale), origin: of_relative },
    );
    draft.measured = measurements.origin();
    draft.head = head(measurements, taken, &processor);
    draft.notes.extend(taken.borrowed().map(|(_, said)| said));
    if measurements.processor.virtualised {
        draft.notes.push(steady::VIRTUAL.to_owned());
    }
    draft.notes.extend(steady::steadiness(measurements).notes);

    let seen = |what: &str| match &measurements.given.origin {
        Some(origin) => Origin::Source(format!("{origin}: {what}")),
        None => Origin::Source(format!("read from this host, {}: {what}", measurements.date)),
    };
    let from_matrix = measurements.given.origin.is_some();
    let cpus = if from_matrix { "groups of CPUs" } else { "the CPUs that the process may use" };
    let cpus = seen(cpus);
    let caches = if from_matrix { cpus.clone() } else { seen("shared last-level caches") };
    draft.set("topology", "sockets", layout.sockets as f64, cpus.clone());
    draft.set("topology", "complexes", layout.complexes as f64, caches);
    draft.set("topology", "cores", layout.cores as f64, cpus.clone());
    draft.set("topology", "threads", layout.threads as f64, cpus);
    let (line, from) = match measurements.processor.line_bytes {
        Some(bytes) => (f64::from(bytes), seen("the line of its first cache")),
        None => (64.0, Origin::Assumed("the system does not say; most have 64".to_owned())),
    };
    draft.set("topology", "line_bytes", line, from);
    draft.set("clock", "ghz", ghz, of_clock);
    costs(&mut draft, measurements, taken, ghz)?;
    protocol(&mut draft, measurements, taken, ghz);
    let check = |(name, figure)| Check { name, figure, is_input: false };
    draft.checks = draft::figures(measurements).into_iter().map(check).collect();
    draft.is_input("atomic_add_uncontended");
    Ok(draft)
}

/// Returns the clock in GHz, with its origin.
fn clock(measurements: &Measurements, taken: &Taken) -> Result<(f64, Origin), String> {
    let given = &measurements.given;
    let (ghz, origin) = match (measurements.alone(Alone::Clock), given.ghz, &given.relative) {
        (Some(clock), None, _) => {
            let what = "a chain of operations of one cycle on one busy core";
            (clock.value, measured(measurements, clock, "GHz", what))
        }
        (_, Some(ghz), _) => (ghz, Origin::Source("given with --ghz".to_owned())),
        (None, None, Some(_)) => (taken.number("clock.ghz"), taken.assumed("clock.ghz")),
        (None, None, None) => {
            return Err(
                "the clock could not be measured, and without it there are no cycles".to_owned()
            );
        }
    };
    if !(0.1..=10.0).contains(&ghz) {
        return Err(format!(
            "the clock was measured as {} GHz; a machine file allows 0.1 to 10",
            draft::rounded(ghz)
        ));
    }
    Ok((ghz, origin))
}

/// Checks the measured figures.
///
/// # Errors
///
/// If a figure is neither a time nor a rate.
fn sound(measurements: &Measurements) -> Result<(), String> {
    let alone = measurements.alone.iter().map(|(what, figure)| (what.name(), figure));
    let pairs = measurements.pairs.iter().map(|pair| (pair.what.name(), &pair.figure));
    let contended = measurements.contended.iter().map(|c| (c.variant.as_str(), &c.figure));
    let kernel = measurements.kernel.iter().map(|(what, figure)| (what.name(), figure));
    let siblings = measurements.siblings.iter().map(|c| (c.variant.as_str(), &c.figure));
    let beside = measurements.beside_sibling.iter().map(|figure| ("work beside a sibling", figure));
    for (name, figure) in
        alone.chain(pairs).chain(contended).chain(siblings).chain(beside).chain(kernel)
    {
        if !figure.value.is_finite() || figure.value <= 0.0 {
            let value = figure.value;
            return Err(format!("`{name}` was measured as {value}, which cannot be used"));
        }
    }
    Ok(())
}

fn head(measurements: &Measurements, taken: &Taken, processor: &str) -> Vec<String> {
    let mut head = vec![
        format!("{processor}, {}.", measurements.layout.describe()),
        match &measurements.given.origin {
            Some(origin) => {
                format!("Written by `lockyard machines new`, {}, from {origin}.", measurements.date)
            }
            None => format!(
                "Written by `lockyard machines calibrate`, {}: {:.0} s, {} rounds. \
                 Figures are medians with their intervals.",
                measurements.date, measurements.seconds, measurements.rounds
            ),
        },
        "What was not measured is from the nearest relative and its family. The relative:"
            .to_owned(),
        format!("{}.", taken.describe()),
        "Times in [cycles] are in cycles of `clock.ghz`.".to_owned(),
    ];
    head.extend(taken.borrowed().map(|(_, said)| format!("Note: {said}.")));
    head
}

/// Returns the origin of a measured number.
pub(super) fn measured(
    measurements: &Measurements,
    figure: Measured,
    unit: &str,
    what: &str,
) -> Origin {
    Origin::Source(format!("{}: {what}: {}", measurements.origin(), figure_text(figure, unit)))
}

/// Sets the costs of a single CPU.
fn costs(
    draft: &mut Draft,
    measurements: &Measurements,
    taken: &Taken,
    ghz: f64,
) -> Result<(), String> {
    let cycles = |figure: Measured| (figure.value * ghz).round();
    let mut direct = |name: &'static str, what: Alone, said: &str| match measurements.alone(what) {
        Some(figure) => {
            let from = measured(measurements, figure, "ns", said);
            draft.set("cycles", name, cycles(figure).max(1.0), from);
        }
        None => {
            let full = format!("cycles.{name}");
            draft.set("cycles", name, taken.number(&full), taken.assumed(&full));
        }
    };
    direct("load", Alone::Load, "a load that hits, its address from the one before");
    direct("pause", Alone::Pause, "the pause instruction");
    let poll = (taken.number("cycles.poll"), taken.assumed("cycles.poll"));
    draft.set("cycles", "poll", poll.0, poll.1);
    let Some(add) = measurements.alone(Alone::FetchAdd) else {
        if measurements.given.relative.is_none() {
            let what = "an atomic addition could not be measured; the file needs its cost";
            return Err(what.to_owned());
        }
        for name in ["rmw_before_lock", "rmw_lock"] {
            let full = format!("cycles.{name}");
            draft.set("cycles", name, taken.number(&full), taken.assumed(&full));
        }
        return Ok(());
    };
    // No single-CPU figure shows how the cost is divided.
    let before = taken.number("cycles.rmw_before_lock").min(cycles(add) - 1.0).max(0.0);
    draft.set("cycles", "rmw_before_lock", before, taken.assumed("cycles.rmw_before_lock"));
    let from = measured(measurements, add, "ns", "an atomic addition, less rmw_before_lock");
    draft.set("cycles", "rmw_lock", (cycles(add) - before).max(1.0), from);
    Ok(())
}

/// Sets the numbers that cannot be measured, and the numbers for distances that do not exist on
/// this host.
fn protocol(draft: &mut Draft, measurements: &Measurements, taken: &Taken, ghz: f64) {
    let layout = &measurements.layout;
    let one = |what: &str| Origin::Source(format!("one {what}"));
    let nanoseconds = |name: &str| (taken.number(name) / taken.number("clock.ghz") * ghz).round();
    let turn = if layout.threads > 1 {
        (taken.number("cycles.sibling_turn"), taken.assumed("cycles.sibling_turn"))
    } else {
        (0.0, one("thread a core"))
    };
    draft.set("cycles", "sibling_turn", turn.0, turn.1);
    for name in ["socket_leg", "directory"] {
        if layout.sockets > 1 {
            let full = format!("cycles.{name}");
            draft.set("cycles", name, nanoseconds(&full), taken.assumed(&full));
        } else {
            draft.set("cycles", name, 0.0, one("socket"));
        }
    }
    if layout.complexes > 1 {
        draft.set("cycles", "complex_leg", 0.0, taken.assumed("cycles.complex_leg"));
    }
    let buffer = taken.number("protocol.store_buffer");
    draft.set("protocol", "store_buffer", buffer, taken.assumed("protocol.store_buffer"));
    // Numbers in which the relative differs from its family. (`cycles.idle_answer` is not among
    // them: the measured ping-pong between two of many sockets already includes it in
    // `socket_leg`.)
    for name in ["run_ahead", "load_behind_lock", "redirect", "early_stores"] {
        let full = format!("protocol.{name}");
        if taken.is_its_own(&full) {
            draft.set("protocol", name, taken.number(&full), taken.assumed(&full));
        }
    }
    let (slowdown, from) = match (layout.threads > 1, measurements.beside_sibling) {
        (false, _) => (1.0, one("thread a core")),
        (true, Some(factor)) => (
            draft::rounded(factor.value).clamp(1.0, 8.0),
            measured(
                measurements,
                factor,
                "times",
                "this lab's local work beside a busy sibling; other code is slowed more",
            ),
        ),
        (true, None) => {
            (taken.number("protocol.smt_slowdown"), taken.assumed("protocol.smt_slowdown"))
        }
    };
    draft.set("protocol", "smt_slowdown", slowdown, from);
}

/// Rounds to four decimals.
pub(super) fn round4(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}
