    stp x29, x30, [sp, #-16]!
    mov x29, sp
    add w8, w1, #1
    and w9, w1, #0xff
    mov x1, x0
    and w8, w8, #0xff
    subs w8, w8, w9
    mov w0, w8
    bl __aarch64_ldadd2_rel
    ldp x29, x30, [sp], #16
    ret
