//! The memory that simulated threads share.
//!
//! Shared objects live only here, one after another. Their addresses decide which objects share a
//! line, and results do not depend on the host's allocator. A line's number is the offset divided
//! by the line size. A line's home is the home of the allocation that began in the line.
//!
//! Freed memory is handed out again, most recently freed first, for the same size, alignment and
//! home. So a run that allocates and frees takes no more memory than it uses.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr::NonNull;

/// Alignment of the arena: the largest line.
const ALIGN: usize = 128;

/// A region of memory, handed out from the bottom up.
#[derive(Debug)]
pub(crate) struct Arena {
    memory: NonNull<u8>,
    bytes: usize,
    used: Cell<usize>,
    /// End of the initialised bytes: the bytes in use, and the rest of their last 64-bit unit.
    initialised: Cell<usize>,
    line_bytes: usize,
    /// Home domain of each line that has one; 0 otherwise.
    homes: RefCell<Vec<u16>>,
    /// Offsets of freed memory, by size, alignment and home. (The map is never iterated, so its
    /// order has no effect.)
    free: RefCell<HashMap<(usize, usize, u16), Vec<usize>>>,
    /// Requested home of memory whose first line already had another home, by offset.
    asked: RefCell<HashMap<usize, u16>>,
    /// Number of lines of each home that were laid out before threads ran.
    laid_out: RefCell<Vec<u64>>,
    /// End of the lines that are counted, or were handed out to a running thread.
    counted: Cell<usize>,
}

/// Bit in a line's home: the line was handed out to a running thread, so no cache has it.
const NEW: u16 = 1 << 15;

impl Arena {
    /// Returns an arena of `bytes` bytes. Memory is zeroed when it is first handed out, and not
    /// touched before.
    pub(crate) fn new(bytes: usize, line_bytes: usize) -> Self {
        let bytes = bytes.next_multiple_of(ALIGN).max(ALIGN);
        let layout = Layout::from_size_align(bytes, ALIGN).expect("the arena's size is sane");
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc(layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout) };
        Arena {
            memory,
            bytes,
            used: Cell::new(0),
            initialised: Cell::new(0),
            line_bytes,
            homes: RefCell::default(),
            free: RefCell::default(),
            asked: RefCell::default(),
            laid_out: RefCell::default(),
            counted: Cell::new(0),
        }
    }

    /// Address of the first byte.
    #[inline]
    pub(crate) fn base(&self) -> usize {
        self.memory.as_ptr() as usize
    }

    /// Number of bytes from the start of the arena to the end of the memory that was handed out.
    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    /// Returns `true` if the arena has handed out all of the `bytes` bytes at `address`.
    #[inline]
    pub(crate) fn contains(&self, address: usize, bytes: usize) -> bool {
        address >= self.base() && address - self.base() + bytes <= self.used.get()
    }

    /// Allocates memory for `layout`, in lines whose home is `domain`. Returns `None` if the arena
    /// is full. `new`: a running thread asks for the memory, and no cache has it. Otherwise the
    /// memory was laid out, and written, before threads ran.
    pub(crate) fn allocate(&self, layout: Layout, domain: u16, new: bool) -> Option<NonNull<u8>> {
        if layout.align() > ALIGN {
            return None;
        }
        let of_this = (layout.size(), layout.align(), domain);
        if let Some(begin) = self.free.borrow_mut().get_mut(&of_this).and_then(Vec::pop) {
            // SAFETY: `begin` was handed out before, so it is within the arena.
            return Some(unsafe { self.memory.add(begin) });
        }
        let begin = self.used.get().next_multiple_of(layout.align());
        let end = begin.checked_add(layout.size())?;
        if end > self.bytes {
            return None;
        }
        self.used.set(end);
        let initialised = self.initialised.get();
        let whole = end.next_multiple_of(8);
        if whole > initialised {
            // SAFETY: within the arena, whose size is a multiple of 8.
            unsafe { self.memory.add(initialised).write_bytes(0, whole - initialised) };
            self.initialised.set(whole);
        }
        let mut homes = self.homes.borrow_mut();
        let last = end.max(begin + 1).div_ceil(self.line_bytes);
        if homes.len() < last {
            homes.resize(last, 0);
        }
        // A line where another allocation began keeps its home.
        let first = begin.div_ceil(self.line_bytes);
        let first = first.min(last);
        homes[first..last].fill(if new { domain | NEW } else { domain });
        // A line that holds the end of one allocation and the start of the next is counted only
        // once.
        let more = last.saturating_sub(first.max(self.counted.get()));
        self.counted.set(self.counted.get().max(last));
        if !new {
            let mut laid_out = self.laid_out.borrow_mut();
            if laid_out.len() <= domain as usize {
                laid_out.resize(domain as usize + 1, 0);
            }
            laid_out[domain as usize] += more as u64;
        }
        if homes[begin / self.line_bytes] & !NEW != domain {
            self.asked.borrow_mut().insert(begin, domain);
        }
        // SAFETY: `begin` is within the arena.
        Some(unsafe { self.memory.add(begin) })
    }

    /// Frees memory that was allocated with this layout. (Memory of another arena is not touched.)
    pub(crate) fn deallocate(&self, memory: NonNull<u8>, layout: Layout) {
        let address = memory.as_ptr() as usize;
        if layout.size() == 0 || !self.contains(address, layout.size()) {
            return;
        }
        let begin = address - self.base();
        let asked = self.asked.borrow().get(&begin).copied();
        let domain = asked.unwrap_or_else(|| self.home_of(begin / self.line_bytes) as u16);
        let of_this = (layout.size(), layout.align(), domain);
        self.free.borrow_mut().entry(of_this).or_default().push(begin);
    }

    /// Home domain of a line.
    pub(crate) fn home_of(&self, line: usize) -> usize {
        self.homes.borrow().get(line).map_or(0, |&domain| (domain & !NEW) as usize)
    }

    /// Returns `true` if a line was laid out before threads ran.
    pub(crate) fn was_laid_out(&self, line: usize) -> bool {
        self.homes.borrow().get(line).is_none_or(|domain| domain & NEW == 0)
    }

    /// Number of lines of this home that were laid out before threads ran.
    pub(crate) fn laid_out(&self, home: u16) -> u64 {
        self.laid_out.borrow().get(home as usize).copied().unwrap_or_default()
    }

    fn unit(&self, address: usize) -> *mut u64 {
        debug_assert!(
            address.is_multiple_of(8) && address + 8 <= self.base() + self.initialised.get()
        );
        // SAFETY: the address is within the arena (checked where an operation begins).
        unsafe { self.memory.as_ptr().add(address - self.base()).cast() }
    }

    /// Returns the 64-bit unit at `address`.
    pub(crate) fn read(&self, address: usize) -> u64 {
        // SAFETY: the unit is within the arena and aligned. Only this thread accesses it, through
        // raw pointers and `UnsafeCell`s. Its words are initialised, and `allocate` has zeroed the
        // bytes that are in no object. All other bytes are padding of an object that was moved into
        // the arena by value. The compiler does not see how these bytes were written
        // (`Simulation::place`), so they have some value. Nothing depends on that value: every use
        // masks the word's own bits.
        unsafe { self.unit(address).read() }
    }

    /// Writes the 64-bit unit at `address`.
    pub(crate) fn write(&self, address: usize, value: u64) {
        // SAFETY: as in `read`; simulated words are `UnsafeCell`s, so writing behind their shared
        // references is allowed. Bytes of the unit outside the word are written back as they were.
        unsafe { self.unit(address).write(value) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let layout = Layout::from_size_align(self.bytes, ALIGN).expect("as in `new`");
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.memory.as_ptr(), layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_handed_out_again_for_the_same_home() {
        let arena = Arena::new(1 << 16, 64);
        let layout = Layout::from_size_align(48, 8).unwrap();
        let new = |domain| arena.allocate(layout, domain, false).unwrap();
        // The second object begins in the line of the first.
        let (first, second) = (new(0), new(1));
        arena.deallocate(first, layout);
        arena.deallocate(second, layout);
        assert_eq!((new(1), new(0)), (second, first));
        let used = arena.used.get();
        for _ in 0..10_000 {
            arena.deallocate(second, layout);
            assert_eq!(new(1), second);
        }
        assert_eq!(arena.used.get(), used, "churn takes nothing more");
        arena.deallocate(first, layout);
        let larger = Layout::from_size_align(64, 8).unwrap();
        assert_ne!(arena.allocate(larger, 0, false), Some(first), "only what has the same size");
    }

    #[test]
    fn lines_that_are_laid_out_are_counted_once_and_by_home() {
        let arena = Arena::new(4096, 64);
        let word = Layout::new::<u64>();
        for _ in 0..9 {
            arena.allocate(word, 0, false);
        }
        assert_eq!((arena.laid_out(0), arena.laid_out(1)), (2, 0), "72 bytes begin two lines");
        arena.allocate(Layout::new::<[u64; 24]>(), 1, false);
        assert_eq!((arena.laid_out(0), arena.laid_out(1)), (2, 3), "and end in the fifth");
        let line = Layout::from_size_align(64, 64).unwrap();
        arena.allocate(line, 1, true);
        assert_eq!((arena.laid_out(0), arena.laid_out(1)), (2, 3), "a running thread's is not");
        assert!(arena.was_laid_out(4) && !arena.was_laid_out(5));
        assert_eq!((arena.home_of(1), arena.home_of(2), arena.home_of(5)), (0, 1, 1));
    }
}
