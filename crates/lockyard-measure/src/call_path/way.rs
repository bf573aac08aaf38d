//! Ways to reach an operation of a lock.

use super::page::Page;
use super::ways::{Compiled, Section, indirect};
use lockyard::kind::{Choice, Kind};
use lockyard::platform::NativeU32;

/// Kind of the experiment's lock. It is the ticket lock, that of the published figures, unless
/// another one is chosen before call sites are patched for it.
pub static CHOICE: Choice = Choice::new(Kind::Ticket);

/// Way to reach an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Inlined.
    Inlined,
    /// By a direct call.
    Direct,
    /// By a call through a table.
    Indirect,
    /// By a direct call that was patched over a call through a table.
    Patched,
    /// By a direct call of a function whose call was patched.
    Nested,
}

impl Way {
    /// All ways.
    pub const ALL: [Way; 5] = [Way::Inlined, Way::Direct, Way::Indirect, Way::Patched, Way::Nested];

    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Way::Inlined => "inlined",
            Way::Direct => "direct",
            Way::Indirect => "indirect",
            Way::Patched => "patched",
            Way::Nested => "nested",
        }
    }

    /// Returns the variant of the published table to which this way corresponds. The publisher
    /// states what was built, not what was executed. All but the first are therefore inferred: see
    /// `docs/evidence/lock-call-path.md`.
    pub fn published(self) -> Option<&'static str> {
        match self {
            Way::Direct => Some("native"),
            Way::Patched => Some("pv-without-spin"),
            Way::Nested => Some("pv-spin"),
            Way::Inlined | Way::Indirect => None,
        }
    }
}

/// Creates a section that has not been used.
pub(crate) fn new_section() -> Section {
    Section { word: NativeU32::new(0), count: 0 }
}

/// All ways to reach the operations of one kind.
#[derive(Debug)]
pub(super) struct Ways {
    compiled: Compiled,
    page: Result<Page, String>,
    pub(super) kind: Kind,
}

impl Ways {
    /// Builds the ways for the kind in force. From here on no other kind can be chosen.
    pub(super) fn of(choice: &Choice) -> Ways {
        let page = Page::patched(choice);
        let kind = choice.fix_for_patching();
        Ways { compiled: Compiled::of(kind), page, kind }
    }

    /// Checks that this host has a way.
    pub(super) fn there_is(&self, way: Way) -> Result<(), String> {
        match way {
            Way::Inlined | Way::Direct | Way::Indirect => Ok(()),
            Way::Patched | Way::Nested => self.page.as_ref().map(|_| ()).map_err(Clone::clone),
        }
    }

    /// Performs `times` sections.
    ///
    /// # Safety
    ///
    /// The section's word was 0 before its first use, and only ways of this object have used it.
    pub(super) unsafe fn run(&self, way: Way, section: &mut Section, times: u64) {
        // The compiler must not know the table, or it would call directly.
        let table = std::hint::black_box(&raw const self.compiled.table);
        // SAFETY: the caller's promise. All ways of this object are of one kind, and no code writes
        // its table.
        unsafe {
            match (way, &self.page) {
                (Way::Inlined, _) => (self.compiled.inlined)(section, times),
                (Way::Direct, _) => (self.compiled.direct)(section, times),
                (Way::Indirect, _) => indirect(table, section, times),
                (Way::Patched, Ok(page)) => page.patched_loop(section, times),
                (Way::Nested, Ok(page)) => page.nested_loop(section, times),
                (Way::Patched | Way::Nested, Err(_)) => {}
            }
        }
    }
}
