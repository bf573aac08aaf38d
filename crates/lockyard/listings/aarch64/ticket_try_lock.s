    stp x29, x30, [sp, #-32]!
    stp x20, x19, [sp, #16]
    mov x29, sp
    ldr w20, [x0]
    lsr w19, w20, #16
    cmp w19, w20, uxth
    b.ne .0
    mov x2, x0
    add w1, w20, #16, lsl #12
    mov w0, w20
    bl __aarch64_cas4_acq
    cmp w0, w20
    cset w0, eq
    mov w1, w19
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov w0, wzr
    mov w1, w19
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
