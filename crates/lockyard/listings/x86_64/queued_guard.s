    push rbx
    mov ecx, 1
    xor eax, eax
    lock cmpxchg dword ptr [rdi], ecx
    jne .0
.1:
    inc qword ptr [rdi + 8]
    xor eax, eax
    mov byte ptr [rdi], al
    pop rbx
    ret
.0:
    mov rbx, rdi
    mov esi, eax
    call _ZN8lockyard4lock6queued11lock_slowly
    mov rdi, rbx
    jmp .1
