    stp x29, x30, [sp, #-64]!
    str x23, [sp, #16]
    stp x22, x21, [sp, #32]
    stp x20, x19, [sp, #48]
    mov x29, sp
    ldr x19, [x0]
    mov x20, x0
    mov w22, #100
    mov w23, #1073741824
.0:
    lsr x8, x19, #32
    cbnz x8, .1
    subs w21, w19, #1
    b.lt .2
    cmp x19, x23
    b.hi .2
    mov x0, x19
    mov x1, x21
    mov x2, x20
    bl __aarch64_cas8_rel
    cmp x0, x19
    b.eq .3
    subs w22, w22, #1
    mov x19, x0
    b.ne .0
.1:
    mov x0, x20
    bl _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$17put_return_slowly
    cbz w0, .4
    mov w0, wzr
    mov w1, w19
    ldp x20, x19, [sp, #48]
    ldr x23, [sp, #16]
    ldp x22, x21, [sp, #32]
    ldp x29, x30, [sp], #64
    ret
.2:
    cmp w19, #0
    cset w0, gt
    mov w1, w19
    ldp x20, x19, [sp, #48]
    ldr x23, [sp, #16]
    ldp x22, x21, [sp, #32]
    ldp x29, x30, [sp], #64
    ret
.3:
    mov w19, w21
    cbnz w19, .5
.6:
    dmb ishld
.5:
    mov w0, #1
    mov w1, w19
    ldp x20, x19, [sp, #48]
    ldr x23, [sp, #16]
    ldp x22, x21, [sp, #32]
    ldp x29, x30, [sp], #64
    ret
.4:
    mov w19, w1
    cbnz w19, .5
    b .6
