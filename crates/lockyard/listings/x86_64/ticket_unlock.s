    inc esi
    mov word ptr [rdi], si
    ret
