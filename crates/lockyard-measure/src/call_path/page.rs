//! Call sites that are patched at start-up, on a page of code in this program.
//!
//! The page starts with *indirect* calls through a table, as a compiler emits them for a program
//! with hooks. Each call site is then overwritten with a *direct* call to the table's entry.
//! Finally the page is made executable and read-only:
//!
//! ```text
//!   ff 15 d0 d1 d2 d3    call [rip + d]     6 bytes
//!   e8 r0 r1 r2 r3 90    call r; nop        6 bytes: the same place, the same length
//! ```
//!
//! The page holds two loops. They consist of the same instructions as the compiled direct call
//! (`ways.rs`; a test compares the listings). In `patched`, the loop's own calls are patched. In
//! `nested`, the loop directly calls two functions whose calls are patched, just as a kernel's lock
//! functions call their hooks. The page lies within 2 GiB of the program's code, so direct calls
//! can reach it.
//!
//! The sites are patched for the lock kind of a [`Choice`]. Patching makes that choice final.

use super::ways::{Compiled, Section, Table};
use lockyard::kind::{Choice, Kind};
use std::ptr::NonNull;

/// Offset of the first loop. The table precedes it, padded to a whole cache line.
const CODE_BEGINS: usize = 64;
/// Size of the page, which holds all the code.
const PAGE_BYTES: usize = 4096;

/// Type of a loop on the page. It takes the section and the number of repetitions (at least one).
type Loop = unsafe extern "sysv64" fn(*mut Section, u64);

/// Opcode of the direct call, and the padding byte that makes it as long as the indirect call.
const CALL: u8 = 0xe8;
const NOP: u8 = 0x90;
/// Opcode of the indirect call through memory, addressed relative to the next instruction.
const CALL_INDIRECT: [u8; 2] = [0xff, 0x15];
/// Length of either call in bytes.
const SITE_BYTES: usize = 6;

/// Entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Lock,
    Unlock,
}

impl Entry {
    /// Offset of the entry in the table, and therefore on the page.
    fn offset(self) -> usize {
        match self {
            Entry::Lock => std::mem::offset_of!(Table, lock),
            Entry::Unlock => std::mem::offset_of!(Table, unlock),
        }
    }
}

/// A call site: the offset of its six bytes, and the function that it calls.
#[derive(Clone, Copy, Debug)]
struct Site {
    at: usize,
    entry: Entry,
}

/// Code before it is patched.
#[derive(Debug)]
struct Code {
    bytes: Vec<u8>,
    /// Instructions as text, without addresses.
    listing: Vec<&'static str>,
    sites: Vec<Site>,
    patched: usize,
    nested: usize,
}

impl Code {
    fn new() -> Code {
        let mut code = Code {
            bytes: vec![0; CODE_BEGINS],
            listing: Vec::new(),
            sites: Vec::new(),
            patched: 0,
            nested: 0,
        };
        code.patched = code.whole_loop(Code::site, Code::site);
        let lock = code.wrapper(Entry::Lock);
        let unlock = code.wrapper(Entry::Unlock);
        let call = |to: usize| move |code: &mut Code, _: Entry| code.call(to);
        code.nested = code.whole_loop(call(lock), call(unlock));
        code
    }

    fn instruction(&mut self, text: &'static str, bytes: &[u8]) {
        self.listing.push(text);
        self.bytes.extend_from_slice(bytes);
    }

    /// Pads the code to a whole cache line.
    fn align(&mut self) -> usize {
        let end = self.bytes.len().next_multiple_of(CODE_BEGINS);
        self.bytes.resize(end, NOP);
        end
    }

    /// Emits an indirect call through the table.
    fn site(&mut self, entry: Entry) {
        let at = self.bytes.len();
        let distance = entry.offset() as i32 - (at + SITE_BYTES) as i32;
        self.instruction("call", &CALL_INDIRECT);
        self.bytes.extend(distance.to_le_bytes());
        self.sites.push(Site { at, entry });
    }

    /// Emits a direct call of code on the page.
    fn call(&mut self, to: usize) {
        let next = self.bytes.len() + 5;
        self.instruction("call", &[CALL]);
        self.bytes.extend((to as i32 - next as i32).to_le_bytes());
    }

    /// Emits a loop that locks, adds one and unlocks. `lock` and `unlock` emit the calls. The
    /// instructions equal those of the compiled direct call.
    fn whole_loop(
        &mut self,
        lock: impl FnOnce(&mut Code, Entry),
        unlock: impl FnOnce(&mut Code, Entry),
    ) -> usize {
        let begin = self.align();
        // Save two callee-saved registers. This also aligns the stack for the calls.
        self.instruction("push r14", &[0x41, 0x56]);
        self.instruction("push rbx", &[0x53]);
        self.instruction("push rax", &[0x50]);
        self.instruction("mov rbx, rsi", &[0x48, 0x89, 0xf3]); // times
        self.instruction("mov r14, rdi", &[0x49, 0x89, 0xfe]); // the section
        let again = self.align();
        self.instruction("mov rdi, r14", &[0x4c, 0x89, 0xf7]);
        lock(self, Entry::Lock);
        self.instruction("inc qword ptr [r14 + 8]", &[0x49, 0xff, 0x46, COUNT]);
        self.instruction("mov rdi, r14", &[0x4c, 0x89, 0xf7]);
        self.instruction("mov esi, eax", &[0x89, 0xc6]);
        unlock(self, Entry::Unlock);
        self.instruction("dec rbx", &[0x48, 0xff, 0xcb]);
        let back = again as i32 - (self.bytes.len() as i32 + 2);
        self.instruction("jne", &[0x75, back as i8 as u8]);
        self.instruction("add rsp, 8", &[0x48, 0x83, 0xc4, 0x08]);
        self.instruction("pop rbx", &[0x5b]);
        self.instruction("pop r14", &[0x41, 0x5e]);
        self.instruction("ret", &[0xc3]);
        begin
    }

    /// Emits a function that only calls its hook.
    fn wrapper(&mut self, entry: Entry) -> usize {
        let begin = self.align();
        self.instruction("push rcx", &[0x51]); // aligns the stack
        self.site(entry);
        self.instruction("pop rcx", &[0x59]);
        self.instruction("ret", &[0xc3]);
        begin
    }
}

/// Offset of the protected word in a section.
const COUNT: u8 = std::mem::offset_of!(Section, count) as u8;
const _: () = assert!(std::mem::offset_of!(Section, word) == 0 && COUNT == 8);

/// A page of memory, not yet executable.
#[derive(Debug)]
struct Memory(NonNull<u8>);

impl Memory {
    /// Maps a page within reach of direct calls to `code`.
    fn near(code: usize) -> Result<Memory, String> {
        const FARTHEST: usize = (1 << 31) - (1 << 24);
        let mut distance = 1 << 24;
        while distance < FARTHEST {
            for wanted in [code.wrapping_sub(distance), code.wrapping_add(distance)] {
                let memory = Memory::at(wanted & !(PAGE_BYTES - 1))?;
                if memory.0.as_ptr().addr().abs_diff(code) < FARTHEST {
                    return Ok(memory);
                }
            }
            distance += 1 << 26;
        }
        Err("refused here: no page is free within 2 GiB of the program's code".to_owned())
    }

    /// Maps a page, at `wanted` if possible.
    fn at(wanted: usize) -> Result<Memory, String> {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        let hint = std::ptr::without_provenance_mut(wanted);
        // SAFETY: the address is only a hint, so the new mapping replaces no other.
        let memory = unsafe { libc::mmap(hint, PAGE_BYTES, access, kind, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(refused("mmap"));
        }
        NonNull::new(memory.cast()).map(Memory).ok_or_else(|| refused("mmap"))
    }

    /// Makes the page executable and read-only.
    fn seal(&self) -> Result<(), String> {
        let access = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: this object owns the mapping, and no other object points into it.
        match unsafe { libc::mprotect(self.0.as_ptr().cast(), PAGE_BYTES, access) } {
            0 => Ok(()),
            _ => Err(refused("mprotect (to executable)")),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this object owns the mapping, and does not outlive this call.
        unsafe { libc::munmap(self.0.as_ptr().cast(), PAGE_BYTES) };
    }
}

/// Formats the system's last error for a refused call.
fn refused(call: &str) -> String {
    let error = std::io::Error::last_os_error();
    format!(
        "refused here: the system does not let this program make code of its own ({call}: {error})"
    )
}

/// A page of callable code.
#[derive(Debug)]
pub struct Page {
    memory: Memory,
    kind: Kind,
    patched: usize,
    nested: usize,
    /// Number of patched call sites.
    pub sites: usize,
}

impl Page {
    /// Writes the loops, patches their calls for the chosen kind, and makes the page executable.
    /// The choice of kind becomes final.
    ///
    /// # Errors
    ///
    /// If the system refuses. The error is a sentence without a full stop that begins with "refused
    /// here".
    pub fn patched(choice: &Choice) -> Result<Page, String> {
        Page::with(choice, true)
    }

    /// Does the same as [`patched`](Self::patched). Without `patch`, the calls stay indirect.
    fn with(choice: &Choice, patch: bool) -> Result<Page, String> {
        let table = |kind| Compiled::of(kind).table;
        let anywhere = table(Kind::Ticket).lock as *const () as usize;
        let memory = Memory::near(anywhere)?;
        // No site is patched yet. From here on, the kind cannot change.
        let kind = choice.fix_for_patching();
        let table = table(kind);
        let mut code = Code::new();
        if patch {
            code.patch(memory.0.as_ptr().addr(), &table)?;
        }
        assert!(code.bytes.len() <= PAGE_BYTES, "the code fits a page");
        // SAFETY: this object owns the page, which is writable, aligned for a table, and long
        // enough for the writes. No other code has its address yet.
        unsafe {
            std::ptr::copy_nonoverlapping(code.bytes.as_ptr(), memory.0.as_ptr(), code.bytes.len());
            memory.0.cast::<Table>().write(table);
        }
        memory.seal()?;
        let (patched, nested, sites) = (code.patched, code.nested, code.sites.len());
        Ok(Page { memory, kind, patched, nested, sites: if patch { sites } else { 0 } })
    }

    /// Kind for which the sites were patched.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Runs the loop whose calls were patched.
    ///
    /// # Safety
    ///
    /// The section's word must have been 0 before its first use, and only loops of
    /// [`kind`](Self::kind) may have used it.
    pub unsafe fn patched_loop(&self, section: &mut Section, times: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.run(self.patched, section, times) }
    }

    /// Runs the loop that calls functions whose calls were patched.
    ///
    /// # Safety
    ///
    /// The same as for [`patched_loop`](Self::patched_loop).
    pub unsafe fn nested_loop(&self, section: &mut Section, times: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.run(self.nested, section, times) }
    }

    unsafe fn run(&self, offset: usize, section: &mut Section, times: u64) {
        if times == 0 {
            return;
        }
        let begin = self.memory.0.as_ptr().wrapping_add(offset);
        // SAFETY: a function of this type (`Code::whole_loop`) begins at this offset. The page is
        // executable while this object lives. The function preserves the callee-saved registers and
        // the stack. It changes only the section: it calls the functions of `kind`, and adds to the
        // section's count.
        unsafe { std::mem::transmute::<*mut u8, Loop>(begin)(section, times) }
    }
}

impl Code {
    /// Overwrites each indirect call with a direct call to the table's entry. `page` is the address
    /// at which the code will run.
    fn patch(&mut self, page: usize, table: &Table) -> Result<(), String> {
        for site in &self.sites {
            let target = match site.entry {
                Entry::Lock => table.lock as *const () as usize,
                Entry::Unlock => table.unlock as *const () as usize,
            };
            let bytes = &mut self.bytes[site.at..site.at + SITE_BYTES];
            assert!(bytes.starts_with(&CALL_INDIRECT), "only calls through the table are patched");
            let next = page + site.at + 5;
            let distance = i32::try_from(target as i64 - next as i64)
                .map_err(|_| "refused here: the program's code is out of a direct call's reach")?;
            bytes[0] = CALL;
            bytes[1..5].copy_from_slice(&distance.to_le_bytes());
            bytes[5] = NOP;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_path::way::new_section;
    use lockyard::kind::FixedBy;

    /// Returns a page; `None` if the system refuses it.
    fn page(choice: &Choice, patch: bool) -> Option<Page> {
        match Page::with(choice, patch) {
            Ok(page) => Some(page),
            Err(why) => {
                assert!(why.starts_with("refused here: "), "{why}");
                lockyard_testing::skip!("{why}");
                None
            }
        }
    }

    #[test]
    fn a_site_is_patched_in_place_and_calls_what_the_table_held() {
        let before = Code::new();
        let mut after = Code::new();
        let table = Compiled::of(Kind::Queued).table;
        let lock = table.lock as *const () as usize;
        // A page as far below the function as a direct call can reach.
        let page = lock - 0x1000_0000;
        after.patch(page, &table).unwrap();
        assert_eq!(before.bytes.len(), after.bytes.len());
        assert_eq!(before.sites.len(), 4, "two in the loop, one in each function");
        let mut patched = before.bytes.clone();
        for site in &before.sites {
            let bytes: [u8; 6] = after.bytes[site.at..site.at + 6].try_into().unwrap();
            let [0xe8, a, b, c, d, 0x90] = bytes else { panic!("call, nop: {bytes:x?}") };
            let target =
                (page + site.at + 5).wrapping_add_signed(i32::from_le_bytes([a, b, c, d]) as isize);
            let expected = match site.entry {
                Entry::Lock => lock,
                Entry::Unlock => table.unlock as *const () as usize,
            };
            assert_eq!(target, expected, "{site:?}");
            patched[site.at..site.at + 6].copy_from_slice(&bytes);
        }
        assert_eq!(patched, after.bytes, "nothing else changes");
    }

    /// Listing of the compiled loop that `crates/lockyard/tests/it/hot_paths.rs` checks.
    const COMPILED: &str = include_str!("../../../lockyard/listings/x86_64/call_direct.s");

    #[test]
    fn the_loop_on_the_page_has_the_instructions_of_the_compiled_one() {
        let without_places = |line: &str| match line.trim().split_once(' ') {
            Some((name @ ("call" | "jne" | "je"), _)) => name.to_owned(),
            _ => line.trim().to_owned(),
        };
        let compiled: Vec<String> =
            COMPILED.lines().filter(|line| !line.ends_with(':')).map(without_places).collect();
        assert_eq!(compiled[..2], ["test rsi, rsi", "je"], "the page's are done at least once");
        assert_eq!(Code::new().listing[..compiled.len() - 2], compiled[2..]);
    }

    /// The comments next to these bytes in `whole_loop` are the output of `objdump -D -b binary -m
    /// i386:x86-64`.
    #[test]
    fn the_code_is_what_it_was_when_it_was_disassembled() {
        let code = Code::new();
        let hex = |range: std::ops::Range<usize>| -> String {
            code.bytes[range].iter().map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!((code.patched, code.nested), (64, 320));
        assert_eq!(hex(64..74), "415653504889f34989fe");
        assert_eq!(
            hex(128..165),
            "4c89f7ff1577ffffff49ff46084c89f789c6ff1570ffffff48ffcb75e34883c4085b415ec3"
        );
    }

    #[test]
    fn a_function_out_of_reach_is_refused_and_not_called_wrongly() {
        let table = Compiled::of(Kind::Ticket).table;
        let lock = table.lock as *const () as usize;
        let far = Code::new().patch(lock - (1 << 31) - (1 << 20), &table).unwrap_err();
        assert!(far.starts_with("refused here"), "{far}");
    }

    #[test]
    fn the_loops_lock_and_unlock_before_and_after_they_are_patched() {
        for kind in Kind::ALL {
            for patch in [false, true] {
                let Some(page) = page(&Choice::new(*kind), patch) else { return };
                assert_eq!((page.kind(), page.sites), (*kind, if patch { 4 } else { 0 }));
                let mut section = new_section();
                // SAFETY: the section is new, and only loops of one kind use it.
                unsafe {
                    page.patched_loop(&mut section, 1000);
                    page.nested_loop(&mut section, 500);
                    page.nested_loop(&mut section, 0);
                    (Compiled::of(*kind).direct)(&mut section, 10);
                }
                assert_eq!(section.count, 1510);
            }
        }
    }

    #[test]
    fn after_the_sites_were_patched_no_other_kind_can_be_chosen() {
        static CHOICE: Choice = Choice::new(Kind::Ticket);
        let Some(page) = page(&CHOICE, true) else { return };
        let error = CHOICE.choose(Kind::Queued).unwrap_err();
        assert_eq!((error.in_force(), error.fixed_by()), (page.kind(), FixedBy::Patched));
    }

    #[test]
    fn sites_are_patched_for_the_kind_that_was_chosen() {
        static CHOICE: Choice = Choice::new(Kind::Ticket);
        CHOICE.choose(Kind::Queued).unwrap();
        let Some(page) = page(&CHOICE, true) else { return };
        assert_eq!(page.kind(), Kind::Queued);
    }
}
