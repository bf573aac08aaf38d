    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x29, sp
    mov x19, x0
    mov w0, #-1
    mov x1, x19
    bl __aarch64_ldadd4_rel
    mov w8, #1073741824
    cmp w0, w8
    b.hi .0
    cmp w0, #1
    b.eq .1
    cbz w0, .2
    mov w0, wzr
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.1:
    dmb ishld
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov w8, w0
    mov w0, wzr
    cmp w8, #0
    mov w8, #1610612736
    csel w8, w8, wzr, gt
    str w8, [x19]
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.2:
    str wzr, [x19]
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
