    push rbp
    push rbx
    push rax
    mov esi, 65536
    lock xadd dword ptr [rdi], esi
    mov ebp, esi
    shr ebp, 16
    cmp bp, si
    jne .0
.1:
    inc qword ptr [rdi + 8]
    inc ebp
    mov word ptr [rdi], bp
    add rsp, 8
    pop rbx
    pop rbp
    ret
.0:
    mov rbx, rdi
    call _ZN8lockyard4lock6ticket13wait_for_turn
    mov rdi, rbx
    jmp .1
