# SPDX-License-Identifier: BSD-3-Clause
"""Markdown tables, and how numbers look in them."""

MISSED = "**MISSED**"
MARGIN = 16 << 20 # of resident memory, over the budget: the program itself and its libraries


class Table:
    def __init__(self, title, columns, text=""):
        self.title = title
        self.text = text
        self.columns = columns
        self.rows = []
        self.notes = []

    def markdown(self):
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        shown = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths)) + " |" for line in lines]
        shown.insert(1, "| " + " | ".join("-" * w for w in widths) + " |")
        parts = [f"## {self.title}"]
        if self.text:
            parts.append(self.text)
        if self.rows:
            parts.append("\n".join(shown))
        parts += self.notes
        return "\n\n".join(parts) + "\n"


def human(n):
    """1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n:.3g} {unit}"
        n /= 1024


def lengths(shape):
    return "x".join(map(str, shape))


def listed(shape):
    return ",".join(map(str, shape))


def judged(value, bar, below=False):
    """A ratio, marked if it is over its bar; below: equal to the bar is over it."""
    if value is None:
        return "-"
    kept = value < bar if below else value <= bar
    return f"{value:.2f}" if kept else f"{value:.2f} {MISSED}"


def resident(results, budget):
    """The peak resident memory of some runs that had one budget."""
    peak = max((r.resident for r in results), default=0)
    if not peak:
        return "-"
    return f"{peak / 2**20:.0f} MiB" + (f" {MISSED}" if budget and peak > budget + MARGIN else "")
