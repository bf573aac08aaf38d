    mov esi, 65536
    lock xadd dword ptr [rdi], esi
    mov eax, esi
    shr eax, 16
    cmp ax, si
    jne _ZN8lockyard4lock6ticket13wait_for_turn
    ret
