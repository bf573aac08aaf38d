//! A part of a width that the word does not have.

use lockyard::platform::{NativeU16, NativeU32, Ordering, Part};

fn main() {
    Part::<u16>::store_part(&NativeU16::new(0), 0, 0, 1, Ordering::Release);
    Part::<u64>::store_part(&NativeU32::new(0), 0, 0, 1, Ordering::Release);
}
