    mov rax, qword ptr [rdi]
    mov edx, 100
.0:
    mov rcx, rax
    shr rcx, 32
    jne .1
    cmp eax, 2
    setge cl
    jl .2
    cmp rax, 1073741824
    ja .2
    cmp rax, 1073741825
    mov esi, eax
    sbb esi, 0
    lock cmpxchg qword ptr [rdi], rsi
    je .2
    mov rcx, rax
    shr rcx, 32
    jne .1
    cmp eax, 2
    setge cl
    jl .2
    cmp rax, 1073741824
    ja .2
    cmp rax, 1073741825
    mov esi, eax
    sbb esi, 0
    lock cmpxchg qword ptr [rdi], rsi
    je .2
    add edx, -2
    jne .0
.1:
    push rax
    call _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$13change_slowly
    cmp eax, 1
    sete cl
    add rsp, 8
.2:
    mov eax, ecx
    ret
