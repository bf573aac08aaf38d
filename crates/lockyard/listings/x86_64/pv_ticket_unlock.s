    xor eax, eax
    cmp si, -2
    setne al
    shl eax, 16
    add eax, -65534
    lock xadd dword ptr [rdi], eax
    test al, 1
    jne .0
    ret
.0:
    add esi, 2
    movzx esi, si
    jmp _ZN8lockyard4lock9pv_ticket9kick_next
