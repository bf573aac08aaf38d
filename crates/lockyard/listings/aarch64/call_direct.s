    cbz x1, .0
    stp x29, x30, [sp, #-32]!
    stp x20, x19, [sp, #16]
    mov x29, sp
    mov x19, x1
    mov x20, x0
.1:
    mov x0, x20
    bl _ZN9hot_paths4ways4lock
    ldr x8, [x20, #8]
    mov w1, w0
    mov x0, x20
    add x8, x8, #1
    str x8, [x20, #8]
    bl _ZN9hot_paths4ways6unlock
    subs x19, x19, #1
    b.ne .1
    ldp x20, x19, [sp, #16]
    ldp x29, x30, [sp], #32
.0:
    ret
