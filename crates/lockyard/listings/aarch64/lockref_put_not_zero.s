    stp x29, x30, [sp, #-64]!
    str x23, [sp, #16]
    stp x22, x21, [sp, #32]
    stp x20, x19, [sp, #48]
    mov x29, sp
    ldr x20, [x0]
    mov x19, x0
    mov w22, #100
    mov w23, #1073741824
.0:
    lsr x8, x20, #32
    cbnz x8, .1
    cmp w20, #1
    cset w21, gt
    cmp w20, #2
    b.lt .2
    cmp x20, x23
    b.hi .2
    cmp x20, x23
    mov x0, x20
    mov x2, x19
    cset w8, ls
    sub w1, w20, w8
    bl __aarch64_cas8_rel
    cmp x0, x20
    b.eq .2
    subs w22, w22, #1
    mov x20, x0
    b.ne .0
.1:
    mov x0, x19
    bl _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
    cmp w0, #1
    cset w21, eq
.2:
    mov w0, w21
    ldp x20, x19, [sp, #48]
    ldr x23, [sp, #16]
    ldp x22, x21, [sp, #32]
    ldp x29, x30, [sp], #64
    ret
