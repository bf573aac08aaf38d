    mov esi, 131072
    lock xadd dword ptr [rdi], esi
    mov eax, esi
    shr eax, 16
    mov ecx, esi
    and ecx, 65534
    cmp eax, ecx
    jne .0
    ret
.0:
    push rbx
    mov ebx, eax
    call _ZN8lockyard4lock9pv_ticket13wait_for_turn
    mov eax, ebx
    pop rbx
    ret
