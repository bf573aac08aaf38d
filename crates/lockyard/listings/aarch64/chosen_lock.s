    stp x29, x30, [sp, #-48]!
    str x21, [sp, #16]
    stp x20, x19, [sp, #32]
    mov x29, sp
    adrp x8, _ZN9hot_paths6CHOSEN
    mov x19, x0
    ldr w8, [x8, :lo12:_ZN9hot_paths6CHOSEN
    sub w8, w8, #1
    and w9, w8, #0xff
    cmp w9, #5
    b.hs .0
    and w8, w8, #0xff
    cmp w8, #1
    b.le .1
.2:
    cmp w8, #2
    b.eq .3
    cmp w8, #3
    b.ne .4
    mov w0, wzr
    mov w1, #1
    mov x2, x19
    bl __aarch64_cas4_acq
    cmp w0, #0
    b.ne .5
    mov x8, xzr
    mov w21, #3
    b .6
.3:
    mov w0, #131072
    mov x1, x19
    bl __aarch64_ldadd4_acq
    lsr w20, w0, #16
    and w8, w0, #0xfffe
    cmp w20, w8
    b.ne .7
.8:
    mov x8, xzr
    mov w21, #2
    b .9
.4:
    mov w0, #1
    mov x1, x19
    bl __aarch64_ldset4_acq
    tbnz w0, #0, .10
.11:
    mov x8, xzr
    mov w21, #4
    b .6
.7:
    mov w1, w0
    mov x0, x19
    bl _ZN8lockyard4lock9pv_ticket13wait_for_turn
    b .8
.0:
    bl _ZN8lockyard4kind6choice15Choice$LT$H$GT$6settle
    and w8, w0, #0xff
    and w8, w8, #0xff
    cmp w8, #1
    b.gt .2
.1:
    cbnz w8, .12
    mov w0, #65536
    mov x1, x19
    bl __aarch64_ldadd4_acq
    lsr w20, w0, #16
    cmp w20, w0, uxth
    b.ne .13
.14:
    mov x8, xzr
    mov x21, xzr
    b .9
.12:
    mov w0, wzr
    mov w1, #1
    mov x2, x19
    mov w21, #1
    bl __aarch64_cas4_acq
    cmp w0, #0
    b.ne .15
    mov x8, xzr
.6:
.9:
    lsl w9, w20, #16
    orr x8, x8, x21
    orr x0, x9, x8
    ldp x20, x19, [sp, #32]
    ldr x21, [sp, #16]
    ldp x29, x30, [sp], #48
    ret
.5:
    mov w1, w0
    mov x0, x19
    bl _ZN8lockyard4lock9pv_queued11lock_slowly
    lsl x8, x0, #32
    mov w21, #3
    b .6
.10:
    mov x0, x19
    bl _ZN8lockyard4lock12test_and_set11lock_slowly
    b .11
.13:
    mov w1, w0
    mov x0, x19
    bl _ZN8lockyard4lock6ticket13wait_for_turn
    mov w20, w0
    b .14
.15:
    mov w1, w0
    mov x0, x19
    bl _ZN8lockyard4lock6queued11lock_slowly
    mov x8, xzr
    mov w21, #1
    b .6
