    mov rax, qword ptr [rdi]
    mov edx, 100
    xor ecx, ecx
    movabs rsi, -4294967296
.0:
    mov r8, rax
    shr r8, 32
    mov r9, rax
    shr r9, 48
    cmp r9w, r8w
    jne .1
    cmp eax, 1073741825
    mov r8, rax
    sbb r8, 0
    cmp eax, 2
    jl .1
    cmp eax, 1073741824
    ja .2
    mov r9, rax
    and r9, rsi
    mov r8d, r8d
    or r8, r9
    lock cmpxchg qword ptr [rdi], r8
    je .2
    dec edx
    jne .0
.1:
    push rax
    call _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$18put_or_lock_slowly
    add rsp, 8
    ret
.2:
    mov rax, rcx
    ret
