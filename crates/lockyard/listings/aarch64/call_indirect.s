    cbz x2, .0
    stp x29, x30, [sp, #-48]!
    str x21, [sp, #16]
    stp x20, x19, [sp, #32]
    mov x29, sp
    mov x19, x2
    mov x20, x1
    mov x21, x0
.1:
    ldr x8, [x21]
    mov x0, x20
    blr x8
    ldr x8, [x20, #8]
    mov w1, w0
    mov x0, x20
    add x8, x8, #1
    str x8, [x20, #8]
    ldr x8, [x21, #8]
    blr x8
    subs x19, x19, #1
    b.ne .1
    ldp x20, x19, [sp, #32]
    ldr x21, [sp, #16]
    ldp x29, x30, [sp], #48
.0:
    ret
