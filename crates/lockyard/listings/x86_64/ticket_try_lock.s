    mov eax, dword ptr [rdi]
    mov edx, eax
    shr edx, 16
    cmp dx, ax
    jne .0
    lea ecx, [rax + 65536]
    lock cmpxchg dword ptr [rdi], ecx
    mov eax, 0
    sete al
    ret
.0:
    xor eax, eax
    ret
