"""The figures that the project wants, beside those that were measured: one table at the end of bench.py."""
import statistics

# A session of its own for each of so many users, where the host has the memory.
MANY_SESSIONS = 10000


def middle(values):
    return statistics.median(values) if values else None


def ratio(a, b):
    return a / b if a is not None and b else None


def verdict(measured, least, aim, is_most):
    if measured is None or measured != measured:
        return "not measured"
    reaches = (lambda figure: measured <= figure) if is_most else (lambda figure: measured >= figure)
    if least is None:
        return ""
    if aim is not None and reaches(aim):
        return "aim"
    return "ok" if reaches(least) else "MISSED"


def row(what, measured, least, aim, unit, is_most=False):
    """`is_most`: the figures are not to be exceeded."""
    show = lambda figure: "" if figure is None or figure != figure else f"{figure:.3g}{unit}" if figure < 100 else f"{figure:.0f}{unit}"
    return [what, show(measured), show(least), show(aim), verdict(measured, least, aim, is_most)]


HEAD = ["what the project wants", "measured", "at least", "aim", ""]


def of_doors(d):
    """Rows of doors.py: all but those that need another peer."""
    run, engine, nothing = (middle(d[k]) for k in ("run_ms", "engine_ms", "nothing_ms"))
    per_s, flood = d.get("per_s", {}), d.get("flood", {})
    rows = [
        row("HTTP run of print(1), of the time in the engine", run / engine, 2, 1.5, "x", True),
        row("what HTTP adds beyond an exchange without work", run - engine - nothing, 0.25, 0.15, " ms", True),
        row("HTTP run of print(1) without a pause, of one with", ratio(middle(d.get("back_to_back_ms")), run), None, None, "x", True),
        row("small programs over HTTP, 16 connections", per_s.get("runs 16"), 600, 800, "/s"),
        row("small programs over HTTP, 1000 connections", per_s.get("runs 1000"), 550, 750, "/s"),
        row("a batch of small programs over HTTP", d["batch_per_s"], 600, 800, "/s"),
        row("a small run while another token floods, of one alone", ratio(flood.get("flooded_ms"), flood.get("alone_ms")), 5, 3, "x", True),
        # Their part of the interpreter's code, which all share, gets smaller with their number.
        *(row(f"idle memory of a sandbox without the data stack (PSS, {count} alive)", mb, 0.15, 0.1, " MB", True) for count, mb in d["idle"].items()),
        row("warm cell 1+1 over HTTP", middle(d["cell_ms"]), 0.25, None, " ms", True),
        row("warm cell 1+1 over MCP (stdio)", middle(d["mcp_cell_ms"]), 0.25, None, " ms", True),
        row("warm cells over HTTP, 16 connections", per_s.get("cells 16"), 8000, 12000, "/s"),
    ]
    least = min(d["open"], key=int)
    for count in sorted({*d["open"], str(MANY_SESSIONS)} - {least}, key=int):
        ms, host_kb = d["open"].get(count, (None, None))
        rows.append(row(f"{count} open sessions: a cell, of one with {least} open", ratio(ms, d["open"][least][0]), 1.2, None, "x", True))
        rows.append(row(f"{count} open sessions: memory of the host for each", ratio(host_kb, 1024), 1.5, None, " MB", True))
    return rows


def rows(r):
    """`r`: the report of table.py."""
    def times(ours, program):
        return ratio(middle(r.ends("bubblewrap", program)), middle(ours))

    def rate(program, clients):
        return ratio(r.our_rate(program, clients), r.rate("bubblewrap", program, clients))

    def copied(mb):
        return r.data["belljar"].get(f"fork_1_of_{mb}_mb", {}).get("all_ms")

    d = r.data["doors"]
    found = [
        row("HTTP run of print(1), times the speed of bubblewrap", times(d["run_ms"], "print"), 25, 40, "x"),
        row("fresh print(1) from the stock, in process", times(r.ours("pool_print"), "print"), 60, 100, "x"),
        row("fresh print(1), warm interpreter without stock", times(r.ours("warm_print"), "print"), 12, 15, "x"),
    ]
    for program, what, least, aim in (("print", "small programs", 7, 9), ("pandas", "pandas lines", 35, 45)):
        for clients in (4, 16):
            found.append(row(f"fresh {what} per second, {clients} clients, in process", rate(program, clients), least, aim, "x"))
    found.append(row("warm cell 1+1, in process", middle(r.ours("cell_expression")), 0.12, None, " ms", True))
    found += of_doors(d)
    found.append(row("copy of a session with 100 MB, to its answer", copied(100), 50, 30, " ms", True))
    found.append(row("copy of a session with 1 GB, to its answer", copied(1000), 410, 200, " ms", True))
    return found
