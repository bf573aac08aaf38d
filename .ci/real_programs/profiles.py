"""Profiles of real programs: the hottest lock, exact counts, and the price of recording."""

import json
import shutil
import statistics
from pathlib import Path

from . import figures
from .processes import Failure, run
from .programs import PLAIN, Under


class Profiler:
    """The command, and where its reports go."""

    def __init__(self, command, directory):
        self.command, self.directory = command, Path(directory)

    def under(self, name, *options):
        """Returns what makes a program run under the profiler, with options of `profile`."""
        out = self.directory / name
        return Under([self.command, "profile", *options, "--out", out, "--force", "--"])

    def read(self, name):
        with open(self.directory / name) as report:
            return json.load(report)

    def profile(self, program, threads, **options):
        """Runs a program under the profiler. Returns its run and the document."""
        result = program.run(threads, self.under("profile.json", "--format", "json"), **options)
        return result, self.read("profile.json")


def has_symbols(path):
    """Tells if a program has symbols, or lines, of its own. None if `readelf` is missing."""
    if shutil.which("readelf") is None:
        return None
    text, _ = run(["readelf", "-SW", path], "/dev/null")
    return " .symtab " in text or " .debug_info " in text


def hottest(document):
    """Returns the first process of a profile, and its hottest lock."""
    process = document["processes"][0]
    if process["lost"] or document["recording"]["lost"]:
        raise Failure(f"lost records: {process['lost']}")
    return process, process["locks"][0]


def describe(document):
    """Prints the hottest lock. Its call site must have a name, or there must be a reason."""
    process, lock = hottest(document)
    site = lock["sites"][0]
    times = lambda of: ", ".join(
        f"{name} {of[key]:,.0f} ns" for name, key in TIMES.items() if of.get(key) is not None
    )
    print(f"hottest lock: {lock['kind']} {lock['name'] or lock['address']}: "
          f"{lock['acquisitions']:,} of {process['acquisitions']:,} acquisitions, "
          f"{lock['contended_share']:.2%} waited")
    print(f"  held: {times(lock['hold']) or 'never'}; waited: {times(lock['wait']) or 'never'}")
    print(f"  call site: {site['text']}, {site['acquisitions']:,} acquisitions")
    if site["function"] is None:
        if site["module"] and has_symbols(site["module"]):
            raise Failure(f"{site['module']} has symbols, but its call site has no name")
        print(f"  without a name, because {site['module']} is stripped, and nothing in "
              "/usr/lib/debug has its symbols")


TIMES = {"p50": "p50_ns", "p99": "p99_ns", "longest": "max_ns"}


def exactly(what, recorded, counted):
    if recorded != counted:
        raise Failure(f"{what}: {recorded:,} recorded, {counted:,} counted by the program")
    print(f"{what}: {recorded:,} recorded, as the program counted")


def same_answers(name, runs):
    answers = {run.answers for run in runs}
    if len(answers) != 1:
        raise Failure(f"{name}: different answers to the same operations: {sorted(answers)}")
    return answers.pop()


def overhead(profiler, program, threads, rounds, **options):
    """Measures the price of recording: rounds with and without it in turn. Returns a row."""
    said, pairs = [], []

    def recorded():
        result, document = profiler.profile(program, threads, **options)
        recording = document["recording"]
        said.append([recording[name] for name in SAID])
        pairs.append(sum(of["acquisitions"] for of in document["processes"]))
        if program.name != "memcached":
            result.cpu = document["cpu_seconds"]
        return result

    plain, under = figures.interleave(
        rounds, [lambda: program.run(threads, PLAIN, **options), recorded]
    )
    same_answers(program.name, plain + under)
    rates = [[run.rate for run in runs] for runs in (plain, under)]
    times = [[run.cpu for run in runs] for runs in (plain, under)]
    middle, low, high = (1 - 1 / of for of in figures.ratio(times[1], times[0]))
    said = [statistics.median(of) for of in zip(*said)]
    costs = [(new - old) / count * 1e9 for old, new, count in zip(*times, pairs)]
    cost = "{:.0f} [{:.0f}, {:.0f}]".format(*figures.middle(costs))
    return [program.name, threads, options.get("depth", "-"),
            figures.rate(statistics.median(rates[0])), figures.ratio_text(rates[1], rates[0]),
            f"{middle:.1%} [{low:.1%}, {high:.1%}]", f"{said[0]:.1%} to {said[1]:.1%}", cost,
            f"{said[2]:.0f} to {said[3]:.0f}"]


SAID = ["share_of_cpu_time", "far_share_of_cpu_time", "cost_ns", "far_cost_ns"]
HEAD = ["program", "threads", "in flight", "rate without", "rate with / without",
        "recording's share of CPU time", "by its report", "ns a pair", "by its report"]


def print_overhead(rounds, rows):
    """Prints rows of `overhead`, and what their intervals are."""
    print(f"\nPrice of recording: {rounds} rounds with and without it in turn, medians of the "
          f"pairs and {figures.confidence(rounds)} intervals. Answers were the same.\n")
    figures.table(HEAD, rows)


def report(profiler, program, threads, **options):
    """Prints the report of one run as a user sees it, and keeps it as a page."""
    page = profiler.directory / f"{program.name.replace(' ', '-')}-{threads}.html"
    under = profiler.under("report.txt", "--top", "5", "--report", page)
    program.run(threads, under, **options)
    print((profiler.directory / "report.txt").read_text())
    print(f"page: {page}\n", flush=True)


def of_queue(profiler, queue):
    """Compares a C++ program's profile with its own counts."""
    result, document = profiler.profile(queue, 4)
    locks = hottest(document)[0]["locks"]
    lock = next(of for of in locks if "queue_mutex" in (of["name"] or ""))
    exactly("std::mutex", lock["acquisitions"], result.detail["locks"])
    exactly("std::condition_variable", lock["condition_waits"], result.detail["waits"])
    exactly("holds", lock["hold"]["count"], result.detail["locks"] + result.detail["waits"])
    lines = [site for site in lock["sites"] if site["line"] and "queue.cc" in site["file"]]
    exactly("of them at lines of queue.cc", sum(site["acquisitions"] for site in lines),
            result.detail["locks"])
    describe(document)


def of_sqlite(profiler, sqlite):
    """Compares the profile of SQLite's mutexes with the calls that SQLite made."""
    total = lambda document: sum(
        lock["acquisitions"] + lock["nested"] for lock in hottest(document)[0]["locks"]
    )
    run([*profiler.under("start.json", "--format", "json").prefix, sqlite.program, "-"],
        profiler.directory / "start.log")
    at_start = total(profiler.read("start.json"))
    for threads in (1, 4):
        result, document = profiler.profile(sqlite, threads)
        print(f"SQLite, {threads} threads; {at_start} acquisitions before it counts its own")
        exactly("mutexes", total(document) - at_start, result.detail["enters"])
        describe(document)


def of_rust(profiler, memcached, recorded):
    """Compares the profiles of two Rust programs with their own counts."""
    run([*profiler.under("rust.json", "--format", "json").prefix, recorded],
        profiler.directory / "rust.log")
    _, lock = hottest(profiler.read("rust.json"))
    exactly("Recorded<R> of a static", lock["acquisitions"], 20001)
    load = profiler.under("load.json", "--format", "json").prefix
    result = memcached.run(2, requests=100000, depth=16, load=load)
    document = profiler.read("load.json")
    _, lock = hottest(document)
    exactly("Recorded<R> of memcached's load", lock["acquisitions"], result.detail["locked"])
    describe(document)
