//! The table of steps: the names that scripts use, the fields and the functions that build them.
//!
//! A row is a step: its name, the fields that its entry may have, the places where it may stand,
//! and its builder. All entries have `do` and `only`, and entries of steps that use an object have
//! `object`.

use super::builder::{Builder, Used};
use super::single_steps;
use super::source::Result;
use super::step_entry::StepEntry;
use super::word_steps;
use crate::model::{Access, Step, TableOperation};
use toml::Spanned;

/// A place where a step may stand.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum In {
    /// A loop. Steps whose number per operation the lab checks may not be repeated.
    Loop,
    /// A branch. Steps whose number per operation the lab checks may not be in a branch.
    Branch,
    /// A disturbance, which must leave nothing behind.
    Disturbance,
    /// A loop where only the step's own check of nesting rejects it.
    NestedInLoop,
    /// A branch, likewise.
    NestedInBranch,
}

/// A function that builds a step.
#[derive(Clone, Copy)]
pub(super) enum Build {
    /// A step without an object.
    Alone(fn(&Builder, &Spanned<StepEntry>) -> Result<Step>),
    /// A step that uses an object.
    Object(fn(&mut Builder, &Used, &mut Vec<Step>) -> Result<()>),
    /// The begin or end of a section.
    Section(fn(&mut Builder, &Spanned<StepEntry>, &mut Vec<Step>) -> Result<()>),
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Action {
    pub(super) build: Build,
    fields: &'static [&'static str],
    places: &'static [In],
}

impl Action {
    /// Returns `true` if the step may stand there.
    pub(super) fn may_stand(&self, place: In) -> bool {
        self.places.contains(&place)
    }

    /// Returns `true` if an entry of the step may have the field.
    pub(super) fn has(&self, field: &str) -> bool {
        match field {
            "object" => matches!(self.build, Build::Object(_)),
            field => self.fields.contains(&field),
        }
    }
}

/// Returns the names of the steps that may stand in a place.
pub(super) fn names_in(place: In) -> Vec<&'static str> {
    let rows = STEPS.iter().filter(|(_, action)| action.may_stand(place));
    rows.map(|(name, _)| *name).collect()
}

macro_rules! steps {
    ($($name:literal [$($field:ident)*] in [$($place:ident)*] $kind:ident $build:expr;)*) => {
        /// All steps, with their names.
        pub(super) const STEPS: &[(&str, Action)] = &[$(
            ($name, Action {
                build: Build::$kind($build),
                fields: &[$(stringify!($field)),*],
                places: &[$(In::$place),*],
            }),
        )*];

        /// Names each field of the table, so that a misspelt field is a compiler error.
        const _: fn(&StepEntry) = |_entry| { $($(let _ = &_entry.$field;)*)* };
    };
}

steps! {
    "work" [share ns ahead region name when] in [Loop Branch Disturbance] Alone single_steps::work;
    "pause" [when] in [Loop Branch Disturbance] Alone |_, _| Ok(Step::Pause);
    "wait-for-others" [one_in] in [] Alone single_steps::wait_for_others;
    "lock" [region name] in [Branch Disturbance]
        Object |builder, used, steps| builder.lock(used, Access::Exclusive, steps);
    "unlock" [] in [NestedInLoop Branch Disturbance]
        Object |builder, used, steps| builder.unlock(used, Access::Exclusive, steps);
    "lock-shared" [region name] in [Branch Disturbance]
        Object |builder, used, steps| builder.lock(used, Access::Shared, steps);
    "unlock-shared" [] in [NestedInLoop Branch Disturbance]
        Object |builder, used, steps| builder.unlock(used, Access::Shared, steps);
    "either" [percent] in [] Section |builder, entry, steps| builder.either(entry, steps);
    "or" [] in [NestedInBranch] Section |builder, entry, steps| builder.or(entry, steps);
    "end" [] in [NestedInBranch] Section |builder, entry, steps| builder.end(entry, steps);
    "get" [operation] in [] Object single_steps::get;
    "put" [operation] in [] Object single_steps::put;
    "read" [key] in [Branch] Object single_steps::read;
    "write" [] in [Branch] Object single_steps::write;
    "add" [value] in [] Object single_steps::add;
    "load" [at into when] in [Loop Branch] Object word_steps::load;
    "store" [at value when] in [Loop Branch] Object word_steps::store;
    "fetch-add" [at value into when] in [Loop Branch] Object word_steps::fetch_add;
    "compare-exchange" [at expect new into result when] in [Loop Branch]
        Object word_steps::compare_exchange;
    "set" [into value when] in [Loop Branch] Alone word_steps::set;
    "repeat" [] in [Loop Branch] Section |builder, entry, steps| builder.repeat(entry, steps);
    "until" [when] in [Loop NestedInBranch]
        Section |builder, entry, steps| builder.until(entry, steps);
    "look-up" [key] in []
        Object |builder, used, steps| builder.use_table(used, TableOperation::LookUp, steps);
    "update" [key] in []
        Object |builder, used, steps| builder.use_table(used, TableOperation::Update, steps);
    "insert" [] in []
        Object |builder, used, steps| builder.use_table(used, TableOperation::Insert, steps);
    "remove" [] in []
        Object |builder, used, steps| builder.use_table(used, TableOperation::Remove, steps);
}
