"""Programs recorded with one and two threads, predicted with more, and run with as many: a table.

Rates without the recorder are medians of rounds in turn. A prediction has the recordings, and the
rates of these numbers of threads. A gate that refuses is asked again with `--ungated`.
"""

import json
import statistics
import subprocess

from .processes import Failure
from .programs import Under

RECORDED, PREDICTED = (1, 2), (4, 8)

# What `record` says of a run without locks.
NO_LOCK = "no lock was recorded"


def command(*arguments):
    """Runs the command. Returns its exit code, output and errors."""
    done = subprocess.run([str(part) for part in arguments], capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr.strip()


def rates_of(program, threads, rounds):
    """Returns the median rates by number of threads."""
    found = {of: [] for of in threads}
    for _ in range(rounds):
        for of in threads:
            found[of].append(program.run(of).rate)
    return {of: statistics.median(rates) for of, rates in found.items()}


def recorded(lockyard, machine, program, threads, directory):
    """Records a run. Returns the file, and the reason why there is none."""
    file = directory / f"{program.name.replace(' ', '-')}-{threads}.rec"
    file.unlink(missing_ok=True)
    prefix = [lockyard, "record", "--out", file, "--host-machine", machine, "--"]
    try:
        program.run(threads, Under(prefix=[str(part) for part in prefix]))
    except Failure as failure:
        if NO_LOCK not in str(failure):
            raise
        return None, NO_LOCK
    if not file.exists():
        raise Failure(f"{program.name} with {threads} threads left no recording")
    return file, None


def asked(lockyard, machine, files, threads, *more):
    """Predicts. Returns the document, and the reason why the gate refuses."""
    arguments = ["predict", *files, *more, "-m", "host", "--host-machine", machine,
                 "-t", ",".join(map(str, threads)), "-v", "recorded", "-f", "json"]
    code, output, why = command(lockyard, *arguments)
    if code == 1:
        _, output, _ = command(lockyard, *arguments, "--ungated")
    reason = why.split(".rec: ", 1)[-1].split(": ", 1)[-1] if code else None
    return json.loads(output) if output.strip() else None, reason


def predictions(lockyard, machine, files, rates, directory):
    """Returns the predicted rates by the program's number, and what the gate says.

    A program may have a thread more than its number, such as one that waits for the others. So
    recordings and predictions have the process's threads that take locks, and the rates that go
    with them."""
    of = {}
    for number, file in files.items():
        document, why = asked(lockyard, machine, [file], [1])
        if document is None:
            return {}, why
        of[number] = round(document["recorded"]["today"]["threads"])
    more = of[2] - 2
    if len(of) > 1 and of[1] - 1 != more:
        return {}, f"its numbers 1 and 2 are {of[1]} and {of[2]} threads that take locks"
    table = directory / "rates.csv"
    rows = [f"{of[number]},{rates[number]:.0f}" for number in of]
    table.write_text("\n".join(["threads,operations_per_second", *rows, ""]))
    of_rates = ["--rates", table] if len(of) > 1 else []
    threads = [number + more for number in PREDICTED]
    document, why = asked(lockyard, machine, files.values(), threads, *of_rates)
    if document is None:
        return {}, why
    gate = f"refused: {why}"
    growth = document["recorded"].get("growth") or {}
    if why is None:
        gate = "passed" + (f", {growth['gate']['error'] * 100:+.0f} %" if growth else "")
    # Figures of one recording are acquisitions.
    scale = 1.0 if len(of) > 1 else rates[2] / document["recorded"]["today"]["acquisitions_per_s"]
    figures = {row["threads"] - more: row["predicted"] for row in document["rows"]}
    return {number: rate * scale for number, rate in figures.items() if rate}, gate


def row(lockyard, machine, program, directory, rounds):
    """Returns a line of the table."""
    rates = rates_of(program, (*RECORDED, *PREDICTED), rounds)
    files, notes = {}, []
    for threads in RECORDED:
        file, why = recorded(lockyard, machine, program, threads, directory)
        if file:
            files[threads] = file
        else:
            notes.append(f"{threads}: {why}")
    found, gate = {}, None
    if 2 in files:
        found, gate = predictions(lockyard, machine, files, rates, directory)
    gate = "; ".join(filter(None, [*notes, gate]))
    cells = []
    for threads in PREDICTED:
        measured = f"{rates[threads]:,.0f}"
        if threads in found:
            error = found[threads] / rates[threads] - 1
            cells.append(f"{found[threads]:,.0f}, {measured}: {error * 100:+.0f} %")
        else:
            cells.append(f"-, {measured}")
    shown = [f"{rates[of]:,.0f}" for of in RECORDED]
    return f"| {program.name}, {program.unit} | " + " | ".join([*shown, gate, *cells]) + " |"


def table(lockyard, machine, programs, directory, rounds):
    """Prints the table: rates of the recorded numbers; predicted, measured and error of others."""
    heads = [f"{of} thread{'s' * (of > 1)}" for of in RECORDED] + ["gate"]
    heads += [f"{of}: predicted, measured, error" for of in PREDICTED]
    print("| program | " + " | ".join(heads) + " |")
    print("| --- |" + " --- |" * len(heads), flush=True)
    for program in programs:
        try:
            print(row(lockyard, machine, program, directory, rounds), flush=True)
        except Failure as failure:
            print(f"| {program.name} | failed: {failure} |", flush=True)
