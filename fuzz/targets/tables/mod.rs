//! Tables beside simple models, as in the tests of the tables.

// The models belong to the tests of the tables, which know no fuzzers.
#[path = "../../../crates/lockyard-tables/tests/it/models.rs"]
mod models;

/// Runs the target with this name.
pub(crate) fn run(name: &str, input: &[u8]) {
    let target = models::TARGETS.iter().find(|target| target.0 == name);
    (target.expect("the models have this target").1)(input);
}
