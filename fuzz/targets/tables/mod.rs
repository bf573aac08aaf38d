//! Tables beside simple models, as in the tests of the tables.

#[path = "../../../crates/lockyard-tables/tests/it/models.rs"]
mod models;

// The models name this module of their tests.
mod replay {
    pub(crate) type Target = (&'static str, fn(&[u8]));
}

/// Runs the target with this name.
pub(crate) fn run(name: &str, input: &[u8]) {
    let target = models::TARGETS.iter().find(|target| target.0 == name);
    (target.expect("the models have this target").1)(input);
}
