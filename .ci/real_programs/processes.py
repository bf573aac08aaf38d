"""Child processes that end: each has a time limit, and none outlives the script."""

import atexit
import ctypes
import glob
import os
import signal
import socket
import subprocess
import sys
import time

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
_groups = set()
_began = time.monotonic()


class Failure(Exception):
    """A program that did not do what it must."""


class TimeOver(Exception):
    """The time of all steps is over."""


def _own_group():
    os.setsid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def kill_all():
    """Kills every process that was started here, and what it started."""
    for group in list(_groups):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass
        _groups.discard(group)


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _ended_by_signal(number, _frame):
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    kill_all()
    sys.exit(128 + number)


def keep_order(limit):
    """Arranges that no child outlives this script, and that it ends after `limit` seconds."""
    atexit.register(kill_all)
    for number in _SIGNALS:
        signal.signal(number, _ended_by_signal)

    def over(_number, _frame):
        raise TimeOver(f"not ready after {limit} s (--limit)")

    signal.signal(signal.SIGALRM, over)
    signal.alarm(limit)


def elapsed():
    """Returns the seconds since the start of the script."""
    return time.monotonic() - _began


def where_it_stands(group):
    """Returns what each thread of a process group waits in."""
    places = {}
    for path in glob.glob("/proc/[0-9]*/task/[0-9]*"):
        try:
            if os.getpgid(int(path.split("/")[2])) != group:
                continue
            with open(f"{path}/stat") as stat, open(f"{path}/wchan") as wchan:
                fields = stat.read()
                name = fields[fields.index("(") + 1 : fields.rindex(")")]
                state = fields.rsplit(")", 1)[1].split()[0]
                key = f"{name}: {state} {wchan.read().strip('0') or 'running'}"
        except OSError:
            continue
        places[key] = places.get(key, 0) + 1
    return "; ".join(f"{count} x {place}" for place, count in sorted(places.items()))


class Child:
    """A running program, its output in a file."""

    def __init__(self, command, log, environment=None):
        self.command, self.log = command, log
        with open(log, "w") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                preexec_fn=_own_group,
            )
        self.group = self.process.pid
        _groups.add(self.group)

    def output(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def wait(self, limit):
        """Waits for the end, and returns the processor time in seconds."""
        until = time.monotonic() + limit
        while True:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > until:
                places = where_it_stands(self.group)
                self.kill()
                raise Failure(f"hang: {self.command[0]} did not end within {limit} s ({places})")
            time.sleep(0.005)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.kill()
        if self.process.returncode != 0:
            code = self.process.returncode
            end = f"exit code {code}" if code > 0 else signal.Signals(-code).name
            tail = " | ".join(self.output().strip().splitlines()[-3:])
            raise Failure(f"{' '.join(map(str, self.command))}: {end}: {tail}")
        return usage.ru_utime + usage.ru_stime

    def kill(self):
        """Kills what is left of the program and of its children."""
        try:
            os.killpg(self.group, signal.SIGKILL)
        except ProcessLookupError:
            pass
        _groups.discard(self.group)
        if self.process.returncode is None:
            self.process.wait()


def run(command, log, limit=60, environment=None):
    """Runs a program to its end. Returns its output and its processor time in seconds."""
    child = Child([str(part) for part in command], log, environment)
    seconds = child.wait(limit)
    return child.output(), seconds


def free_port():
    """Returns a port of the loopback address that nobody uses at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def processor_time(pid):
    """Returns the processor time of the threads of a process so far, in seconds."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path) as schedstat:
                total += int(schedstat.read().split()[0])
        except OSError:
            pass
    return total / 1e9
