//! Reading a script file: strict, and with an error that says where, what, and what is allowed.

use crate::kinds::LockKind;
use crate::script::{
    Calibration, GetOperation, Object, ObjectKind, Order, PutOperation, Script, Step, Variant,
};
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
/// A step may work for this many nanoseconds: ten milliseconds.
const MAX_WORK_NS: f64 = 1e7;
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

type Result<T> = std::result::Result<T, ScriptError>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    title: Spanned<String>,
    operation: Spanned<String>,
    metric: Spanned<String>,
    unit: Spanned<String>,
    #[serde(default)]
    objects: Vec<Spanned<ObjectEntry>>,
    #[serde(default)]
    steps: Vec<Spanned<StepEntry>>,
    variants: Spanned<Vec<Spanned<VariantEntry>>>,
    placement: PlacementEntry,
    calibration: Option<Spanned<CalibrationEntry>>,
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
    line: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepEntry {
    r#do: Spanned<String>,
    object: Option<Spanned<String>>,
    operation: Option<Spanned<String>>,
    share: Option<Spanned<f64>>,
    ns: Option<Spanned<f64>>,
    value: Option<Spanned<i32>>,
    only: Option<Vec<Spanned<String>>>,
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
    pause: Option<Spanned<bool>>,
    trywait: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlacementEntry {
    order: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationEntry {
    machine: Spanned<String>,
    threads: Spanned<u32>,
    variant: Option<Spanned<String>>,
}

/// Where errors are.
struct Source<'a> {
    origin: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn error(&self, span: Range<usize>, message: impl std::fmt::Display) -> ScriptError {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        ScriptError(format!("{}:{line}: {message}", self.origin))
    }

    /// An error about a name that is none of `allowed`.
    fn unknown(&self, what: &str, found: &Spanned<String>, allowed: &[&str]) -> ScriptError {
        let name = found.get_ref();
        let near = allowed
            .iter()
            .filter(|_| name.len() <= 64)
            .map(|a| (strsim::damerau_levenshtein(name, a), *a))
            .filter(|(distance, a)| *distance <= a.len().max(3) / 3)
            .min();
        let hint = match near {
            Some((_, near)) => format!("did you mean `{near}`?"),
            None if allowed.is_empty() => "there is none".to_owned(),
            None => format!("allowed: {}", allowed.join(", ")),
        };
        let name: String = name.chars().take(40).collect();
        self.error(found.span(), format!("there is no {what} `{}`; {hint}", name.escape_debug()))
    }

    /// The one of `table` that `found` names.
    fn choose<T: Copy>(
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
    fn text(&self, what: &str, found: &Spanned<String>) -> Result<String> {
        let text = found.get_ref();
        if text.is_empty() || text.len() > 400 || text.contains(['\n', '\r']) {
            let message = format!("`{what}` must be one line of 1 to 400 bytes");
            return Err(self.error(found.span(), message));
        }
        Ok(text.clone())
    }

    /// A name.
    fn name(&self, what: &str, found: &Spanned<String>) -> Result<String> {
        let name = found.get_ref();
        let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.+/@".contains(&b);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(ok) {
            let message = format!("`{what}` must be 1 to 64 of a-z A-Z 0-9 - _ . + / @");
            return Err(self.error(found.span(), message));
        }
        Ok(name.clone())
    }

    fn lock(&self, found: &Spanned<String>) -> Result<LockKind> {
        let table: Vec<_> = LockKind::ALL.iter().map(|&kind| (kind.name(), kind)).collect();
        self.choose("lock", found, &table)
    }
}

pub(crate) fn load(path: &Path) -> Result<Script> {
    use std::io::Read;
    let origin = path.display().to_string();
    let fail = |what: String| ScriptError(format!("{origin}: {what}"));
    let file = std::fs::File::open(path).map_err(|e| fail(format!("cannot be read: {e}")))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| fail(format!("cannot be read: {e}")))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(format!("is larger than {MAX_FILE_BYTES} bytes; a script is small")));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let valid = e.as_bytes().get(..e.utf8_error().valid_up_to()).unwrap_or_default();
        let line = valid.iter().filter(|&&b| b == b'\n').count() + 1;
        ScriptError(format!("{origin}:{line}: not UTF-8 text; a script is TOML"))
    })?;
    parse(&origin, &text)
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
    let mut variants = Vec::new();
    for variant in file.variants.get_ref() {
        variants.push(self::variant(&source, variant.get_ref(), &objects, &names, &file.steps)?);
    }
    let order = source.choose(
        "order of placement",
        &file.placement.order,
        &[("cores-first", Order::CoresFirst)],
    )?;
    let calibration =
        file.calibration.map(|c| calibration(&source, c.get_ref(), &names)).transpose()?;
    let calibrated = file.steps.iter().find(|s| s.get_ref().share.is_some());
    if let (None, Some(step)) = (&calibration, calibrated) {
        return Err(source.error(
            step.span(),
            "`share` is a share of the calibrated work; it needs a section [calibration]",
        ));
    }
    Ok(Script {
        name: source.name("name", &file.name)?,
        title: source.text("title", &file.title)?,
        operation: source.text("operation", &file.operation)?,
        metric: source.name("metric", &file.metric)?,
        unit: source.name("unit", &file.unit)?,
        variants,
        order,
        calibration,
    })
}

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
        let kinds = [("lock", 0), ("lockref", 1), ("word", 2), ("data", 3)];
        let kind = match source.choose("kind of object", &entry.kind, &kinds)? {
            0 => {
                refuse(&pause_span, "pause")?;
                refuse(&trywait_span, "trywait")?;
                refuse(&count_span, "count")?;
                ObjectKind::Lock { lock: lock()? }
            }
            1 => {
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

fn calibration(
    source: &Source,
    entry: &CalibrationEntry,
    variants: &[String],
) -> Result<Calibration> {
    let threads = *entry.threads.get_ref();
    if !(1..=4096).contains(&threads) {
        let message = format!("`threads` is {threads}; allowed: 1 to 4096");
        return Err(source.error(entry.threads.span(), message));
    }
    if let Some(variant) = &entry.variant
        && !variants.contains(variant.get_ref())
    {
        let names: Vec<&str> = variants.iter().map(String::as_str).collect();
        return Err(source.unknown("variant", variant, &names));
    }
    Ok(Calibration {
        machine: source.name("machine", &entry.machine)?,
        threads: threads as usize,
        variant: entry.variant.as_ref().map(|v| v.get_ref().clone()),
    })
}

fn variant(
    source: &Source,
    entry: &VariantEntry,
    objects: &[Object],
    names: &[String],
    steps: &[Spanned<StepEntry>],
) -> Result<Variant> {
    let mut objects = objects.to_vec();
    for set in &entry.set {
        let set = set.get_ref();
        let index = object_named(source, &set.object, &objects)?;
        let lock = set.lock.as_ref().map(|lock| source.lock(lock)).transpose()?;
        let misplaced = |span: Range<usize>, what: &str| {
            source.error(span, format!("`{what}` is not for `{}`", objects[index].name))
        };
        let kind = match objects[index].kind {
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
            ObjectKind::Word | ObjectKind::Data => {
                return Err(source.error(
                    set.object.span(),
                    format!(
                        "`{}` has nothing to set; it is no lock and no lockref",
                        objects[index].name
                    ),
                ));
            }
        };
        objects[index].kind = kind;
    }
    let name = entry.name.get_ref().clone();
    let mut builder = Steps { source, objects: &objects, names, variant: &name, open: Vec::new() };
    let steps = builder.build(steps)?;
    check_data(source, &objects, &steps, &entry.name)?;
    Ok(Variant { title: source.text("title", &entry.title)?, name, objects, steps })
}

fn object_named(source: &Source, found: &Spanned<String>, objects: &[Object]) -> Result<usize> {
    objects.iter().position(|o| o.name == *found.get_ref()).ok_or_else(|| {
        let names: Vec<&str> = objects.iter().map(|o| o.name.as_str()).collect();
        source.unknown("object", found, &names)
    })
}

/// Builds the steps of one variant; locks nest.
struct Steps<'a> {
    source: &'a Source<'a>,
    objects: &'a [Object],
    names: &'a [String],
    variant: &'a str,
    /// Locks that are held, with what was done before each was taken.
    open: Vec<(usize, Range<usize>, Vec<Step>)>,
}

impl Steps<'_> {
    fn build(&mut self, entries: &[Spanned<StepEntry>]) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for entry in entries {
            if self.is_present(entry.get_ref())? {
                self.add(entry, &mut steps)?;
            }
        }
        if let Some((object, span, _)) = self.open.pop() {
            let message = format!("`{}` is locked and never unlocked", self.objects[object].name);
            return Err(self.source.error(span, message));
        }
        let total = total_share(&steps);
        if total > 0.0 {
            scale_shares(&mut steps, total);
        }
        Ok(steps)
    }

    fn is_present(&self, entry: &StepEntry) -> Result<bool> {
        let Some(only) = &entry.only else { return Ok(true) };
        for name in only {
            if !self.names.contains(name.get_ref()) {
                let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
                return Err(self.source.unknown("variant", name, &names));
            }
        }
        Ok(only.iter().any(|name| name.get_ref() == self.variant))
    }

    fn add(&mut self, spanned: &Spanned<StepEntry>, steps: &mut Vec<Step>) -> Result<()> {
        #[derive(Clone, Copy, PartialEq)]
        enum Do {
            Work,
            Pause,
            Lock,
            Unlock,
            Get,
            Put,
            Read,
            Write,
            Add,
        }
        let source = self.source;
        let entry = spanned.get_ref();
        let table = [
            ("work", Do::Work),
            ("pause", Do::Pause),
            ("lock", Do::Lock),
            ("unlock", Do::Unlock),
            ("get", Do::Get),
            ("put", Do::Put),
            ("read", Do::Read),
            ("write", Do::Write),
            ("add", Do::Add),
        ];
        let what = source.choose("step", &entry.r#do, &table)?;
        let name = entry.r#do.get_ref().as_str();
        let refuse = |span: Option<Range<usize>>, field: &str, allowed: bool| match span {
            Some(span) if !allowed => {
                Err(source.error(span, format!("`{field}` is not for a `{name}` step")))
            }
            _ => Ok(()),
        };
        let span = |s: &Option<Spanned<f64>>| s.as_ref().map(Spanned::span);
        refuse(span(&entry.share), "share", what == Do::Work)?;
        refuse(span(&entry.ns), "ns", what == Do::Work)?;
        refuse(entry.value.as_ref().map(Spanned::span), "value", what == Do::Add)?;
        let takes_operation = matches!(what, Do::Get | Do::Put);
        refuse(entry.operation.as_ref().map(Spanned::span), "operation", takes_operation)?;
        let takes_object = !matches!(what, Do::Work | Do::Pause);
        refuse(entry.object.as_ref().map(Spanned::span), "object", takes_object)?;

        match what {
            Do::Work => return self.work(spanned, steps),
            Do::Pause => {
                steps.push(Step::Pause);
                return Ok(());
            }
            _ => {}
        }
        let Some(found) = &entry.object else {
            return Err(source.error(spanned.span(), format!("a `{name}` step needs `object`")));
        };
        let object = object_named(source, found, self.objects)?;
        let kind = self.objects[object].kind;
        let needs = |right: bool, what: &str| {
            let object = found.get_ref();
            let message = format!("a `{name}` step needs {what}, and `{object}` is none");
            if right { Ok(()) } else { Err(source.error(found.span(), message)) }
        };
        let is_lockref = matches!(kind, ObjectKind::LockRef { .. });
        let is_lock = is_lockref || matches!(kind, ObjectKind::Lock { .. });
        match what {
            Do::Lock => {
                needs(is_lock, "a lock or a lockref")?;
                if self.open.iter().any(|(held, ..)| *held == object) {
                    let message = format!("`{}` is locked already", found.get_ref());
                    return Err(source.error(found.span(), message));
                }
                self.open.push((object, found.span(), std::mem::take(steps)));
            }
            Do::Unlock => match self.open.pop() {
                Some((held, _, before)) if held == object => {
                    let inner = std::mem::replace(steps, before);
                    steps.push(Step::Locked { object, steps: inner });
                }
                Some((held, ..)) => {
                    let message = format!(
                        "`{}` is unlocked, but `{}` was locked last; locks nest",
                        found.get_ref(),
                        self.objects[held].name
                    );
                    return Err(source.error(found.span(), message));
                }
                None => {
                    let message = format!("`{}` is unlocked, but not locked", found.get_ref());
                    return Err(source.error(found.span(), message));
                }
            },
            Do::Get | Do::Put => {
                needs(is_lockref, "a lockref")?;
                if self.open.iter().any(|(held, ..)| *held == object) {
                    let message =
                        format!("`{}` is locked: it would wait for itself", found.get_ref());
                    return Err(source.error(found.span(), message));
                }
                steps.push(self.reference(what == Do::Get, object, entry)?);
            }
            Do::Read | Do::Write => {
                needs(matches!(kind, ObjectKind::Word | ObjectKind::Data), "a word or data")?;
                let step =
                    if what == Do::Read { Step::Read { object } } else { Step::Write { object } };
                steps.push(step);
            }
            Do::Add => {
                needs(matches!(kind, ObjectKind::Word), "a word")?;
                let value = entry.value.as_ref().map_or(1, |v| *v.get_ref());
                steps.push(Step::Add { object, value });
            }
            Do::Work | Do::Pause => unreachable!("handled above"),
        }
        Ok(())
    }

    fn work(&self, spanned: &Spanned<StepEntry>, steps: &mut Vec<Step>) -> Result<()> {
        let entry = spanned.get_ref();
        let check = |field: &Spanned<f64>, what: &str, max: f64| {
            let value = *field.get_ref();
            if value > 0.0 && value <= max {
                Ok(value)
            } else {
                let message = format!("`{what}` is {value}; allowed: above 0, at most {max}");
                Err(self.source.error(field.span(), message))
            }
        };
        let step = match (&entry.share, &entry.ns) {
            (Some(share), None) => Step::CalibratedWork { share: check(share, "share", 1e6)? },
            (None, Some(ns)) => Step::Work { nanoseconds: check(ns, "ns", MAX_WORK_NS)? },
            _ => {
                return Err(self.source.error(
                    spanned.span(),
                    "a `work` step needs either `share` (of the calibrated work) or `ns`",
                ));
            }
        };
        steps.push(step);
        Ok(())
    }

    fn reference(&self, get: bool, object: usize, entry: &StepEntry) -> Result<Step> {
        let source = self.source;
        if get {
            let table = [
                ("get", GetOperation::Get),
                ("get-not-zero", GetOperation::GetNotZero),
                ("get-not-dead", GetOperation::GetNotDead),
            ];
            let operation = match &entry.operation {
                Some(found) => source.choose("get operation", found, &table)?,
                None => GetOperation::Get,
            };
            Ok(Step::Get { object, operation })
        } else {
            let table = [
                ("put-return", PutOperation::PutReturn),
                ("put-not-zero", PutOperation::PutNotZero),
                ("put-or-lock", PutOperation::PutOrLock),
            ];
            let operation = match &entry.operation {
                Some(found) => source.choose("put operation", found, &table)?,
                None => PutOperation::PutReturn,
            };
            Ok(Step::Put { object, operation })
        }
    }
}

fn total_share(steps: &[Step]) -> f64 {
    steps
        .iter()
        .map(|step| match step {
            Step::CalibratedWork { share } => *share,
            Step::Locked { steps, .. } => total_share(steps),
            _ => 0.0,
        })
        .sum()
}

fn scale_shares(steps: &mut [Step], total: f64) {
    for step in steps {
        match step {
            Step::CalibratedWork { share } => *share /= total,
            Step::Locked { steps, .. } => scale_shares(steps, total),
            _ => {}
        }
    }
}

/// Data is written under one lock, always the same, and then read only under it; or never written.
fn check_data(
    source: &Source,
    objects: &[Object],
    steps: &[Step],
    variant: &Spanned<String>,
) -> Result<()> {
    /// Calls `see` with each access of `object`: write or read, and the locks held.
    fn accesses(
        steps: &[Step],
        object: usize,
        held: &mut Vec<usize>,
        see: &mut impl FnMut(bool, &[usize]),
    ) {
        for step in steps {
            match step {
                Step::Read { object: o } if *o == object => see(false, held),
                Step::Write { object: o } if *o == object => see(true, held),
                Step::Locked { object: lock, steps } => {
                    held.push(*lock);
                    accesses(steps, object, held, see);
                    held.pop();
                }
                _ => {}
            }
        }
    }
    for (index, object) in objects.iter().enumerate() {
        if object.kind != ObjectKind::Data {
            continue;
        }
        let mut written = false;
        let mut common: Option<Vec<usize>> = None;
        accesses(steps, index, &mut Vec::new(), &mut |write, held| {
            written |= write;
            match &mut common {
                None => common = Some(held.to_vec()),
                Some(common) => common.retain(|lock| held.contains(lock)),
            }
        });
        if written && common.is_none_or(|locks| locks.is_empty()) {
            return Err(source.error(
                variant.span(),
                format!(
                    "in variant `{}` the data `{}` is written, and not always accessed under one \
                     lock; take a lock around it, or make it a word",
                    variant.get_ref(),
                    object.name
                ),
            ));
        }
    }
    Ok(())
}
