    mov esi, 65536
    lock xadd dword ptr [rdi], esi
    mov eax, esi
    shr eax, 16
    cmp ax, si
    jne .0
    ret
.0:
    push rbx
    mov ebx, eax
    call _ZN8lockyard4lock6ticket13wait_for_turn
    mov eax, ebx
    pop rbx
    ret
