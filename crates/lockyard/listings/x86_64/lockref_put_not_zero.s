    mov rcx, qword ptr [rdi]
    mov edx, 100
    movabs rsi, -4294967296
.0:
    mov rax, rcx
    shr rax, 32
    mov r8, rcx
    shr r8, 48
    cmp r8w, ax
    jne .1
    lea eax, [rcx - 1073741825]
    cmp eax, -1073741823
    jb .2
    cmp ecx, 1073741825
    mov r8d, ecx
    sbb r8d, 0
    mov rax, rcx
    and rax, rsi
    or r8, rax
    mov rax, rcx
    lock cmpxchg qword ptr [rdi], r8
    je .2
    mov rcx, rax
    dec edx
    jne .0
.1:
    push rax
    call _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
    cmp eax, 1
    sete al
    add rsp, 8
    ret
.2:
    cmp ecx, 2
    setge al
    ret
