    mov rax, qword ptr [rdi]
    mov ecx, 100
.0:
    mov rdx, rax
    shr rdx, 32
    jne .1
    test eax, eax
    setg dl
    jle .2
    cmp rax, 1073741824
    ja .2
    lea edx, [rax - 1]
    lock cmpxchg qword ptr [rdi], rdx
    je .3
    mov rdx, rax
    shr rdx, 32
    jne .1
    test eax, eax
    setg dl
    jle .2
    cmp rax, 1073741824
    ja .2
    mov edx, eax
    dec edx
    lock cmpxchg qword ptr [rdi], rdx
    je .3
    add ecx, -2
    jne .0
.1:
    push rax
    call _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$17put_return_slowly
    test eax, eax
    lea rsp, [rsp + 8]
    je .3
    xor eax, eax
    ret
.3:
    mov ecx, 1
    test edx, edx
    je .4
    mov eax, ecx
    ret
.2:
    movzx ecx, dl
    mov edx, eax
    mov eax, ecx
    ret
.4:
    xor edx, edx
    mov eax, ecx
    ret
