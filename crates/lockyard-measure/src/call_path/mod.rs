//! What a call costs: an uncontended lock and unlock, reached in different ways, on one CPU.
//!
//! Nothing of it can be simulated (how instructions are fetched and predicted is not modelled), so
//! it is measured on this host or not at all. The lock is the library's, of a kind that is chosen
//! once ([`CHOICE`]); nobody contends for it.
//!
//! | way | what is executed |
//! | --- | --- |
//! | `inlined` | no call |
//! | `direct` | a direct call of each operation: what the others are set in relation to |
//! | `indirect` | a call through a table in memory |
//! | `patched` | a call through a table that was overwritten by a direct call at start-up (`page.rs`) |
//! | `nested` | a direct call of a function whose own call was patched so: how a kernel with hooks calls its locks |

#[cfg_attr(not(all(target_arch = "x86_64", unix)), path = "unsupported.rs")]
pub mod page;
mod report;
mod rounds;
// Not here, since the listings of the library are of it too.
#[path = "../../../lockyard/examples/common/ways.rs"]
pub mod ways;

pub use report::{EXPERIMENT, Report, is_reference, measure_published, rows, without_measurement};
pub use rounds::{Effort, Metric, Rounds, measure, measure_with};

use lockyard::kind::{Choice, Kind};
use lockyard::platform::NativeU32;
use page::Page;
use ways::{Compiled, Section, indirect};

/// The kind of the experiment's lock: the ticket lock, that of the published figures, unless
/// another one is chosen before call sites are patched for it.
pub static CHOICE: Choice = Choice::new(Kind::Ticket);

/// How an operation is reached.
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
    /// All of them.
    pub const ALL: [Way; 5] = [Way::Inlined, Way::Direct, Way::Indirect, Way::Patched, Way::Nested];

    /// In results.
    pub fn name(self) -> &'static str {
        match self {
            Way::Inlined => "inlined",
            Way::Direct => "direct",
            Way::Indirect => "indirect",
            Way::Patched => "patched",
            Way::Nested => "nested",
        }
    }

    /// The variant of the published table that it stands for. The publisher says what was built,
    /// not what was executed, so all but the first are inferred: see
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

/// Sections before the first.
pub(crate) fn new_section() -> Section {
    Section { word: NativeU32::new(0), count: 0 }
}

/// All ways to reach the operations of one kind.
#[derive(Debug)]
struct Ways {
    compiled: Compiled,
    page: Result<Page, String>,
    kind: Kind,
}

impl Ways {
    /// For the kind in force; from here on no other kind can be chosen.
    fn of(choice: &Choice) -> Ways {
        let page = Page::patched(choice);
        let kind = choice.fix_for_patching();
        Ways { compiled: Compiled::of(kind), page, kind }
    }

    /// Whether this host has a way.
    fn there_is(&self, way: Way) -> Result<(), String> {
        match way {
            Way::Inlined | Way::Direct | Way::Indirect => Ok(()),
            Way::Patched | Way::Nested => self.page.as_ref().map(|_| ()).map_err(Clone::clone),
        }
    }

    /// Performs `times` sections.
    ///
    /// # Safety
    ///
    /// The section's word was 0, and only ways of this object have used it.
    unsafe fn run(&self, way: Way, section: &mut Section, times: u64) {
        // The compiler must not know the table: it would call directly.
        let table = std::hint::black_box(&raw const self.compiled.table);
        // SAFETY: the caller's promise; all ways of this object are of one kind, and nobody writes
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
