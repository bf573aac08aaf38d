    mov rax, qword ptr [rdi]
    mov edx, 100
    mov esi, 1610612736
.0:
    mov rcx, rax
    shr rcx, 32
    jne .1
    test eax, eax
    setns cl
    js .2
    cmp rax, 1073741823
    ja .3
    lea r8d, [rax + 1]
.4:
    mov r8d, r8d
    lock cmpxchg qword ptr [rdi], r8
    je .2
    dec edx
    jne .0
    jmp .1
.3:
    cmp rax, 1073741824
    mov r8d, eax
    cmove r8d, esi
    cmp r8d, eax
    jne .4
    mov al, 1
    ret
.1:
    push rax
    call _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
    cmp eax, 1
    sete cl
    add rsp, 8
.2:
    mov eax, ecx
    ret
