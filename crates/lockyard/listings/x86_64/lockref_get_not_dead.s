    mov rax, qword ptr [rdi]
    mov edx, 100
    movabs rsi, -4294967296
.0:
    mov rcx, rax
    shr rcx, 32
    mov r8, rax
    shr r8, 48
    cmp r8w, cx
    jne .1
    test eax, eax
    setns cl
    js .2
    cmp eax, 1073741823
    ja .3
    lea r8d, [rax + 1]
    and r8d, 2147483647
.4:
    mov r9, rax
    and r9, rsi
    or r9, r8
    lock cmpxchg qword ptr [rdi], r9
    je .2
    dec edx
    jne .0
    jmp .1
.3:
    mov r8d, 1610612736
    cmp eax, 1073741824
    je .4
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
