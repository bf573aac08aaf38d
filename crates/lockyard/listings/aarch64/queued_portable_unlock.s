    stp x29, x30, [sp, #-16]!
    mov x29, sp
    mov x1, x0
    mov w0, #-1
    bl __aarch64_ldadd4_rel
    ldp x29, x30, [sp], #16
    ret
