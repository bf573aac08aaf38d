//! Settings of a table as text, read by programs at start-up: from a command line, an environment
//! variable, or a line of a configuration file.
//!
//! ```text
//!   bits=14
//! ```
//!
//! Settings have the form `name=value`, separated by blanks or commas. A setting that is absent
//! keeps its compiled value. (The seed of the hash is not a setting: it is secret, and command
//! lines and environments are not.)

use super::configuration::{AlreadyInUse, Bits, BitsError};
use super::{ConnectionTable, LookUp};
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use lockyard::Context;
use lockyard::platform::Host;

/// Settings of a table at start-up.
///
/// ```
/// use lockyard_tables::ConnectionTable;
/// use lockyard_tables::connections::{Bits, Settings};
///
/// static TABLE: ConnectionTable<u64> = ConnectionTable::new(Bits::DEFAULT);
///
/// let settings: Settings = "bits=14".parse()?;
/// TABLE.apply(&settings)?;
/// assert_eq!(TABLE.bits().get(), 14);
///
/// let refused = "bits=40".parse::<Settings>().unwrap_err();
/// assert_eq!(refused.to_string(), "`bits` is 40: it must be from 1 to 27");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Binary logarithm of the number of buckets; `None` if it was not given.
    pub bits: Option<Bits>,
}

impl FromStr for Settings {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Settings, SettingsError> {
        let mut settings = Settings::default();
        let separates = |c: char| c.is_whitespace() || c == ',';
        for setting in text.split(separates).filter(|setting| !setting.is_empty()) {
            let (name, value) = match setting.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (setting, None),
            };
            if name != "bits" {
                return Err(SettingsError::new(Wrong::Name(shortened(name))));
            }
            let value = value.ok_or(SettingsError::new(Wrong::NoValue))?;
            let bits = value.parse().map_err(|e| SettingsError::new(Wrong::Bits(e)))?;
            if settings.bits.replace(bits).is_some() {
                return Err(SettingsError::new(Wrong::Twice));
            }
        }
        Ok(settings)
    }
}

/// Returns at most 40 characters of `name`, on one line.
fn shortened(name: &str) -> String {
    let printable = |c: char| if c.is_control() { '?' } else { c };
    let mut short: String = name.chars().take(40).map(printable).collect();
    if name.chars().nth(40).is_some() {
        short.push_str("...");
    }
    short
}

impl Settings {
    /// Reads the settings in the environment variable `variable`. If it is not set, the result has
    /// no settings.
    ///
    /// # Errors
    ///
    /// Fails if the settings are wrong; the error names the variable.
    #[cfg(feature = "std")]
    pub fn from_environment(variable: &str) -> Result<Settings, SettingsError> {
        let named = |wrong| SettingsError { variable: Some(shortened(variable)), wrong };
        match std::env::var(variable) {
            Ok(text) => text.parse().map_err(|error: SettingsError| named(error.wrong)),
            Err(std::env::VarError::NotPresent) => Ok(Settings::default()),
            Err(std::env::VarError::NotUnicode(_)) => Err(named(Wrong::NoText)),
        }
    }
}

/// Error: no table can have these settings. The message is one line that says what is wrong, and
/// what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The environment variable from which the settings came, if any.
    variable: Option<String>,
    wrong: Wrong,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wrong {
    Name(String),
    NoValue,
    Bits(BitsError),
    Twice,
    #[cfg(feature = "std")]
    NoText,
}

impl SettingsError {
    fn new(wrong: Wrong) -> Self {
        SettingsError { variable: None, wrong }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(variable) = &self.variable {
            write!(f, "{variable}: ")?;
        }
        match &self.wrong {
            Wrong::Name(name) => {
                write!(f, "`{name}` is not a setting of a connection table; allowed: `bits`")
            }
            Wrong::NoValue => {
                let (least, most) = (Bits::MIN.get(), Bits::MAX.get());
                write!(f, "`bits` has no value: give `bits=` and a number from {least} to {most}")
            }
            Wrong::Bits(error) => error.fmt(f),
            Wrong::Twice => f.write_str("`bits` is given twice: give it once"),
            #[cfg(feature = "std")]
            Wrong::NoText => f.write_str("it is not Unicode text"),
        }
    }
}

impl core::error::Error for SettingsError {}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> ConnectionTable<T, P, H, C> {
    /// Applies `settings` to the table. Settings that are absent stay unchanged.
    ///
    /// # Errors
    ///
    /// Fails like [`set_bits`](Self::set_bits): after the first insertion the table stays
    /// unchanged. Empty settings are accepted at any time.
    pub fn apply(&self, settings: &Settings) -> Result<(), AlreadyInUse> {
        settings.bits.map_or(Ok(()), |bits| self.set_bits(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::string::ToString;

    fn bits(text: &str) -> Option<u32> {
        text.parse::<Settings>().unwrap().bits.map(Bits::get)
    }

    fn refused(text: &str) -> String {
        text.parse::<Settings>().unwrap_err().to_string()
    }

    #[test]
    fn settings_are_names_with_values() {
        assert_eq!((bits(""), bits("  ,\n"), bits("bits=1")), (None, None, Some(1)));
        assert_eq!((bits(" bits=27 "), bits("\tbits=12,\n")), (Some(27), Some(12)));
    }

    #[test]
    fn settings_that_are_wrong_are_refused_in_one_line() {
        assert_eq!(refused("bits=0"), "`bits` is 0: it must be from 1 to 27");
        assert_eq!(refused("bits=28"), "`bits` is 28: it must be from 1 to 27");
        assert_eq!(refused("bits="), "`bits` is not a whole number: it must be from 1 to 27");
        assert_eq!(refused("bits"), "`bits` has no value: give `bits=` and a number from 1 to 27");
        assert_eq!(refused("bits=4,bits=4"), "`bits` is given twice: give it once");
        assert_eq!(refused("14"), "`14` is not a setting of a connection table; allowed: `bits`");
        assert!(refused("buckets=3").starts_with("`buckets` is not a setting"));
        for wrong in [std::format!("{}=1", "x".repeat(1 << 20)), "\u{7}=2".to_owned()] {
            let line = refused(&wrong);
            assert!(line.len() < 120 && !line.chars().any(char::is_control), "{line}");
        }
    }

    #[test]
    fn a_variable_that_is_not_there_sets_nothing_and_a_wrong_one_is_named() {
        let none = Settings::from_environment("LOCKYARD_TEST_OF_NO_SETTINGS");
        assert_eq!(none, Ok(Settings::default()));
        // Cargo sets this variable for tests.
        let wrong = Settings::from_environment("CARGO_PKG_NAME").unwrap_err().to_string();
        assert!(wrong.starts_with("CARGO_PKG_NAME: `lockyard-tables` is not a setting"), "{wrong}");
    }
}
