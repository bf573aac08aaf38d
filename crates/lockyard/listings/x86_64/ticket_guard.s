    push rbx
    mov esi, 65536
    lock xadd dword ptr [rdi], esi
    mov eax, esi
    shr eax, 16
    cmp ax, si
    jne .0
.1:
    inc qword ptr [rdi + 8]
    inc eax
    mov word ptr [rdi], ax
    pop rbx
    ret
.0:
    mov rbx, rdi
    call _ZN8lockyard4lock6ticket13wait_for_turn
    mov rdi, rbx
    jmp .1
