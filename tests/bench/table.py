#!/usr/bin/python3
"""table.py [bench.json]: what bench.py measured, as ratios. By itself it shows an earlier report again."""
import json
import sys

import goals


def percentile(values, p):
    values = sorted(values)
    return values[round(p * (len(values) - 1))] if values else float("nan")


def middle(values):
    return percentile(values, 0.5)


def mean(values):
    return sum(values) / len(values) if values else float("nan")


class Report:
    def __init__(self, data):
        self.data = data

    def ends(self, peer, program):
        """Start to reaped end."""
        return [end for _, end in self.data["times_ms"].get(f"{peer} {program}", [])]

    def endings(self, peer, program):
        """Answer to reaped end."""
        return [end - answer for answer, end in self.data["times_ms"].get(f"{peer} {program}", [])]

    def ours(self, name):
        return self.data["belljar"].get(name, {}).get("ms", [])

    def rate(self, peer, program, clients):
        return mean(self.data["per_second"].get(f"{peer} {program} {clients}", []))

    def our_rate(self, program, clients):
        return mean(self.data["belljar"].get(f"throughput_{program}_{clients}", {}).get("per_second", []))


def times(values):
    return f"{middle(values):.2f} / {percentile(values, 0.99):.2f} ms (n={len(values)})" if values else "-"


def verdict(wanted, measured, at_most=False):
    if wanted is None or measured != measured:
        return ""
    return "ok" if (measured <= wanted if at_most else measured >= wanted) else "BELOW" if not at_most else "ABOVE"


def line(cells, widths):
    print("  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths)).rstrip())


def grid(head, rows):
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    line(head, widths)
    line(["-" * width for width in widths], widths)
    for row in rows:
        line(row, widths)
    print()


def factor(wanted):
    return "" if wanted is None else f"{wanted:g}x"


def faster(what, wanted, ours, theirs):
    """How many times faster than bubblewrap, by medians."""
    measured = middle(theirs) / middle(ours) if ours and theirs else float("nan")
    return [what, factor(wanted), f"{measured:.1f}x", verdict(wanted, measured), times(ours), times(theirs)]


def more(what, wanted, ours, theirs, unit):
    measured = ours / theirs
    return [what, factor(wanted), f"{measured:.1f}x", verdict(wanted, measured), f"{ours:.1f} {unit}", f"{theirs:.1f} {unit}"]


def against_bubblewrap(r):
    rows = []
    for what, name, program, wanted in [
        ("fresh print(1), from the stock", "pool_print", "print", 40),
        ("fresh pandas line, from the stock", "pool_pandas", "pandas", 150),
        ("fresh print(1), no stock", "warm_print", "print", 6),
        ("fresh pandas line, no stock", "warm_pandas", "pandas", 30),
    ]:
        rows.append(faster(what, wanted, r.ours(name), r.ends("bubblewrap", program)))
    rows.append(faster("`belljar run`, print(1), cold", 1, r.ends("belljar run", "print"), r.ends("bubblewrap", "print")))
    rows.append(faster("`belljar run`, pandas line, cold", None, r.ends("belljar run", "pandas"), r.ends("bubblewrap", "pandas")))
    for program, clients, wanted in [("print", 4, 3.5), ("print", 16, None), ("pandas", 4, 25), ("pandas", 16, None)]:
        rows.append(more(f"throughput, {program}, {clients} clients", wanted, r.our_rate(program, clients),
                         r.rate("bubblewrap", program, clients), "/s"))  # fmt: skip
    rows.append(faster("teardown after print(1)", None, r.ours("teardown_print"), r.endings("bubblewrap", "print")))
    rows.append(faster("teardown after the pandas line", None, r.ours("teardown_pandas"), r.endings("bubblewrap", "pandas")))
    idle, theirs = r.data["belljar"].get("idle_100"), r.data["idle_pss_mb"].get("bubblewrap")
    if idle and theirs:
        measured = theirs / idle["pss_mb"]
        rows.append(["memory, idle, pandas ready", "20x", f"{measured:.1f}x", verdict(20, measured),
                     f"{idle['pss_mb']:.2f} MB (100 alive)", f"{theirs:.1f} MB (4 alive)"])  # fmt: skip
    return rows


def by_itself(r):
    rows = []
    spread = percentile(r.ours("pool_print"), 0.99) / middle(r.ours("pool_print"))
    rows.append(["p99 of print(1) from the stock", "10 x p50", f"{spread:.1f} x p50", verdict(10, spread, True)])
    extra = middle(r.ends("belljar run", "print")) - middle(r.ends("python3", "print"))
    rows.append(["cold print(1), more than plain python3", "a few ms", f"{extra:.1f} ms", ""])
    for name, figures in r.data["belljar"].items():
        if name.startswith("idle_"):
            most = figures["host_mb"]
            wanted = name == "idle_1000"
            rows.append([f"{figures['count']} idle sandboxes, the host's memory", "2048 MB" if wanted else "", f"{most:.0f} MB",
                         verdict(2048, most, True) if wanted else ""])  # fmt: skip
            rows.append([f"{figures['count']} idle sandboxes, time to make them", "", f"{figures['fill_s']:.1f} s", ""])
    masker = r.data.get("masker")
    if masker:
        rate, plain = masker["mb_per_s"], masker["one_by_one_mb_per_s"]
        rows.append(["masker on source code", "500 MB/s", f"{rate:.0f} MB/s", verdict(500, rate)])
        rows.append(["masker, personal data too", "", f"{masker['aggressive_mb_per_s']:.0f} MB/s", ""])
        rows.append(["masker against one pattern after the other", "", f"{rate / plain:.0f}x", ""])
        rows.append(["masker, of a run that prints a line", "", f"{masker['small_run_us']:.1f} us", ""])
    return rows


def cells(r):
    """Cells of a live session against an ipykernel, to its output, and the floor."""
    rows = []
    for what, name, wanted in [("1+1", "expression", 10), ("print(1)", "print", 10), ("the pandas line", "pandas", None)]:
        ours = r.ours(f"cell_{name}")
        both = r.data["cells_ms"].get(f"ipykernel {name}", [])
        seen, end = [row[0] for row in both], [row[1] for row in both]
        floor = r.data["cells_ms"].get(f"floor {name}", [])
        measured = middle(seen) / middle(ours)
        rows.append([what, factor(wanted), f"{measured:.1f}x", verdict(wanted, measured), times(ours), times(seen), times(end), times(floor),
                     f"{middle(ours) / middle(floor):.1f}x"])  # fmt: skip
    return rows


def sessions(r):
    rows = []
    for name, figures in r.data["belljar"].items():
        if not name.startswith("sessions_"):
            continue
        count, kind = figures["count"], name.rpartition("_")[2]
        wanted = 2 if kind == "pandas" else None
        rows.append([f"{count} sessions, " + ("after `import pandas`" if wanted else "fresh"), f"{wanted} MB" if wanted else "",
                     f"{figures['private_mb']:.2f} MB", verdict(wanted, figures["private_mb"], True),
                     f"{figures['pss_mb']:.2f} MB", f"{figures['host_mb']:.0f} MB", f"{figures['seconds']:.1f} s"])  # fmt: skip
    return rows


def forks(r):
    """How long a session is held, and when all copies have answered a cell."""
    rows = []
    for name, figures in r.data["belljar"].items():
        if not name.startswith("fork_"):
            continue
        copies, data = figures["copies"], figures["data_mb"]
        held = 5 if data <= 100 else None
        answer = {1: 10 + 0.4 * data, 8: 100}.get(copies)
        rows.append([f"{copies} of a session with {data} MB", f"{held} ms" if held else "", f"{figures['held_ms']:.1f} ms",
                     verdict(held, figures["held_ms"], True), f"{answer:.0f} ms" if answer else "", f"{figures['all_ms']:.1f} ms",
                     verdict(answer, figures["all_ms"], True), f"{figures['private_mb']:.2f} MB"])  # fmt: skip
    return rows


def growth(r):
    """Each row against its own first column."""
    rows = []
    for what, pattern in [("runs done before", "print_after_{}_runs"), ("sandboxes alive", "print_with_{}_alive"),
                          ("sessions open, in a live one", "cell_with_{}_open")]:  # fmt: skip
        first, cells = None, []
        for count in (10, 100, 1000):
            values = r.ours(pattern.format(count))
            first = first or values
            cells.append(f"{middle(values):.2f} ms ({middle(values) / middle(first):.2f}x)" if values else "not measured")
        rows.append([f"print(1), {what}"] + cells)
    rates = [mean(r.data["belljar"].get(f"rate_up_to_{count}_runs", {}).get("per_second", [])) for count in (10, 100, 1000)]
    rows.append(["print(1) per second, runs done"] + [f"{rate:.0f}" for rate in rates])
    return rows


def everyone(r):
    rows = []
    for peer, isolation in r.data["isolation"].items():
        row = [peer, isolation]
        for program in ("print", "pandas"):
            ends, base = r.ends(peer, program), r.ends("bubblewrap", program)
            row += [times(ends), f"{middle(ends) / middle(base):.2f}" if ends else "-"]
        row.append(" / ".join(f"{r.rate(peer, program, 4):.1f}" for program in ("print", "pandas")).replace("nan", "-"))
        rows.append(row)
    return rows


def show(data, only_cells=False):
    r = Report(data)
    load = " ".join(f"{value:.1f}" for value in data["load_before"])
    after = " ".join(f"{value:.1f}" for value in data["load_after"])
    print(f"\n{data['cores']} cores, load average before {load}, after {after}; {data['seconds']:.0f} s\n")
    grid(["a cell of a live session", "wanted", "measured", "", "Belljar p50 / p99", "ipykernel, to output", "ipykernel, to its end",
          "floor", "of the floor"], cells(r))  # fmt: skip
    print(f"a session from the stock, to the answer of its first cell, print(1): {times(r.ours('session_open_print'))}")
    print(f"a cell of bash, echo 1: {times(r.ours('cell_bash'))}\n")
    if only_cells:
        return
    grid(["Belljar against bubblewrap + python3", "wanted", "measured", "", "Belljar p50 / p99", "bubblewrap p50 / p99"],
         against_bubblewrap(r))  # fmt: skip
    grid(["Belljar by itself", "at most", "measured", ""], by_itself(r))
    grid(["sessions at rest", "at most", "private, each", "", "PSS, each", "of the host, in all", "to open, or to import"],
         sessions(r))  # fmt: skip
    grid(["copies", "held at most", "held", "", "answer within", "answered", "", "private, each"], forks(r))
    grid(["growth", "10", "100", "1,000"], growth(r))
    grid(["a process per program", "isolation", "print p50 / p99", "of bubblewrap", "pandas p50 / p99", "of bubblewrap",
          "per second, 4 clients"], everyone(r))  # fmt: skip
    if r.data.get("doors"):
        grid(goals.HEAD, goals.rows(r))
    for name, why in data["absent"].items():
        print(f"not measured: {name}: {why}")
    print(f"failed runs: {data['failed_runs']}")


if __name__ == "__main__":
    with open(sys.argv[1] if len(sys.argv) > 1 else "build/bench.json", encoding="utf-8") as stored:
        show(json.load(stored))
