#!/usr/bin/env python3
"""A pool of threads that takes tasks from a queue.Queue: checksums of 16 KiB, without Python's
global lock, and some additions with it. Prints the rate as JSON.

    pool.py THREADS [TASKS]
"""

import json
import queue
import sys
import threading
import time
import zlib

BLOCK = bytes(range(256)) * 64


def work(tasks, sums):
    total = 0
    while (task := tasks.get()) is not None:
        total += zlib.crc32(BLOCK, task) + sum(range(task % 64))
    sums.append(total)


def main():
    threads = int(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 150000
    tasks, sums = queue.Queue(maxsize=256), []
    workers = [threading.Thread(target=work, args=(tasks, sums)) for _ in range(threads)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    for task in range(count):
        tasks.put(task)
    for _ in workers:
        tasks.put(None)
    for worker in workers:
        worker.join()
    rate = count / (time.monotonic() - began)
    print(json.dumps({"tasks": count, "rate": round(rate), "answers": f"{sum(sums):x}"}))


if __name__ == "__main__":
    main()
