//! The steps of one variant, from the entries of a script: locks nest, objects are of the right kind,
//! and data that is written is always accessed under a lock.

use crate::file::{Result, Source, StepEntry, object_named};
use crate::parts;
use crate::script::{GetOperation, Object, ObjectKind, Part, PutOperation, Step};
use crate::tables::{Key, Operation};
use lockyard::platform::{Activity, NEST_LEVELS, Region};
use std::ops::Range;
use toml::Spanned;

/// A step may work for this many nanoseconds: ten milliseconds.
const MAX_WORK_NS: f64 = 1e7;

/// A step may be done in one of so many operations.
const MAX_ONE_IN: u32 = 1_000_000;

/// The steps of the variant `variant` (one of `names`), and the check of its data. Steps may name one of the `parts`.
pub(crate) fn build(
    source: &Source,
    objects: &[Object],
    (names, parts): (&[String], &[Part]),
    variant: &Spanned<String>,
    entries: &[Spanned<StepEntry>],
) -> Result<Vec<Step>> {
    let variant_name = variant.get_ref();
    let (open, inserted) = (Vec::new(), Vec::new());
    let mut builder =
        Steps { source, objects, names, parts, variant: variant_name, open, inserted };
    let steps = builder.build(entries)?;
    check_data(source, objects, &steps, variant)?;
    Ok(steps)
}

/// A lock that is held.
struct Open {
    object: usize,
    at: Range<usize>,
    wait: Activity,
    before: Vec<Step>,
}

/// Builds the steps of one variant; locks nest.
struct Steps<'a> {
    source: &'a Source<'a>,
    objects: &'a [Object],
    names: &'a [String],
    parts: &'a [Part],
    variant: &'a str,
    /// Locks that are held, what waiting for each is, and what was done before it was taken.
    open: Vec<Open>,
    /// What was inserted into tables and not removed.
    inserted: Vec<(usize, Range<usize>)>,
}

impl Steps<'_> {
    fn build(&mut self, entries: &[Spanned<StepEntry>]) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for entry in entries {
            if self.is_present(entry.get_ref())? {
                self.add(entry, &mut steps)?;
            }
        }
        if let Some(Open { object, at, .. }) = self.open.pop() {
            let message = format!("`{}` is locked and never unlocked", self.objects[object].name);
            return Err(self.source.error(at, message));
        }
        if let Some((object, span)) = self.inserted.pop() {
            let name = &self.objects[object].name;
            let message = format!(
                "what is inserted into `{name}` stays there, and a run would fill the memory; add a `remove` step"
            );
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
            WaitForOthers,
            Lock,
            Unlock,
            Get,
            Put,
            Read,
            Write,
            Add,
            Table(Operation),
        }
        let source = self.source;
        let entry = spanned.get_ref();
        let table = [
            ("work", Do::Work),
            ("pause", Do::Pause),
            ("wait-for-others", Do::WaitForOthers),
            ("lock", Do::Lock),
            ("unlock", Do::Unlock),
            ("get", Do::Get),
            ("put", Do::Put),
            ("read", Do::Read),
            ("write", Do::Write),
            ("add", Do::Add),
            ("look-up", Do::Table(Operation::LookUp)),
            ("update", Do::Table(Operation::Update)),
            ("insert", Do::Table(Operation::Insert)),
            ("remove", Do::Table(Operation::Remove)),
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
        let takes_region = matches!(what, Do::Work | Do::Lock);
        refuse(entry.region.as_ref().map(Spanned::span), "region", takes_region)?;
        let may_be_named = matches!(what, Do::Work | Do::Lock);
        refuse(entry.name.as_ref().map(Spanned::span), "name", may_be_named)?;
        refuse(entry.value.as_ref().map(Spanned::span), "value", what == Do::Add)?;
        let one_in = entry.one_in.as_ref().map(Spanned::span);
        refuse(one_in, "one_in", what == Do::WaitForOthers)?;
        let takes_operation = matches!(what, Do::Get | Do::Put);
        refuse(entry.operation.as_ref().map(Spanned::span), "operation", takes_operation)?;
        let takes_key = what == Do::Read || matches!(what, Do::Table(table) if table.has_key());
        refuse(entry.key.as_ref().map(Spanned::span), "key", takes_key)?;
        let takes_object = !matches!(what, Do::Work | Do::Pause | Do::WaitForOthers);
        refuse(entry.object.as_ref().map(Spanned::span), "object", takes_object)?;

        match what {
            Do::Work => return self.work(spanned, steps),
            Do::Pause => {
                steps.push(Step::Pause);
                return Ok(());
            }
            Do::WaitForOthers => {
                let one_in = entry.one_in.as_ref().map_or(1, |one_in| *one_in.get_ref());
                if !(1..=MAX_ONE_IN).contains(&one_in) {
                    let message = format!("`one_in` is {one_in}; allowed: 1 to {MAX_ONE_IN}");
                    let at = entry.one_in.as_ref().map_or(spanned.span(), Spanned::span);
                    return Err(source.error(at, message));
                }
                steps.push(Step::WaitForOthers { one_in });
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
        if let ObjectKind::Table { table } = kind
            && let Some(operation) = match what {
                Do::Read => Some(Operation::Read),
                Do::Table(operation) => Some(operation),
                _ => None,
            }
        {
            if !table.operations().contains(&operation) {
                let all: Vec<&str> = table.operations().iter().map(|o| o.name()).collect();
                let message = format!(
                    "a `{name}` step is not for `{}`, which is of kind `{}`; allowed: {}",
                    found.get_ref(),
                    table.kind(),
                    all.join(", ")
                );
                return Err(source.error(found.span(), message));
            }
            return self.table(spanned, (object, operation), steps);
        }
        if let Some(key) = &entry.key {
            let message = format!("`key` is not for `{}`, which is no table", found.get_ref());
            return Err(source.error(key.span(), message));
        }
        let is_lockref = matches!(kind, ObjectKind::LockRef { .. });
        let is_page = matches!(kind, ObjectKind::Page { .. });
        let is_lock = is_lockref || matches!(kind, ObjectKind::Lock { .. });
        match what {
            Do::Lock => {
                needs(is_lock, "a lock or a lockref")?;
                if self.holds(object) {
                    let message = format!("`{}` is locked already", found.get_ref());
                    return Err(source.error(found.span(), message));
                }
                if self.keeps_a_node(object) {
                    let held =
                        self.open.iter().filter(|held| self.keeps_a_node(held.object)).count();
                    if held == NEST_LEVELS as usize {
                        let message = format!(
                            "`{}` would be the fifth MCS or CLH lock held; a thread has nodes for {NEST_LEVELS}",
                            found.get_ref()
                        );
                        return Err(source.error(found.span(), message));
                    }
                }
                let region = parts::region(self.source, entry)?.unwrap_or(Region::LockWait);
                let wait = parts::named(entry, self.parts).unwrap_or_else(|| region.into());
                let before = std::mem::take(steps);
                self.open.push(Open { object, at: found.span(), wait, before });
            }
            Do::Unlock => match self.open.pop() {
                Some(Open { object: held, wait, before, .. }) if held == object => {
                    let inner = std::mem::replace(steps, before);
                    steps.push(Step::Locked { object, wait, steps: inner });
                }
                Some(held) => {
                    let message = format!(
                        "`{}` is unlocked, but `{}` was locked last; locks nest",
                        found.get_ref(),
                        self.objects[held.object].name
                    );
                    return Err(source.error(found.span(), message));
                }
                None => {
                    let message = format!("`{}` is unlocked, but not locked", found.get_ref());
                    return Err(source.error(found.span(), message));
                }
            },
            Do::Get | Do::Put if is_page => {
                if let Some(found) = &entry.operation {
                    let message = "`operation` is not for a page; its `page` says how".to_owned();
                    return Err(source.error(found.span(), message));
                }
                steps.push(self.reference(what == Do::Get, object, entry)?);
            }
            Do::Get | Do::Put => {
                needs(is_lockref, "a lockref or a page")?;
                if self.holds(object) {
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
            Do::Table(_) => needs(false, "a table")?,
            Do::Work | Do::Pause | Do::WaitForOthers => unreachable!("handled above"),
        }
        Ok(())
    }

    fn holds(&self, object: usize) -> bool {
        self.open.iter().any(|held| held.object == object)
    }

    /// A step that uses a table. What an operation inserts it removes, and it uses nothing that it has not inserted.
    fn table(
        &mut self,
        spanned: &Spanned<StepEntry>,
        (object, operation): (usize, Operation),
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let key = match &spanned.get_ref().key {
            Some(key) => self.source.choose("key", key, &Key::ALL)?,
            None => Key::default(),
        };
        let has = self.inserted.iter().rposition(|(table, _)| *table == object);
        match operation {
            Operation::Insert => self.inserted.push((object, spanned.span())),
            Operation::Remove => match has {
                Some(last) => {
                    self.inserted.remove(last);
                }
                None => {
                    let name = &self.objects[object].name;
                    let message =
                        format!("nothing is left in `{name}` that this operation inserted");
                    return Err(self.source.error(spanned.span(), message));
                }
            },
            _ if key == Key::Inserted && has.is_none() => {
                let name = &self.objects[object].name;
                let message = format!("this operation has inserted nothing into `{name}`");
                return Err(self.source.error(spanned.span(), message));
            }
            _ => {}
        }
        steps.push(Step::Table { object, operation, key });
        Ok(())
    }

    fn keeps_a_node(&self, object: usize) -> bool {
        match self.objects[object].kind {
            ObjectKind::Lock { lock } | ObjectKind::LockRef { lock, .. } => lock.keeps_a_node(),
            _ => false,
        }
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
        let usual = if self.open.is_empty() { Region::System } else { Region::LockHold };
        let region = parts::region(self.source, entry)?.unwrap_or(usual);
        let activity = parts::named(entry, self.parts).unwrap_or_else(|| region.into());
        let step = match (&entry.share, &entry.ns) {
            (Some(share), None) => {
                Step::CalibratedWork { share: check(share, "share", 1e6)?, activity }
            }
            (None, Some(ns)) => Step::Work { nanoseconds: check(ns, "ns", MAX_WORK_NS)?, activity },
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
            Step::CalibratedWork { share, .. } => *share,
            Step::Locked { steps, .. } => total_share(steps),
            _ => 0.0,
        })
        .sum()
}

fn scale_shares(steps: &mut [Step], total: f64) {
    for step in steps {
        match step {
            Step::CalibratedWork { share, .. } => *share /= total,
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
                Step::Locked { object: lock, steps, .. } => {
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
