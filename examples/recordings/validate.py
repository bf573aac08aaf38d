#!/usr/bin/env python3
"""Programs recorded with few threads and predicted with more, beside what they then do.

    validate.py measure DIRECTORY LOCKYARD MEMCACHED_LOAD   measures this host, runs the programs
    validate.py predict DIRECTORY LOCKYARD [MACHINE]        predicts, and prints the tables
    validate.py servers DIRECTORY LOCKYARD                  predicts for servers, prints the table
    validate.py price DIRECTORY                             prints the price and the size

`measure` goes on where it was ended. `predict` uses the machine of the recordings' host, as it was
measured before them, unless a MACHINE is given.

A prediction is compared by its speed-up: rate with N threads over the rate with the recorded
number. For the programs whose times are known, a table has the times that were found beside them.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / ".ci"))
from real_programs.programs import Memcached, Under, last_json  # noqa: E402

# Name: time under the lock and outside, number of locks, spread of the times, sleep in us.
KNOWN = {
    "known: 100 + 1,000 ns": (100, 1000, 1, 0, 0),
    "known: 500 + 500 ns": (500, 500, 1, 0, 0),
    "known: 200 + 2,000 ns, exponential": (200, 2000, 1, 1, 0),
    "known: 100 + 300 ns, 16 locks": (100, 300, 16, 0, 0),
    "known: 200 + 1,000 ns, sleeps": (200, 1000, 1, 0, 100),
    "known: 2,000 + 20,000 ns, exponential": (2000, 20000, 1, 1, 0),
}


def predicted_from(cpus):
    """Returns the recorded numbers of threads, each with those that are predicted."""
    more = [threads for threads in [2, 4, 8, 16] if threads <= cpus]
    some = {1: more, 2: sorted({4, 8, 32, *more} - {2})}
    if cpus >= 8:
        some[4] = sorted({8, 32, *more} - {2, 4})
    return some


# Beginnings of keys beside the plain rates.
RECORDER, SIZE, ALONE, HOST_CPUS = "with the recorder: ", "size of ", "alone: ", "CPUs"

# Programs that are predicted for servers, with their recorded threads.
SERVED = {"RocksDB": 2, "memcached": 2, "SQLite": 2, "C++ queue": 2, "Rust: memcached's load": 4}
SERVERS = ["cascade-lake-2s24c2t", "milan-7r13-2s48c2t", "ice-lake-8375c-2s32c2t"]
ON_SERVERS = [8, 24, 48, 96]


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    if done.returncode != 0:
        raise SystemExit(f"{command}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    return done


def known(program, numbers):
    held, think, locks, spread, sleep = map(str, numbers)

    def command(threads):
        return [program, str(threads), "1", held, think, locks, spread, sleep]

    return command, lambda text: float(re.search(r"^(\d+) visits/s", text, re.MULTILINE)[1])


def works_alone(command):
    """Returns how long the work under the lock and outside is alone, as the program measures it."""
    texts = [run(command(1)).stdout for _ in range(3)]
    pattern = r"^alone: ([0-9.]+) ns held, ([0-9.]+) ns outside"
    pairs = [map(float, re.search(pattern, text, re.MULTILINE).groups()) for text in texts]
    return [statistics.median(times) for times in zip(*pairs)]


def by_json(program, arguments):
    command = lambda threads: [program, *map(str, arguments(threads))]
    return command, lambda text: last_json(text)["rate"]


def rocksdb(directory):
    def command(threads):
        return [shutil.which("db_bench"), f"--db={directory}/rocksdb", f"--threads={threads}",
                f"--num={300000 // threads}", "--benchmarks=fillrandom", "--value_size=100",
                "--sync=0", "--histogram=0"]

    return command, lambda text: float(re.search(r"^fillrandom +: .*?(\d+) ops/sec", text, re.M)[1])


def programs(directory):
    built = {}
    for name, source, libraries in [
        ("known", HERE / "known.c", ["-lm"]),
        ("sqlite", HERE.parent / "real-programs/sqlite.c", ["-lsqlite3"]),
        ("queue", HERE.parent / "real-programs/queue.cc", []),
    ]:
        built[name] = directory / name
        if built[name].exists():
            continue
        compiler = "g++" if source.suffix == ".cc" else "cc"
        run([compiler, "-O2", "-g", "-pthread", str(source), "-o", str(built[name]), *libraries])
    of = {name: known(str(built["known"]), numbers) for name, numbers in KNOWN.items()}
    of["SQLite"] = by_json(str(built["sqlite"]), lambda threads: [":memory:", threads, 300000])
    half = lambda threads: max(1, threads // 2)
    of["C++ queue"] = by_json(
        str(built["queue"]), lambda threads: [half(threads), half(threads), 200000]
    )
    if shutil.which("db_bench"):
        of["RocksDB"] = rocksdb(directory)
    return of


def memcached(threads, load, directory, prefix=(), before_load=()):
    """Runs a server under a load; returns the load's rate."""
    server = Memcached("memcached", load, directory)
    under = Under(prefix=list(prefix))
    return server.run(threads, under, requests=40000, depth=16, load=before_load).rate


def file_of(directory, name, threads):
    return directory / (re.sub(r"[^a-z0-9]+", "-", name.lower()) + f"-{threads}.recording")


def measure(directory, lockyard, load):
    file = directory / "rates.json"
    rates = json.loads(file.read_text()) if file.exists() else {}
    cpus = rates.setdefault(HOST_CPUS, len(os.sched_getaffinity(0)))
    recorded_with = predicted_from(cpus)
    counts = sorted({1, *recorded_with[1], *recorded_with[2]})
    host = directory / "host.toml"
    if not host.exists():
        run([lockyard, "machines", "calibrate", "--anyway", "--out", str(host)])

    def once(key, find):
        """Finds a figure, unless it is known."""
        if key not in rates:
            rates[key] = find()
            file.write_text(json.dumps(rates, indent=1))

    def recorder(name, threads):
        out = file_of(directory, name, threads)
        return [lockyard, "record", "--host-machine", str(host), "--force", "--out", str(out), "--"]

    def note_size(name, threads, text):
        found = re.search(r"(\d+) acquisitions? of .* \(([0-9.]+) an acquisition\)", text)
        if found:
            rates[f"{SIZE}{name}/{threads}"] = [int(found[1]), float(found[2])]

    def recorded(name, threads, command, rate):
        done = run([*recorder(name, threads), *command(threads)])
        note_size(name, threads, done.stderr)
        return rate(done.stdout)

    def served(name, threads, log, *arguments, **options):
        rate = memcached(*arguments, **options)
        note_size(name, threads, (directory / log).read_text())
        return rate

    for name, (command, rate) in programs(directory).items():
        first = 2 if name == "C++ queue" else 1
        if name in KNOWN:
            once(ALONE + name, lambda: works_alone(command))
        for threads in counts:
            if threads < first:
                continue
            plain = lambda: [rate(run(command(threads)).stdout) for _ in range(2)]
            once(f"{name}/{threads}", lambda: statistics.median(plain()))
            if threads in recorded_with:
                find = lambda: recorded(name, threads, command, rate)
                once(f"{RECORDER}{name}/{threads}", find)
    if load and shutil.which("memcached"):
        for threads in [threads for threads in counts if threads <= 8]:
            plain = lambda: [memcached(threads, load, directory) for _ in range(2)]
            once(f"memcached/{threads}", lambda: statistics.median(plain()))
            if threads in recorded_with:
                prefix = recorder("memcached", threads)
                find = lambda: served(
                    "memcached", threads, "memcached.log", threads, load, directory, prefix
                )
                once(f"{RECORDER}memcached/{threads}", find)
        name = "Rust: memcached's load"
        before = recorder(name, 4)
        find = lambda: served(name, 4, "load.log", 2, load, directory, before_load=before)
        once(f"{RECORDER}{name}/4", find)
    file.write_text(json.dumps(rates, indent=1))


def price(directory):
    rates = json.loads((directory / "rates.json").read_text())
    print("| program | threads | without | with |")
    print("| --- | --- | --- | --- |")
    for key, rate in rates.items():
        name, _, threads = key.removeprefix(RECORDER).rpartition("/")
        if key.startswith(RECORDER) and f"{name}/{threads}" in rates:
            without = rates[f"{name}/{threads}"]
            print(f"| {name} | {threads} | {without / 1e3:,.0f} k | {rate / 1e3:,.0f} k |")
    print()
    print("| program | threads | acquisitions with events | bytes each |")
    print("| --- | --- | --- | --- |")
    for key, size in rates.items():
        if key.startswith(SIZE):
            name, _, threads = key.removeprefix(SIZE).rpartition("/")
            print(f"| {name} | {threads} | {size[0]:,} | {size[1]} |")


def servers(directory, lockyard):
    """Predicts the recordings for servers, also those that the gate refuses."""
    head = " | ".join(map(str, ON_SERVERS))
    print(f"| program | gate | machine | {head} threads |")
    print("| --- | --- | --- " + "| --- " * len(ON_SERVERS) + "|")
    for name, threads in SERVED.items():
        file = file_of(directory, name, threads)
        if not file.exists():
            continue
        command = [lockyard, "predict", str(file), "--ungated", "--format", "json"]
        command += ["-m", ",".join(SERVERS), "-t", ",".join(map(str, ON_SERVERS))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3000)
        if done.returncode != 0:
            print(f"| {name} | {done.stderr.strip()[-200:]} | | | | | |")
            continue
        found = json.loads(done.stdout)
        gate = found["environment"]["gate"]
        off = re.search(r"\(([-+][0-9.]+ %);", gate)
        gate = f"{'passed' if 'passed' in gate else 'refused'}, {off[1] if off else 'no figure'}"
        for machine in SERVERS:
            rows = {r["threads"]: r["predicted"] for r in found["rows"] if r["machine"] == machine}
            # A figure above the bound of a closed loop is refused.
            cells = " | ".join(si(rows[t]) if rows[t] else "refused" for t in ON_SERVERS)
            print(f"| {name} | {gate} | {machine} | {cells} |", flush=True)


def si(rate):
    return f"{rate / 1e6:.3g} M" if rate >= 1e6 else f"{rate / 1e3:.3g} k"


def predict(directory, lockyard, machine="host"):
    rates = json.loads((directory / "rates.json").read_text())
    cpus = rates[HOST_CPUS]
    errors, gates = [], []
    columns = sorted({threads for wanted in predicted_from(cpus).values() for threads in wanted})
    print("Each cell: speed-up predicted, measured, error.\n")
    print(f"| program | recorded | gate | {columns[0]} threads | "
          f"{' | '.join(map(str, columns[1:]))} |")
    print("| --- | --- | --- " + "| --- " * len(columns) + "|")
    plain = [key for key in rates if not key.startswith((RECORDER, SIZE, ALONE, HOST_CPUS))]
    times_found = []
    for name in dict.fromkeys(key.split("/")[0] for key in plain):
        for recorded, wanted in predicted_from(cpus).items():
            file = file_of(directory, name, recorded)
            if not file.exists():
                continue
            wanted = [threads for threads in wanted if f"{name}/{threads}" in rates]
            threads = ",".join(map(str, [recorded, *wanted]))
            command = [lockyard, "predict", str(file), "-m", machine, "-t", threads, "--ungated"]
            done = subprocess.run(
                [*command, "--format", "markdown"], capture_output=True, text=True, timeout=900
            )
            if done.returncode != 0:
                why = done.stderr.strip()[-200:]
                print(f"| {name} | {recorded} | {why} |{' |' * len(columns)}")
                continue
            lines = done.stdout.splitlines()
            rows = [line.split("|") for line in lines if line.startswith("| recorded")]
            figures = {}
            for row in rows:
                # A figure above the bound of a closed loop is refused.
                if digits := re.sub(r"[^0-9.]", "", row[3]):
                    figures.setdefault(int(row[2]), float(digits))
            notes = [line for line in lines if not line.startswith("|")]
            gate = next((note for note in notes if note.startswith("Gate:")), "")
            off = re.search(r"\(([-+][0-9.]+ %);", gate)
            passed = "passed" in gate
            gates.append((name, recorded, passed, next((n for n in notes if "Not gated" in n), "")))
            gate = f"{'passed' if passed else 'refused'}, {off[1] if off else 'no figure'}"
            if recorded == 1 and ALONE + name in rates:
                found = next((note for note in notes if note.startswith("Class 1")), "")
                times = re.search(r"([0-9.]+) ns outside.* and ([0-9.]+) ns", found)
                if times:
                    outside, under = map(float, times.groups())
                    times_found.append((name, rates[ALONE + name], (under, outside)))
            cells = {}
            for threads in wanted:
                if threads not in figures or recorded not in figures:
                    cells[threads] = "refused"
                    continue
                speed = figures[threads] / figures[recorded]
                measured = rates[f"{name}/{threads}"] / rates[f"{name}/{recorded}"]
                error = speed / measured - 1
                errors.append((passed, recorded, threads, abs(error)))
                cells[threads] = f"{speed:.2f}, {measured:.2f}: {error * 100:+.0f} %"
            cells = " | ".join(cells.get(threads, "") for threads in columns)
            print(f"| {name} | {recorded} | {gate} | {cells} |")
    print()
    print("| program | under the lock: alone, found | outside: alone, found | sum |")
    print("| --- | --- | --- | --- |")
    for name, known_times, found in times_found:
        pairs = " | ".join(f"{a:,.0f}, {b:,.0f} ns: {(b / a - 1) * 100:+.0f} %"
                           for a, b in zip(known_times, found))
        print(f"| {name} | {pairs} | {(sum(found) / sum(known_times) - 1) * 100:+.0f} % |")
    print()
    for title, wanted in [
        ("all", lambda e: True),
        ("gate passed", lambda e: e[0]),
        ("gate refused", lambda e: not e[0]),
        ("a CPU for each thread", lambda e: e[2] <= cpus),
        ("more threads than CPUs", lambda e: e[2] > cpus),
        *[(f"recorded with {n}", lambda e, n=n: e[1] == n) for n in predicted_from(cpus)],
    ]:
        some = [error[3] for error in errors if wanted(error)]
        if some:
            print(f"median absolute error, {title}: {statistics.median(some):.0%} of {len(some)}")
    for name, recorded, passed, why in gates:
        if not passed:
            print(f"- {name}, {recorded}: {why}")


def main(words):
    least = {"measure": 3, "predict": 3, "servers": 3, "price": 2}
    if not words or len(words) < least.get(words[0], 99):
        raise SystemExit(__doc__)
    directory = Path(words[1])
    if words[0] == "measure":
        directory.mkdir(parents=True, exist_ok=True)
        measure(directory, words[2], words[3] if len(words) > 3 else None)
    elif words[0] == "price":
        price(directory)
    else:
        {"predict": predict, "servers": servers}[words[0]](directory, *words[2:])


if __name__ == "__main__":
    main(sys.argv[1:])
