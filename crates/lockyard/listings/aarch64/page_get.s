    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x29, sp
    mov x19, x0
    mov w0, #1
    mov x1, x19
    bl __aarch64_ldadd4_relax
    lsr w8, w0, #30
    cbnz w8, .0
.1:
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov w8, #1073741824
    cmp w0, w8
    b.lt .1
    mov w8, #1610612736
    str w8, [x19]
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
