    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x29, sp
    ldr w8, [x0]
    cbnz w8, .0
    mov x2, x0
    mov w0, wzr
    mov w1, #1
    mov w19, #1
    bl __aarch64_cas4_acq
    cmp w0, #0
    b.eq .1
.0:
    mov w19, wzr
.1:
    mov w0, w19
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
