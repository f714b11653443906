# SPDX-License-Identifier: BSD-3-Clause
"""Draws the plots of the experiments, from their tables and nothing else. Strategies differ by marker and line, not by colour alone."""

import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt # noqa: E402
import numpy as np # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter # noqa: E402

from common import folder, read_csv # noqa: E402

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "resplit", "font.family": "sans-serif", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "0.9", "grid.linewidth": 0.6, "legend.frameon": False, "lines.markersize": 4.5,
    "axes.titlesize": 9, "axes.axisbelow": True, "figure.constrained_layout.use": True})

GB = 1e9
STYLES = {
    "naive": {"marker": "x", "linestyle": ":", "color": "0.25"},
    "clustered": {"marker": "s", "linestyle": "-.", "color": "0.45", "markerfacecolor": "white"},
    "multiple": {"marker": "D", "linestyle": "--", "color": "0.3", "markerfacecolor": "white"},
    "spill": {"marker": "v", "linestyle": (0, (1, 3)), "color": "0.45", "markerfacecolor": "white"},
    "keep": {"marker": "^", "linestyle": "--", "color": "#b35806"},
    "best": {"marker": "o", "linestyle": "-", "color": "#08306b"},
    "auto": {"marker": "+", "linestyle": "none", "color": "black", "markersize": 7},
}
FLOOR = {"color": "0.6", "linewidth": 0.8, "linestyle": "-"}


def save(figure, name):
    figure.savefig(os.path.join(folder(), name + ".svg"), metadata={"Date": None, "Creator": None})
    if os.environ.get("RESPLIT_PNG"): # to look at
        figure.savefig(os.path.join(os.environ["RESPLIT_PNG"], name + ".png"), dpi=110)
    plt.close(figure)


def chosen(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def curves(axes, rows, y, strategies=tuple(STYLES), scale=1.0):
    for strategy in strategies:
        points = [(row["budget_bytes"] / GB, row[y] * scale) for row in chosen(rows, strategy=strategy) if row[y] is not None]
        if points:
            axes.plot(*zip(*points), label=strategy, **STYLES[strategy])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([0.25, 1, 4, 16, 64, 256], labels=["0.25", "1", "4", "16", "64", "256"])
    axes.minorticks_off()


def plain_log(axis, subs=(1, 2, 5)):
    """Numbers as they are, where an axis has few decades."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_of(figure, axes, where="outside lower center", columns=7):
    handles, labels = {}, []
    for each in np.ravel(axes):
        for handle, label in zip(*each.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    labels = list(handles)
    figure.legend([handles[name] for name in labels], labels, loc=where, ncols=columns)


# ---- 1 and 3 -----------------------------------------------------------------------------------------------------


def bigbrain():
    rows = chosen(read_csv("computed"), group="bigbrain", case="merge")
    figure, axes = plt.subplots(figsize=(6.2, 3.8))
    curves(axes, rows, "seeks", ("naive", "clustered", "multiple", "keep", "best"))
    theirs = [r for r in read_csv("published") if r["paper"] == "2017, BigBrain" and r["case"] == "merge" and r["budget_bytes"]]
    for what, marker in (("clustered", "*"), ("multiple", "P")):
        points = [(r["budget_bytes"] / GB, r["published"]) for r in theirs if r["what"] == what]
        axes.plot(*zip(*points), linestyle="none", marker=marker, color="black", markersize=8, markerfacecolor="none", label=f"{what}, as published")
    axes.axhline(rows[-1]["floor_seeks"] or 126, label="floor", **FLOOR)
    axes.set_xlabel("memory (GB)")
    axes.set_ylabel("seeks")
    axes.legend(loc="center right", fontsize=8)
    save(figure, "bigbrain")


def configurations(group, name):
    rows = chosen(read_csv("computed"), group=group)
    cases = sorted({row["case"] for row in rows}, key=str)
    figure, grid = plt.subplots(2, 4, figsize=(10, 5), sharex=True)
    for axes, case in zip(grid.flat, cases):
        of_case = chosen(rows, case=case)
        curves(axes, of_case, "seeks", ("naive", "spill", "keep", "best"))
        axes.axhline(next(r["floor_seeks"] for r in of_case if r["floor_seeks"]), label="floor", **FLOOR)
        axes.set_title(f"{case}: {of_case[0]['from']} to {of_case[0]['to']}", fontsize=8)
    for axes in grid.flat[len(cases):]:
        axes.axis("off")
    figure.supxlabel("memory (GB)")
    figure.supylabel("seeks")
    legend_of(figure, grid, "outside upper center")
    save(figure, name)


def october():
    rows = read_csv("computed")
    figure, grid = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
    for axes, group, title in zip(grid, ("october", "unrun"), ("October 2020: 3500³ of 1 byte", "never run: 6000³ of 1 byte")):
        of_group = [r for r in rows if r["group"] == group and r["budget_bytes"] == 4 * GB]
        cases = sorted({str(r["case"]) for r in of_group})
        for strategy in ("naive", "keep", "best"):
            points = [(cases.index(str(r["case"])), r["seeks"] / r["floor_seeks"]) for r in chosen(of_group, strategy=strategy) if r["seeks"]]
            axes.plot(*zip(*points), label=strategy, **{**STYLES[strategy], "linestyle": "none", "markersize": 6})
        axes.set_yscale("log")
        axes.set_xticks(range(len(cases)), cases)
        axes.set_title(title)
        axes.set_xlabel("case")
    grid[0].set_ylabel("seeks / floor, in 4 GB")
    legend_of(figure, grid, "outside upper center")
    save(figure, "october")


def devices():
    rows = chosen(read_csv("computed"), group="3500", case=2)
    rows = rows or chosen(read_csv("computed"), group=3500, case=2)
    figure, grid = plt.subplots(1, 4, figsize=(10, 3.2))
    for axes, device in zip(grid, ("hdd", "ssd", "nvme", "nfs")):
        curves(axes, rows, "seconds_" + device, ("naive", "spill", "keep", "best", "auto"), 1 / 60)
        axes.set_title(device)
        plain_log(axes.yaxis, (1,) if device == "hdd" else (1, 2, 5))
        axes.set_xlabel("memory (GB)")
    grid[0].set_ylabel("predicted time (minutes)")
    legend_of(figure, grid, "outside upper center")
    save(figure, "devices")


def speedups():
    rows = chosen(read_csv("times"), budget_gb=4)
    edge = max(row["edge"] for row in rows)
    rows = chosen(rows, edge=edge)
    figure, axes = plt.subplots(figsize=(6.2, 3.2))
    looks = {"published": ("s", "white", "0.2"), "ours, keep": ("^", "#b35806", "#b35806"), "ours, best": ("o", "#08306b", "#08306b")}
    for i, (label, (marker, face, color)) in enumerate(looks.items()):
        column = {"published": "published_ratio", "ours, keep": "keep_ratio", "ours, best": "best_ratio"}[label]
        points = [(row["case"] + 0.15 * (i - 1), row[column]) for row in rows if row[column]]
        axes.plot(*zip(*points), linestyle="none", marker=marker, markerfacecolor=face, color=color, markersize=6, label=label)
    axes.axhline(1, color="0.5", linewidth=0.8)
    axes.set_xticks(range(7))
    axes.set_xlabel("configuration")
    axes.set_ylabel("time of naive / time")
    axes.set_title(f"published: 3500³ in 4 GB; ours: {edge}³ in memory to scale")
    axes.legend(loc="upper left", fontsize=8)
    save(figure, "speedups")


# ---- 2 -----------------------------------------------------------------------------------------------------------


def by_case(axes, rows, strategies, title):
    for i, strategy in enumerate(strategies):
        points = [(row["case"] + 0.14 * (i - 1), row) for row in chosen(rows, strategy=strategy) if row["seconds"]]
        if not points:
            continue
        x, found = zip(*points)
        style = {**STYLES[strategy], "linestyle": "none"}
        axes.errorbar(x, [r["seconds"] for r in found], [[r["seconds"] - r["least_seconds"] for r in found],
                      [r["most_seconds"] - r["seconds"] for r in found]], label=strategy, elinewidth=0.8, **style)
    axes.set_yscale("log")
    plain_log(axes.yaxis)
    axes.set_xticks(range(7))
    axes.set_title(title)
    axes.set_xlabel("configuration")


def measured():
    rows = read_csv("measured")
    shapes = sorted({row["shape"] for row in rows}, key=lambda s: int(s.partition("x")[0]))
    budgets = sorted({r["budget_bytes"] for r in chosen(rows, shape=shapes[0])})
    panels = [(shapes[0], budgets[0], "capped"), (shapes[0], budgets[0], "free"), (shapes[1], None, "capped")]
    figure, grid = plt.subplots(1, 3, figsize=(10, 3.4))
    for axes, (shape, budget, cache) in zip(grid, panels):
        found = [r for r in chosen(rows, shape=shape, cache=cache) if budget in (None, r["budget_bytes"])]
        edge = shape.partition("x")[0]
        by_case(axes, found, ("naive", "keep", "best"), f"{edge}³, {found[0]['budget_bytes'] / 1e6:.4g} MB, page cache {cache}")
    grid[0].set_ylabel("time (s)")
    legend_of(figure, grid, "outside upper center")
    save(figure, "measured")


def slow_points(axes, rows, strategies):
    """Measured by their markers, computed by a letter."""
    for i, strategy in enumerate(strategies):
        style = {**STYLES[strategy], "linestyle": "none", "markersize": 6}
        for how, look in (("measured", {"label": strategy}), ("computed", {"marker": "$c$", "markersize": 7})):
            points = [(row["case"] + 0.14 * (i - 1), row["seconds"]) for row in chosen(rows, strategy=strategy, how=how)]
            if points:
                axes.plot(*zip(*points), **{**style, **look})
    axes.set_yscale("log")
    plain_log(axes.yaxis, (1,))


def slow():
    rows = read_csv("slow")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    slow_points(left, rows, ("naive", "keep", "best"))
    left.set_xticks(range(7))
    left.set_xlabel("configuration")
    left.set_ylabel("time on the slow disk (s); c: computed")
    every = rows + read_csv("splitmerge_slow")
    for strategy in ("naive", "clustered", "multiple", "keep", "best"):
        points = [(r["model_seconds"], r["seconds"]) for r in chosen(every, strategy=strategy, how="measured")]
        if points:
            right.plot(*zip(*points), label=strategy, **{**STYLES[strategy], "linestyle": "none"})
    ends = [min(r["model_seconds"] for r in every if r["how"] == "measured"), max(r["model_seconds"] for r in every if r["how"] == "measured")]
    right.plot(ends, ends, label="equal", **FLOOR)
    right.set_xscale("log")
    right.set_yscale("log")
    plain_log(right.xaxis)
    plain_log(right.yaxis)
    right.set_xlabel("seeks × latency + bytes / bandwidth (s)")
    right.set_ylabel("measured (s)")
    legend_of(figure, (left, right), "outside upper center")
    save(figure, "slow")


# ---- 4 -----------------------------------------------------------------------------------------------------------


def splitmerge():
    counts, runs, slow_runs = read_csv("splitmerge"), read_csv("splitmerge_runs"), read_csv("splitmerge_slow")
    figure, grid = plt.subplots(1, 3, figsize=(10, 3.6))
    merge = chosen(counts, direction="merge")
    for name in ("clustered", "multiple", "keep", "best"):
        points = [(r["slices"], r[name]) for r in merge if r[name]]
        grid[0].plot(*zip(*points), label=name, **STYLES[name])
    grid[0].set_xscale("log")
    grid[0].set_yscale("log")
    grid[0].set_xlabel("memory (slices of 23.3 MB)")
    grid[0].set_ylabel("seeks")
    grid[0].set_title("merge, full size")
    for axes, rows, title in ((grid[1], runs, "merge, a fifth as long, capped"), (grid[2], slow_runs, "merge, on the slow disk")):
        for name in ("naive", "clustered", "multiple", "keep", "best"):
            found = [r for r in chosen(rows, case="merge", strategy=name) if r["seconds"]]
            if found:
                axes.plot([r["budget_bytes"] / 1e6 for r in found], [r["seconds"] for r in found], label=name, **STYLES[name])
        axes.set_xlabel("memory (MB)")
        axes.set_yscale("log")
        plain_log(axes.yaxis)
        axes.set_title(title)
    grid[1].set_ylabel("time (s)")
    legend_of(figure, grid, "outside upper center")
    save(figure, "splitmerge")


# ---- 5 -----------------------------------------------------------------------------------------------------------


def dask():
    rows = read_csv("dask")
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    figure, grid = plt.subplots(2, 2, figsize=(10, 5.4), sharex="col")
    for column, cache in enumerate(("free", "capped")):
        of_cache = chosen(rows, cache=cache)
        ticks = []
        for s, shape in enumerate(shapes):
            found = chosen(of_cache, shape=shape)
            budgets = sorted({r["budget_bytes"] for r in found if r["budget_bytes"]})
            for hook, look in (("off", {"color": "white", "edgecolor": "0.3", "hatch": "///"}), ("on", {"color": "0.35"})):
                for row in chosen(found, hook=hook):
                    at = s * 4.5 + (budgets.index(row["budget_bytes"]) if row["budget_bytes"] else -0.7)
                    at += {"off": -0.2, "on": 0.2}[hook] if cache == "capped" else 0
                    width = 0.38 if cache == "capped" else 0.6
                    for axes, value in ((grid[0][column], row["seconds"]), (grid[1][column], (row["memory_bytes"] or 0) / (1 << 20))):
                        if value and not row["note"]:
                            axes.bar(at, value, width, label=f"hook {hook}", **look)
                        elif axes is grid[0][column]:
                            axes.text(at, 0, row["note"] or "", rotation=90, ha="center", va="bottom", fontsize=8)
            ticks += [(s * 4.5 + i, f"{b / (1 << 20):g}") for i, b in enumerate(budgets)]
        grid[1][column].set_xticks(*zip(*ticks))
        grid[1][column].set_xlabel("budget (MiB):  " + ",  ".join(shapes))
        grid[0][column].set_title(f"page cache {cache}")
    grid[0][0].set_ylabel("time (s)")
    grid[1][0].set_ylabel("memory (MiB)")
    legend_of(figure, grid, "outside upper center")
    save(figure, "dask")


# ---- 6 and 7 -----------------------------------------------------------------------------------------------------


def estimate():
    rows = read_csv("estimate")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    looks = {"bigbrain": ("s", "0.2"), "3500": ("o", "#08306b"), "8000": ("^", "#b35806"), "october": ("x", "0.3"), "unrun": ("+", "0.3")}
    for group, (marker, color) in looks.items():
        found = [r for r in rows if str(r["group"]) == group]
        left.plot([r["budget_bytes"] / GB for r in found], [r["held_by_budget"] for r in found], linestyle="none", marker=marker, color=color,
                  markerfacecolor="none", label=group)
    left.axhline(1, color="black", linewidth=0.8)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("memory that the drafts' planner was given (GB)")
    left.set_ylabel("held / memory")
    left.legend(fontsize=8)
    for label, column, style in (("drafts' planner, told of less until it fits", "fitting_draft_seeks", {"linestyle": ":", "color": "0.25"}),
                                 ("keep, exact memory", "keep_seeks", {"linestyle": "--", "color": "#b35806"})):
        ratios = sorted(r[column] / r["best_seeks"] for r in rows if r[column] and r["best_seeks"])
        right.plot(ratios, np.arange(1, len(ratios) + 1) / len(ratios), label=label, drawstyle="steps-post", **style)
    right.set_xscale("log")
    plain_log(right.xaxis)
    right.set_xlabel("seeks / seeks of best in the same memory")
    right.set_ylabel("share of problems and memories")
    right.legend(fontsize=8, loc="lower right")
    save(figure, "estimate")


def ordering():
    rows = chosen(read_csv("ordering"), problem="random")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4))
    for label, column, style in (("C order", "c_order_held", {"linestyle": ":", "color": "0.3"}),
                                 ("drafts' rule", "rule_held", {"linestyle": "--", "color": "#b35806"}),
                                 ("leftover / extent", "ratio_held", {"linestyle": "-", "color": "#08306b"})):
        ratios = sorted(r[column] / r["best_held"] for r in rows)
        left.plot(ratios, np.arange(1, len(ratios) + 1) / len(ratios), label=label, drawstyle="steps-post", **style)
    left.set_xscale("log")
    left.set_xlabel("held / held in the best loops")
    left.set_ylabel("share of problems")
    left.legend(fontsize=8, loc="lower right")
    plain_log(left.xaxis)
    tiny = read_csv("anyorder")
    for label, column, style in (("drafts' rule / best loops", "worst_rule_by_loops", {"marker": "^", "color": "#b35806", "linestyle": "--"}),
                                 ("best loops / any order", "worst_loops_by_any", {"marker": "o", "color": "#08306b", "linestyle": "-"})):
        ratios = sorted((r[column] for r in tiny), reverse=True)
        right.plot(np.arange(1, len(ratios) + 1) / len(ratios) * 100, ratios, label=label, markevery=max(1, len(ratios) // 25), **style)
    right.set_xlabel("problems, the worst first (%)")
    right.set_ylabel("held / held, worst plan of a problem")
    right.legend(fontsize=8)
    save(figure, "ordering")


PLOTS = {"bigbrain": bigbrain, "configurations": lambda: configurations(3500, "configurations"), "large": lambda: configurations(8000, "large"),
         "october": october, "devices": devices, "speedups": speedups, "measured": measured, "slow": slow, "splitmerge": splitmerge,
         "dask": dask, "estimate": estimate, "ordering": ordering}


def main():
    for name, draw in PLOTS.items():
        try:
            draw()
        except OSError as error:
            print(f"experiments: {name}.svg is not drawn: '{error.filename}' is not there")


if __name__ == "__main__":
    main()
