"""Tables of what was counted."""
import statistics

ARMS = ("naive", "careful", "shell", "notebook", "code", "belljar")
TITLES = {"naive": "reads files", "careful": "searches first", "shell": "shell", "notebook": "notebook", "code": "typed functions", "belljar": "Belljar"}
WINDOWS = ((200_000, "200 k"), (1_000_000, "1 M"))
NAMES = {"o200k": "o200k_base", "cl100k": "cl100k_base", "claude_legacy": "Claude, legacy"}


def figure(number):
    return f"{number:,.0f}"


def middle(rows, kind, name="o200k"):
    return statistics.median(row["tokens"][name][kind] for row in rows)


def of(rows, task, arm):
    return [row for row in rows if row["task"] == task and row["arm"] == arm]


def names(rows):
    return list(dict.fromkeys(row["task"] for row in rows))


def window(peak):
    """The smallest that has room for it."""
    return next((name for size, name in WINDOWS if peak <= size), "none")


def right(rows):
    return f"{sum(row['correct'] for row in rows)}/{len(rows)}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if n < 2 else "---:" for n in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def short(rows):
    """A row for each task: tokens of the task in each arm, fixed text included, and how many results were right."""
    lines = []
    for task in names(rows):
        cells = [task]
        for arm in ARMS:
            found = of(rows, task, arm)
            peak = middle(found, "peak")
            fits = "" if peak <= WINDOWS[0][0] else f", does not fit {WINDOWS[0][1]}" if peak <= WINDOWS[1][0] else f", does not fit {WINDOWS[1][1]}"
            cells.append(f"{figure(peak)}{fits} ({right(found)})")
        lines.append(cells)
    return table(["task", *(TITLES[arm] for arm in ARMS)], lines)


def saving(ours, theirs, is_there=True):
    return f"{100 * (1 - ours / theirs):.1f} %" if is_there else "does not fit"


def details(rows):
    lines = []
    for task in names(rows):
        ours = middle(of(rows, task, "belljar"), "peak")
        for arm in ARMS:
            found = of(rows, task, arm)
            peaks = [row["tokens"]["o200k"]["unique"] for row in found]
            peak = middle(found, "peak")
            span = figure(peaks[0]) if len(peaks) == 1 else f"{figure(min(peaks))}–{figure(max(peaks))}"
            wrong = [row["wrong"] for row in found if row["wrong"] is not None]
            lines.append([task, TITLES[arm], figure(middle(found, "unique")), span, figure(peak), figure(middle(found, "billed")), window(peak),
                          "" if arm == "belljar" else saving(ours, peak, peak <= WINDOWS[1][0]), right(found), figure(statistics.median(wrong)) if wrong else ""])  # fmt: skip
    return table(["task", "arm", "task", "range", "with fixed text", "billed", "fits", "Belljar saves", "right", "wrong lines"], lines)


def tokenizers(rows):
    """Figures of the other tokenizers: tokens with fixed text."""
    lines = []
    for task in names(rows):
        for arm in ARMS:
            lines.append([task, TITLES[arm], *(figure(middle(of(rows, task, arm), "peak", name)) for name in NAMES)])
    return table(["task", "arm", *NAMES.values()], lines)


def fixed(rows):
    lines = []
    for arm in ARMS[1:]:
        lines.append([TITLES[arm] if arm != "careful" else "file tools", *(figure(middle([r for r in rows if r["arm"] == arm], "fixed", name)) for name in NAMES)])
    return table(["fixed text of", *NAMES.values()], lines)


def whole(rows, identity, seed):
    return "\n\n".join([
        f"Tree: {identity['files']} files of {identity['package']}, SHA-256 `{identity['sha256'][:16]}…`; seed {seed}. Medians over the draws; o200k_base unless it says otherwise.",
        fixed(rows), details(rows), tokenizers(rows),
    ])  # fmt: skip


BEGIN, END = "<!-- tokens: made by tests/bench/tokens/run.py --update -->", "<!-- end of tokens -->"
OVERVIEW = "<!-- overview: made by tests/bench/tokens/run.py --update -->", "<!-- end of overview -->"


def put(path, text, marks=(BEGIN, END)):
    """Between the marks of a page."""
    begin, end = marks
    with open(path, encoding="utf-8") as file:
        page = file.read()
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{path} has no place for the table: {begin} … {end}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{begin}\n{text}\n{end}{after}")
