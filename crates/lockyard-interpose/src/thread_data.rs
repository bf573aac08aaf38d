//! Data of the running thread, by the initial-exec model: an offset that the loader fills in, and
//! no call. The general model may allocate.
//!
//! The model cannot be chosen in Rust, so the variable and its access are assembly.

/// Defines a variable of the running thread, and a function that returns its address. The symbol
/// and the number of its bytes are literals. All bytes are zero in a new thread.
#[macro_export]
macro_rules! thread_data {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident() -> *mut $type:ty, $symbol:literal, $size:literal) => {
        ::core::arch::global_asm!(
            concat!(".pushsection .tbss.", $symbol, ",\"awT\",@nobits"),
            ".p2align 4",
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ", @object"),
            concat!(".size ", $symbol, ", ", $size),
            concat!($symbol, ":"),
            concat!(".zero ", $size),
            ".popsection",
        );

        const _: () = assert!(size_of::<$type>() == $size && align_of::<$type>() <= 16);

        $(#[$meta])*
        #[inline(always)]
        $visibility fn $name() -> *mut $type {
            let address: *mut $type;
            // SAFETY: the word at fs:[0] is the thread's base by the ABI, and the variable's offset
            // from it is fixed when the library is loaded.
            #[cfg(target_arch = "x86_64")]
            unsafe {
                ::core::arch::asm!(
                    concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                    "add {0}, qword ptr fs:[0]",
                    out(reg) address,
                    options(pure, nomem, nostack)
                );
            }
            // SAFETY: the register has the thread's base by the ABI; the offset is as above.
            #[cfg(target_arch = "aarch64")]
            unsafe {
                ::core::arch::asm!(
                    concat!("adrp {1}, :gottprel:", $symbol),
                    concat!("ldr {1}, [{1}, :gottprel_lo12:", $symbol, "]"),
                    "mrs {0}, tpidr_el0",
                    "add {0}, {0}, {1}",
                    out(reg) address,
                    out(reg) _,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            address
        }
    };
}
