    mov eax, -1
    lock xadd dword ptr [rdi], eax
    cmp eax, 1073741824
    ja .0
    cmp eax, 1
    je .1
    test eax, eax
    je .2
    xor eax, eax
    ret
.1:
    mov ecx, -2147483648
    xor eax, eax
    lock cmpxchg dword ptr [rdi], ecx
    sete al
    ret
.0:
    test eax, eax
    mov eax, 1610612736
    mov ecx, -2147483648
    cmovg ecx, eax
    mov dword ptr [rdi], ecx
    xor eax, eax
    ret
.2:
    mov dword ptr [rdi], -2147483648
    xor eax, eax
    ret
