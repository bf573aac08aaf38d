//! The hooks of this crate: wrong steps, weakened orderings, and freed memory.

use crate::finding::{FREED, STUCK};
use crate::ration::Rationed;
use lockyard::platform::Ordering;
use lockyard::platform::hooked::{Effect, Hook, Operation, OperationKind};
use loom::thread::ThreadId;
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Plain};

/// One wrong step that replaces every correct one of its kind in a primitive.
pub trait Fault: 'static {
    /// Name in tables.
    const NAME: &'static str;
    /// Returns true if this operation goes wrong. Such an operation changes nothing, but is
    /// reported as done.
    fn strikes(operation: &Operation) -> bool;
}

/// No fault.
#[derive(Debug)]
pub struct NoFault;
impl Fault for NoFault {
    const NAME: &'static str = "none";
    fn strikes(_: &Operation) -> bool {
        false
    }
}

/// Releasing stores are lost.
#[derive(Debug)]
pub struct LostRelease;
impl Fault for LostRelease {
    const NAME: &'static str = "lost release";
    fn strikes(operation: &Operation) -> bool {
        matches!(operation.kind, OperationKind::Store | OperationKind::StorePart)
            && operation.order == Ordering::Release
    }
}

/// Waits return immediately.
#[derive(Debug)]
pub struct SkippedWait;
impl Fault for SkippedWait {
    const NAME: &'static str = "skipped wait";
    fn strikes(operation: &Operation) -> bool {
        operation.kind == OperationKind::Wait
    }
}

/// The read-modify-write that sets bits of a lock (a test-and-set) does not set them.
#[derive(Debug)]
pub struct LostSet;
impl Fault for LostSet {
    const NAME: &'static str = "lost set";
    fn strikes(operation: &Operation) -> bool {
        operation.kind == OperationKind::FetchBits
    }
}

/// Releases that are an addition are lost.
#[derive(Debug)]
pub struct LostAddition;
impl Fault for LostAddition {
    const NAME: &'static str = "lost addition";
    fn strikes(operation: &Operation) -> bool {
        operation.kind == OperationKind::FetchAdd && operation.order == Ordering::Release
    }
}

/// A compare-exchange that finds what it expects stores nothing, and reports success.
#[derive(Debug)]
pub struct LostExchange;
impl Fault for LostExchange {
    const NAME: &'static str = "lost exchange";
    fn strikes(operation: &Operation) -> bool {
        operation.kind == OperationKind::CompareExchange
    }
}

/// The choice of a lock's kind is lost, but the choosing thread believes that its kind is in force.
#[derive(Debug)]
pub struct LostChoice;
impl Fault for LostChoice {
    const NAME: &'static str = "lost choice";
    fn strikes(operation: &Operation) -> bool {
        operation.kind == OperationKind::CompareExchange
            && Path::new(operation.place.file()).ends_with("kind/choice.rs")
    }
}

/// Fences order nothing.
#[derive(Debug)]
pub struct LostFence;
impl Fault for LostFence {
    const NAME: &'static str = "lost fence";
    fn strikes(operation: &Operation) -> bool {
        operation.kind == OperationKind::Fence
    }
}

/// The hook that injects fault `F`.
#[derive(Debug)]
pub struct Faulty<F>(PhantomData<F>);
// SAFETY: used only in the tests of this crate. If a lock fails, their programs share only atomics
// and a counter in a cell. The tests look for lost updates of that counter.
unsafe impl<F: Fault> Hook for Faulty<F> {
    fn operation(operation: &mut Operation) -> Effect {
        if F::strikes(operation) { Effect::Pretended } else { Effect::Performed }
    }
}

/// [`Faulty`] in a model. Reports operations on freed memory, as [`Scripted`] does.
#[derive(Debug)]
pub struct FaultyAndFreed<F>(PhantomData<F>);
// SAFETY: as for `Faulty`.
unsafe impl<F: Fault> Hook for FaultyAndFreed<F> {
    fn operation(operation: &mut Operation) -> Effect {
        Faulty::<F>::operation(operation)
    }
    fn done(operation: &Operation) {
        Scripted::done(operation);
    }
}

/// [`Faulty`] for threads of the host, which must not wait for ever. A wait panics after
/// [`PATIENCE`] slices, or as soon as another thread has found a violation.
#[derive(Debug)]
pub struct Watched<F>(PhantomData<F>);

/// Number of slices after which a wait counts as endless. Each slice ends with a yield to the
/// operating system, in which other threads run. A busy machine therefore makes a wait longer, but
/// not more likely to count as endless.
pub const PATIENCE: u64 = 200_000;

std::thread_local! {
    static RANDOM: Cell<u64> = const { Cell::new(0) };
    static OTHERS_FAILED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Makes the waits of this OS thread end when `failed` becomes true. `seed` determines where the
/// thread yields to others.
pub fn give_up_when(failed: Arc<AtomicBool>, seed: u64) {
    OTHERS_FAILED.set(Some(failed));
    RANDOM.set(seed);
}

// SAFETY: as for `Faulty`.
unsafe impl<F: Fault> Hook for Watched<F> {
    const WATCHES_WAITS: bool = true;

    fn operation(operation: &mut Operation) -> Effect {
        let random = RANDOM.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        RANDOM.set(random);
        if random >> 60 == 0 {
            // One operation in 16 yields, so that threads are preempted anywhere, even on a single
            // CPU.
            std::thread::yield_now();
        }
        Faulty::<F>::operation(operation)
    }

    fn waiting(slices: u64) {
        let failed = OTHERS_FAILED
            .with_borrow(|failed| failed.as_ref().is_some_and(|f| f.load(Plain::Relaxed)));
        assert!(slices < PATIENCE && !failed, "{STUCK}a wait did not end");
        std::thread::yield_now();
    }
}

/// One ordering in the source of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Source file.
    pub file: &'static str,
    /// Line and column.
    pub at: (u32, u32),
    /// Kind of the operation.
    pub kind: OperationKind,
    /// True for the ordering of a failed compare-exchange.
    pub failure: bool,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = if self.failure { ", on failure" } else { "" };
        write!(f, "{}:{}:{} {:?}{which}", self.file, self.at.0, self.at.1, self.kind)
    }
}

/// A site, and its ordering in the source.
pub type Ordered = (Site, &'static str);

std::thread_local! {
    static WEAKENED: Cell<Option<(Site, Ordering)>> = const { Cell::new(None) };
    static SEEN: RefCell<Option<BTreeSet<Ordered>>> = const { RefCell::new(None) };
    static FREED_RANGES: RefCell<Vec<Range<usize>>> = const { RefCell::new(Vec::new()) };
    static INTERRUPTIONS: RefCell<Vec<(ThreadId, Interruption)>> =
        const { RefCell::new(Vec::new()) };
}

/// Code that runs in the middle of another operation of the same thread.
type Interruption = Rc<dyn Fn()>;

/// Interrupts the running thread of a model at its next wait, before the first poll, as a signal
/// handler would. For models that use [`Scripted`].
pub fn interrupt_next_wait(handler: Interruption) {
    let thread = loom::thread::current().id();
    INTERRUPTIONS.with_borrow_mut(|all| all.push((thread, handler)));
}

/// Cancels pending interruptions.
pub fn interrupt_nothing() {
    INTERRUPTIONS.take();
}

/// Takes the pending interruption of the running thread, if there is one.
fn interruption() -> Option<Interruption> {
    INTERRUPTIONS.with_borrow_mut(|all| {
        if all.is_empty() {
            return None;
        }
        let thread = loom::thread::current().id();
        let due = all.iter().position(|(of, _)| *of == thread)?;
        Some(all.swap_remove(due).1)
    })
}

/// Runs `run` with the ordering at `site` replaced by `order`, in the models of this OS thread that
/// use [`Scripted`].
pub fn with_weakened<R>(site: Site, order: Ordering, run: impl FnOnce() -> R) -> R {
    WEAKENED.set(Some((site, order)));
    let result = run();
    WEAKENED.set(None);
    result
}

/// Runs `run`. Returns the sites that it reached with an ordering stronger than relaxed, in the
/// models of this OS thread that use [`Scripted`].
pub fn ordered_sites<R>(run: impl FnOnce() -> R) -> (R, BTreeSet<Ordered>) {
    SEEN.set(Some(BTreeSet::new()));
    let result = run();
    (result, SEEN.take().unwrap_or_default())
}

/// Records that the memory in `range` is freed. In the models of this OS thread that use
/// [`Scripted`], every later operation on a word in that memory fails. In models of
/// [`dpor`](crate::dpor), an earlier operation also fails if it is not ordered before the call.
pub fn free(range: Range<usize>) {
    crate::dpor::freed(&range);
    forbid(range);
}

/// Forbids later operations on the memory in `range`. For programs that know outside of the
/// platform that no thread will use it.
pub fn forbid(range: Range<usize>) {
    FREED_RANGES.with_borrow_mut(|ranges| ranges.push(range));
}

/// Forgets the freed memory.
pub fn free_nothing() {
    FREED_RANGES.with_borrow_mut(Vec::clear);
}

fn name_of(order: Ordering) -> Option<&'static str> {
    match order {
        Ordering::Acquire => Some("Acquire"),
        Ordering::Release => Some("Release"),
        Ordering::AcqRel => Some("AcqRel"),
        Ordering::SeqCst => Some("SeqCst"),
        _ => None,
    }
}

/// The hook of model checks. It weakens the selected ordering, records sites, reports operations on
/// freed memory, and interrupts waits.
#[derive(Debug)]
pub struct Scripted(());

// SAFETY: as for `Faulty`. It is used only in models.
unsafe impl Hook for Scripted {
    fn operation(operation: &mut Operation) -> Effect {
        let (kind, place) = (operation.kind, operation.place);
        if kind == OperationKind::Wait
            && let Some(handler) = interruption()
        {
            handler();
        }
        let site = |failure| Site {
            file: place.file(),
            at: (place.line(), place.column()),
            kind,
            failure,
        };
        SEEN.with_borrow_mut(|seen| {
            if let Some(seen) = seen {
                seen.extend(name_of(operation.order).map(|order| (site(false), order)));
                let failure = operation.failure.and_then(name_of);
                seen.extend(failure.map(|order| (site(true), order)));
            }
        });
        if let Some((weakened, order)) = WEAKENED.get() {
            if weakened == site(false) {
                operation.order = order;
            } else if weakened == site(true) {
                operation.failure = operation.failure.map(|_| order);
            }
        }
        Effect::Performed
    }
    /// Runs after the operation, because threads are scheduled at an operation's beginning.
    fn done(operation: &Operation) {
        let freed = FREED_RANGES
            .with_borrow(|ranges| ranges.iter().any(|range| range.contains(&operation.address)))
            || crate::ration::is_freed(operation.address);
        assert!(!freed, "{FREED}{:?} at {}", operation.kind, operation.place);
    }
    fn may_allocate(layout: Layout) -> bool {
        Rationed::may_allocate(layout)
    }
    fn allocated(memory: NonNull<u8>, layout: Layout) {
        Rationed::allocated(memory, layout);
    }
    fn freed(memory: NonNull<u8>, layout: Layout) {
        Rationed::freed(memory, layout);
    }
}
