    mov eax, 1
    lock xadd dword ptr [rdi], eax
    cmp eax, 1073741823
    ja .0
.1:
    ret
.0:
    jle .1
    mov dword ptr [rdi], 1610612736
    ret
