    mov rax, qword ptr [rdi]
    mov ecx, 100
    mov edx, 1610612736
.0:
    mov rsi, rax
    shr rsi, 32
    jne _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
    cmp rax, 1073741823
    ja .1
    lea esi, [rax + 1]
.2:
    mov esi, esi
    lock cmpxchg qword ptr [rdi], rsi
    je .3
    mov rsi, rax
    shr rsi, 32
    jne _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
    cmp rax, 1073741823
    ja .4
    mov esi, eax
    inc esi
.5:
    mov esi, esi
    lock cmpxchg qword ptr [rdi], rsi
    je .3
    add ecx, -2
    jne .0
    jmp .6
.1:
    cmp rax, 1073741824
    mov esi, eax
    cmove esi, edx
    cmp esi, eax
    jne .2
    jmp .3
.4:
    cmp rax, 1073741824
    mov esi, eax
    cmove esi, edx
    cmp esi, eax
    jne .5
.3:
    ret
.6:
    jmp _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
