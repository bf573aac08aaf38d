    stp x29, x30, [sp, #-32]!
    stp x20, x19, [sp, #16]
    mov x29, sp
    mov w8, #65534
    mov x19, x0
    mov w9, #-65534
    cmp w8, w1, uxth
    mov w8, #2
    mov w20, w1
    csel w0, w9, w8, eq
    mov x1, x19
    bl __aarch64_ldadd4_rel
    tbnz w0, #0, .0
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    add w8, w20, #2
    and x1, x8, #0xffff
    mov x0, x19
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    b _ZN8lockyard4lock9pv_ticket9kick_next
