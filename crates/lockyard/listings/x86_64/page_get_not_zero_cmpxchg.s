    mov eax, dword ptr [rdi]
.0:
    test eax, eax
    setne cl
    je .1
    cmp eax, 1073741823
    ja .2
    lea edx, [rax + 1]
    lock cmpxchg dword ptr [rdi], edx
    jne .0
.1:
    mov eax, ecx
    ret
.2:
    mov cl, 1
    jle .1
    mov dword ptr [rdi], 1610612736
    mov eax, ecx
    ret
