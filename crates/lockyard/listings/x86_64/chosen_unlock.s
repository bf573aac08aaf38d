    mov rax, rsi
    shr rax, 16
    movzx ecx, si
    lea rdx, [rip + .0
    movsxd rcx, dword ptr [rdx + 4*rcx]
    add rcx, rdx
    jmp rcx
.1:
    inc eax
    mov word ptr [rdi], ax
    ret
.2:
    xor eax, eax
    mov byte ptr [rdi], al
    ret
.3:
    and esi, -65536
    xor ecx, ecx
    cmp esi, -131072
    setne cl
    shl ecx, 16
    add ecx, -65534
    lock xadd dword ptr [rdi], ecx
    test cl, 1
    jne .4
.5:
    ret
.6:
    mov edx, -1
    lock xadd dword ptr [rdi], edx
    shr rsi, 32
    and edx, 2
    test rsi, rsi
    jne .7
    test edx, edx
    je .5
.7:
    shr edx
    jmp _ZN8lockyard4lock9pv_queued4kick
.8:
    xor eax, eax
    mov byte ptr [rdi], al
    ret
.4:
    add eax, 2
    movzx esi, ax
    jmp _ZN8lockyard4lock9pv_ticket9kick_next
