//! Tables beside simple models, as in the tests of the tables.

// A separate crate for the models would serve only these targets, and tests would know of fuzzers.
#[path = "../../../crates/lockyard-tables/tests/it/models.rs"]
mod models;

/// Runs the target with this name.
pub(crate) fn run(name: &str, input: &[u8]) {
    let target = models::TARGETS.iter().find(|target| target.0 == name);
    (target.expect("the models have this target").1)(input);
}
