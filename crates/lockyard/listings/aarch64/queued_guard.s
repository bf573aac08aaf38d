    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x29, sp
    mov x19, x0
    mov w0, wzr
    mov w1, #1
    mov x2, x19
    bl __aarch64_cas4_acq
    cmp w0, #0
    b.ne .0
.1:
    ldr x8, [x19, #8]
    mov w0, #-1
    mov x1, x19
    add x8, x8, #1
    str x8, [x19, #8]
    bl __aarch64_ldadd4_rel
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov w1, w0
    mov x0, x19
    bl _ZN8lockyard4lock6queued11lock_slowly
    b .1
