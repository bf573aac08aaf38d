//! A script file: its sections, its limits, and the script that results.

use super::calibration::CalibrationEntry;
use super::conserved::{self, ConservedEntry};
use super::header::{DoubtfulEntry, LeftOutEntry, MetricEntry};
use super::names::Names;
use super::objects::{self, ObjectEntry};
use super::placement::{self, GuestsEntry, PlacementEntry};
use super::profile::{self, ProfileEntry, SymbolEntry};
use super::published_run::{self, RunEntry};
use super::samples::{self, DisturbanceEntry, SamplesEntry};
use super::source::{Result, ScriptError, Source};
use super::step_entry::{self, StepEntry};
use super::values::{self, RegistersEntry};
use super::variant_pairs::{self, PairEntry};
use super::variants::{self, InCommon, VariantEntry};
use super::{calibration, header, region_parts, word_steps};
use crate::model::{Calibration, LockKinds, Metric, Script};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// Maximum size of a script file in bytes.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Maximum number of objects of a script.
const MAX_OBJECTS: usize = 64;
/// Maximum number of steps of an operation.
const MAX_STEPS: usize = 256;
/// Maximum number of variants of a script.
const MAX_VARIANTS: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    title: Option<Spanned<String>>,
    operation: Option<Spanned<String>>,
    metric: Option<Spanned<String>>,
    unit: Option<Spanned<String>>,
    operations: Option<Spanned<u64>>,
    #[serde(default = "varies")]
    work_varies: bool,
    starts: Option<Spanned<String>>,
    per_operation: Option<Spanned<f64>>,
    #[serde(default)]
    run: RunEntry,
    samples: Option<SamplesEntry>,
    #[serde(default)]
    disturbances: Vec<Spanned<DisturbanceEntry>>,
    #[serde(default)]
    left_out: Vec<Spanned<LeftOutEntry>>,
    #[serde(default)]
    profile: ProfileEntry,
    #[serde(default)]
    symbols: Vec<Spanned<SymbolEntry>>,
    #[serde(default)]
    doubtful: Vec<Spanned<DoubtfulEntry>>,
    #[serde(default)]
    pairs: Vec<Spanned<PairEntry>>,
    #[serde(default)]
    objects: Vec<Spanned<ObjectEntry>>,
    #[serde(default)]
    steps: Vec<Spanned<StepEntry>>,
    #[serde(default)]
    registers: RegistersEntry,
    #[serde(default)]
    conserved: Vec<Spanned<ConservedEntry>>,
    variants: Spanned<Vec<Spanned<VariantEntry>>>,
    guests: Option<GuestsEntry>,
    #[serde(default)]
    placement: PlacementEntry,
    calibration: Option<Spanned<CalibrationEntry>>,
}

/// Default of `work_varies`. Operations of real programs differ, and identical operations would run
/// in lockstep.
fn varies() -> bool {
    true
}

impl Script {
    /// Reads a script from its text. Errors use `origin` as the name of the file.
    ///
    /// # Errors
    ///
    /// One line that says where the error is, what is wrong, and what is allowed.
    pub fn parse(origin: &str, text: &str) -> Result<Script> {
        Script::parse_with(origin, text, &LockKinds::default())
    }

    /// Reads a script from its text, as [`parse`](Self::parse) does. The script can name the own
    /// locks of `locks`.
    ///
    /// # Errors
    ///
    /// The same as for [`parse`](Self::parse).
    pub fn parse_with(origin: &str, text: &str, locks: &LockKinds) -> Result<Script> {
        let source = Source { origin, text, locks };
        let file = file(&source)?;
        check_limits(&source, &file)?;
        script(&source, &file)
    }

    /// Reads a script file, whose locks are the library's.
    ///
    /// # Errors
    ///
    /// The same as for [`load_with`](Self::load_with).
    pub fn load(path: &Path) -> Result<Script> {
        Script::load_with(path, &LockKinds::default())
    }

    /// Reads a script file. The script can name the own locks of `locks`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is larger than [`MAX_FILE_BYTES`], is not UTF-8, or is not a
    /// script.
    pub fn load_with(path: &Path, locks: &LockKinds) -> Result<Script> {
        let text = lockyard_support::read_text(path, MAX_FILE_BYTES, "a script is TOML")
            .map_err(ScriptError)?;
        Script::parse_with(&lockyard_support::shown(path), &text, locks)
    }
}

/// Reads the entries of the file, without checking them.
fn file(source: &Source) -> Result<File> {
    if source.text.len() as u64 > MAX_FILE_BYTES {
        let message = format!("is larger than {MAX_FILE_BYTES} bytes; a script is small");
        return Err(ScriptError(format!("{}: {message}", source.origin)));
    }
    toml::from_str(source.text).map_err(|e| {
        let message = e.message().lines().next().unwrap_or_default().to_owned();
        source.error(e.span().unwrap_or(0..0), message)
    })
}

fn check_limits(source: &Source, file: &File) -> Result<()> {
    source.limit("objects", &file.objects, MAX_OBJECTS)?;
    source.limit("steps", &file.steps, MAX_STEPS)?;
    source.limit("variants", file.variants.get_ref(), MAX_VARIANTS)?;
    if file.variants.get_ref().is_empty() {
        return Err(source.error(file.variants.span(), "a script has at least one variant"));
    }
    Ok(())
}

fn script(source: &Source, file: &File) -> Result<Script> {
    let objects = objects::objects(source, &file.objects)?;
    let variant_names = variants::names(source, file.variants.get_ref())?;
    let samples = file.samples.as_ref().map(|s| samples::samples(source, s)).transpose()?;
    let disturbed = file.disturbances.iter().flat_map(|entry| entry.get_ref().steps());
    let parts = region_parts::parts(source, file.steps.iter().chain(disturbed))?;
    let registers = word_steps::registers(source, &file.registers, file.steps.iter())?;
    let names = Names { variants: &variant_names, parts: &parts, registers: &registers };
    let in_common = InCommon {
        objects: &objects,
        names,
        steps: &file.steps,
        disturbances: &file.disturbances,
        samples,
        first_values: &values::first_values(source, &file.registers, &registers)?,
        conserved: &conserved::conserved(source, &file.conserved, &objects, names)?,
        work_varies: file.work_varies,
        starts: placement::starts(source, file.starts.as_ref())?,
        guests: placement::guests(source, file.guests.as_ref(), samples.is_some())?,
    };
    let variants = file.variants.get_ref().iter();
    let variants = variants.map(|entry| variants::variant(source, entry.get_ref(), &in_common));
    let variants = variants.collect::<Result<Vec<_>>>()?;
    let order = placement::order(source, &file.placement)?;
    let home = placement::home(source, &file.placement)?;
    let calibration = file.calibration.as_ref();
    let calibration =
        calibration.map(|c| calibration::calibration(source, c, names)).transpose()?;
    check_shares(source, &file.steps, calibration.as_ref())?;
    let metric = metric(source, file, calibration.as_ref())?;
    let plain = samples.is_none() && in_common.guests.is_none();
    Ok(Script {
        name: source.name("name", &file.name)?,
        title: source.text_or("title", file.title.as_ref(), || file.name.get_ref().clone())?,
        operation: source
            .text_or("operation", file.operation.as_ref(), || step_entry::operation(&file.steps))?,
        metric,
        run: published_run::published_run(source, &file.run, metric, plain)?,
        samples,
        left_out: header::left_out(source, &file.left_out)?,
        profile: profile::profile(source, &file.profile, &file.symbols, names)?,
        doubtful: header::doubtful(source, &file.doubtful)?,
        variant_pairs: variant_pairs::variant_pairs(source, &file.pairs, names)?,
        variants,
        order,
        home,
        calibration,
    })
}

/// Checks that the calibration gives local work, if a step uses a share of it.
fn check_shares(
    source: &Source,
    steps: &[Spanned<StepEntry>],
    calibration: Option<&Calibration>,
) -> Result<()> {
    let step = steps.iter().find(|step| step.get_ref().share.is_some());
    match step {
        Some(step) if !calibration.is_some_and(Calibration::gives_local_work) => Err(source.error(
            step.span(),
            "`share` is a share of the calibrated work; \
             it needs a section [calibration] that gives that work",
        )),
        _ => Ok(()),
    }
}

fn metric(source: &Source, file: &File, calibration: Option<&Calibration>) -> Result<Metric> {
    header::metric(
        source,
        &MetricEntry {
            metric: file.metric.as_ref(),
            unit: file.unit.as_ref(),
            operations: file.operations.as_ref(),
            per_operation: file.per_operation.as_ref(),
            calibrated: calibration.is_some_and(Calibration::gives_unit),
        },
    )
}
