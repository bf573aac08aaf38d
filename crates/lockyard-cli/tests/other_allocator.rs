//! The rows do not depend on the allocator. The allocator of this test returns other addresses than
//! the system's.

use lockyard_lab::reproduce;
use lockyard_results::published;
use lockyard_results::render::{Document, Format, render};
use std::alloc::{GlobalAlloc, Layout, System};
use std::process::Command;

/// Puts every block in the middle of a larger one, at a distance that changes from block to block.
struct Shifting;

static TURN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Returns the layout of the larger block: room for the shift, and for a word that records it.
fn larger(layout: Layout) -> Option<(Layout, usize)> {
    let align = layout.align().max(16);
    let room = 64 * align;
    Layout::from_size_align(layout.size().checked_add(room + align)?, align)
        .ok()
        .map(|l| (l, align))
}

// SAFETY: each block lies within a larger block of the system's allocator, and begins a positive
// multiple of `align` after it. The word before the block has this distance, so `dealloc` can find
// the larger block.
unsafe impl GlobalAlloc for Shifting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((larger, align)) = larger(layout) else { return std::ptr::null_mut() };
        // SAFETY: the size of the layout is not zero.
        let begin = unsafe { System.alloc(larger) };
        if begin.is_null() {
            return begin;
        }
        let turn = TURN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let shift = align * (1 + turn * 7 % 64);
        // SAFETY: the shift is within the larger block, and at least a word.
        unsafe {
            let block = begin.add(shift);
            block.cast::<usize>().sub(1).write(shift);
            block
        }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some((larger, _)) = larger(layout) else { return };
        // SAFETY: `alloc` wrote the shift before the block, and allocated it with this layout.
        unsafe {
            let shift = block.cast::<usize>().sub(1).read();
            System.dealloc(block.sub(shift), larger);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Shifting = Shifting;

/// Tables with lockrefs, queued locks and a table of objects. Tables of whole programs would use
/// the same code, but take four minutes.
const TABLES: [&str; 3] = ["lockref-will-it-scale", "qspinlock-loop", "id-table-timer-gettime"];

#[test]
fn rows_do_not_depend_on_the_allocator() {
    let names = TABLES.map(str::to_owned).to_vec();
    let request = reproduce::ReproduceRequest { names, jobs: 2, measure: None };
    let tables = published::shipped().expect("the tables are valid");
    let report = reproduce::run(&request, &tables, &|| ()).expect("it runs");
    let document = Document { rows: report.rows, ..Document::default() };
    let here = render(&document, Format::Csv);
    let output = Command::new(env!("CARGO_BIN_EXE_lockyard"))
        .args(["reproduce", "--no-measure", "--format", "csv"])
        .args(TABLES)
        .output()
        .expect("the command runs");
    assert_eq!(here, String::from_utf8(output.stdout).expect("it is text"));
}
