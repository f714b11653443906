# SPDX-License-Identifier: BSD-3-Clause
"""Makes the page: page.md, with tables and numbers from the CSV files and from nowhere else where it says {{name}}."""

import os
import statistics

from common import folder, read_csv

HERE = os.path.dirname(os.path.abspath(__file__))
GB, MIB = 1e9, 1 << 20
MISSING = "*(not measured yet)*"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def many(n):
    return "-" if n is None else f"{n:,}"


def digits(x, n=3):
    return "-" if x is None else f"{x:.{n}g}"


def seconds(row):
    return row["note"] or "-" if row["seconds"] is None else f"{row['seconds']:.2f}"


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


# ---- 1 and 3 -----------------------------------------------------------------------------------------------------


def machines():
    parts = read_csv("parts")
    rows = [[r["part"], r["date"], f"{r['seconds']:.0f} s", "**trial, tiny copies**" if r["trial"] == "yes" else "full"] for r in parts]
    last = parts[-1]
    return (f"Machine: {last['cpu']}, {last['cores']} cores, {last['memory']}, {last['file_system']}, {last['kernel']}; resplit "
            f"{last['resplit']}.\n\n" + table(["part", "date", "took", "size"], rows))


def counts(group, budgets):
    rows = pick(read_csv("computed"), group=group)
    made = []
    for case in dict.fromkeys(row["case"] for row in rows):
        of_case = pick(rows, case=case)
        cells = [case, f"{of_case[0]['from']} to {of_case[0]['to']}"]
        known = [r for r in of_case if r["seeks"] is not None]
        cells += [many(known[0]["floor_seeks"]), many(next(r["seeks"] for r in known if r["strategy"] == "naive"))]
        for budget in budgets:
            found = [pick(of_case, strategy=s, budget_bytes=round(budget * GB))[0]["seeks"] for s in ("keep", "best")]
            cells.append(" / ".join(map(many, found)))
        made.append(cells)
    return table(["case", "blocks", "floor", "naive", *(f"keep / best, {b:g} GB" for b in budgets)], made)


def devices():
    rows = pick(read_csv("computed"), group=3500, case=2)
    made = []
    for budget in (0.25, 1, 4, 16):
        for strategy in ("naive", "spill", "keep", "best", "auto"):
            found = pick(rows, strategy=strategy, budget_bytes=round(budget * GB))
            if found and found[0]["seconds_hdd"] is not None:
                row = found[0]
                made.append([f"{budget:g} GB", strategy, many(row["seeks"])] + [f"{row['seconds_' + d] / 60:,.1f}" for d in ("hdd", "ssd", "nvme", "nfs")])
    return table(["memory", "strategy", "seeks", "hdd, min", "ssd, min", "nvme, min", "nfs, min"], made)


def bigbrain():
    rows = [r for r in read_csv("published") if r["paper"] == "2017, BigBrain" and r["budget_bytes"] and r["case"] != "slabs"]
    made = [[r["case"], r["what"], f"{r['budget_bytes'] >> 30} GiB", many(r["published"]), many(r["ours"]), r["why"], many(r["keep"]), many(r["best"])]
            for r in rows]
    return table(["", "strategy", "memory", "published", "ours", "why", "our keep", "our best"], made)


def august():
    rows = [r for r in read_csv("published") if r["paper"] == "2020, 3500^3" and r["what"] == "keep"]
    made = [[r["case"], f"{r['budget_bytes'] / GB:g} GB", many(r["published"]), many(r["ours"]), many(r["keep"]), many(r["best"]), r["why"]] for r in rows]
    return table(["configuration", "memory", "published", "the same plan, in runs", "our keep", "our best", "published and ours"], made)


def published_held():
    rows = [r for r in read_csv("published") if r["paper"] == "2020, 3500^3" and r["what"] == "elements held"]
    return table(["configuration", "published, elements", "exact", "why"], [[r["case"], many(r["published"]), many(r["ours"]), r["why"]] for r in rows])


def n_published():
    rows = [r for r in read_csv("published") if r["what"] != "elements held" and r["published"] is not None]
    return f"{sum(r['published'] == r['same_rule'] for r in rows)} of {len(rows)}"


def times():
    rows = sorted(read_csv("times"), key=lambda r: (r["edge"], r["budget_gb"], r["case"]))
    return table(["ours", "configuration", "memory, to scale", "published: baseline / keep", "ours: naive / keep", "ours: naive / best"],
                 [[f"{r['edge']}³", r["case"], f"{r['budget_gb']} GB", r["published_ratio"], r["keep_ratio"], r["best_ratio"]] for r in rows])


# ---- 2, 4, 5 -----------------------------------------------------------------------------------------------------


def measured():
    rows = read_csv("measured")
    made = {}
    for r in rows:
        key = (f"{r['shape'].partition('x')[0]}³", r["case"], f"{r['from']} to {r['to']}", f"{r['budget_bytes'] / 1e6:g} MB", r["cache"])
        made.setdefault(key, {})[r["strategy"]] = r
    cells = [[*key, *(seconds(found[s]) for s in ("naive", "keep", "best")), *(many(found[s]["seeks"]) for s in ("naive", "keep", "best"))]
             for key, found in made.items()]
    return table(["array", "configuration", "blocks", "memory", "page cache", "naive, s", "keep, s", "best, s", "naive, seeks", "keep, seeks", "best, seeks"], cells)


def slow(name):
    made = [[r["case"], f"{r['budget_bytes'] / 1e6:g} MB", r["strategy"], many(r["seeks"]), many(r["disk_seeks"]), f"{r['model_seconds']:.1f}",
             f"{r['seconds']:.1f}" if r["how"] == "measured" else "*computed*"] for r in read_csv(name) if r["seconds"] is not None]
    return table(["case", "memory", "strategy", "seeks of the plan", "seeks of the disk", "model, s", "measured, s"], made)


def slow_disk():
    probe = read_csv("slowdisk")[0]
    return (f"{probe['seek_seconds'] * 1e3:.2f} ms for a seek (told {probe['told_seek_seconds'] * 1e3:g}), {probe['read_bytes_per_second'] / 1e6:.0f} MB/s "
            f"reading and {probe['write_bytes_per_second'] / 1e6:.0f} MB/s writing (told {probe['told_bytes_per_second'] / 1e6:.0f})")


def slow_agreement():
    rows = [r for r in read_csv("slow") + read_csv("splitmerge_slow") if r["how"] == "measured"]
    ratios = [r["seconds"] / r["model_seconds"] for r in rows]
    return f"{min(ratios):.2f} to {max(ratios):.2f} times the model, median {statistics.median(ratios):.2f}, in {len(rows)} runs"


def slices():
    made = [[r["direction"], r["slices"], r["divides"], many(r["clustered"]), many(r["multiple"]), many(r["keep"]), many(r["best"])]
            for r in read_csv("splitmerge") if r["slices"] in (1, 7, 20, 30, 35, 60, 100, 135, 140, 175, 300, 350, 600, 700)]
    return table(["", "slices", "divide 3500", "clustered", "multiple", "keep", "best"], made)


def slices_equal():
    rows = read_csv("splitmerge")
    dividing = pick(rows, divides="yes")
    others = pick(rows, divides="no")
    return (f"equal to multiple in {sum(r['keep'] == r['multiple'] for r in dividing)} of {len(dividing)} cases where the slices divide the array, and "
            f"better in {sum(r['keep'] < r['multiple'] for r in others)} of {len(others)} where they do not, worse in "
            f"{sum(r['keep'] > r['multiple'] for r in rows)}")


def splitmerge_runs():
    made = {}
    for r in read_csv("splitmerge_runs"):
        made.setdefault((r["case"], f"{r['budget_bytes'] / 1e6:.1f} MB"), {})[r["strategy"]] = r
    names = ("naive", "clustered", "multiple", "keep", "best")
    return table(["", "memory", *(f"{n}, s" for n in names)], [[*key, *(seconds(found[n]) for n in names)] for key, found in made.items()])


def dask():
    made = [[r["shape"], r["array"], f"{r['from']} to {r['to']}", r["cache"], f"{r['budget_bytes'] / MIB:g} MiB" if r["budget_bytes"] else "-", r["hook"],
             seconds(r), f"{r['memory_bytes'] / MIB:.0f} MiB" if r["memory_bytes"] else "-"] for r in read_csv("dask")]
    return table(["shape", "array", "chunks", "page cache", "budget", "hook", "time, s", "memory"], made)


# ---- 6 and 7 -----------------------------------------------------------------------------------------------------


def estimate_over():
    rows = read_csv("estimate")
    over = [r for r in rows if r["held_by_budget"] > 1]
    worst = max(rows, key=lambda r: r["held_by_budget"])
    return (f"In {len(over)} of {len(rows)} cases the plan holds more than the memory that it was made for, at worst {worst['held_by_budget']:.1f} times "
            f"({worst['group']}, case {worst['case']}, {worst['budget_bytes'] / GB:g} GB)")


def estimate_table():
    made = []
    for r in read_csv("estimate"):
        if r["group"] == 3500 and r["budget_bytes"] in (1 * GB, 4 * GB, 16 * GB):
            made.append([r["case"], f"{r['budget_bytes'] / GB:g} GB", r["buffer"], f"{r['held_by_budget']:.2f}", many(r["draft_seeks"]),
                         many(r["fitting_draft_seeks"]), many(r["keep_seeks"]), many(r["best_seeks"])])
    return table(["configuration", "memory", "buffer", "held / memory", "seeks, as proposed", "seeks, made to fit", "our keep", "our best"], made)


def exact_buys():
    rows = [r for r in read_csv("estimate") if r["fitting_draft_seeks"] and r["keep_seeks"] and r["best_seeks"]]
    keep = [r["fitting_draft_seeks"] / r["keep_seeks"] for r in rows]
    best = [r["fitting_draft_seeks"] / r["best_seeks"] for r in rows]
    return (f"Over {len(rows)} problems and memories where all have a plan, the drafts' planner, told of less until its plan fits, makes {geometric(keep):.2f} "
            f"times the seeks of keep with exact memory (geometric mean; at worst {max(keep):,.0f}), and {geometric(best):.2f} times those of best "
            f"(at worst {max(best):,.0f}); keep needs fewer in {sum(x > 1 for x in keep)}, more in {sum(x < 1 for x in keep)}")


def geometric(values):
    return statistics.geometric_mean(values)


def equation_1():
    rows = read_csv("equation1")
    over = [r["held_by_estimate"] for r in rows if r["held_by_estimate"] > 1]
    return f"{len(over)} of {len(rows)} random problems hold more, by up to {100 * (max(over) - 1):.1f} %"


def ordering(column):
    ratios = [r[column] / r["best_held"] for r in pick(read_csv("ordering"), problem="random")]
    return f"{sum(x > 1 for x in ratios)} of {len(ratios)}, mean {statistics.mean(ratios):.2f}, at worst {max(ratios):.1f}"


def ordering_papers():
    made = [[r["problem"], many(r["c_order_held"]), many(r["rule_held"]), r["rule_order"], many(r["best_held"]), r["best_order"]]
            for r in read_csv("ordering") if str(r["problem"]).startswith("3500")]
    return table(["configuration", "C order", "drafts' rule", "loops", "best loops", "loops"], made)


def any_order():
    rows = read_csv("anyorder")
    solved = [r for r in rows if r["any_seeks"] and r["loops_seeks"]]
    gaps = [r["loops_seeks"] / r["any_seeks"] for r in solved]
    plans = sum(r["plans"] for r in rows)
    return (f"{sum(g > 1 for g in gaps)} of {len(gaps)} problems could do with fewer seeks in another order (mean ratio {statistics.mean(gaps):.4f}, at worst "
            f"{max(gaps):.2f}; in {len(rows) - len(solved)} more only another order fits at all). Of {plans:,} plans, "
            f"{sum(r['plans_any_holds_less'] for r in rows):,} could hold less in another order, at worst by {max(r['worst_loops_by_any'] for r in rows):.2f}")


def rule_small():
    rows = [r for r in read_csv("anyorder") if r["rule_seeks"] and r["loops_seeks"]]
    gaps = [r["rule_seeks"] / r["loops_seeks"] for r in rows]
    return f"{sum(g > 1 for g in gaps)} of {len(gaps)} (mean ratio {statistics.mean(gaps):.3f}, at worst {max(gaps):.2f})"


VALUES = {
    "machines": machines, "bigbrain": bigbrain, "august": august, "published_held": published_held, "n_published": n_published, "times": times,
    "counts_3500": lambda: counts(3500, (0.25, 1, 4, 16)), "counts_8000": lambda: counts(8000, (1, 8, 64, 256)),
    "counts_october": lambda: counts("october", (0.25, 1, 4)), "counts_unrun": lambda: counts("unrun", (1, 4, 16)), "devices": devices,
    "measured": measured, "slow": lambda: slow("slow"), "slow_disk": slow_disk, "slow_agreement": slow_agreement,
    "slices": slices, "slices_equal": slices_equal, "splitmerge_runs": splitmerge_runs, "splitmerge_slow": lambda: slow("splitmerge_slow"),
    "dask": dask, "estimate_over": estimate_over, "estimate_table": estimate_table, "exact_buys": exact_buys, "equation_1": equation_1,
    "rule": lambda: ordering("rule_held"), "rule_ties": lambda: ordering("rule_worst_tie_held"), "c_order": lambda: ordering("c_order_held"), "ratio": lambda: ordering("ratio_held"),
    "ordering_papers": ordering_papers, "any_order": any_order, "rule_small": rule_small,
}


def made():
    with open(os.path.join(HERE, "page.md"), encoding="utf-8") as f:
        text = f.read()
    for name, value in VALUES.items():
        if "{{" + name + "}}" not in text:
            raise SystemExit(f"experiments: page.md has no place for '{name}'")
        try:
            text = text.replace("{{" + name + "}}", value())
        except OSError:
            text = text.replace("{{" + name + "}}", MISSING)
    return text


def main():
    with open(os.path.join(folder(), "README.md"), "w", encoding="utf-8") as f:
        f.write(made())


if __name__ == "__main__":
    main()
