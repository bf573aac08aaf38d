# From the loader's first instruction to the first line of Rust, in AT&T syntax.
#
# The first processor arrives at `start_32`, in 32-bit mode without paging, with the address of the
# start information in %ebx (the PVH boot protocol). The others arrive in 16-bit mode, in a copy of
# `trampoline` below 1 MiB. All go on at `to_long_mode`.

# The note that makes a loader accept the file: owner "Xen", type 18 (XEN_ELFNOTE_PHYS32_ENTRY).
.section .note.pvh, "a", @note
.balign 4
.long 4, 8, 18
.asciz "Xen"
.quad start_32

.section .start, "ax", @progbits
.code32
.globl start_32
start_32:
    cli
    cld
    movl %ebx, %edi             # argument of `entered`: the start information

to_long_mode:
    movl %cr4, %eax
    orl $0x20, %eax             # physical address extension, which long mode needs
    movl %eax, %cr4
    movl $table_4, %eax
    movl %eax, %cr3
    movl $0xc0000080, %ecx      # EFER
    rdmsr
    orl $0x100, %eax            # long mode, as soon as paging is on
    wrmsr
    movl %cr0, %eax
    orl $0x80000001, %eax       # paging, protected mode
    movl %eax, %cr0
    lgdtl segments_register
    ljmpl $0x08, $start_64

.code64
start_64:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    xorl %eax, %eax
    movw %ax, %fs
    movw %ax, %gs
    movl %edi, %edi             # clears the upper half
    movq next_stack(%rip), %rsp
    xorl %ebp, %ebp
    call entered
    ud2

# Copied to `TRAMPOLINE` (cpu.rs), a page below 1 MiB. A start-up interrupt leads here.
.code16
.globl trampoline
trampoline:
    cli
    cld
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl 0x8000 + trampoline_segments - trampoline
    movl %cr0, %eax
    orl $1, %eax
    movl %eax, %cr0
    ljmpl $0x18, $other_start_32
trampoline_segments:
    .word segments_end - segments - 1
    .long segments
.globl trampoline_end
trampoline_end:

.code32
other_start_32:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    xorl %edi, %edi             # no start information: not the first processor
    jmp to_long_mode

# Segments, and page tables that map the first 4 GiB to themselves by pages of 2 MiB. In the last
# GiB, where devices are, without caching.
.section .tables, "aw", @progbits
.balign 4096
table_4:
    .quad table_3 + 3
    .fill 511, 8, 0
table_3:
    .quad table_2 + 0x0003, table_2 + 0x1003, table_2 + 0x2003, table_2 + 0x3003
    .fill 508, 8, 0
table_2:
    .set page, 0
    .rept 1536
    .quad page + 0x83
    .set page, page + 0x200000
    .endr
    .rept 512
    .quad page + 0x9b
    .set page, page + 0x200000
    .endr
.balign 8
segments:
    .quad 0
    .quad 0x00af9a000000ffff    # 0x08: 64-bit code
    .quad 0x00cf92000000ffff    # 0x10: data
    .quad 0x00cf9a000000ffff    # 0x18: 32-bit code
segments_end:
segments_register:
    .word segments_end - segments - 1
    .long segments

# The stack of the processor that comes next: of the first one, until `start_others` changes it.
.balign 8
.globl next_stack
next_stack:
    .quad STACKS + {stack_bytes}

# Entries of all 256 interrupts, 16 bytes each. Each makes the same frame: below what the processor
# has stored lie an error code (0, if the processor stores none) and the interrupt's number.
.section .text.interrupts, "ax", @progbits
.code64
.balign 16
.globl interrupt_entries
interrupt_entries:
    .set number, 0
    .rept 256
    .balign 16
    .set stores_error, number == 8 || (number >= 10 && number <= 14) || number == 17
    .set stores_error, stores_error || number == 21 || number == 29 || number == 30
    .if !stores_error
    pushq $0
    .endif
    pushq $number
    jmp interrupt_common
    .set number, number + 1
    .endr

interrupt_common:
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    cld
    movq 72(%rsp), %rdi         # the number
    movq 80(%rsp), %rsi         # the error code
    movq 88(%rsp), %rdx         # the interrupted instruction
    call interrupted
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    addq $16, %rsp
    iretq
