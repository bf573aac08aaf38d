//! Kinds of violations that a harness finds.
//!
//! Programs report a violation by a panic whose message begins with a name from this file. The same
//! violation is therefore the same finding in a thread of the host, in a simulated thread and in a
//! model.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{self, UnwindSafe};
use std::sync::Once;

/// A kind of violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Finding {
    /// A thread that can never continue.
    Stuck,
    /// Two holders of one lock, shown by the stamp of each.
    Exclusion,
    /// Unordered accesses to plain data.
    Race,
    /// A sum or a reference count that differs from the operations on it.
    Count,
    /// An object used after the last reference to it was gone.
    Freed,
    /// A word that is used as locks of two kinds.
    Kinds,
    /// A panic of another kind: an assertion inside the primitive or the platform.
    Assertion,
}

/// Prefix of the message of [`Finding::Stuck`].
pub const STUCK: &str = "stuck: ";
/// Prefix of the message of [`Finding::Exclusion`].
pub const EXCLUSION: &str = "exclusion: ";
/// Prefix of the message of [`Finding::Race`].
pub const RACE: &str = "race: ";
/// Prefix of the message of [`Finding::Count`].
pub const COUNT: &str = "count: ";
/// Prefix of the message of [`Finding::Freed`].
pub const FREED: &str = "freed: ";
/// Prefix of the message of [`Finding::Kinds`].
pub const KINDS: &str = "kinds: ";

/// Messages of loom, with their findings.
const OF_LOOM: [(&str, Finding); 3] = [
    ("Model exceeded maximum number of branches", Finding::Stuck),
    ("deadlock; threads", Finding::Stuck),
    ("Causality violation", Finding::Race),
];

impl Finding {
    /// Returns the kind of a panic with this message.
    pub fn of(message: &str) -> Finding {
        let ours = [
            (STUCK, Finding::Stuck),
            (EXCLUSION, Finding::Exclusion),
            (RACE, Finding::Race),
            (COUNT, Finding::Count),
            (FREED, Finding::Freed),
            (KINDS, Finding::Kinds),
        ];
        ours.into_iter()
            .find(|(start, _)| message.starts_with(start))
            .or_else(|| OF_LOOM.into_iter().find(|(part, _)| message.contains(part)))
            .map_or(Finding::Assertion, |(_, finding)| finding)
    }
}

/// A violation that was found.
#[derive(Clone, Debug)]
pub struct Caught {
    /// Kind of the violation.
    pub finding: Finding,
    /// Message of the panic.
    pub message: String,
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first_line = self.message.lines().next().unwrap_or_default();
        write!(f, "{:?} ({first_line})", self.finding)
    }
}

std::thread_local! {
    /// While this is `Some`, panics of the OS thread are recorded instead of printed.
    static RECORD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        String::from("a panic without a message")
    }
}

/// Runs `run`. Returns a panic as a value instead of printing it. If unwinding causes further
/// panics, the first one counts.
///
/// # Errors
///
/// The finding of the first panic.
pub fn catching<R>(run: impl FnOnce() -> R + UnwindSafe) -> Result<R, Caught> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let recorded = RECORD.with_borrow_mut(|record| {
                record.as_mut().map(|r| r.push(message_of(info.payload()))).is_some()
            });
            if !recorded {
                print(info);
            }
        }));
    });
    let outer = RECORD.replace(Some(Vec::new()));
    let result = panic::catch_unwind(run);
    let recorded = RECORD.replace(outer).unwrap_or_default();
    result.map_err(|payload| {
        let message = recorded.into_iter().next().unwrap_or_else(|| message_of(&*payload));
        Caught { finding: Finding::of(&message), message }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_finding_of_its_kind() {
        let caught = catching(|| panic!("{EXCLUSION}two holders")).unwrap_err();
        assert_eq!(caught.finding, Finding::Exclusion);
        let caught = catching(|| panic!("{}", "Causality violation: x")).unwrap_err();
        assert_eq!(caught.finding, Finding::Race);
        let caught = catching(|| panic!("anything else")).unwrap_err();
        assert_eq!(caught.finding, Finding::Assertion);
        assert_eq!(catching(|| 7).unwrap(), 7);
    }
}
