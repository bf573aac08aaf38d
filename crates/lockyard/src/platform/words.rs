//! Plain data that threads copy word by word, while another thread may write it: the data of a
//! [`SeqLock`](crate::seqlock::SeqLock). Each word is an atomic, so no copy is a data race. A copy
//! may be a mixture of two values, and the lock's sequence says if it is.

pub use bytemuck::NoUninit;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Plain data that is copied word by word. Each access to a word is atomic and relaxed.
///
/// The copies order nothing. A caller puts fences around them, and decides from another word if a
/// copy is whole.
pub trait PlainWords<T>: Send + Sync {
    /// Makes data that hold `value`.
    fn new(value: T) -> Self;
    /// Returns a copy. It is a `T` if no thread stored during the call. Otherwise it may be a
    /// mixture of values. All its bytes are initialised.
    #[track_caller]
    fn load(&self) -> MaybeUninit<T>;
    /// Replaces the data, word by word. No other thread stores at the same time.
    #[track_caller]
    fn store(&self, value: T);
    /// Returns the data.
    fn into_inner(self) -> T;
}

/// The native data: the value itself, accessed by the widest atomics that fit it.
///
/// Each byte is always accessed by the same atomic. So there are no atomics of different sizes on
/// the same bytes.
#[repr(C, align(8))]
pub struct NativeWords<T>(UnsafeCell<T>);

// SAFETY: all shared accesses are atomic. The data are copied to other threads, so they must be
// `Send`.
unsafe impl<T: Send> Sync for NativeWords<T> {}

impl<T> core::fmt::Debug for NativeWords<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("NativeWords").finish_non_exhaustive()
    }
}

impl<T> NativeWords<T> {
    /// Makes data that hold `value`; for statics.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

/// Calls `$visit!(offset, atomic, integer)` for each word of `$size` bytes.
macro_rules! each_word {
    ($size:expr, $visit:ident) => {{
        let (size, mut at) = ($size, 0);
        while at + 8 <= size {
            $visit!(at, AtomicU64, u64);
            at += 8;
        }
        if size & 4 != 0 {
            $visit!(at, AtomicU32, u32);
            at += 4;
        }
        if size & 2 != 0 {
            $visit!(at, AtomicU16, u16);
            at += 2;
        }
        if size & 1 != 0 {
            $visit!(at, AtomicU8, u8);
        }
    }};
}

impl<T: NoUninit + Send> PlainWords<T> for NativeWords<T> {
    fn new(value: T) -> Self {
        Self::new(value)
    }

    #[inline(always)]
    fn load(&self) -> MaybeUninit<T> {
        let mut copy = MaybeUninit::<T>::uninit();
        let (from, to) = (self.0.get().cast::<u8>(), copy.as_mut_ptr().cast::<u8>());
        macro_rules! word {
            ($at:ident, $atomic:ty, $int:ty) => {
                // SAFETY: the word is inside the value, and its offset is a multiple of its size in
                // data that are aligned to 8 bytes. All bytes of a `NoUninit` are initialised.
                // Each shared access to these bytes is by this atomic. The copy has room.
                unsafe {
                    let word = <$atomic>::from_ptr(from.add($at).cast()).load(Ordering::Relaxed);
                    to.add($at).cast::<$int>().write_unaligned(word);
                }
            };
        }
        each_word!(size_of::<T>(), word);
        copy
    }

    #[inline(always)]
    fn store(&self, value: T) {
        let (from, to) = ((&raw const value).cast::<u8>(), self.0.get().cast::<u8>());
        macro_rules! word {
            ($at:ident, $atomic:ty, $int:ty) => {
                // SAFETY: as in `load`, with the two exchanged.
                unsafe {
                    let word = from.add($at).cast::<$int>().read_unaligned();
                    <$atomic>::from_ptr(to.add($at).cast()).store(word, Ordering::Relaxed);
                }
            };
        }
        each_word!(size_of::<T>(), word);
    }

    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_value_for_every_size() {
        macro_rules! sizes {
            ($($size:literal)*) => {$({
                let value: [u8; $size] = core::array::from_fn(|at| at as u8 + 1);
                let words = NativeWords::new([0; $size]);
                words.store(value);
                // SAFETY: no thread stores.
                assert_eq!(unsafe { words.load().assume_init() }, value);
                assert_eq!(words.into_inner(), value);
            })*};
        }
        sizes!(0 1 2 3 4 5 6 7 8 9 12 15 16 17 23 64 65);
    }
}
