//! Lines that one CPU modifies. Then another CPU loads them one by one, in an order that no
//! prefetcher can guess.
//!
//! Each line holds the position of the next one, so a load can only begin when the previous one has
//! finished. The memory is fresh and private to the process. Its home is therefore the NUMA node of
//! the thread that touches it first.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// Number of lines. A core's innermost caches can hold all of them.
const LINES: usize = 128;

/// A line, padded to include the lines that are prefetched with it.
#[repr(align(256))]
struct Line {
    next: AtomicU32,
    changed: AtomicU64,
}

/// Set of lines.
pub(super) struct Lines {
    memory: Memory,
}

impl Lines {
    /// Allocates memory for the lines, without touching it.
    ///
    /// # Errors
    ///
    /// If there is not enough memory.
    pub(super) fn new() -> Result<Lines, String> {
        let memory = Memory::new(LINES * size_of::<Line>())
            .ok_or_else(|| "there is no memory for the lines of a pair".to_owned())?;
        Ok(Lines { memory })
    }

    fn lines(&self) -> &[Line] {
        // SAFETY: the memory has room for `LINES` lines, and a page's alignment exceeds theirs. It
        // is initially zero, which is a valid line. It lives as long as `self`, and is only used as
        // these lines, whose fields are atomic.
        unsafe { std::slice::from_raw_parts(self.memory.start.cast::<Line>().as_ptr(), LINES) }
    }

    /// Touches the lines first, on the calling thread. Links all of them into one cycle in random
    /// order.
    pub(super) fn settle(&self) {
        let mut order: Vec<u32> = (0..LINES as u32).collect();
        // Any shuffle works.
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for i in (1..LINES).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(i, (state % (i as u64 + 1)) as usize);
        }
        for (index, &line) in order.iter().enumerate() {
            let next = order[(index + 1) % LINES];
            self.lines()[line as usize].next.store(next, Ordering::Relaxed);
        }
    }

    /// Modifies every line.
    pub(super) fn modify(&self) {
        for line in self.lines() {
            line.changed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Loads every line once. Returns the nanoseconds per load.
    pub(super) fn chase(&self) -> f64 {
        let lines = self.lines();
        let begin = Instant::now();
        let mut at = 0u32;
        for _ in 0..LINES {
            at = lines[at as usize % LINES].next.load(Ordering::Relaxed);
        }
        black_box(at);
        begin.elapsed().as_nanos() as f64 / LINES as f64
    }
}

/// Fresh pages.
struct Memory {
    start: std::ptr::NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to the process and not to any thread, and its contents are atomic.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

#[cfg(unix)]
impl Memory {
    fn new(bytes: usize) -> Option<Memory> {
        // SAFETY: a private anonymous mapping at an address chosen by the system replaces no other
        // mapping.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        Some(Memory { start: std::ptr::NonNull::new(start.cast())?, bytes })
    }
}

#[cfg(unix)]
impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped in `new` with this length, and no borrow of it remains.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(not(unix))]
impl Memory {
    fn layout(bytes: usize) -> Option<std::alloc::Layout> {
        std::alloc::Layout::from_size_align(bytes, align_of::<Line>()).ok()
    }

    fn new(bytes: usize) -> Option<Memory> {
        // SAFETY: the size of the layout is above zero.
        let start = unsafe { std::alloc::alloc_zeroed(Self::layout(bytes)?) };
        Some(Memory { start: std::ptr::NonNull::new(start)?, bytes })
    }
}

#[cfg(not(unix))]
impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.bytes) {
            // SAFETY: the memory was allocated in `new` with this layout, and no borrow of it
            // remains.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_visits_every_line_once() {
        let lines = Lines::new().expect("there is memory");
        lines.settle();
        let mut seen = [false; LINES];
        let mut at = 0;
        for _ in 0..LINES {
            assert!(!std::mem::replace(&mut seen[at], true), "line {at} twice");
            at = lines.lines()[at].next.load(Ordering::Relaxed) as usize;
        }
        assert_eq!(at, 0, "it is one round");
        lines.modify();
        assert!(lines.lines().iter().all(|l| l.changed.load(Ordering::Relaxed) == 1));
        assert!(lines.chase() > 0.0);
    }
}
