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
    ldr x8, [x19, #8]
    mov w9, #65535
    bics wzr, w9, w0
    add x8, x8, #1
    str x8, [x19, #8]
    b.eq .1
.2:
    add w8, w0, #1
    and w8, w8, #0xffff
    sub w0, w8, w0, uxth
    mov x1, x19
    bl __aarch64_ldadd4_rel
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov x0, x19
    bl _ZN8lockyard4lock6ticket13wait_for_turn
    ldr x8, [x19, #8]
    mov w9, #65535
    bics wzr, w9, w0
    add x8, x8, #1
    str x8, [x19, #8]
    b.ne .2
.1:
    mov w0, #-65535
    mov x1, x19
    bl __aarch64_ldadd4_rel
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
