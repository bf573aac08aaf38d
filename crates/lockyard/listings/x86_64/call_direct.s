    test rsi, rsi
    je .0
    push r14
    push rbx
    push rax
    mov rbx, rsi
    mov r14, rdi
.1:
    mov rdi, r14
    call _ZN9hot_paths4ways4lock
    inc qword ptr [r14 + 8]
    mov rdi, r14
    mov esi, eax
    call _ZN9hot_paths4ways6unlock
    dec rbx
    jne .1
    add rsp, 8
    pop rbx
    pop r14
.0:
    ret
