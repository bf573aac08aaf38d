    stp x29, x30, [sp, #-32]!
    str x19, [sp, #16]
    mov x29, sp
    mov x19, x0
    mov w0, #1
    mov x1, x19
    bl __aarch64_ldset4_acq
    tbnz w0, #0, .0
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov x0, x19
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    b _ZN8lockyard4lock12test_and_set11lock_slowly
