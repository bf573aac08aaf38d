//! CPUs that the calling thread may use, and pinning the thread to one. CPU sets are passed as
//! arrays of words, because the operating system's set can be larger than the C library's fixed
//! type.

/// First CPU number that is refused. No kernel supports that many CPUs.
pub(crate) const MOST_CPUS: usize = 1 << 16;

#[cfg(target_os = "linux")]
const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// CPUs in the calling thread's affinity mask, ascending; `None` if the system does not report it.
#[cfg(target_os = "linux")]
pub(crate) fn allowed() -> Option<Vec<usize>> {
    // The kernel refuses a set that is smaller than its own, so try larger ones.
    let mut words = 1024 / WORD_BITS;
    while words <= MOST_CPUS / WORD_BITS {
        let mut set: Vec<libc::c_ulong> = vec![0; words];
        let bytes = size_of_val(set.as_slice());
        // SAFETY: `set` is live, exclusive, and aligned as a `cpu_set_t` (an array of `c_ulong`).
        // The call writes at most `bytes` bytes, which is its length. 0 means the calling thread.
        let result = unsafe { libc::sched_getaffinity(0, bytes, set.as_mut_ptr().cast()) };
        if result == 0 {
            let cpus = (0..words * WORD_BITS)
                .filter(|cpu| set[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1);
            return Some(cpus.collect());
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
            return None;
        }
        words *= 2;
    }
    None
}

/// CPUs in the calling thread's affinity mask, ascending; `None` if the system does not report it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed() -> Option<Vec<usize>> {
    None
}

/// Pins the calling thread to `cpu`. Returns true if that worked.
#[cfg(target_os = "linux")]
pub fn pin(cpu: usize) -> bool {
    if cpu >= MOST_CPUS {
        return false;
    }
    let mut set: Vec<libc::c_ulong> = vec![0; (cpu / WORD_BITS + 1).max(1024 / WORD_BITS)];
    set[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
    let bytes = size_of_val(set.as_slice());
    // SAFETY: `set` is live, and aligned as a `cpu_set_t` (an array of `c_ulong`). The call reads
    // at most `bytes` bytes, which is its length. 0 means the calling thread.
    unsafe { libc::sched_setaffinity(0, bytes, set.as_ptr().cast()) == 0 }
}

/// Pins the calling thread to `cpu`. Returns true if that worked.
#[cfg(not(target_os = "linux"))]
pub fn pin(_cpu: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_can_be_pinned_to_each_cpu_that_it_may_use() {
        let Some(cpus) = allowed() else {
            return lockyard_testing::skip!("the system does not tell which CPUs may be used");
        };
        assert!(!cpus.is_empty() && cpus.is_sorted());
        std::thread::spawn(move || {
            for cpu in cpus {
                if pin(cpu) {
                    assert_eq!(allowed(), Some(vec![cpu]));
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_cannot_be_pinned_to() {
        for cpu in [MOST_CPUS - 1, MOST_CPUS, usize::MAX] {
            assert!(!pin(cpu));
        }
    }
}
