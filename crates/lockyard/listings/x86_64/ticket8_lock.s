    mov si, 256
    lock xadd word ptr [rdi], si
    movzx ecx, si
    mov eax, ecx
    shr eax, 8
    cmp al, cl
    jne _ZN8lockyard4lock6ticket13wait_for_turn
    ret
