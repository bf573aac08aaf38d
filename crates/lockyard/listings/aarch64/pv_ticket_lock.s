    stp x29, x30, [sp, #-32]!
    stp x20, x19, [sp, #16]
    mov x29, sp
    mov x19, x0
    mov w0, #131072
    mov x1, x19
    bl __aarch64_ldadd4_acq
    and w8, w0, #0xfffe
    cmp w8, w0, lsr #16
    b.ne .0
    lsr w0, w0, #16
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov w20, w0
    mov x0, x19
    mov w1, w20
    bl _ZN8lockyard4lock9pv_ticket13wait_for_turn
    lsr w0, w20, #16
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
