//! Reasons why a request failed.

use lockyard_support::InputError;

/// Reason why a prediction cannot be made: wrong input, or a failed run.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The input is wrong.
    Input(InputError),
    /// A run failed.
    Run(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Input(error) => error.fmt(f),
            Failure::Run(message) => f.write_str(message),
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Failure::Input(error)
    }
}
