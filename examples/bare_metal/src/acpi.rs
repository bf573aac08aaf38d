//! The processors of the machine, from the firmware's tables (the ACPI specification, 5.2).

use core::ptr::with_exposed_provenance;

const PROCESSOR: u8 = 0;
const ENABLED: u32 = 1;

/// Reads a value of the firmware's, at any alignment.
fn read<T: Copy>(address: usize) -> T {
    // SAFETY: the tables lie in ordinary memory below 4 GiB, all of which is mapped, and the
    // firmware no longer runs. The types that are read here are integers and arrays of them.
    unsafe { with_exposed_provenance::<T>(address).read_unaligned() }
}

/// Checks that the bytes of a table add up to 0.
fn check(table: usize, bytes: usize) {
    let sum = (0..bytes).fold(0_u8, |sum, at| sum.wrapping_add(read(table + at)));
    assert!(sum == 0, "a table of the firmware has a wrong check sum");
}

/// Returns the addresses of the local interrupt controllers of all processors that can be used.
/// `rsdp` is the address of the firmware's root pointer.
pub(crate) fn processors(rsdp: usize) -> impl Iterator<Item = u32> {
    assert!(&read::<[u8; 8]>(rsdp) == b"RSD PTR ", "the firmware has no table of tables");
    check(rsdp, 20);
    let root = read::<u32>(rsdp + 16) as usize;
    let tables = (read::<u32>(root + 4) as usize - 36) / 4;
    let madt = (0..tables)
        .map(|table| read::<u32>(root + 36 + 4 * table) as usize)
        .find(|&table| &read::<[u8; 4]>(table) == b"APIC")
        .expect("the firmware lists no processors");
    let end = madt + read::<u32>(madt + 4) as usize;
    check(madt, end - madt);

    let mut at = madt + 44;
    core::iter::from_fn(move || {
        while at + 2 <= end {
            let entry = at;
            at += usize::from(read::<u8>(entry + 1)).max(2);
            if read::<u8>(entry) == PROCESSOR && read::<u32>(entry + 4) & ENABLED != 0 {
                return Some(u32::from(read::<u8>(entry + 3)));
            }
        }
        None
    })
}
