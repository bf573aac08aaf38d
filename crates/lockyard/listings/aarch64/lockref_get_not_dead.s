    stp x29, x30, [sp, #-64]!
    stp x24, x23, [sp, #16]
    stp x22, x21, [sp, #32]
    stp x20, x19, [sp, #48]
    mov x29, sp
    ldr x20, [x0]
    mov x19, x0
    mov w22, #100
    mov w23, #1073741824
    mov w24, #1610612736
.0:
    lsr x8, x20, #32
    cbnz x8, .1
    mvn w8, w20
    lsr w21, w8, #31
    tbnz w20, #31, .2
    lsr x8, x20, #30
    cbnz x8, .3
    add w8, w20, #1
.4:
    mov w1, w8
    mov x0, x20
    mov x2, x19
    bl __aarch64_cas8_acq
    cmp x0, x20
    b.eq .2
    subs w22, w22, #1
    mov x20, x0
    b.ne .0
    b .1
.3:
    cmp x20, x23
    csel w8, w24, w20, eq
    cmp w8, w20
    b.ne .4
    dmb ishld
    mov w21, #1
    mov w0, w21
    ldp x20, x19, [sp, #48]
    ldp x22, x21, [sp, #32]
    ldp x24, x23, [sp, #16]
    ldp x29, x30, [sp], #64
    ret
.1:
    mov x0, x19
    bl _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
    cmp w0, #1
    cset w21, eq
.2:
    mov w0, w21
    ldp x20, x19, [sp, #48]
    ldp x22, x21, [sp, #32]
    ldp x24, x23, [sp, #16]
    ldp x29, x30, [sp], #64
    ret
