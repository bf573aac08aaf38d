//! Memory shared between the measuring process and its tasks: a flag, and a line for each task.
//!
//! The memory is an anonymous file, passed to a task as its standard input. So it needs no name,
//! and leaves nothing behind. While tasks count, they use only relaxed operations. Each task's line
//! has a single writer.

use super::experiment::last_error;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// Values of the flag.
pub(super) const PREPARE: u32 = 0;
pub(super) const GO: u32 = 1;
pub(super) const STOP: u32 = 2;

/// States of a task: not begun, ready, failed.
pub(super) const NEW: u32 = 0;
pub(super) const READY: u32 = 1;
pub(super) const FAILED_TO_PIN: u32 = 2;
pub(super) const FAILED_TO_START: u32 = 3;
pub(super) const FAILED_TO_CALL: u32 = 4;
/// Failure: the task was no longer pinned to its CPU when it stopped.
pub(super) const MOVED: u32 = 5;

/// Header that all tasks read.
#[repr(C, align(128))]
pub(super) struct Header {
    pub(super) flag: AtomicU32,
}

/// Line that a single task writes.
#[repr(C, align(128))]
pub(super) struct Line {
    /// Number of operations.
    pub(super) count: AtomicU64,
    pub(super) state: AtomicU32,
    /// Error number, if the task failed.
    pub(super) errno: AtomicI32,
}

/// Mapping of the shared memory.
pub(super) struct Shared {
    memory: NonNull<u8>,
    bytes: usize,
    tasks: usize,
}

// SAFETY: the memory stays mapped until `self` is dropped, belongs to no thread, and is only
// accessed with atomics.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

const fn bytes_of(tasks: usize) -> usize {
    size_of::<Header>() + tasks * size_of::<Line>()
}

impl Shared {
    /// Creates zeroed memory for `tasks` tasks: the flag says prepare, and no task has begun.
    ///
    /// # Errors
    ///
    /// The system call that was refused.
    pub(super) fn new(tasks: usize) -> Result<(Shared, File), String> {
        // SAFETY: the name is a C string, and the call takes no other pointer.
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

    /// Maps the memory of `file`, which must be long enough for `tasks` tasks.
    ///
    /// # Errors
    ///
    /// If the file is too short, or cannot be mapped.
    pub(super) fn map(file: BorrowedFd, tasks: usize) -> Result<Shared, String> {
        let bytes = bytes_of(tasks);
        // SAFETY: an all-zero `stat` is valid.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `status` is live, and as large as the call requires.
        let known = unsafe { libc::fstat(file.as_raw_fd(), &raw mut status) } == 0;
        // Accesses beyond the end of the file would fault, so the mapping must not be longer than
        // the file.
        if !known || status.st_size < bytes as libc::off_t {
            return Err(format!("there is no shared memory of {bytes} bytes"));
        }
        // SAFETY: the system chooses the address, so the new mapping replaces no other.
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
        // SAFETY: the mapping begins with a header, is page-aligned, and lives as long as `self`.
        // Every bit pattern is a valid atomic integer, and all processes access it only with
        // atomics.
        unsafe { self.memory.cast().as_ref() }
    }

    /// # Panics
    ///
    /// If there is no such task.
    pub(super) fn line(&self, task: usize) -> &Line {
        assert!(task < self.tasks, "task {task} of {}", self.tasks);
        let offset = bytes_of(task);
        // SAFETY: the line is within the mapping, because the mapping has more than `task` lines.
        // Its offset is a multiple of its alignment. For the rest, see `header`.
        unsafe { self.memory.add(offset).cast().as_ref() }
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: `self` owns the mapping, and every reference into it borrows `self`.
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
