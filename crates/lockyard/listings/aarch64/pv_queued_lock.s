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
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    ret
.0:
    mov w1, w0
    mov x0, x19
    ldr x19, [sp, #16]
    ldp x29, x30, [sp], #32
    b _ZN8lockyard4lock9pv_queued11lock_slowly
