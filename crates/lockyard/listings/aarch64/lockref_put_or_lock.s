    stp x29, x30, [sp, #-48]!
    stp x22, x21, [sp, #16]
    stp x20, x19, [sp, #32]
    mov x29, sp
    ldr x20, [x0]
    mov x19, x0
    mov w21, #100
    mov w22, #1073741824
.0:
    lsr x8, x20, #32
    cbnz x8, .1
    cmp x20, x22
    cset w8, ls
    cmp w20, #2
    b.lt .1
    cmp x20, x22
    b.hi .2
    sub x8, x20, x8
    mov x0, x20
    mov x2, x19
    mov w1, w8
    bl __aarch64_cas8_rel
    cmp x0, x20
    b.eq .2
    subs w21, w21, #1
    mov x20, x0
    b.ne .0
.1:
    mov x0, x19
    ldp x20, x19, [sp, #32]
    ldp x22, x21, [sp, #16]
    ldp x29, x30, [sp], #48
    b _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$18put_or_lock_slowly
.2:
    mov x0, xzr
    ldp x20, x19, [sp, #32]
    ldp x22, x21, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
