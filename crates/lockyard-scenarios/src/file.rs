//! Reading a script file: strict, and with an error that says where, what, and what is allowed.

use crate::kinds::LockKind;
use crate::pages::PageKind;
use crate::pairs::{self, PairEntry};
use crate::samples::Samples;
use crate::script::{Calibration, Object, ObjectKind, Order, Part, Script, Variant};
use crate::starts::Starts;
use crate::tables::{Table, TableEntry};
use crate::{calibration, figures, head, parts, profile, samples, starts, steps};
use serde::Deserialize;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// A script file may have this many bytes.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;
/// A script may have this many objects.
const MAX_OBJECTS: usize = 64;
/// An operation may have this many steps.
const MAX_STEPS: usize = 256;
/// A script may have this many variants.
const MAX_VARIANTS: usize = 64;
/// The number of a socket that is the objects' home.
const MAX_HOME: u64 = 63;
/// So many guests may share the CPUs.
const MAX_GUESTS: u32 = 64;
/// A lockref may begin with this many references, so that a run does not saturate it.
const MAX_COUNT: u32 = 1 << 20;

/// What is wrong with a script, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(String);

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

impl From<ScriptError> for lockyard_support::InputError {
    fn from(error: ScriptError) -> Self {
        lockyard_support::InputError(error.to_string())
    }
}

pub(crate) type Result<T> = std::result::Result<T, ScriptError>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    title: Spanned<String>,
    operation: Spanned<String>,
    metric: Spanned<String>,
    unit: Spanned<String>,
    operations: Option<Spanned<u64>>,
    #[serde(default)]
    work_varies: bool,
    starts: Option<Spanned<String>>,
    per_operation: Option<Spanned<f64>>,
    #[serde(default)]
    run: figures::RunEntry,
    samples: Option<samples::SamplesEntry>,
    #[serde(default)]
    disturbances: Vec<Spanned<samples::DisturbanceEntry>>,
    #[serde(default)]
    left_out: Vec<Spanned<head::LeftOutEntry>>,
    #[serde(default)]
    profile: profile::ProfileEntry,
    #[serde(default)]
    symbols: Vec<Spanned<profile::SymbolEntry>>,
    #[serde(default)]
    doubtful: Vec<Spanned<head::DoubtfulEntry>>,
    #[serde(default)]
    pairs: Vec<Spanned<PairEntry>>,
    #[serde(default)]
    objects: Vec<Spanned<ObjectEntry>>,
    #[serde(default)]
    steps: Vec<Spanned<StepEntry>>,
    variants: Spanned<Vec<Spanned<VariantEntry>>>,
    guests: Option<GuestsEntry>,
    placement: PlacementEntry,
    calibration: Option<Spanned<calibration::CalibrationEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectEntry {
    name: Spanned<String>,
    kind: Spanned<String>,
    lock: Option<Spanned<String>>,
    pause: Option<Spanned<bool>>,
    trywait: Option<Spanned<bool>>,
    count: Option<Spanned<u32>>,
    page: Option<Spanned<String>>,
    with: Option<Spanned<TableEntry>>,
    line: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepEntry {
    pub(crate) r#do: Spanned<String>,
    pub(crate) object: Option<Spanned<String>>,
    pub(crate) operation: Option<Spanned<String>>,
    pub(crate) share: Option<Spanned<f64>>,
    pub(crate) ns: Option<Spanned<f64>>,
    pub(crate) value: Option<Spanned<i32>>,
    pub(crate) one_in: Option<Spanned<u32>>,
    pub(crate) region: Option<Spanned<String>>,
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) key: Option<Spanned<String>>,
    pub(crate) only: Option<Vec<Spanned<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantEntry {
    name: Spanned<String>,
    title: Spanned<String>,
    #[serde(default)]
    set: Vec<Spanned<SetEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetEntry {
    object: Spanned<String>,
    lock: Option<Spanned<String>>,
    page: Option<Spanned<String>>,
    pause: Option<Spanned<bool>>,
    trywait: Option<Spanned<bool>>,
    with: Option<Spanned<TableEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuestsEntry {
    count: Spanned<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlacementEntry {
    order: Spanned<String>,
    home: Option<Spanned<u64>>,
}

/// Where errors are.
pub(crate) struct Source<'a> {
    origin: &'a str,
    text: &'a str,
}

impl Source<'_> {
    pub(crate) fn error(&self, span: Range<usize>, message: impl std::fmt::Display) -> ScriptError {
        let line = lockyard_support::line_of(self.text.as_bytes(), span.start);
        ScriptError(format!("{}:{line}: {message}", self.origin))
    }

    /// An error about a name that is none of `allowed`.
    pub(crate) fn unknown(
        &self,
        what: &str,
        found: &Spanned<String>,
        allowed: &[&str],
    ) -> ScriptError {
        let name = found.get_ref();
        let hint = lockyard_support::hint(name, allowed, "allowed");
        let name = lockyard_support::printable(name);
        self.error(found.span(), format!("there is no {what} `{name}`; {hint}"))
    }

    /// The one of `table` that `found` names.
    pub(crate) fn choose<T: Copy>(
        &self,
        what: &str,
        found: &Spanned<String>,
        table: &[(&str, T)],
    ) -> Result<T> {
        let choice = table.iter().find(|(name, _)| name == found.get_ref());
        choice.map(|&(_, value)| value).ok_or_else(|| {
            let names: Vec<&str> = table.iter().map(|&(name, _)| name).collect();
            self.unknown(what, found, &names)
        })
    }

    /// A line of text.
    pub(crate) fn text(&self, what: &str, found: &Spanned<String>) -> Result<String> {
        let text = found.get_ref();
        if text.is_empty() || text.len() > 400 || text.contains(['\n', '\r']) {
            let message = format!("`{what}` must be one line of 1 to 400 bytes");
            return Err(self.error(found.span(), message));
        }
        Ok(text.clone())
    }

    /// A name.
    pub(crate) fn name(&self, what: &str, found: &Spanned<String>) -> Result<String> {
        let name = found.get_ref();
        let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.+/@".contains(&b);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(ok) {
            let message = format!("`{what}` must be 1 to 64 of a-z A-Z 0-9 - _ . + / @");
            return Err(self.error(found.span(), message));
        }
        Ok(name.clone())
    }

    fn page(&self, found: &Spanned<String>) -> Result<PageKind> {
        let table: Vec<_> = PageKind::ALL.iter().map(|&kind| (kind.name(), kind)).collect();
        self.choose("page reference count", found, &table)
    }

    fn lock(&self, found: &Spanned<String>) -> Result<LockKind> {
        let table: Vec<_> = LockKind::ALL.iter().map(|&kind| (kind.name(), kind)).collect();
        self.choose("lock", found, &table)
    }
}

pub(crate) fn load(path: &Path) -> Result<Script> {
    let text = lockyard_support::read_text(path, MAX_FILE_BYTES, "a script is TOML")
        .map_err(ScriptError)?;
    parse(&path.display().to_string(), &text)
}

pub(crate) fn parse(origin: &str, text: &str) -> Result<Script> {
    let source = Source { origin, text };
    if text.len() as u64 > MAX_FILE_BYTES {
        let message = format!("is larger than {MAX_FILE_BYTES} bytes; a script is small");
        return Err(ScriptError(format!("{origin}: {message}")));
    }
    let file: File = toml::from_str(text).map_err(|e| {
        let message = e.message().lines().next().unwrap_or_default().to_owned();
        source.error(e.span().unwrap_or(0..0), message)
    })?;
    let limit = |count: usize, max: usize, what: &str, span: Range<usize>| {
        let message = format!("{count} {what}; at most {max} are allowed");
        if count > max { Err(source.error(span, message)) } else { Ok(()) }
    };
    let last_of = |span: Option<Range<usize>>| span.unwrap_or(0..0);
    limit(
        file.objects.len(),
        MAX_OBJECTS,
        "objects",
        last_of(file.objects.last().map(Spanned::span)),
    )?;
    limit(file.steps.len(), MAX_STEPS, "steps", last_of(file.steps.last().map(Spanned::span)))?;
    limit(file.variants.get_ref().len(), MAX_VARIANTS, "variants", file.variants.span())?;
    if file.variants.get_ref().is_empty() {
        return Err(source.error(file.variants.span(), "a script has at least one variant"));
    }

    let objects = objects(&source, &file.objects)?;
    let mut names: Vec<String> = Vec::new();
    for variant in file.variants.get_ref() {
        let name = source.name("name", &variant.get_ref().name)?;
        if names.contains(&name) {
            let message = format!("there are two variants `{name}`");
            return Err(source.error(variant.get_ref().name.span(), message));
        }
        names.push(name);
    }
    let samples = file.samples.as_ref().map(|s| samples::samples(&source, s)).transpose()?;
    let disturbed = file.disturbances.iter().flat_map(|entry| entry.get_ref().steps());
    let parts = parts::parts(&source, file.steps.iter().chain(disturbed))?;
    let starts = starts::starts(&source, file.starts.as_ref())?;
    let mut variants = Vec::new();
    for variant in file.variants.get_ref() {
        let steps = (&file.steps[..], &file.disturbances[..], samples);
        let names = (&names[..], &parts[..]);
        let mut variant = self::variant(&source, variant.get_ref(), &objects, names, steps)?;
        variant.work_varies = file.work_varies;
        variant.starts = starts;
        variants.push(variant);
    }
    if let Some(guests) = &file.guests {
        let count = *guests.count.get_ref();
        if !(1..=MAX_GUESTS).contains(&count) {
            let message = format!("`count` is {count}; allowed: 1 to {MAX_GUESTS} guests");
            return Err(source.error(guests.count.span(), message));
        }
        if samples.is_some() {
            let message =
                "a script with `[samples]` has no `[guests]`; allowed: one of them".to_owned();
            return Err(source.error(guests.count.span(), message));
        }
        variants.iter_mut().for_each(|variant| variant.guests = Some(count as usize));
    }
    let order = source.choose(
        "order of placement",
        &file.placement.order,
        &Order::ALL.map(|order| (order.name(), order)),
    )?;
    let home = match &file.placement.home {
        Some(home) if *home.get_ref() > MAX_HOME => {
            let message = format!("`home` is {}; allowed: 0 to {MAX_HOME}", home.get_ref());
            return Err(source.error(home.span(), message));
        }
        Some(home) => *home.get_ref() as usize,
        None => 0,
    };
    let calibration =
        file.calibration.map(|c| calibration::calibration(&source, &c, &names)).transpose()?;
    let calibrated = file.steps.iter().find(|s| s.get_ref().share.is_some());
    let gives_work = calibration.as_ref().is_some_and(Calibration::gives_local_work);
    if let (false, Some(step)) = (gives_work, calibrated) {
        return Err(source.error(
            step.span(),
            "`share` is a share of the calibrated work; it needs a section [calibration] that gives it",
        ));
    }
    let head = head::MetricEntry {
        metric: &file.metric,
        unit: &file.unit,
        operations: file.operations.as_ref(),
        per_operation: file.per_operation.as_ref(),
        calibrated: calibration.as_ref().is_some_and(Calibration::gives_unit),
    };
    let metric = head::metric(&source, &head)?;
    let plain = samples.is_none() && variants.iter().all(|variant| variant.guests.is_none());
    Ok(Script {
        name: source.name("name", &file.name)?,
        title: source.text("title", &file.title)?,
        operation: source.text("operation", &file.operation)?,
        metric,
        run: figures::run(&source, &file.run, (metric, plain))?,
        samples,
        left_out: head::left_out(&source, &file.left_out)?,
        profile: profile::profile(&source, &file.profile, &file.symbols, (&names, &parts))?,
        doubtful: head::doubtful(&source, &file.doubtful)?,
        pairs: pairs::pairs(&source, &file.pairs, &variants)?,
        variants,
        order,
        home,
        calibration,
    })
}

/// Stands for every kind of table among the kinds of objects.
const TABLE: i32 = 5;

fn objects(source: &Source, entries: &[Spanned<ObjectEntry>]) -> Result<Vec<Object>> {
    let mut objects: Vec<Object> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for entry in entries {
        let entry = entry.get_ref();
        let name = source.name("name", &entry.name)?;
        if objects.iter().any(|o| o.name == name) {
            return Err(source.error(entry.name.span(), format!("there are two objects `{name}`")));
        }
        let refuse = |field: &Option<Range<usize>>, what: &str| match field {
            Some(span) => {
                let message =
                    format!("`{what}` is not for an object of kind `{}`", entry.kind.get_ref());
                Err(source.error(span.clone(), message))
            }
            None => Ok(()),
        };
        let lock_span = entry.lock.as_ref().map(Spanned::span);
        let pause_span = entry.pause.as_ref().map(Spanned::span);
        let trywait_span = entry.trywait.as_ref().map(Spanned::span);
        let count_span = entry.count.as_ref().map(Spanned::span);
        let lock = || match &entry.lock {
            Some(lock) => source.lock(lock),
            None => {
                let message = format!("the object `{name}` lacks `lock`, the kind of its lock");
                Err(source.error(entry.name.span(), message))
            }
        };
        let page_span = entry.page.as_ref().map(Spanned::span);
        let mut kinds = vec![("lock", 0), ("lockref", 1), ("word", 2), ("data", 3), ("page", 4)];
        kinds.extend(Table::kinds().map(|kind| (kind, TABLE)));
        let chosen = source.choose("kind of object", &entry.kind, &kinds)?;
        if chosen != TABLE {
            refuse(&entry.with.as_ref().map(Spanned::span), "with")?;
        }
        let kind = match chosen {
            TABLE => {
                refuse(&page_span, "page")?;
                refuse(&lock_span, "lock")?;
                refuse(&pause_span, "pause")?;
                refuse(&trywait_span, "trywait")?;
                refuse(&count_span, "count")?;
                let table = Table::of_kind(entry.kind.get_ref());
                let with = entry.with.as_ref().map(Spanned::get_ref);
                // The name is of the list above.
                let table = table.expect("there is such a kind").with(source, with)?;
                ObjectKind::Table { table }
            }
            4 => {
                refuse(&lock_span, "lock")?;
                refuse(&pause_span, "pause")?;
                refuse(&trywait_span, "trywait")?;
                let count = entry.count.as_ref().map_or(1, |count| *count.get_ref());
                if !(1..=MAX_COUNT).contains(&count) {
                    let message = format!("`count` is {count}; allowed: 1 to {MAX_COUNT}");
                    return Err(source.error(last(&count_span), message));
                }
                let Some(page) = &entry.page else {
                    let message =
                        format!("the object `{name}` lacks `page`, how references are taken");
                    return Err(source.error(entry.name.span(), message));
                };
                ObjectKind::Page { page: source.page(page)?, count }
            }
            0 => {
                refuse(&page_span, "page")?;
                refuse(&pause_span, "pause")?;
                refuse(&trywait_span, "trywait")?;
                refuse(&count_span, "count")?;
                ObjectKind::Lock { lock: lock()? }
            }
            1 => {
                refuse(&page_span, "page")?;
                let count = entry.count.as_ref().map_or(1, |count| *count.get_ref());
                if count > MAX_COUNT {
                    let message = format!("`count` is {count}; allowed: 0 to {MAX_COUNT}");
                    return Err(source.error(last(&count_span), message));
                }
                ObjectKind::LockRef {
                    lock: lock()?,
                    pause: entry.pause.as_ref().is_some_and(|p| *p.get_ref()),
                    trywait: entry.trywait.as_ref().is_none_or(|t| *t.get_ref()),
                    count,
                }
            }
            kind => {
                refuse(&page_span, "page")?;
                refuse(&lock_span, "lock")?;
                refuse(&pause_span, "pause")?;
                refuse(&trywait_span, "trywait")?;
                refuse(&count_span, "count")?;
                if kind == 2 { ObjectKind::Word } else { ObjectKind::Data }
            }
        };
        let line = source.name("line", &entry.line)?;
        let line = lines.iter().position(|l| *l == line).unwrap_or_else(|| {
            lines.push(line);
            lines.len() - 1
        });
        objects.push(Object { name, kind, line });
    }
    Ok(objects)
}

fn last(span: &Option<Range<usize>>) -> Range<usize> {
    span.clone().unwrap_or(0..0)
}

fn variant(
    source: &Source,
    entry: &VariantEntry,
    objects: &[Object],
    names: (&[String], &[Part]),
    (steps, disturbances, samples): (
        &[Spanned<StepEntry>],
        &[Spanned<samples::DisturbanceEntry>],
        Option<Samples>,
    ),
) -> Result<Variant> {
    let mut objects = objects.to_vec();
    for set in &entry.set {
        let set = set.get_ref();
        let index = object_named(source, &set.object, &objects)?;
        let lock = set.lock.as_ref().map(|lock| source.lock(lock)).transpose()?;
        let misplaced = |span: Range<usize>, what: &str| {
            source.error(span, format!("`{what}` is not for `{}`", objects[index].name))
        };
        let table = match objects[index].kind {
            ObjectKind::Table { table } => Some(table),
            _ => None,
        };
        if let (Some(with), None) = (&set.with, table) {
            return Err(misplaced(with.span(), "with"));
        }
        if let (Some(lock), Some(_)) = (&set.lock, table) {
            return Err(misplaced(lock.span(), "lock"));
        }
        if let (Some(pause), Some(_)) = (&set.pause, table) {
            return Err(misplaced(pause.span(), "pause"));
        }
        if let (Some(trywait), Some(_)) = (&set.trywait, table) {
            return Err(misplaced(trywait.span(), "trywait"));
        }
        if let (Some(page), false) =
            (&set.page, matches!(objects[index].kind, ObjectKind::Page { .. }))
        {
            return Err(misplaced(page.span(), "page"));
        }
        let kind = match objects[index].kind {
            ObjectKind::Page { page: before, count } => {
                for (span, what) in [
                    (set.lock.as_ref().map(Spanned::span), "lock"),
                    (set.pause.as_ref().map(Spanned::span), "pause"),
                    (set.trywait.as_ref().map(Spanned::span), "trywait"),
                ] {
                    if let Some(span) = span {
                        return Err(misplaced(span, what));
                    }
                }
                let page = set.page.as_ref().map(|page| source.page(page)).transpose()?;
                ObjectKind::Page { page: page.unwrap_or(before), count }
            }
            ObjectKind::Lock { lock: before } => {
                if let Some(pause) = &set.pause {
                    return Err(misplaced(pause.span(), "pause"));
                }
                if let Some(trywait) = &set.trywait {
                    return Err(misplaced(trywait.span(), "trywait"));
                }
                ObjectKind::Lock { lock: lock.unwrap_or(before) }
            }
            ObjectKind::LockRef { lock: before, pause, trywait, count } => ObjectKind::LockRef {
                lock: lock.unwrap_or(before),
                pause: set.pause.as_ref().map_or(pause, |p| *p.get_ref()),
                trywait: set.trywait.as_ref().map_or(trywait, |t| *t.get_ref()),
                count,
            },
            ObjectKind::Foreign { .. } => unreachable!("no script names one"),
            ObjectKind::Table { table } => {
                let with = set.with.as_ref().map(Spanned::get_ref);
                ObjectKind::Table { table: table.with(source, with)? }
            }
            ObjectKind::Word | ObjectKind::Data => {
                return Err(source.error(
                    set.object.span(),
                    format!(
                        "`{}` has nothing to set; it is no lock, no lockref and no page",
                        objects[index].name
                    ),
                ));
            }
        };
        objects[index].kind = kind;
    }
    let steps = steps::build(source, &objects, names, &entry.name, steps)?;
    let disturbances =
        samples::disturbances(source, disturbances, samples, &objects, names, &entry.name)?;
    Ok(Variant {
        name: entry.name.get_ref().clone(),
        title: source.text("title", &entry.title)?,
        objects,
        steps,
        parts: names.1.to_vec(),
        disturbances,
        guests: None,
        work_varies: false,
        starts: Starts::default(),
    })
}

pub(crate) fn object_named(
    source: &Source,
    found: &Spanned<String>,
    objects: &[Object],
) -> Result<usize> {
    objects.iter().position(|o| o.name == *found.get_ref()).ok_or_else(|| {
        let names: Vec<&str> = objects.iter().map(|o| o.name.as_str()).collect();
        source.unknown("object", found, &names)
    })
}
