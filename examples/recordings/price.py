#!/usr/bin/env python3
"""Price of the recorder: rates of small programs with and without it, in turn.

usage: price.py LIBRARY [LIBRARY ...] [threads=1,2] [rounds=9] [seconds=0.35] [kinds=map,lru,...]

LIBRARY is a preload library (`find target -name liblockyard_preload.so`). For each program of
`kinds.c` and each number of threads, a round runs it without a recorder, and then for each library
as `lockyard profile` and as `lockyard record` do. A row has the medians of the ratios of rates with
and without, and their extremes.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = "map lru log bank pipeline pool rwcache stream server leader phases falseshare".split()


def ticks_per_us():
    """Returns the processor's frequency in MHz: near enough to its time-stamp counter's."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("cpu MHz"):
            return max(1, round(float(line.split(":")[1])))
    return 2000


def rate(program, kind, threads, seconds, library=None, records=False):
    """Runs a program once. Returns its operations a second."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        if library:
            environment |= {"LD_PRELOAD": library, "LOCKYARD_RECORDS": folder}
            environment["LOCKYARD_RECORDS_EVERY"] = "128"
        if records:
            environment["LOCKYARD_RECORDS_EVENTS"] = str(ticks_per_us())
        command = [program, kind, str(threads), seconds]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout.split()[2])


def main(words):
    options = {"threads": "1,2", "rounds": "9", "seconds": "0.35", "kinds": ",".join(KINDS)}
    given = [word.split("=", 1) for word in words if "=" in word]
    libraries = [str(Path(word).resolve()) for word in words if "=" not in word]
    if not libraries or any(name not in options for name, _ in given):
        raise SystemExit(__doc__)
    options |= dict(given)
    ways = [(library, records) for library in libraries for records in (False, True)]
    folder = Path(tempfile.mkdtemp())
    program = str(folder / "kinds")
    subprocess.run(["cc", "-O2", "-pthread", str(HERE / "kinds.c"), "-o", program], check=True)
    numbers = range(1, len(libraries) + 1)
    names = [f"{what} {number}" for number in numbers for what in ("profile", "record")]
    print(f"| program | threads | {' | '.join(names)} |")
    print(f"| --- | --- {'| --- ' * len(names)}|")
    for threads in options["threads"].split(","):
        for kind in options["kinds"].split(","):
            ratios = [[] for _ in ways]
            for _ in range(int(options["rounds"])):
                plain = rate(program, kind, threads, options["seconds"])
                for way, found in zip(ways, ratios):
                    found.append(rate(program, kind, threads, options["seconds"], *way) / plain)
            cells = [f"{statistics.median(f):.2f}, {min(f):.2f}..{max(f):.2f}" for f in ratios]
            print(f"| {kind} | {threads} | {' | '.join(cells)} |", flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
