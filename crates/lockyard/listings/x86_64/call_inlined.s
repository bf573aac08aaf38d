    test rsi, rsi
    je .0
    push r14
    push rbx
    push rax
.1:
    mov ecx, 65536
    lock xadd dword ptr [rdi], ecx
    mov eax, ecx
    shr eax, 16
    cmp ax, cx
    jne .2
.3:
    inc qword ptr [rdi + 8]
    inc eax
    mov word ptr [rdi], ax
    dec rsi
    jne .1
    jmp .4
.2:
    mov rbx, rdi
    mov r14, rsi
    mov esi, ecx
    call _ZN8lockyard4lock6ticket13wait_for_turn
    mov rdi, rbx
    mov rsi, r14
    jmp .3
.4:
    add rsp, 8
    pop rbx
    pop r14
.0:
    ret
