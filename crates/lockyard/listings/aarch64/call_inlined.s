    cbz x1, .0
    stp x29, x30, [sp, #-48]!
    str x21, [sp, #16]
    stp x20, x19, [sp, #32]
    mov x29, sp
    mov x19, x1
    mov x20, x0
    mov w21, #65535
    b .1
.2:
    add w8, w0, #1
    and w8, w8, #0xffff
    sub w0, w8, w0, uxth
    mov x1, x20
    bl __aarch64_ldadd4_rel
    subs x19, x19, #1
    b.eq .3
.1:
    mov w0, #65536
    mov x1, x20
    bl __aarch64_ldadd4_acq
    mov w1, w0
    lsr w0, w0, #16
    cmp w0, w1, uxth
    b.ne .4
    ldr x8, [x20, #8]
    bics wzr, w21, w0
    add x8, x8, #1
    str x8, [x20, #8]
    b.ne .2
.5:
    mov w0, #-65535
    mov x1, x20
    bl __aarch64_ldadd4_rel
    subs x19, x19, #1
    b.ne .1
    b .3
.4:
    mov x0, x20
    bl _ZN8lockyard4lock6ticket13wait_for_turn
    ldr x8, [x20, #8]
    bics wzr, w21, w0
    add x8, x8, #1
    str x8, [x20, #8]
    b.ne .2
    b .5
.3:
    ldp x20, x19, [sp, #32]
    ldr x21, [sp, #16]
    ldp x29, x30, [sp], #48
.0:
    ret
