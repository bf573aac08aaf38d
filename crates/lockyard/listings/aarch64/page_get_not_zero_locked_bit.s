    stp x29, x30, [sp, #-32]!
    stp x20, x19, [sp, #16]
    mov x29, sp
    mov x19, x0
    mov w0, #1
    mov w20, #1
    mov x1, x19
    bl __aarch64_ldadd4_acq
    lsr w8, w0, #30
    cbnz w8, .0
    mov w0, w20
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov w8, #1073741824
    cmp w0, w8
    b.ge .1
    and w9, w0, #0x7fffffff
    cmp w9, w8
    b.ls .2
    add w0, w0, #1
    mov w1, #-2147483648
    mov x2, x19
    bl __aarch64_cas4_relax
.2:
    mov w20, wzr
    mov w0, w20
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.1:
    mov w8, #1610612736
    str w8, [x19]
    mov w0, w20
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
