    movabs rcx, -4294967296
    mov rax, qword ptr [rdi]
    mov esi, 100
.0:
    mov rdx, rax
    shr rdx, 32
    mov r8, rax
    shr r8, 48
    cmp r8w, dx
    jne .1
    lea edx, [rax - 1]
    cmp edx, 1073741823
    ja .2
    mov r8, rax
    and r8, rcx
    mov r9, rdx
    or r9, r8
    lock cmpxchg qword ptr [rdi], r9
    je .3
    mov rdx, rax
    shr rdx, 32
    mov r8, rax
    shr r8, 48
    cmp r8w, dx
    jne .1
    lea edx, [rax - 1]
    cmp edx, 1073741823
    ja .2
    mov r8, rax
    and r8, rcx
    mov r9, rdx
    or r9, r8
    lock cmpxchg qword ptr [rdi], r9
    je .3
    add esi, -2
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
    xor ecx, ecx
    test eax, eax
    setg cl
    mov edx, eax
    mov eax, ecx
    ret
.4:
    xor edx, edx
    mov eax, ecx
    ret
