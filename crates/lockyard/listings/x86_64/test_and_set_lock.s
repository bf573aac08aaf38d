    lock bts dword ptr [rdi], 0
    jb _ZN8lockyard4lock12test_and_set11lock_slowly
    ret
