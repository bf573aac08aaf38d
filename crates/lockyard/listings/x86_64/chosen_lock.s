    push r14
    push rbx
    push rax
    mov eax, dword ptr [rip + _ZN9hot_paths6CHOSEN
    dec al
    cmp al, 5
    jae .0
.1:
    movzx eax, al
    lea rcx, [rip + .2
    movsxd rax, dword ptr [rcx + 4*rax]
    add rax, rcx
    jmp rax
.3:
    mov esi, 65536
    lock xadd dword ptr [rdi], esi
    mov eax, esi
    shr eax, 16
    cmp ax, si
    jne .4
.5:
    xor ecx, ecx
    xor ebx, ebx
    jmp .6
.7:
    lock bts dword ptr [rdi], 0
    mov ebx, 4
    jb .8
.9:
    xor ecx, ecx
    jmp .10
.11:
    mov esi, 131072
    lock xadd dword ptr [rdi], esi
    mov eax, esi
    shr eax, 16
    mov ecx, esi
    and ecx, 65534
    mov ebx, 2
    cmp eax, ecx
    jne .12
    xor ecx, ecx
    jmp .6
.13:
    xor ecx, ecx
    mov edx, 1
    xor eax, eax
    lock cmpxchg dword ptr [rdi], edx
    mov ebx, 3
    je .10
    mov esi, eax
    call _ZN8lockyard4lock9pv_queued11lock_slowly
    mov ecx, eax
    shl rcx, 32
    jmp .10
.14:
    xor ecx, ecx
    mov edx, 1
    xor eax, eax
    lock cmpxchg dword ptr [rdi], edx
    mov ebx, 1
    jne .15
.10:
.6:
    shl eax, 16
    or rax, rcx
    or rax, rbx
    add rsp, 8
    pop rbx
    pop r14
    ret
.8:
    call _ZN8lockyard4lock12test_and_set11lock_slowly
    jmp .9
.12:
    mov r14, rax
    call _ZN8lockyard4lock9pv_ticket13wait_for_turn
    mov rax, r14
    xor ecx, ecx
    jmp .6
.0:
    mov rbx, rdi
    call _ZN8lockyard4kind6choice15Choice$LT$H$GT$6settle
    mov rdi, rbx
    jmp .1
.4:
    call _ZN8lockyard4lock6ticket13wait_for_turn
    jmp .5
.15:
    mov esi, eax
    call _ZN8lockyard4lock6queued11lock_slowly
    jmp .9
