    mov ecx, 1
    xor eax, eax
    lock cmpxchg dword ptr [rdi], ecx
    jne .0
    xor eax, eax
    ret
.0:
    mov esi, eax
    jmp _ZN8lockyard4lock9pv_queued11lock_slowly
