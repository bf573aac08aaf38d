    stp x29, x30, [sp, #-16]!
    mov x29, sp
    mov w8, #65535
    bics wzr, w8, w1
    mov x8, x0
    b.eq .0
    add w9, w1, #1
    and w9, w9, #0xffff
    sub w0, w9, w1, uxth
    mov x1, x8
    bl __aarch64_ldadd4_rel
    ldp x29, x30, [sp], #16
    ret
.0:
    mov w0, #-65535
    mov x1, x8
    bl __aarch64_ldadd4_rel
    ldp x29, x30, [sp], #16
    ret
