    test si, si
    je .0
    movzx eax, si
    cmp eax, 1
    jne .1
    xor eax, eax
    mov byte ptr [rdi], al
    ret
.0:
    inc edx
    mov word ptr [rdi], dx
    ret
.1:
    xor eax, eax
    mov byte ptr [rdi], al
    ret
