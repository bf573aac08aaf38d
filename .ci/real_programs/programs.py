"""The programs: each runs with so many threads, checks its answers, and returns its rate."""

import hashlib
import json
import os
import re
import shutil
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path

from .processes import Child, Failure, free_port, processor_time, run


@dataclass
class Run:
    """One run: operations in a second, processor time, a digest of the answers, and the rest."""

    rate: float
    cpu: float
    answers: str
    detail: dict = field(default_factory=dict)


@dataclass
class Under:
    """What a program runs under: a command before it, and its environment."""

    prefix: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)


PLAIN = Under()


def last_json(text):
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        raise Failure(f"no result: {text.strip()[-300:]}")
    return json.loads(lines[-1])


class Memcached:
    """memcached on the loopback address, under the load of an example of lockyard-recorded."""

    name, unit = "memcached", "requests/s"

    def __init__(self, program, load, directory):
        self.program, self.load, self.directory = program, load, Path(directory)

    def run(self, threads, under=PLAIN, requests=60000, depth=1, connections=None, load=()):
        """Starts a server, loads it, and ends it. `load` is a command before the load's."""
        port = free_port()
        server = Child(
            [*map(str, under.prefix), str(self.program), "-l", "127.0.0.1", "-p", str(port)]
            + ["-U", "0", "-t", str(threads), "-m", "256"]
            + (["-u", "root"] if os.geteuid() == 0 else []),
            self.directory / "memcached.log",
            under.environment,
        )
        try:
            pid = self.wait_until_up(server, port)
            before = processor_time(pid)
            connections = connections or max(4, threads)
            load = [*load, self.load, f"127.0.0.1:{port}", connections, requests, depth]
            text, _ = run(load, self.directory / "load.log", 60)
            cpu = processor_time(pid) - before
            server.process.send_signal(15)
            server.wait(30)
        finally:
            server.kill()
        result = last_json(text)
        return Run(result["rate"], cpu, result["answers"], result)

    def wait_until_up(self, server, port):
        """Returns the process of the server, which is a child of ours or of its profiler."""
        until = time.monotonic() + 15
        while time.monotonic() < until:
            if server.process.poll() is not None:
                raise Failure(f"{self.program} ended early: {server.output().strip()[-300:]}")
            try:
                with socket.create_connection(("127.0.0.1", port), 5) as stream:
                    stream.sendall(b"stats\r\n")
                    found = re.search(rb"STAT pid (\d+)", stream.recv(4096))
                    if found:
                        return int(found[1])
            except OSError:
                pass
            time.sleep(0.02)
        raise Failure(f"{self.program} does not answer on port {port}")


class RocksDb:
    """RocksDB under its own benchmark: random writes, then random reads."""

    name, unit = "RocksDB", "writes/s"

    def __init__(self, directory):
        self.directory = Path(directory)

    def run(self, threads, under=PLAIN, operations=200000):
        database = self.directory / "rocksdb"
        shutil.rmtree(database, ignore_errors=True)
        command = [*under.prefix, shutil.which("db_bench"), f"--db={database}", "--seed=7"]
        command += [f"--threads={threads}", f"--num={operations // threads}", "--value_size=100"]
        command += [f"--reads={operations // threads // 4}", "--histogram=0", "--sync=0"]
        command += ["--benchmarks=fillrandom,readrandom,verifychecksum"]
        text, cpu = run(command, self.directory / "db_bench.log", 90, under.environment)
        rates = dict(re.findall(r"^(\w+) +: .*?(\d+) ops/sec", text, re.MULTILINE))
        found = re.search(r"\((\d+ of \d+) found\)", text)
        if not {"fillrandom", "readrandom", "verifychecksum"} <= rates.keys() or not found:
            raise Failure(f"db_bench printed no result: {text.strip()[-300:]}")
        keys, _ = run(["ldb", f"--db={database}", "scan", "--no_value"], self.directory / "ldb.log")
        run(["ldb", f"--db={database}", "checkconsistency"], self.directory / "ldb2.log")
        shutil.rmtree(database)
        digest = hashlib.sha256(keys.encode()).hexdigest()[:16]
        reads = float(rates["readrandom"])
        return Run(float(rates["fillrandom"]), cpu, f"{digest}, {found[1]}", {"reads": reads})


class Compiled:
    """A program of examples/real-programs, which prints its result as JSON."""

    def __init__(self, name, unit, program, arguments, directory):
        self.name, self.unit = name, unit
        self.program, self.arguments, self.directory = program, arguments, Path(directory)

    def run(self, threads, under=PLAIN, **options):
        command = [*under.prefix, self.program, *self.arguments(threads, **options)]
        text, cpu = run(command, self.directory / f"{self.name}.log", 60, under.environment)
        result = last_json(text)
        return Run(result["rate"], cpu, result["answers"], result)


def sqlite(program, directory):
    arguments = lambda threads, operations=300000: [":memory:", threads, operations]
    return Compiled("SQLite", "operations/s", program, arguments, directory)


def queue(program, directory):
    arguments = lambda threads, items=200000: [(threads + 1) // 2, (threads + 1) // 2, items]
    return Compiled("C++ queue", "items/s", program, arguments, directory)


class Printing:
    """A program whose output has its rate, or whose time tells it: `count` a thread or in all."""

    def __init__(self, name, unit, command, rate, directory):
        self.name, self.unit, self.command, self.rate = name, unit, command, rate
        self.directory = Path(directory)

    def run(self, threads, under=PLAIN, **_):
        command = [*under.prefix, *self.command(threads)]
        began = time.monotonic()
        text, cpu = run(command, self.directory / f"{self.name}.log", 60, under.environment)
        return Run(self.rate(text, threads, time.monotonic() - began), cpu, "")


def python(program, directory):
    command = lambda threads: ["python3", program, threads]
    rate = lambda text, threads, seconds: last_json(text)["rate"]
    return Printing("Python pool", "tasks/s", command, rate, directory)


def sysbench(directory, locks=4000000):
    command = lambda threads: ["sysbench", "mutex", f"--threads={threads}", "--mutex-num=8",
                               f"--mutex-locks={locks // threads}", "--mutex-loops=200", "run"]
    seconds = lambda text: float(re.search(r"total time: +([0-9.]+)s", text)[1])
    rate = lambda text, threads, _: locks // threads * threads / seconds(text)
    return Printing("sysbench mutex", "locks/s", command, rate, directory)


def zstd(directory, data, mebibytes):
    # Small jobs, so that a run has many.
    command = lambda threads: ["zstd", "-q", "-f", "-1", f"-T{threads}", "-B512K", data,
                               "-o", "/dev/null"]
    rate = lambda text, threads, seconds: mebibytes / seconds
    return Printing("zstd -T", "MiB/s", command, rate, directory)


def pigz(directory, data, mebibytes):
    command = lambda threads: ["sh", "-c", f"exec pigz -1 -p {threads} -c {data} > /dev/null"]
    rate = lambda text, threads, seconds: mebibytes / seconds
    return Printing("pigz -p", "MiB/s", command, rate, directory)
