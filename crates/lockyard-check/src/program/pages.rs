//! The program for a page reference count: threads look the page up, drop references, and freeze
//! the count.

use super::last_use::RefCount;
use super::parts::{MOST_THREADS, Outcome, Program, Seen, linger, read, write};
use crate::finding::{COUNT, FREED};
use crate::hooks;
use lockyard::page_ref::PageRef;
use lockyard::page_ref::{Cmpxchg, LockedBit, OptimisticCmpxchg, References, Xadd};
use lockyard::platform::{Cell, DataCell, HostWithSlots};
use std::sync::atomic::{AtomicI64, Ordering as Plain};

/// A page reference count.
pub trait PageCount<H: HostWithSlots>: Send + Sync + 'static {
    /// Returns a count of `references` references.
    fn new(references: u32) -> Self;
    /// Takes a further reference. There must be one.
    fn get(&self);
    /// Takes a reference unless the count is zero. Returns true if it took one.
    fn get_not_zero(&self) -> bool;
    /// Drops a reference. Returns true if it was the last.
    fn put(&self) -> bool;
    /// Freezes the count if it is `expected`. This takes all references away.
    fn try_freeze(&self, expected: u32) -> bool;
    /// Ends a freeze with `references` references.
    fn unfreeze(&self, references: u32);
    /// Returns the number of references; `None` if none can be taken.
    fn references(&self) -> Option<u32>;
}

fn number(references: References) -> Option<u32> {
    match references {
        References::Live(number) => Some(number),
        References::Frozen => None,
        References::Saturated => panic!("{COUNT}a small count is saturated"),
    }
}

macro_rules! page_count {
    ($variant:ty, |$page:ident| $get_not_zero:expr) => {
        impl<H: HostWithSlots> PageCount<H> for PageRef<$variant, H> {
            fn new(references: u32) -> Self {
                PageRef::from_references(references)
            }
            fn get(&self) {
                PageRef::get(self);
            }
            fn get_not_zero(&self) -> bool {
                let $page = self;
                $get_not_zero
            }
            fn put(&self) -> bool {
                PageRef::put(self)
            }
            fn try_freeze(&self, expected: u32) -> bool {
                PageRef::try_freeze(self, expected)
            }
            fn unfreeze(&self, references: u32) {
                PageRef::unfreeze(self, references);
            }
            fn references(&self) -> Option<u32> {
                number(PageRef::references(self))
            }
        }
    };
}
page_count!(Cmpxchg, |page| PageRef::get_not_zero(page));
page_count!(OptimisticCmpxchg, |page| PageRef::get_not_zero(page));
page_count!(LockedBit, |page| PageRef::get_not_zero(page));
page_count!(Xadd, |_page| unreachable!("a look-up needs a variant that can refuse"));

impl<H: HostWithSlots> RefCount<H> for PageRef<LockedBit, H> {
    fn new(count: u32) -> Self {
        PageRef::from_references(count)
    }
    fn get_not_zero(&self) -> bool {
        PageRef::get_not_zero(self)
    }
    fn put(&self) -> bool {
        PageRef::put(self)
    }
}

/// Operation of a thread on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOp {
    /// Has a reference and takes another one.
    Get,
    /// Looks the page up: takes a reference if there is one, and reads the page.
    LookUp,
    /// Looks the page up, and drops the reference that it took.
    LookUpAndPut,
    /// Has a reference. Drops it, and destroys the page if it was the last.
    Put,
    /// Has a reference. If it is the only one, freezes the count, changes the page, and unfreezes
    /// with one reference.
    Freeze,
    /// The same as [`Freeze`](Self::Freeze), but unfreezes with two references.
    FreezeToTwo,
}

impl PageOp {
    /// All operations.
    pub const ALL: [PageOp; 6] = [
        PageOp::Get,
        PageOp::LookUp,
        PageOp::LookUpAndPut,
        PageOp::Put,
        PageOp::Freeze,
        PageOp::FreezeToTwo,
    ];

    /// Returns true if the operation asks for a reference without having one.
    pub fn looks_up(self) -> bool {
        matches!(self, PageOp::LookUp | PageOp::LookUpAndPut)
    }
}

/// Threads that use one page for one round. If no thread has a reference at the beginning, a
/// passive owner has one.
///
/// If the program `FREES`, the thread that drops the last reference also frees the count, unless
/// another thread may still look the page up. In a model any later access to the count is a
/// failure.
pub struct PageProgram<C, H: HostWithSlots, const FREES: bool = true> {
    count: C,
    /// The page, as two halves. They are equal unless the owner is changing them, and 0 after the
    /// page is destroyed.
    halves: [Cell<H, u64>; 2],
    /// One note for each thread, written before the thread drops its reference.
    notes: [Cell<H, u64>; MOST_THREADS],
    ops: Vec<PageOp>,
    seen: Seen,
    /// Expected number of references, kept outside the platform.
    expected: AtomicI64,
    /// Number of threads that have not looked the page up yet, kept outside the platform.
    looking: AtomicI64,
}

const ALIVE: u64 = 7;

impl<C: PageCount<H>, H: HostWithSlots, const FREES: bool> PageProgram<C, H, FREES> {
    fn gained(&self, references: i64) {
        self.expected.fetch_add(references, Plain::Relaxed);
    }

    /// Reads the page; the thread has a reference.
    fn read_page(&self, thread: usize) -> u64 {
        let halves = [read(&self.halves[0]), read(&self.halves[1])];
        assert!(
            halves[0] == halves[1] && halves[0] >= ALIVE,
            "{FREED}thread {thread} has a reference and reads {halves:?}"
        );
        halves[0]
    }

    fn put(&self, thread: usize) {
        write(&self.notes[thread], 1);
        let last = self.count.put();
        self.seen.note(thread, i64::from(last));
        self.gained(-1);
        if last {
            for note in &self.notes {
                read(note);
            }
            write(&self.halves[0], 0);
            write(&self.halves[1], 0);
            if FREES && self.looking.load(Plain::Relaxed) == 0 {
                let word = core::ptr::from_ref(&self.count).addr();
                hooks::forbid(word..word + size_of_val(&self.count));
            }
        }
    }

    fn look_up(&self, thread: usize) -> bool {
        // Delays each thread by its number, if pauses take time. The look-ups then come one after
        // another, and some meet a frozen count.
        for _ in 0..thread {
            linger::<H>();
        }
        let taken = self.count.get_not_zero();
        self.looking.fetch_sub(1, Plain::Relaxed);
        self.seen.note(thread, i64::from(taken));
        if taken {
            self.gained(1);
            self.read_page(thread);
        }
        taken
    }

    fn freeze(&self, thread: usize, references: u32) {
        let before = self.read_page(thread);
        linger::<H>();
        let frozen = self.count.try_freeze(1);
        self.seen.note(thread, i64::from(frozen));
        if frozen {
            // No other thread can use the page from here on.
            for note in &self.notes {
                read(note);
            }
            write(&self.halves[0], before + 1);
            linger::<H>();
            write(&self.halves[1], before + 1);
            self.gained(i64::from(references) - 1);
            self.count.unfreeze(references);
        }
        // The thread still has its reference.
        self.read_page(thread);
    }
}

impl<C: PageCount<H>, H: HostWithSlots, const FREES: bool> Program for PageProgram<C, H, FREES> {
    type Op = PageOp;

    fn new(ops: &[PageOp], rounds: u32) -> Self {
        assert!(rounds == 1, "a page is destroyed once");
        hooks::free_nothing();
        let owners = ops.iter().filter(|op| !op.looks_up()).count().max(1);
        PageProgram {
            count: C::new(owners as u32),
            halves: std::array::from_fn(|_| DataCell::new(ALIVE)),
            notes: std::array::from_fn(|_| DataCell::new(0)),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            expected: AtomicI64::new(owners as i64),
            looking: AtomicI64::new(ops.iter().filter(|op| op.looks_up()).count() as i64),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            PageOp::Get => {
                self.read_page(thread);
                self.count.get();
                self.gained(1);
            }
            PageOp::LookUp => {
                self.look_up(thread);
            }
            PageOp::LookUpAndPut => {
                if self.look_up(thread) {
                    self.put(thread);
                }
            }
            PageOp::Put => self.put(thread),
            PageOp::Freeze => self.freeze(thread, 1),
            PageOp::FreezeToTwo => self.freeze(thread, 2),
        }
    }

    fn finish(&self) {
        let expected = self.expected.load(Plain::Relaxed);
        let found = self.count.references();
        let right = match found {
            None => expected == 0,
            Some(found) => expected > 0 && i64::from(found) == expected,
        };
        assert!(right, "{COUNT}{expected} references are left and the count says {found:?}");
        let halves = [read(&self.halves[0]), read(&self.halves[1])];
        let destroyed = halves == [0, 0];
        assert!(
            destroyed == (expected == 0),
            "{FREED}{expected} references are left and the page is {halves:?}"
        );
    }

    fn outcome(&self) -> Outcome {
        let mut outcome = self.seen.all();
        outcome.push(self.count.references().map_or(-1, i64::from));
        outcome
    }
}
