//! To be filled.
use super::*;
use core::alloc::Layout;
use core::ptr::NonNull;
/// native
#[derive(Debug)]
pub struct Native(());
// SAFETY: todo
unsafe impl Host for Native {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = 16_383;
    fn slot() -> Option<Slot> {
        None
    }
    fn numa_node() -> u32 {
        0
    }
    fn queue_node(_slot: Slot, _level: u32) -> &'static QueueNode<NativeAtomics> {
        loop {}
    }
    #[inline(always)]
    fn relax() {
        core::hint::spin_loop()
    }
    fn now() -> core::time::Duration {
        core::time::Duration::ZERO
    }
    fn park(_word: &NativeU32, _expected: u32, _timeout: Option<core::time::Duration>) {}
    fn unpark(_word: *const NativeU32, _count: u32) {}
    fn allocate(_layout: Layout, _node: Option<u32>) -> Option<NonNull<u8>> {
        None
    }
    unsafe fn deallocate(_memory: NonNull<u8>, _layout: Layout) {}
    fn fatal(message: &'static str) -> ! {
        panic!("{message}")
    }
}
