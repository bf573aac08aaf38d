//! Hooked memory: each operation asks the hook, and is then performed or pretended.

use super::hook::{Effect, Hook, Operation, OperationKind, SLICE};
use crate::invariance::Invariant;
use crate::platform::{
    Atomics, Budget, BudgetSpent, ConstAtomics, Int, Ordering, Part, Word, part_of,
};
use bytemuck::NoUninit;
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;

/// The memory `A`, with its operations passing through `K`.
pub struct HookedAtomics<A, K>(Invariant<(A, K)>);

/// A word of memory whose operations pass through `K`.
#[repr(transparent)]
pub struct HookedWord<W, K>(pub(super) W, Invariant<K>);

impl<A, K> fmt::Debug for HookedAtomics<A, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedAtomics")
    }
}

impl<W: fmt::Debug, K> fmt::Debug for HookedWord<W, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A hook's answer: the operation with the orderings to use, and its effect.
struct Answer<K> {
    operation: Operation,
    performed: bool,
    _hook: Invariant<K>,
}

impl<K: Hook> Answer<K> {
    fn order(&self) -> Ordering {
        self.operation.order
    }

    fn failure(&self) -> Ordering {
        self.operation.failure.unwrap_or(Ordering::Relaxed)
    }

    /// Tells the hook that the operation is done, and returns `result`.
    fn done<R>(self, result: R) -> R {
        K::done(&self.operation);
        result
    }
}

#[inline(always)]
#[track_caller]
fn ask<K: Hook>(
    kind: OperationKind,
    address: usize,
    order: Ordering,
    failure: Option<Ordering>,
) -> Answer<K> {
    let mut operation = Operation { kind, place: Location::caller(), address, order, failure };
    let performed = K::operation(&mut operation) == Effect::Performed;
    Answer { operation, performed, _hook: PhantomData }
}

/// Returns the reading half of an ordering, for the load that replaces a pretended operation.
fn of_load(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

impl<W: Word, K: Hook> HookedWord<W, K> {
    #[inline(always)]
    #[track_caller]
    fn ask(&self, kind: OperationKind, order: Ordering, failure: Option<Ordering>) -> Answer<K> {
        ask::<K>(kind, core::ptr::from_ref(self).addr(), order, failure)
    }

    #[track_caller]
    fn found(&self, answer: &Answer<K>) -> W::Int {
        self.0.load(of_load(answer.order()))
    }

    /// Compares like a compare-exchange, but stores nothing.
    #[track_caller]
    fn compare_only(&self, current: W::Int, answer: &Answer<K>) -> Result<W::Int, W::Int> {
        let found = self.found(answer);
        if found == current { Ok(found) } else { Err(found) }
    }

    /// Waits without a bound, in slices, and calls the hook after each slice.
    #[track_caller]
    fn wait_watched(
        &self,
        order: Ordering,
        relax: fn(),
        mut predicate: impl FnMut(W::Int) -> bool,
    ) -> W::Int {
        let mut slices = 0;
        loop {
            match self.0.wait_until(order, Budget::Polls(SLICE), relax, &mut predicate) {
                Ok(value) => return value,
                Err(BudgetSpent(_)) => {
                    slices += 1;
                    K::waiting(slices);
                }
            }
        }
    }
}

impl<W: Word, K: Hook> Word for HookedWord<W, K> {
    type Int = W::Int;

    fn new(value: W::Int) -> Self {
        Self(W::new(value), PhantomData)
    }
    fn get(&mut self) -> W::Int {
        self.0.get()
    }
    fn load(&self, order: Ordering) -> W::Int {
        let answer = self.ask(OperationKind::Load, order, None);
        let value = self.0.load(answer.order());
        answer.done(value)
    }
    fn store(&self, value: W::Int, order: Ordering) {
        let answer = self.ask(OperationKind::Store, order, None);
        if answer.performed {
            self.0.store(value, answer.order());
        }
        answer.done(())
    }
    fn swap(&self, value: W::Int, order: Ordering) -> W::Int {
        let answer = self.ask(OperationKind::Swap, order, None);
        let before =
            if answer.performed { self.0.swap(value, answer.order()) } else { self.found(&answer) };
        answer.done(before)
    }
    fn compare_exchange(
        &self,
        current: W::Int,
        new: W::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Int, W::Int> {
        let answer = self.ask(OperationKind::CompareExchange, success, Some(failure));
        let result = if answer.performed {
            self.0.compare_exchange(current, new, answer.order(), answer.failure())
        } else {
            self.compare_only(current, &answer)
        };
        answer.done(result)
    }
    fn compare_exchange_weak(
        &self,
        current: W::Int,
        new: W::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Int, W::Int> {
        let answer = self.ask(OperationKind::CompareExchange, success, Some(failure));
        let result = if answer.performed {
            self.0.compare_exchange_weak(current, new, answer.order(), answer.failure())
        } else {
            self.compare_only(current, &answer)
        };
        answer.done(result)
    }
    fn fetch_add(&self, value: W::Int, order: Ordering) -> W::Int {
        let answer = self.ask(OperationKind::FetchAdd, order, None);
        let before = if answer.performed {
            self.0.fetch_add(value, answer.order())
        } else {
            self.found(&answer)
        };
        answer.done(before)
    }
    fn fetch_sub(&self, value: W::Int, order: Ordering) -> W::Int {
        let answer = self.ask(OperationKind::FetchAdd, order, None);
        let before = if answer.performed {
            self.0.fetch_sub(value, answer.order())
        } else {
            self.found(&answer)
        };
        answer.done(before)
    }
    fn fetch_or(&self, value: W::Int, order: Ordering) -> W::Int {
        let answer = self.ask(OperationKind::FetchBits, order, None);
        let before = if answer.performed {
            self.0.fetch_or(value, answer.order())
        } else {
            self.found(&answer)
        };
        answer.done(before)
    }
    fn fetch_and(&self, value: W::Int, order: Ordering) -> W::Int {
        let answer = self.ask(OperationKind::FetchBits, order, None);
        let before = if answer.performed {
            self.0.fetch_and(value, answer.order())
        } else {
            self.found(&answer)
        };
        answer.done(before)
    }
    fn wait_until(
        &self,
        order: Ordering,
        budget: Budget,
        relax: fn(),
        predicate: impl FnMut(W::Int) -> bool,
    ) -> Result<W::Int, BudgetSpent<W::Int>> {
        let kind = match budget {
            Budget::Unbounded => OperationKind::Wait,
            Budget::Polls(_) => OperationKind::WaitBounded,
        };
        let answer = self.ask(kind, order, None);
        let result = if !answer.performed {
            Ok(self.found(&answer))
        } else if kind == OperationKind::Wait && K::WATCHES_WAITS {
            Ok(self.wait_watched(answer.order(), relax, predicate))
        } else {
            self.0.wait_until(answer.order(), budget, relax, predicate)
        };
        answer.done(result)
    }
}

impl<P: Int, W: Part<P>, K: Hook> Part<P> for HookedWord<W, K> {
    fn store_part(&self, index: usize, old: P, new: P, order: Ordering) {
        let answer = self.ask(OperationKind::StorePart, order, None);
        if answer.performed {
            self.0.store_part(index, old, new, answer.order());
        }
        answer.done(())
    }
    fn swap_part(&self, index: usize, new: P, order: Ordering) -> P {
        let answer = self.ask(OperationKind::SwapPart, order, None);
        let before = if answer.performed {
            self.0.swap_part(index, new, answer.order())
        } else {
            part_of(self.found(&answer), index)
        };
        answer.done(before)
    }
    fn wait_part_assembly(&self, index: usize, value: P, relax: fn()) {
        let answer = self.ask(OperationKind::Wait, Ordering::Acquire, None);
        let arrived = |word: W::Int| part_of::<W::Int, P>(word, index) == value;
        if !answer.performed {
            self.found(&answer);
        } else if K::WATCHES_WAITS {
            // Assembly cannot be cut into slices.
            self.wait_watched(answer.order(), relax, arrived);
        } else if answer.order() != Ordering::Acquire {
            let done = self.0.wait_until(answer.order(), Budget::Unbounded, relax, arrived);
            debug_assert!(done.is_ok());
        } else {
            self.0.wait_part_assembly(index, value, relax);
        }
        answer.done(())
    }
}

// SAFETY: the words are words of `A`. A hook that changes operations deliberately breaks the
// promises of the trait. The user of such a hook expects primitives to fail, and judges them by
// their behaviour.
unsafe impl<A: Atomics, K: Hook> Atomics for HookedAtomics<A, K> {
    type U16 = HookedWord<A::U16, K>;
    type U32 = HookedWord<A::U32, K>;
    type U64 = HookedWord<A::U64, K>;
    type Cell<T: Send> = A::Cell<T>;
    type Words<T: NoUninit + Send> = A::Words<T>;

    fn fence(order: Ordering) {
        let answer = ask::<K>(OperationKind::Fence, 0, order, None);
        // An ordering weakened to relaxed means no fence, because `core` has no relaxed fence.
        if answer.performed && answer.order() != Ordering::Relaxed {
            A::fence(answer.order());
        }
        answer.done(())
    }

    fn acquire_after<W: Word>(word: &W) {
        let answer = ask::<K>(OperationKind::Fence, 0, Ordering::Acquire, None);
        match answer.order() {
            _ if !answer.performed => {}
            Ordering::Relaxed => {}
            Ordering::Acquire => A::acquire_after(word),
            stronger => A::fence(stronger),
        }
        answer.done(())
    }
}

impl<A: ConstAtomics, K: Hook> ConstAtomics for HookedAtomics<A, K> {
    const U16_ZERO: Self::U16 = HookedWord(A::U16_ZERO, PhantomData);
    const U32_ZERO: Self::U32 = HookedWord(A::U32_ZERO, PhantomData);
    const U64_ZERO: Self::U64 = HookedWord(A::U64_ZERO, PhantomData);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{
        NativeAtomics, NativeCell, NativeU16, NativeU32, NativeU64, NativeWords,
    };
    use core::sync::atomic::AtomicU32;

    /// Native memory that counts its late acquires.
    struct Counted;
    static LATE: AtomicU32 = AtomicU32::new(0);

    // SAFETY: the native memory provides everything.
    unsafe impl Atomics for Counted {
        type U16 = NativeU16;
        type U32 = NativeU32;
        type U64 = NativeU64;
        type Cell<T: Send> = NativeCell<T>;
        type Words<T: NoUninit + Send> = NativeWords<T>;

        fn fence(order: Ordering) {
            NativeAtomics::fence(order);
        }
        fn acquire_after<W: Word>(word: &W) {
            LATE.fetch_add(1, Ordering::Relaxed);
            NativeAtomics::acquire_after(word);
        }
    }

    /// Makes every fence relaxed if `WEAK`, and counts the fences that reach the hook.
    struct Weakens<const WEAK: bool>;
    static FENCES: AtomicU32 = AtomicU32::new(0);

    // SAFETY: the test's word guards nothing.
    unsafe impl<const WEAK: bool> Hook for Weakens<WEAK> {
        fn operation(operation: &mut Operation) -> Effect {
            if operation.kind == OperationKind::Fence {
                assert_eq!(operation.order, Ordering::Acquire);
                FENCES.fetch_add(1, Ordering::Relaxed);
                if WEAK {
                    operation.order = Ordering::Relaxed;
                }
            }
            Effect::Performed
        }
    }

    #[test]
    fn a_late_acquire_is_the_memorys_own_unless_the_hook_weakens_it() {
        type Memory<const WEAK: bool> = HookedAtomics<Counted, Weakens<WEAK>>;
        let word = <Memory<false> as Atomics>::U32::new(0);
        Memory::<false>::acquire_after(&word);
        assert_eq!((FENCES.load(Ordering::Relaxed), LATE.load(Ordering::Relaxed)), (1, 1));
        let word = <Memory<true> as Atomics>::U32::new(0);
        Memory::<true>::acquire_after(&word);
        assert_eq!((FENCES.load(Ordering::Relaxed), LATE.load(Ordering::Relaxed)), (2, 1));
    }
}
