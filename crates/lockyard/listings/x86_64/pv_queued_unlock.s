    mov eax, -1
    lock xadd dword ptr [rdi], eax
    and eax, 2
    mov ecx, eax
    or ecx, esi
    jne .0
    ret
.0:
    xor edx, edx
    test eax, eax
    setne dl
    jmp _ZN8lockyard4lock9pv_queued4kick
