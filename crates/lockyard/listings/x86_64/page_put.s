    mov ecx, -1
    lock xadd dword ptr [rdi], ecx
    cmp ecx, 1073741824
    ja .0
    cmp ecx, 1
    je .1
    test ecx, ecx
    je .2
    xor eax, eax
    ret
.1:
    mov al, 1
    ret
.0:
    xor eax, eax
    test ecx, ecx
    mov ecx, 1610612736
    cmovle ecx, eax
    mov dword ptr [rdi], ecx
    ret
.2:
    mov dword ptr [rdi], 0
    xor eax, eax
    ret
