    inc sil
    mov byte ptr [rdi], sil
    ret
