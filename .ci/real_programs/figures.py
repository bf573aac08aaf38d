"""Ratios of interleaved rounds, and tables."""

import statistics
from math import comb


def bounds(count):
    """Returns which of `count` sorted values bound their median with a confidence of 95 %, and the
    confidence itself. It assumes no distribution. With fewer than 6 values it is lower."""
    within = lambda low: 1 - 2 * sum(comb(count, at) for at in range(low + 1)) / 2**count
    low = 0
    while low + 1 < count // 2 and within(low + 1) >= 0.95:
        low += 1
    return low, count - 1 - low, within(low)


def confidence(rounds):
    """Returns the confidence of the intervals of so many rounds, as text."""
    return f"{bounds(rounds)[2]:.0%}"


def middle(values):
    """Returns the median of the values of all rounds, and the bounds of its interval."""
    values = sorted(values)
    low, high, _ = bounds(len(values))
    return statistics.median(values), values[low], values[high]


def ratio(new, old):
    """Returns the median of the ratios of paired rounds, and the bounds of its interval."""
    return middle([a / b for a, b in zip(new, old, strict=True)])


def ratio_text(new, old):
    return "{:.3f} [{:.3f}, {:.3f}]".format(*ratio(new, old))


def interleave(rounds, variants):
    """Calls the variants in turn, the first one first in every other round. Returns a list of
    results for each."""
    results = [[] for _ in variants]
    for number in range(rounds):
        order = list(range(len(variants)))
        for at in order if number % 2 == 0 else reversed(order):
            results[at].append(variants[at]())
    return results


def table(head, rows):
    """Prints a table in Markdown."""
    widths = [max(len(str(row[at])) for row in [head, *rows]) for at in range(len(head))]
    line = lambda row: "| " + " | ".join(str(cell).ljust(w) for cell, w in zip(row, widths)) + " |"
    print(line(head))
    print("| " + " | ".join("-" * width for width in widths) + " |")
    for row in rows:
        print(line(row))
    print(flush=True)


def rate(value):
    return f"{value / 1000:,.1f} k"
