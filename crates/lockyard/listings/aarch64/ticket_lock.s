    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x29, sp
    mov x19, x0
    mov w0, #65536
    mov x1, x19
    bl __aarch64_ldadd4_acq
    mov w1, w0
    lsr w0, w0, #16
    cmp w0, w1, uxth
    b.ne .0
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov x0, x19
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    b _ZN8lockyard4lock6ticket13wait_for_turn
