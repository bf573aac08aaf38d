    push rbx
    mov eax, dword ptr [rip + _ZN9hot_paths6CHOSEN
    dec al
    cmp al, 3
    jae .0
    test al, al
    je .1
.2:
    movzx eax, al
    cmp eax, 1
    jne .3
    mov ecx, 1
    xor eax, eax
    lock cmpxchg dword ptr [rdi], ecx
    mov esi, eax
    mov ax, 1
    jne .4
.5:
    pop rbx
    ret
.3:
    lock bts dword ptr [rdi], 0
    mov ax, 2
    jae .5
    call _ZN8lockyard4lock12test_and_set11lock_slowly
    mov ax, 2
    pop rbx
    ret
.4:
    call _ZN8lockyard4lock6queued11lock_slowly
    mov ax, 1
    pop rbx
    ret
.0:
    mov rbx, rdi
    call _ZN8lockyard4kind6choice15Choice$LT$H$GT$6settle
    mov rdi, rbx
    test al, al
    jne .2
.1:
    mov esi, 65536
    lock xadd dword ptr [rdi], esi
    mov edx, esi
    shr edx, 16
    cmp dx, si
    jne .6
    xor eax, eax
    pop rbx
    ret
.6:
    call _ZN8lockyard4lock6ticket13wait_for_turn
    mov edx, eax
    xor eax, eax
    pop rbx
    ret
