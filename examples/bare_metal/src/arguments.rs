//! The command line: words `name=value`.

use crate::cpu::MAX_CPUS;
use core::ffi::{CStr, c_char};
use core::fmt;
use core::ptr::with_exposed_provenance;

/// A mistake that the torture must notice.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// A lock takes itself by a load and a store.
    Lock,
    /// No waiter that sleeps is ever woken.
    Wake,
    /// Interrupts stay on while a lock is held that handlers take.
    Context,
    /// An object without references is freed at once, and not after its readers have left.
    Free,
}

/// The command line's words.
pub(crate) struct Arguments {
    /// Number of processors that the machine should have.
    pub(crate) cpus: usize,
    /// Time of each part of the torture, in milliseconds.
    pub(crate) millis: u64,
    /// Start of all random numbers.
    pub(crate) seed: u64,
    /// The mistake to make.
    pub(crate) fault: Option<Fault>,
}

/// A word that is not understood.
pub(crate) struct Wrong {
    word: &'static str,
    allowed: &'static str,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.word, self.allowed)
    }
}

impl Arguments {
    /// Reads the command line at this address.
    ///
    /// # Safety
    ///
    /// There is a text there that ends with a 0, and that nothing changes any more.
    pub(crate) unsafe fn read(address: usize) -> Result<Self, Wrong> {
        // SAFETY: the caller's promise.
        let text = unsafe { CStr::from_ptr(with_exposed_provenance::<c_char>(address)) };
        let text =
            text.to_str().map_err(|_| Wrong { word: "?", allowed: "the words are UTF-8" })?;
        let mut arguments = Arguments { cpus: 1, millis: 500, seed: 1, fault: None };
        for word in text.split_ascii_whitespace() {
            let wrong = |allowed| Wrong { word, allowed };
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let number = value.parse::<u64>().ok();
            match name {
                "cpus" => {
                    arguments.cpus = number
                        .map(|cpus| cpus as usize)
                        .filter(|cpus| (1..=MAX_CPUS).contains(cpus))
                        .ok_or(wrong("from 1 to 16"))?;
                }
                "millis" => {
                    arguments.millis = number
                        .filter(|millis| (1..=3_600_000).contains(millis))
                        .ok_or(wrong("from 1 to 3600000"))?;
                }
                "seed" => arguments.seed = number.ok_or(wrong("a number"))?,
                "fault" => {
                    arguments.fault = match value {
                        "lock" => Some(Fault::Lock),
                        "wake" => Some(Fault::Wake),
                        "context" => Some(Fault::Context),
                        "free" => Some(Fault::Free),
                        _ => return Err(wrong("lock, wake, context or free")),
                    };
                }
                _ => return Err(wrong("cpus=, millis=, seed= and fault= are allowed")),
            }
        }
        Ok(arguments)
    }
}
