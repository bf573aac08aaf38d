//! Memory that the measuring process and its tasks share: a flag, and a line for each task.
//!
//! It is an anonymous file in memory, passed to a task as its standard input. Nothing needs a name,
//! or is left behind. Only relaxed operations run while tasks count. A task's line has one writer.

use super::experiment::last_error;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Values of the flag.
pub(super) const PREPARE: u32 = 0;
pub(super) const GO: u32 = 1;
pub(super) const STOP: u32 = 2;

/// States of a task: not begun, ready to go, failed.
pub(super) const NEW: u32 = 0;
pub(super) const READY: u32 = 1;
pub(super) const FAILED_TO_PIN: u32 = 2;
pub(super) const FAILED_TO_START: u32 = 3;
pub(super) const FAILED_TO_CALL: u32 = 4;
/// The task was no longer pinned to its CPU when it stopped.
pub(super) const MOVED: u32 = 5;

/// Header that all tasks read.
#[repr(C, align(128))]
pub(super) struct Header {
    pub(super) flag: AtomicU32,
}

/// Line that one task writes.
#[repr(C, align(128))]
pub(super) struct Line {
    /// Number of operations.
    pub(super) count: AtomicU64,
    pub(super) state: AtomicU32,
    /// Error number of its failure.
    pub(super) errno: AtomicI32,
}

/// The mapping.
pub(super) struct Shared {
    memory: NonNull<u8>,
    bytes: usize,
    tasks: usize,
}

// SAFETY: the memory is mapped until `self` is dropped, belongs to no thread, and is accessed only
// by atomics.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

const fn bytes_of(tasks: usize) -> usize {
    size_of::<Header>() + tasks * size_of::<Line>()
}

impl Shared {
    /// Creates memory for `tasks` tasks, all zero: the flag says prepare, and no task has begun.
    ///
    /// # Errors
    ///
    /// The call that the system refused.
    pub(super) fn new(tasks: usize) -> Result<(Shared, File), String> {
        // SAFETY: the name is a C string; the call has no other argument in memory.
        let descriptor = unsafe { libc::memfd_create(c"lockyard".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(format!(
                "memory to share with tasks cannot be allocated: {}",
                last_error()
            ));
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        let file = unsafe { File::from_raw_fd(descriptor) };
        file.set_len(bytes_of(tasks) as u64)
            .map_err(|error| format!("memory to share with tasks cannot be allocated: {error}"))?;
        let shared = Shared::map(file.as_fd(), tasks)?;
        Ok((shared, file))
    }

    /// Maps the memory behind `file`, which must be long enough for `tasks` tasks.
    ///
    /// # Errors
    ///
    /// If the file is too short, or cannot be mapped.
    pub(super) fn map(file: BorrowedFd, tasks: usize) -> Result<Shared, String> {
        let bytes = bytes_of(tasks);
        // SAFETY: an all-zero `stat` is valid.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `status` is live, and as large as the call writes.
        let known = unsafe { libc::fstat(file.as_raw_fd(), &raw mut status) } == 0;
        // An access beyond the end of a file is a fault, so a mapping must not be longer.
        if !known || status.st_size < bytes as libc::off_t {
            return Err(format!("there is no shared memory of {bytes} bytes"));
        }
        // SAFETY: a new mapping, wherever the system puts it: it replaces nothing.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(format!("shared memory cannot be mapped: {}", last_error()));
        }
        let memory = NonNull::new(memory.cast()).ok_or("shared memory is mapped at address 0")?;
        Ok(Shared { memory, bytes, tasks })
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: the mapping begins with a header, is aligned to a page, and lives as long as
        // `self`. Every bit pattern is a valid atomic integer, and all processes access it by
        // atomics.
        unsafe { self.memory.cast().as_ref() }
    }

    /// # Panics
    ///
    /// If there is no such task.
    pub(super) fn line(&self, task: usize) -> &Line {
        assert!(task < self.tasks, "task {task} of {}", self.tasks);
        let offset = bytes_of(task);
        // SAFETY: the line is within the mapping, because `task` is below the number of tasks for
        // which it was made. Its offset is a multiple of its alignment. The rest is as in `header`.
        unsafe { self.memory.add(offset).cast().as_ref() }
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is `self`'s, and every reference into it borrows `self`.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_are_one_memory_and_lines_are_apart() {
        let (ours, file) = Shared::new(3).expect("there is memory");
        let theirs = Shared::map(file.as_fd(), 3).expect("it is long enough");
        theirs.line(2).count.store(7, Ordering::Relaxed);
        ours.header().flag.store(GO, Ordering::Relaxed);
        assert_eq!(ours.line(2).count.load(Ordering::Relaxed), 7);
        assert_eq!(theirs.header().flag.load(Ordering::Relaxed), GO);
        assert_eq!(ours.line(1).count.load(Ordering::Relaxed), 0);
        let apart = |a: usize, b: usize| {
            (&raw const *ours.line(b) as usize) - (&raw const *ours.line(a) as usize)
        };
        assert_eq!((apart(0, 1), apart(1, 2)), (128, 128));
    }

    #[test]
    fn memory_that_is_too_short_is_not_mapped() {
        let (_, file) = Shared::new(1).expect("there is memory");
        let error = Shared::map(file.as_fd(), 2).err();
        assert_eq!(error.as_deref(), Some("there is no shared memory of 384 bytes"));
    }
}
