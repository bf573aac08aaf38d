    mov eax, dword ptr [rdi]
    test eax, eax
    je .0
    xor eax, eax
    ret
.0:
    mov ecx, 1
    xor eax, eax
    lock cmpxchg dword ptr [rdi], ecx
    sete al
    ret
