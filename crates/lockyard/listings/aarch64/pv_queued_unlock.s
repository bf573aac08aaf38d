    stp x29, x30, [sp, #-32]!
    stp x20, x19, [sp, #16]
    mov x29, sp
    mov x20, x0
    mov w19, w1
    mov w0, #-1
    mov x1, x20
    bl __aarch64_ldadd4_rel
    and w8, w0, #0x2
    orr w9, w8, w19
    cbnz w9, .0
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    cmp w8, #0
    mov x0, x20
    cset w2, ne
    mov w1, w19
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    b _ZN8lockyard4lock9pv_queued4kick
