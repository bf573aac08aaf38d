    test rdx, rdx
    je .0
    push r15
    push r14
    push rbx
    mov rbx, rdx
    mov r14, rsi
    mov r15, rdi
.1:
    mov rax, qword ptr [r15]
    mov rdi, r14
    call rax
    inc qword ptr [r14 + 8]
    mov rcx, qword ptr [r15 + 8]
    mov rdi, r14
    mov esi, eax
    call rcx
    dec rbx
    jne .1
    pop rbx
    pop r14
    pop r15
.0:
    ret
