    xor eax, eax
    mov byte ptr [rdi], al
    ret
