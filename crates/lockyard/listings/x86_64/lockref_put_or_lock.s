    mov rax, qword ptr [rdi]
    mov ecx, 100
.0:
    mov rdx, rax
    shr rdx, 32
    jne _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$18put_or_lock_slowly
    cmp rax, 1073741825
    mov rdx, rax
    sbb rdx, 0
    cmp eax, 2
    jl _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$18put_or_lock_slowly
    cmp rax, 1073741824
    ja .1
    mov edx, edx
    lock cmpxchg qword ptr [rdi], rdx
    je .1
    mov rdx, rax
    shr rdx, 32
    jne _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$18put_or_lock_slowly
    cmp rax, 1073741825
    mov rdx, rax
    sbb rdx, 0
    cmp eax, 2
    jl _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$18put_or_lock_slowly
    cmp rax, 1073741824
    ja .1
    mov edx, edx
    lock cmpxchg qword ptr [rdi], rdx
    je .1
    add ecx, -2
    jne .0
    jmp _ZN8lockyard7lockref28LockRef$LT$K$C$P$C$H$C$C$GT$18put_or_lock_slowly
.1:
    xor eax, eax
    ret
