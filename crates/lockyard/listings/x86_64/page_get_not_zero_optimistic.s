    mov eax, 1
.0:
    test eax, eax
    je .1
    cmp eax, 1073741824
    jae .2
    lea ecx, [rax + 1]
.3:
    lock cmpxchg dword ptr [rdi], ecx
    jne .0
    jmp .4
.2:
    mov ecx, 1610612736
    jge .3
.1:
    xor eax, eax
    ret
.4:
    mov al, 1
    ret
