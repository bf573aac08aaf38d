"""Real programs on the preloaded replacement of the C library's locks."""

import statistics

from . import figures
from .processes import Failure, run
from .programs import PLAIN, Under

KINDS = ["mutex", "queued", "ticket", "pv-queued"]


def under(library, kind):
    return Under([], {"LD_PRELOAD": str(library), "LOCKYARD_LOCK": kind})


def is_active(library):
    """Checks that the library does choose the locks: it refuses a kind that does not exist."""
    try:
        run(["true"], "/dev/null", 10, under(library, "no-such-lock").environment)
    except Failure as failure:
        if "exit code 2" in str(failure):
            return
    raise Failure(f"{library} did not refuse LOCKYARD_LOCK=no-such-lock: it is not active")


def answers(library, cases):
    """Runs each program on each kind of lock, and compares its answers with those on the C
    library's. Spinlocks wait in turn and never sleep, so few threads do little work on them."""
    rows, failures = [], []
    for program, threads, options in cases:
        right = program.run(threads, PLAIN, **options)
        row = [program.name, threads, right.answers]
        for kind in KINDS:
            try:
                found = program.run(threads, under(library, kind), **options)
                row.append("same" if found.answers == right.answers else found.answers)
                if found.answers != right.answers:
                    failures.append(f"{program.name} on {kind}: other answers")
            except Failure as failure:
                row.append("failed")
                failures.append(f"{program.name} on {kind}: {failure}")
        rows.append(row)
    figures.table(["program", "threads", "answers with the C library's", *KINDS], rows)
    return failures


def throughput(library, cases, rounds):
    """Measures each program on the mutex beside the C library's, in turn."""
    rows, failures = [], []
    for program, threads, options in cases:
        variants = [
            lambda: program.run(threads, PLAIN, **options),
            lambda: program.run(threads, under(library, "mutex"), **options),
        ]
        try:
            runs = figures.interleave(rounds, variants)
        except Failure as failure:
            failures.append(f"{program.name}, {threads} threads: {failure}")
            continue
        theirs, ours = [[run.rate for run in of] for of in runs]
        if len({run.answers for of in runs for run in of}) != 1:
            failures.append(f"{program.name}, {threads} threads: other answers")
        times = [[run.cpu for run in of] for of in runs]
        rows.append([program.name, threads, program.unit,
                     figures.rate(statistics.median(theirs)),
                     figures.rate(statistics.median(ours)), figures.ratio_text(ours, theirs),
                     figures.ratio_text(times[1], times[0])])
    print(f"{rounds} rounds in turn, medians of the pairs and {figures.confidence(rounds)} "
          "intervals:\n")
    figures.table(["program", "threads", "unit", "C library", "lockyard", "rate, ratio",
                   "CPU time, ratio"], rows)
    return failures
