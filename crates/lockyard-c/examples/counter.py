"""A counter that threads add to, under a mutex of lockyard, from Python by ctypes.

    python3 counter.py [PATH OF liblockyard.so.0]

A call by ctypes releases the interpreter's lock, so a thread that waits does not stop the others.
"""

import ctypes
import sys
import threading

lockyard = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "liblockyard.so.0")


class Mutex(ctypes.Structure):
    """ly_mutex_t: memory of zeros is a free mutex."""

    _fields_ = [("word_", ctypes.c_uint32)]

    def __enter__(self):
        lockyard.ly_mutex_lock(ctypes.byref(self))
        return self

    def __exit__(self, *_):
        lockyard.ly_mutex_unlock(ctypes.byref(self))


for name in ("lock", "unlock", "destroy"):
    function = getattr(lockyard, f"ly_mutex_{name}")
    function.argtypes, function.restype = [ctypes.POINTER(Mutex)], None
lockyard.ly_mutex_timedlock.argtypes = [ctypes.POINTER(Mutex), ctypes.c_uint64]
lockyard.ly_mutex_timedlock.restype = ctypes.c_bool
lockyard.ly_version.restype = ctypes.c_char_p

mutex = Mutex()
total = 0


def add():
    global total
    for _ in range(1000):
        with mutex:
            before = total
            total = before + 1


threads = [threading.Thread(target=add) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

with mutex:
    assert not lockyard.ly_mutex_timedlock(ctypes.byref(mutex), 1_000_000)
lockyard.ly_mutex_destroy(ctypes.byref(mutex))
print(f"lockyard {lockyard.ly_version().decode()}: {total}")
