    mov si, 256
    lock xadd word ptr [rdi], si
    movzx ecx, si
    mov eax, ecx
    shr eax, 8
    cmp al, cl
    jne .0
    ret
.0:
    push rbx
    mov ebx, eax
    call _ZN8lockyard4lock6ticket13wait_for_turn
    mov eax, ebx
    pop rbx
    ret
