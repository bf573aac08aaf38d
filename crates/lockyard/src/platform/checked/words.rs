//! Plain data of a model that is copied word by word.

use super::super::{NoUninit, Ordering, PlainWords, Word};
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Data in words of a model, 8 bytes in each.
#[derive(Debug)]
pub struct BoxedWords<T, W>(alloc::boxed::Box<[W]>, PhantomData<fn() -> T>);

/// Returns the bytes of word `index` of `value`, followed by zeros.
fn word_of<T: NoUninit>(value: &T, index: usize) -> u64 {
    let bytes = bytemuck::bytes_of(value);
    let mut word = [0; 8];
    let rest = &bytes[index * 8..];
    let length = rest.len().min(8);
    word[..length].copy_from_slice(&rest[..length]);
    u64::from_ne_bytes(word)
}

impl<T: NoUninit + Send, W: Word<Int = u64>> PlainWords<T> for BoxedWords<T, W> {
    fn new(value: T) -> Self {
        let words = size_of::<T>().div_ceil(8);
        Self((0..words).map(|index| W::new(word_of(&value, index))).collect(), PhantomData)
    }

    fn load(&self) -> MaybeUninit<T> {
        let mut copy = MaybeUninit::<T>::uninit();
        let to = copy.as_mut_ptr().cast::<u8>();
        for (index, word) in self.0.iter().enumerate() {
            let bytes = word.load(Ordering::Relaxed).to_ne_bytes();
            let length = (size_of::<T>() - index * 8).min(8);
            // SAFETY: the bytes are inside the copy, and inside the word.
            unsafe { to.add(index * 8).copy_from_nonoverlapping(bytes.as_ptr(), length) };
        }
        copy
    }

    fn store(&self, value: T) {
        for (index, word) in self.0.iter().enumerate() {
            word.store(word_of(&value, index), Ordering::Relaxed);
        }
    }

    fn into_inner(self) -> T {
        // SAFETY: no other thread stores, so the copy is the value that was stored last.
        unsafe { self.load().assume_init() }
    }
}
