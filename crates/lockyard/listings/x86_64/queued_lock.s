    mov ecx, 1
    xor eax, eax
    lock cmpxchg dword ptr [rdi], ecx
    jne .0
    ret
.0:
    mov esi, eax
    jmp _ZN8lockyard4lock6queued11lock_slowly
