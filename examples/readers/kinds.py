#!/usr/bin/env python3
"""Checks the simulated reader-writer kinds beside the locks that they model, on this host.

    lockyard machines calibrate --anyway --out host.toml
    examples/readers/kinds.py LOCKYARD host.toml [ROUNDS]

LOCKYARD is the built command. Each round measures all locks natively, in turn, and each cell is the
median of ROUNDS rounds (5 unless it is given). The table is that of docs/evidence/readers.md: for
each kind the error of each cell, and the median of the absolute errors.
"""

import json
import statistics
import subprocess
import sys

READS = [100, 95, 50]
THREADS = [1, 2, 8]
# Nanoseconds under the lock, and between two acquisitions.
TIMES = [(50, 250), (1000, 3000)]
# A kind, and the native lock that it models. `rwlock` is the library's own code on both sides.
KINDS = [
    ("rwlock", "rwlock"),
    ("std-rwlock", "std-sync-rwlock"),
    ("parking-rwlock", "parking-lot-rwlock"),
    ("pthread-rwlock", "c-library-rwlock"),
]


def run(lockyard, *arguments, script=None):
    command = [lockyard, *arguments]
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def figures(text, column):
    rows = json.loads(text)["rows"]
    return {(row["variant"], row["threads"]): row[column] for row in rows if row.get(column)}


def cell(lockyard, machine, reads, held, every, rounds):
    """Returns the simulated figures, and the medians of the measured ones."""
    new = ["scenarios", "new", "--held", held, "--every", every, "--readers", reads]
    script = run(lockyard, *map(str, new))
    threads = ["-t", ",".join(map(str, THREADS))]
    # Threads share the CPUs, if there are more of them.
    shared = script + "\n[guests]\ncount = 1\n"
    simulated = run(lockyard, "predict", "-", "-m", machine, *threads, "-f", "json", script=shared)
    measure = ["measure", "-", *threads, "--variant", "rwlock", "--peers", "--seconds", "0.2"]
    measure += ["--repeats", "2", "-f", "json"]
    native = [figures(run(lockyard, *measure, script=script), "measured") for _ in range(rounds)]
    medians = {key: statistics.median(one[key] for one in native) for key in native[0]}
    return figures(simulated, "predicted"), medians


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    lockyard, machine = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) == 4 else 5
    errors = {kind: [] for kind, _ in KINDS}
    print("| held, every, ns | reads, % | threads | " + " | ".join(k for k, _ in KINDS) + " |")
    print("| --- | --- | --- |" + " --- |" * len(KINDS))
    for held, every in TIMES:
        for reads in READS:
            simulated, native = cell(lockyard, machine, reads, held, every, rounds)
            for threads in THREADS:
                columns = []
                for kind, peer in KINDS:
                    model, real = simulated[kind, threads], native[peer, threads]
                    error = (model / real - 1) * 100
                    errors[kind].append(abs(error))
                    columns.append(f"{model / 1e6:.2f} / {real / 1e6:.2f}, {error:+.0f} %")
                line = [f"{held}, {every}", str(reads), str(threads), *columns]
                print("| " + " | ".join(line) + " |", flush=True)
    medians = [f"{statistics.median(errors[kind]):.1f} %" for kind, _ in KINDS]
    print("| **median** | | | " + " | ".join(medians) + " |")


if __name__ == "__main__":
    main()
