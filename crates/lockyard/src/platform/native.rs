//! The native memory: `core`'s atomics and cells, with nothing added.
//!
//! On x86-64 an operation on a part of a word is one instruction of that width. The instruction is
//! in assembly, because Rust forbids unsynchronised atomics of different sizes on the same bytes.
//! To the language each such instruction *stands for a masked read-modify-write of the word's one
//! Rust atomic, with the release or acquire that its ordering names*.
//!
//! The plain store of a part refines that read-modify-write. No other thread changes those bytes at
//! the same time (the contract of [`Part::store_part`]), so no write is lost between the imagined
//! read and write. And an x86-64 store is a release. The store promises only release: it is not
//! sequentially consistent, and a later load may be performed before it.
//!
//! Other processors use the portable forms. x32 also uses them: its 32-bit addresses would be in
//! 64-bit registers with undefined upper halves.
//!
//! A store of a part cannot be forwarded to a locked operation on the word. If the same thread
//! executes a locked operation immediately after the store, that operation waits until the store
//! has left the core. On an AMD EPYC (family 25), taking and releasing a lock back to back then
//! takes 9.1 ns. With a read-modify-write release it takes 5.4 ns. With 9 ns or more in between
//! there is no difference. On an Intel Xeon the plain store was faster, by 6 ns (example
//! `partial_store`; `docs/evidence/assumptions.md`).
//!
//! # The portable forms everywhere
//!
//! With `--cfg lockyard_portable`, x86-64 also uses the portable forms, and there are no fences,
//! because a sanitizer sees neither assembly nor fences. The build script selects this form for
//! sanitizers that watch accesses.
//!
//! A sequentially consistent fence is then a read-modify-write of one static word. The word's
//! modification order orders these read-modify-writes, and each synchronises with the later ones.
//! So everything before one fence happens before everything after each later fence. Real fences
//! promise less. An acquire fence after a read becomes another read ([`Atomics::acquire_after`]).

use super::words::NativeWords;
use super::{
    Atomics, Budget, BudgetSpent, ConstAtomics, DataCell, Ordering, Part, Word, part_shift,
};
#[cfg(not(all(
    target_arch = "x86_64",
    target_pointer_width = "64",
    not(any(miri, lockyard_portable))
)))]
use super::{store_part_by_rmw, swap_part_by_rmw};
use bytemuck::NoUninit;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, fence};

/// The memory of the machine that runs this code.
#[derive(Debug)]
pub struct NativeAtomics(());

macro_rules! native_word {
    ($(#[$doc:meta])* $name:ident, $atomic:ty, $int:ty) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug)]
        pub struct $name($atomic);

        impl $name {
            /// Makes a word that holds `value`; for statics.
            #[inline(always)]
            pub const fn new(value: $int) -> Self {
                Self(<$atomic>::new(value))
            }
        }

        impl Word for $name {
            type Int = $int;

            #[inline(always)]
            fn new(value: $int) -> Self {
                Self(<$atomic>::new(value))
            }
            #[inline(always)]
            fn get(&mut self) -> $int {
                *self.0.get_mut()
            }
            #[inline(always)]
            fn load(&self, order: Ordering) -> $int {
                self.0.load(order)
            }
            #[inline(always)]
            fn store(&self, value: $int, order: Ordering) {
                self.0.store(value, order)
            }
            #[inline(always)]
            fn swap(&self, value: $int, order: Ordering) -> $int {
                self.0.swap(value, order)
            }
            #[inline(always)]
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                self.0.compare_exchange(current, new, success, failure)
            }
            #[inline(always)]
            fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                self.0.compare_exchange_weak(current, new, success, failure)
            }
            #[inline(always)]
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                self.0.fetch_add(value, order)
            }
            #[inline(always)]
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                self.0.fetch_sub(value, order)
            }
            #[inline(always)]
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                self.0.fetch_or(value, order)
            }
            #[inline(always)]
            fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                self.0.fetch_and(value, order)
            }
            #[inline(always)]
            fn wait_until(
                &self,
                order: Ordering,
                budget: Budget,
                relax: fn(),
                mut predicate: impl FnMut($int) -> bool,
            ) -> Result<$int, BudgetSpent<$int>> {
                let mut polls: u32 = 0;
                loop {
                    let value = self.load(order);
                    if predicate(value) {
                        return Ok(value);
                    }
                    if let Budget::Polls(limit) = budget {
                        polls += 1;
                        if polls >= limit {
                            return Err(BudgetSpent(value));
                        }
                    }
                    relax();
                }
            }
        }
    };
}

native_word!(
    /// A 16-bit word of native memory.
    NativeU16, AtomicU16, u16
);
native_word!(
    /// A 32-bit word of native memory.
    NativeU32, AtomicU32, u32
);
native_word!(
    /// A 64-bit word of native memory.
    NativeU64, AtomicU64, u64
);

/// Returns the address of part `index`, counted from the least significant one.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(any(miri, lockyard_portable))))]
#[inline(always)]
fn part_address<W: Word, P>(word: &W, index: usize) -> *mut P {
    // x86-64 is little-endian: part `index` is `index` parts above the word's address. The callers
    // check the bounds with `part_shift`.
    core::ptr::from_ref(word).cast_mut().cast::<P>().wrapping_add(index)
}

macro_rules! native_part {
    ($word:ty, $int:ty, $part:ty, $ptr:literal, $reg:ident, $modifier:literal) => {
        impl Part<$part> for $word {
            #[inline(always)]
            #[track_caller]
            fn store_part(&self, index: usize, old: $part, new: $part, order: Ordering) {
                assert!(
                    matches!(order, Ordering::Relaxed | Ordering::Release),
                    "a part is stored with relaxed or release ordering"
                );
                part_shift::<$int, $part>(index);
                #[cfg(all(
                    target_arch = "x86_64",
                    target_pointer_width = "64",
                    not(any(miri, lockyard_portable))
                ))]
                {
                    let _ = old;
                    let part = part_address::<_, $part>(self, index);
                    // SAFETY: `part` points into `self`, which is alive. `self` is in an
                    // `UnsafeCell` (inside the atomic). The store is one aligned instruction, so it
                    // is atomic. The module documentation shows that it stands for a release
                    // read-modify-write of the word. The memory clobber keeps the compiler from
                    // moving accesses across it, and the processor keeps earlier accesses before
                    // it.
                    unsafe {
                        core::arch::asm!(
                            concat!("mov ", $ptr, " ptr [{part}], {new", $modifier, "}"),
                            part = in(reg) part,
                            new = in($reg) new,
                            options(nostack, preserves_flags)
                        );
                    }
                }
                #[cfg(not(all(
                    target_arch = "x86_64",
                    target_pointer_width = "64",
                    not(any(miri, lockyard_portable))
                )))]
                store_part_by_rmw(self, index, old, new, order);
            }

            #[inline(always)]
            #[track_caller]
            fn swap_part(&self, index: usize, new: $part, order: Ordering) -> $part {
                part_shift::<$int, $part>(index);
                #[cfg(all(
                    target_arch = "x86_64",
                    target_pointer_width = "64",
                    not(any(miri, lockyard_portable))
                ))]
                {
                    let _ = order;
                    let part = part_address::<_, $part>(self, index);
                    let mut value = new;
                    // SAFETY: as above. `xchg` with memory is locked, so it is atomic with respect
                    // to every other access of the word. It is also a full barrier, and so at least
                    // as strong as any `order`.
                    unsafe {
                        core::arch::asm!(
                            concat!("xchg ", $ptr, " ptr [{part}], {value", $modifier, "}"),
                            part = in(reg) part,
                            value = inout($reg) value,
                            options(nostack, preserves_flags)
                        );
                    }
                    value
                }
                #[cfg(not(all(
                    target_arch = "x86_64",
                    target_pointer_width = "64",
                    not(any(miri, lockyard_portable))
                )))]
                swap_part_by_rmw(self, index, new, order)
            }

            #[cfg(all(
                target_arch = "x86_64",
                target_pointer_width = "64",
                not(any(miri, lockyard_portable))
            ))]
            #[inline(always)]
            #[track_caller]
            fn load_part(&self, index: usize, order: Ordering) -> $part {
                assert!(
                    matches!(order, Ordering::Relaxed | Ordering::Acquire),
                    "a part is loaded with relaxed or acquire ordering"
                );
                part_shift::<$int, $part>(index);
                let part = part_address::<_, $part>(self, index);
                let value: $part;
                // SAFETY: `part` points into `self`, which is alive. The load is one aligned
                // instruction, which stands for a load of the word. Every x86-64 load is an
                // acquire, and the memory clobber keeps the compiler from hoisting later accesses.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {value", $modifier, "}, ", $ptr, " ptr [{part}]"),
                        part = in(reg) part,
                        value = out($reg) value,
                        options(nostack, preserves_flags)
                    );
                }
                value
            }

            #[cfg(all(
                target_arch = "x86_64",
                target_pointer_width = "64",
                not(any(miri, lockyard_portable))
            ))]
            #[inline(always)]
            #[track_caller]
            fn wait_part_assembly(&self, index: usize, value: $part, relax: fn()) {
                // The assembly loop has its own pause instruction.
                let _ = relax;
                part_shift::<$int, $part>(index);
                let part = part_address::<_, $part>(self, index);
                // SAFETY: `part` points into `self`, which is alive. Each round is one aligned load
                // of the part, which stands for an acquire load of the word. x86-64 performs loads
                // in order, and the memory clobber keeps the compiler from hoisting later accesses.
                unsafe {
                    core::arch::asm!(
                        concat!("2: cmp ", $ptr, " ptr [{part}], {value", $modifier, "}"),
                        "je 3f",
                        "pause",
                        "jmp 2b",
                        "3:",
                        part = in(reg) part,
                        value = in($reg) value,
                        options(nostack)
                    );
                }
            }
        }
    };
}

native_part!(NativeU16, u16, u8, "byte", reg_byte, "");
native_part!(NativeU32, u32, u8, "byte", reg_byte, "");
native_part!(NativeU32, u32, u16, "word", reg, ":x");
native_part!(NativeU64, u64, u8, "byte", reg_byte, "");
native_part!(NativeU64, u64, u16, "word", reg, ":x");
native_part!(NativeU64, u64, u32, "dword", reg, ":e");

/// A cell of native memory.
#[repr(transparent)]
#[derive(Debug)]
pub struct NativeCell<T>(UnsafeCell<T>);

// SAFETY: the cell returns only raw pointers, and code that dereferences them must ensure exclusion
// (see `DataCell`). The data may move to the thread that accesses it, so it must be `Send`.
unsafe impl<T: Send> Sync for NativeCell<T> {}

impl<T> NativeCell<T> {
    /// Makes a cell that holds `value`; for statics.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

impl<T: Send> DataCell<T> for NativeCell<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

// SAFETY: the words are `core`'s atomics. The module documentation shows that the parts are sound.
unsafe impl Atomics for NativeAtomics {
    type U16 = NativeU16;
    type U32 = NativeU32;
    type U64 = NativeU64;
    type Cell<T: Send> = NativeCell<T>;
    type Words<T: NoUninit + Send> = NativeWords<T>;

    #[inline(always)]
    fn fence(order: Ordering) {
        #[cfg(lockyard_portable)]
        if order == Ordering::SeqCst {
            static FENCES: AtomicU32 = AtomicU32::new(0);
            // Acquire and release: pair with the same operations of earlier and later fences.
            FENCES.fetch_add(1, Ordering::AcqRel);
        }
        fence(order)
    }

    #[cfg(lockyard_portable)]
    #[inline(always)]
    fn acquire_after<W: Word>(word: &W) {
        // Acquire: pairs with the same release as a fence would, because this read returns the same
        // value as the earlier read, or a later value.
        word.load(Ordering::Acquire);
    }
}

impl ConstAtomics for NativeAtomics {
    const U16_ZERO: NativeU16 = NativeU16::new(0);
    const U32_ZERO: NativeU32 = NativeU32::new(0);
    const U64_ZERO: NativeU64 = NativeU64::new(0);
}
