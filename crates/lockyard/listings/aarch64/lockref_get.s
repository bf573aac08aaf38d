    stp x29, x30, [sp, #-64]!
    str x23, [sp, #16]
    stp x22, x21, [sp, #32]
    stp x20, x19, [sp, #48]
    mov x29, sp
    ldr x20, [x0]
    mov x19, x0
    mov w21, #100
    mov w22, #1073741824
    mov w23, #1610612736
.0:
    lsr x8, x20, #32
    cbnz x8, .1
    lsr x8, x20, #30
    cbnz x8, .2
    add w8, w20, #1
.3:
    mov w1, w8
    mov x0, x20
    mov x2, x19
    bl __aarch64_cas8_relax
    cmp x0, x20
    b.eq .4
    subs w21, w21, #1
    mov x20, x0
    b.ne .0
    b .1
.2:
    cmp x20, x22
    csel w8, w23, w20, eq
    cmp w8, w20
    b.ne .3
.4:
    ldp x20, x19, [sp, #48]
    ldr x23, [sp, #16]
    ldp x22, x21, [sp, #32]
    ldp x29, x30, [sp], #64
    ret
.1:
    mov x0, x19
    ldp x20, x19, [sp, #48]
    ldr x23, [sp, #16]
    ldp x22, x21, [sp, #32]
    ldp x29, x30, [sp], #64
    b _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
