//! Distance that a lock travels at a hand-over, from the previous holder to the next one.
//!
//! Inside the critical section, each holder reads the previous holder and records itself. This is
//! one more line that moves with the lock, so the recording has its own pass. The throughput of
//! that pass only serves to report the cost of recording.
//!
//! Recording makes critical sections longer. An unfair lock may therefore travel a shorter or
//! longer distance than without recording.

use crate::cpus::distance::{CpuDistance, Places};
use lockyard_results::details::HandoversDetail;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of acquisitions by the distance from the previous holder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handovers {
    /// Acquisitions by distance, in the order of [`CpuDistance::ALL`].
    pub by_distance: [u64; 5],
    /// Acquisitions on the same CPU by the same thread. Here the lock was not handed over.
    pub same_thread: u64,
}

impl Handovers {
    pub(crate) fn add(&mut self, other: &Handovers) {
        for (sum, more) in self.by_distance.iter_mut().zip(other.by_distance) {
            *sum += more;
        }
        self.same_thread += other.same_thread;
    }

    /// Number of acquisitions that had a predecessor.
    pub fn total(&self) -> u64 {
        self.by_distance.iter().sum()
    }

    /// Share of acquisitions at a distance; `None` if there are none.
    pub fn share(&self, distance: CpuDistance) -> Option<f64> {
        let of = self.by_distance[distance as usize];
        (self.total() > 0).then(|| of as f64 / self.total() as f64)
    }

    /// Returns the details for a row, without the cost of recording.
    pub fn detail(&self) -> HandoversDetail {
        let count = self.total();
        HandoversDetail {
            count,
            same_thread: (count > 0).then(|| self.same_thread as f64 / count as f64),
            same_cpu: self.share(CpuDistance::SameCpu),
            same_core: self.share(CpuDistance::SameCore),
            same_complex: self.share(CpuDistance::SameComplex),
            same_socket: self.share(CpuDistance::SameSocket),
            remote: self.share(CpuDistance::Remote),
            recording: None,
        }
    }
}

/// Last holder of a lock, in its own line; 0 if there was none. Otherwise the upper half is the
/// thread plus one, and the lower half is the CPU.
#[repr(align(128))]
#[derive(Debug, Default)]
struct LastHolder(AtomicU64);

/// State that the threads of a run share.
#[derive(Debug)]
pub(crate) struct Holders {
    of_object: Vec<LastHolder>,
    places: Places,
}

impl Holders {
    /// Creates the state of a variant with this many objects.
    pub(crate) fn new(objects: usize) -> Holders {
        Holders {
            of_object: (0..objects).map(|_| LastHolder::default()).collect(),
            places: Places::here(),
        }
    }
}

/// Record of one thread.
#[derive(Debug)]
struct Recorder {
    holders: Arc<Holders>,
    thread: usize,
    /// CPU of the thread, if it is pinned.
    cpu: Option<usize>,
    found: Handovers,
}

std::thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

/// Begins the calling thread's record. `cpu` is set if the thread is pinned.
pub(crate) fn begin(holders: Arc<Holders>, thread: usize, cpu: Option<usize>) {
    let found = Handovers::default();
    RECORDER.set(Some(Recorder { holders, thread, cpu, found }));
}

/// Ends the calling thread's record.
pub(crate) fn end() -> Handovers {
    RECORDER.take().map(|recorder| recorder.found).unwrap_or_default()
}

/// Records that the calling thread acquired the lock of object number `object`.
pub(crate) fn held(object: usize) {
    RECORDER.with_borrow_mut(|recorder| {
        if let Some(recorder) = recorder {
            let cpu = recorder.cpu.unwrap_or_else(current_cpu);
            recorder.held(object, cpu);
        }
    });
}

impl Recorder {
    fn held(&mut self, object: usize, cpu: usize) {
        let Some(holder) = self.holders.of_object.get(object) else { return };
        // Relaxed: the lock orders the accesses. If a lock fails to exclude, only a count is wrong.
        let before = holder.0.load(Ordering::Relaxed);
        let me = (self.thread as u64 + 1) << 32 | cpu as u64;
        holder.0.store(me, Ordering::Relaxed);
        if before == 0 {
            return;
        }
        let distance = self.holders.places.between((before & 0xffff_ffff) as usize, cpu);
        self.found.by_distance[distance as usize] += 1;
        self.found.same_thread += u64::from(before >> 32 == me >> 32);
    }
}

#[cfg(target_os = "linux")]
fn current_cpu() -> usize {
    // SAFETY: the function has no preconditions.
    let cpu = unsafe { libc::sched_getcpu() };
    usize::try_from(cpu).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn current_cpu() -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(holders: &Arc<Holders>, thread: usize) -> Recorder {
        let found = Handovers::default();
        Recorder { holders: Arc::clone(holders), thread, cpu: None, found }
    }

    #[test]
    fn each_acquisition_is_counted_by_where_the_one_before_was() {
        let holders = Arc::new(Holders::new(2));
        let (mut a, mut b) = (recorder(&holders, 0), recorder(&holders, 1));
        a.held(0, 0); // No thread held it before.
        a.held(0, 0); // The same thread.
        b.held(0, 0); // Another one, on the same CPU.
        b.held(1, 0); // Another lock: no thread held it before.
        a.held(0, 0); // After b.
        let mut sum = a.found;
        sum.add(&b.found);
        assert_eq!(sum, Handovers { by_distance: [3, 0, 0, 0, 0], same_thread: 1 });
        a.held(9, 0); // No such object.
        let expected = HandoversDetail {
            count: 3,
            same_thread: Some(1.0 / 3.0),
            same_cpu: Some(1.0),
            same_core: Some(0.0),
            same_complex: Some(0.0),
            same_socket: Some(0.0),
            remote: Some(0.0),
            recording: None,
        };
        assert_eq!(sum.detail(), expected);
    }

    #[test]
    fn without_an_acquisition_there_are_no_shares() {
        assert_eq!(Handovers::default().detail(), HandoversDetail::default());
    }

    #[test]
    fn a_thread_without_a_record_records_nothing() {
        std::thread::spawn(|| {
            held(0);
            assert_eq!(end(), Handovers::default());
        })
        .join()
        .unwrap();
    }
}
