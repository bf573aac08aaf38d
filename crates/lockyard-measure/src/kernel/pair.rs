//! The two CPUs of wake-ups: a thread on one of them wakes a thread on the other.
//!
//! The waking CPU is never idle. If it were a sibling of the sleeper's CPU, it would keep the core
//! out of deep idle states, and share the core's time. So the CPUs belong to two cores near each
//! other, if there are two cores.

use crate::cpus::Cpus;
use crate::cpus::distance::{CpuDistance, Places};
use std::fmt;

/// Two CPUs that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPair {
    /// CPU of the waking thread.
    pub waker: usize,
    /// CPU of the sleeping thread.
    pub sleeper: usize,
    /// True if both are hardware threads of one core: no other core may be used.
    pub are_siblings: bool,
}

impl CpuPair {
    /// Returns the CPUs of wake-ups on this host. Returns `None` if this process may use only one
    /// CPU.
    pub fn here() -> Option<CpuPair> {
        let places = Places::here();
        CpuPair::of(Cpus::allowed().all(), |a, b| places.between(a, b))
    }

    fn of(cpus: &[usize], between: impl Fn(usize, usize) -> CpuDistance) -> Option<CpuPair> {
        let (&waker, others) = cpus.split_first()?;
        let distance = |cpu: &usize| match between(waker, *cpu) {
            // Sorted after all other CPUs.
            CpuDistance::SameCore => CpuDistance::Remote as usize + 1,
            other => other as usize,
        };
        let &sleeper = others.iter().min_by_key(|cpu| distance(cpu))?;
        let are_siblings = between(waker, sleeper) == CpuDistance::SameCore;
        Some(CpuPair { waker, sleeper, are_siblings })
    }
}

impl fmt::Display for CpuPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CpuPair { waker, sleeper, are_siblings } = self;
        let of = if *are_siblings { ", siblings of one core, which so never idles" } else { "" };
        write!(f, "CPU {waker} wakes CPU {sleeper}{of}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cores of two threads, with neighbouring numbers. Two cores share a cache, and four a socket.
    fn between(a: usize, b: usize) -> CpuDistance {
        match () {
            () if a == b => CpuDistance::SameCpu,
            () if a / 2 == b / 2 => CpuDistance::SameCore,
            () if a / 4 == b / 4 => CpuDistance::SameComplex,
            () if a / 8 == b / 8 => CpuDistance::SameSocket,
            () => CpuDistance::Remote,
        }
    }

    #[test]
    fn the_cpus_of_wake_ups_are_of_two_cores_if_there_are_two() {
        let of = |cpus: &[usize]| {
            let pair = CpuPair::of(cpus, between).expect("there are two");
            (pair.waker, pair.sleeper, pair.are_siblings)
        };
        assert_eq!(of(&[0, 1, 2, 3]), (0, 2, false));
        assert_eq!(of(&[1, 4, 0, 3]), (1, 3, false), "the nearest core");
        assert_eq!(of(&[0, 1, 8]), (0, 8, false), "another socket is another core");
        assert_eq!(of(&[2, 3]), (2, 3, true));
        assert_eq!(CpuPair::of(&[5], between), None);
        assert_eq!(CpuPair::of(&[], between), None);
        let said = CpuPair { waker: 2, sleeper: 3, are_siblings: true }.to_string();
        assert_eq!(said, "CPU 2 wakes CPU 3, siblings of one core, which so never idles");
        let said = CpuPair { waker: 0, sleeper: 2, are_siblings: false }.to_string();
        assert_eq!(said, "CPU 0 wakes CPU 2");
    }

    #[test]
    fn this_host_has_a_pair_if_it_has_two_cpus() {
        let (cpus, pair) = (Cpus::allowed(), CpuPair::here());
        assert_eq!(pair.is_some(), cpus.len() > 1);
        let Some(pair) = pair else { return };
        assert!(cpus.all().contains(&pair.waker) && cpus.all().contains(&pair.sleeper));
        let places = Places::here();
        let is_core = |cpu: &&usize| places.between(pair.waker, **cpu) > CpuDistance::SameCore;
        assert_eq!(pair.are_siblings, !cpus.all().iter().any(|cpu| is_core(&cpu)), "{pair:?}");
    }
}
