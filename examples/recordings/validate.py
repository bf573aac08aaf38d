#!/usr/bin/env python3
"""Programs recorded with few threads and predicted with more, beside what they then do.

    validate.py measure DIRECTORY LOCKYARD MEMCACHED_LOAD   measures this host, runs the programs
    validate.py predict DIRECTORY LOCKYARD                  predicts, and prints the tables

A prediction is compared by its speed-up: rate with N threads over the rate with the recorded
number. For the programs whose times are known, the times that were found are beside them.
"""

import json
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
FROM = {1: [2], 2: [4, 8, 32]}


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


def memcached(threads, load, directory, prefix=()):
    """Runs a server under a load; returns the load's rate."""
    server = Memcached("memcached", load, directory)
    return server.run(threads, Under(prefix=list(prefix)), requests=40000, depth=16).rate


def file_of(directory, name, threads):
    return directory / (re.sub(r"[^a-z0-9]+", "-", name.lower()) + f"-{threads}.recording")


def measure(directory, lockyard, load):
    rates = {}
    host = directory / "host.toml"
    if not host.exists():
        run([lockyard, "machines", "calibrate", "--anyway", "--out", str(host)])
    record = lambda out: [lockyard, "record", "--host-machine", str(host), "--force", "--out", out]
    for name, (command, rate) in programs(directory).items():
        first = 2 if name == "C++ queue" else 1
        for threads in [1, 2, 4, 8, 32]:
            if threads >= first:
                found = [rate(run(command(threads)).stdout) for _ in range(2)]
                rates[f"{name}/{threads}"] = statistics.median(found)
            if threads in FROM and threads >= first:
                out = str(file_of(directory, name, threads))
                rate(run([*record(out), "--", *command(threads)]).stdout)
    if load and shutil.which("memcached"):
        for threads in [1, 2, 4, 8]:
            rates[f"memcached/{threads}"] = statistics.median(
                [memcached(threads, load, directory) for _ in range(2)]
            )
            if threads in FROM:
                out = str(file_of(directory, "memcached", threads))
                memcached(threads, load, directory, [*record(out), "--"])
    (directory / "rates.json").write_text(json.dumps(rates, indent=1))


def predict(directory, lockyard):
    rates = json.loads((directory / "rates.json").read_text())
    errors, gates = [], []
    print("| program | recorded | gate | predicted for | speed-up | measured | error |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in dict.fromkeys(key.split("/")[0] for key in rates):
        for recorded, wanted in FROM.items():
            file = file_of(directory, name, recorded)
            if not file.exists():
                continue
            wanted = [threads for threads in wanted if f"{name}/{threads}" in rates]
            threads = ",".join(map(str, [recorded, *wanted]))
            command = [lockyard, "predict", str(file), "-m", "host", "-t", threads, "--ungated"]
            done = subprocess.run(
                [*command, "--format", "markdown"], capture_output=True, text=True, timeout=900
            )
            if done.returncode != 0:
                print(f"| {name} | {recorded} | {done.stderr.strip()[-200:]} | | | | |")
                continue
            lines = done.stdout.splitlines()
            rows = [line.split("|") for line in lines if line.startswith("| recorded")]
            figures = {}
            for row in rows:
                figures.setdefault(int(row[2]), float(re.sub(r"[^0-9.]", "", row[3])))
            notes = [line for line in lines if not line.startswith("|")]
            gate = next((note for note in notes if note.startswith("Gate:")), "")
            off = re.search(r"\(([-+][0-9.]+ %);", gate)
            passed = "passed" in gate
            gates.append((name, recorded, passed, next((n for n in notes if "Not gated" in n), "")))
            gate = f"{'passed' if passed else 'refused'}, {off[1] if off else 'no figure'}"
            if name in KNOWN:
                held, think = KNOWN[name][:2]
                found = next(note for note in notes if note.startswith("Class 1"))
                times = re.search(r"([0-9.]+) ns outside.* and ([0-9.]+) ns", found)
                outside, under = times.groups()
                gate += f"; {outside} + {under} ns of {think} + {held}"
            for threads in wanted:
                speed = figures[threads] / figures[recorded]
                measured = rates[f"{name}/{threads}"] / rates[f"{name}/{recorded}"]
                error = speed / measured - 1
                errors.append((passed, recorded, threads, abs(error)))
                print(f"| {name} | {recorded} | {gate} | {threads} | {speed:.2f} "
                      f"| {measured:.2f} | {error:+.0%} |")
    print()
    for title, wanted in [
        ("all", lambda e: True),
        ("gate passed", lambda e: e[0]),
        ("gate refused", lambda e: not e[0]),
        ("1 recorded, 2 predicted", lambda e: e[1] == 1),
        ("2 recorded, more predicted", lambda e: e[1] == 2),
    ]:
        some = [error[3] for error in errors if wanted(error)]
        if some:
            print(f"median absolute error, {title}: {statistics.median(some):.0%} of {len(some)}")
    for name, recorded, passed, why in gates:
        if not passed:
            print(f"- {name}, {recorded}: {why}")


def main(words):
    if len(words) < 3 or words[0] not in ("measure", "predict"):
        raise SystemExit(__doc__)
    directory = Path(words[1])
    if words[0] == "measure":
        directory.mkdir(parents=True, exist_ok=True)
        measure(directory, words[2], words[3] if len(words) > 3 else None)
    else:
        predict(directory, words[2])


if __name__ == "__main__":
    main(sys.argv[1:])
