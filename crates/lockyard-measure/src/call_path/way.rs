//! Ways to reach an operation of a lock.

use super::page::Page;
use super::ways::{Compiled, Section, indirect};
use lockyard::kind::{Choice, Kind};
use lockyard::platform::NativeU32;

/// Lock kind of the experiment. The default is the ticket lock, as in the published figures.
/// Another kind can be chosen until call sites are patched.
pub static CHOICE: Choice = Choice::new(Kind::Ticket);

/// Way to reach an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Inlined into the caller.
    Inlined,
    /// Called directly.
    Direct,
    /// Called through a table.
    Indirect,
    /// Called through a table at first; the call is then patched to a direct one.
    Patched,
    /// Called by a function whose own call is patched. That function is called directly.
    Nested,
}

impl Way {
    /// All ways.
    pub const ALL: [Way; 5] = [Way::Inlined, Way::Direct, Way::Indirect, Way::Patched, Way::Nested];

    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            Way::Inlined => "inlined",
            Way::Direct => "direct",
            Way::Indirect => "indirect",
            Way::Patched => "patched",
            Way::Nested => "nested",
        }
    }

    /// Returns the variant of the published table that matches this way. The publisher states which
    /// configurations were built, not which instructions ran. So all matches except the first are
    /// inferred: see `docs/evidence/tools.md`.
    pub fn published(self) -> Option<&'static str> {
        match self {
            Way::Direct => Some("native"),
            Way::Patched => Some("pv-without-spin"),
            Way::Nested => Some("pv-spin"),
            Way::Inlined | Way::Indirect => None,
        }
    }
}

/// Creates an unused section.
pub(crate) fn new_section() -> Section {
    Section { word: NativeU32::new(0), count: 0 }
}

/// All ways to reach the operations of one lock kind.
#[derive(Debug)]
pub(super) struct Ways {
    compiled: Compiled,
    page: Result<Page, String>,
    pub(super) kind: Kind,
}

impl Ways {
    /// Builds the ways for the chosen kind. From here on, the kind cannot change.
    pub(super) fn of(choice: &Choice) -> Ways {
        let page = Page::patched(choice);
        let kind = choice.fix_for_patching();
        Ways { compiled: Compiled::of(kind), page, kind }
    }

    /// Checks that this host supports a way.
    pub(super) fn there_is(&self, way: Way) -> Result<(), String> {
        match way {
            Way::Inlined | Way::Direct | Way::Indirect => Ok(()),
            Way::Patched | Way::Nested => self.page.as_ref().map(|_| ()).map_err(Clone::clone),
        }
    }

    /// Performs `times` critical sections.
    ///
    /// # Safety
    ///
    /// The section's word must have been 0 before its first use, and only ways of this object may
    /// have used it.
    pub(super) unsafe fn run(&self, way: Way, section: &mut Section, times: u64) {
        // Hide the table from the compiler. Otherwise it would emit direct calls.
        let table = std::hint::black_box(&raw const self.compiled.table);
        // SAFETY: the caller's promise. All ways of this object use one kind, and no code writes
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
