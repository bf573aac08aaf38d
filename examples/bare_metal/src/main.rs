//! A kernel that boots, and does nothing but torture the library's locks on all its processors,
//! with interrupts that take locks too. Its exit code says whether every check passed. README.md
//! describes it, and is the guide for kernels that use the library.
//!
//! `host.rs` is what a kernel writes to use the library. The other files are the kernel.

#![no_std]
#![no_main]

mod acpi;
mod apic;
mod arguments;
mod broken;
mod clock;
mod console;
mod cpu;
mod host;
mod interrupts;
mod memory;
mod torture;

use arguments::Arguments;
use console::Verdict;
use core::panic::PanicInfo;
use core::ptr::with_exposed_provenance;

/// Information of the loader for the first processor (the PVH boot protocol, `hvm_start_info`).
#[repr(C)]
struct StartInformation {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    rsdp: u64,
}

const MAGIC: u32 = 0x336e_c578;

/// The first line of Rust of each processor. Only the first gets start information.
#[unsafe(no_mangle)]
extern "C" fn entered(information: usize) -> ! {
    if information == 0 {
        cpu::entered_later()
    }
    apic::switch_old_one_off();
    // SAFETY: only this processor runs, with interrupts off, and it is number 0.
    unsafe {
        interrupts::fill();
        cpu::become_cpu(0);
    }
    // SAFETY: the loader passed the address, and the memory below 4 GiB is mapped.
    let information = unsafe { with_exposed_provenance::<StartInformation>(information).read() };
    assert!(information.magic == MAGIC, "the loader does not follow the PVH protocol");
    // SAFETY: a text of the loader's that ends with 0, in memory that nothing writes.
    let arguments = unsafe { Arguments::read(information.command_line as usize) };
    let arguments = arguments.unwrap_or_else(|wrong| {
        console::line(format_args!("wrong usage: {wrong}"));
        console::end(Verdict::WrongUsage)
    });

    memory::fill();
    clock::calibrate();
    apic::calibrate();
    torture::prepare(&arguments);
    cpu::start_others(information.rsdp as usize, torture::run);
    let started = cpu::all().len();
    assert!(started == arguments.cpus, "{started} processors, and not {}", arguments.cpus);
    torture::run()
}

#[panic_handler]
fn panic(information: &PanicInfo) -> ! {
    console::fail(format_args!("{information}"))
}
