    lock dec dword ptr [rdi]
    ret
