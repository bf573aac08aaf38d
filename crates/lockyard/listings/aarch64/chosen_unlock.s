    stp x29, x30, [sp, #-32]!
    stp x20, x19, [sp, #16]
    mov x29, sp
    and w8, w1, #0xffff
    lsr x20, x1, #16
    mov x19, x0
    cmp w8, #1
    b.le .0
    cmp w8, #2
    b.eq .1
    cmp w8, #3
    b.ne .2
    lsr x20, x1, #32
    mov w0, #-1
    mov x1, x19
    bl __aarch64_ldadd4_rel
    cbnz x20, .3
    tbnz w0, #1, .3
.4:
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    cbnz w8, .2
    add w9, w20, #1
    lsr w8, w1, #16
    and x9, x9, #0xffff
    cmp x9, x8
    sub w0, w9, w8
    mov x1, x19
    bl __aarch64_ldadd4_rel
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.2:
    mov w0, #-1
    mov x1, x19
    bl __aarch64_ldadd4_rel
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.1:
    and x8, x1, #0xffff0000
    mov w9, #-131072
    mov x1, x19
    cmp x8, x9
    mov w8, #2
    mov w9, #-65534
    csel w0, w9, w8, eq
    bl __aarch64_ldadd4_rel
    tbz w0, #0, .4
    add w8, w20, #2
    and x1, x8, #0xffff
    mov x0, x19
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    b _ZN8lockyard4lock9pv_ticket9kick_next
.3:
    ubfx w2, w0, #1, #1
    mov x0, x19
    mov w1, w20
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
    b _ZN8lockyard4lock9pv_queued4kick
