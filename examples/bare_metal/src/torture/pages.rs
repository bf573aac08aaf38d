//! Pages with page reference counts: whoever has a reference reads a page, and whoever freezes the
//! count is alone with it and writes.

use super::locks::Pair;
use super::{Part, check};
use crate::cpu::Cpu;
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU64, Ordering};
use lockyard::on;
use lockyard::page_ref::References;

const NAME: &str = "page-ref";

struct Page {
    /// One reference stays.
    count: on::PageRef<crate::host::Kernel>,
    /// Read with a reference, written while the count is frozen.
    content: UnsafeCell<Pair>,
    freezes: AtomicU64,
}
// SAFETY: a reference and a freeze of `count` exclude each other, as do two freezes.
unsafe impl Sync for Page {}

static PAGES: [Page; 4] = [const {
    Page {
        count: on::PageRef::new(1),
        content: UnsafeCell::new(Pair::ZERO),
        freezes: AtomicU64::new(0),
    }
}; 4];

fn read(page: &Page, work: u64) {
    if !page.count.get_not_zero() {
        return; // frozen by another
    }
    // SAFETY: a reference is held, so no thread writes.
    let content = unsafe { &*page.content.get() };
    let before = content.read(NAME);
    for _ in 0..work {
        spin_loop();
    }
    let after = content.read(NAME);
    check!(before == after, "{NAME}: a page was written that has references");
    check!(!page.count.put(), "{NAME}: the reference that stays is gone");
}

fn write(page: &Page, work: u64) {
    if !page.count.try_freeze(1) {
        return; // others have references
    }
    check!(!page.count.get_not_zero(), "{NAME}: a reference to a frozen page");
    // SAFETY: the count is frozen.
    unsafe { &mut *page.content.get() }.add(NAME, work);
    page.freezes.fetch_add(1, Ordering::Relaxed);
    page.count.unfreeze(1);
}

fn round(cpu: &Cpu) {
    for _ in 0..8 {
        let random = cpu.random();
        let page = &PAGES[random as usize % PAGES.len()];
        let work = random >> 8 & 7;
        if random >> 16 & 3 == 0 { write(page, work) } else { read(page, work) }
    }
}

fn end() {
    let mut all = 0;
    for page in &PAGES {
        let references = page.count.references();
        check!(references == References::Live(1), "{NAME}: {references:?} at the end, and not 1");
        // SAFETY: no processor uses pages any more.
        let there = unsafe { &*page.content.get() }.read(NAME);
        let freezes = page.freezes.load(Ordering::Relaxed);
        check!(there == freezes, "{NAME}: {there} of {freezes} additions are there");
        all += freezes;
    }
    check!(all > 0, "{NAME}: no page was ever frozen");
}

pub(super) const PART: Part = Part { name: NAME, begin: || {}, round, end };
