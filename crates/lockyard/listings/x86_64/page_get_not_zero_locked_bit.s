    mov ecx, 1
    lock xadd dword ptr [rdi], ecx
    mov al, 1
    cmp ecx, 1073741824
    jae .0
    ret
.0:
    jge .1
    mov eax, ecx
    and eax, 2147483647
    cmp eax, 1073741825
    jb .2
    inc ecx
    mov edx, -2147483648
    mov eax, ecx
    lock cmpxchg dword ptr [rdi], edx
.2:
    xor eax, eax
    ret
.1:
    mov dword ptr [rdi], 1610612736
    ret
