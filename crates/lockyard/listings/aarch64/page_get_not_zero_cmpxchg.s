    stp x29, x30, [sp, #-48]!
    str x21, [sp, #16]
    stp x20, x19, [sp, #32]
    mov x29, sp
    ldr w20, [x0]
    mov x19, x0
    mov w21, #1073741824
.0:
    cbz w20, .1
    lsr w8, w20, #30
    cbnz w8, .2
    add w1, w20, #1
    mov w0, w20
    mov x2, x19
    bl __aarch64_cas4_acq
    cmp w0, w20
    mov w20, w0
    b.ne .0
    b .3
.2:
    cmp w20, w21
    b.lt .1
    mov w1, #1610612736
    mov w0, w20
    mov x2, x19
    bl __aarch64_cas4_acq
    cmp w0, w20
    mov w20, w0
    b.ne .0
.3:
    mov w0, #1
    ldp x20, x19, [sp, #32]
    ldr x21, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
.1:
    mov w0, wzr
    ldp x20, x19, [sp, #32]
    ldr x21, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
