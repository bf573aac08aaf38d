    mov rax, qword ptr [rdi]
    mov ecx, 100
    movabs rdx, -4294967296
.0:
    mov rsi, rax
    shr rsi, 32
    mov r8, rax
    shr r8, 48
    cmp r8w, si
    jne _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
    cmp eax, 1073741823
    ja .1
    lea esi, [rax + 1]
    and esi, 2147483647
.2:
    mov r8, rax
    and r8, rdx
    or r8, rsi
    lock cmpxchg qword ptr [rdi], r8
    je .3
    dec ecx
    jne .0
    jmp .4
.1:
    mov esi, 1610612736
    cmp eax, 1073741824
    je .2
.3:
    ret
.4:
    jmp _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
