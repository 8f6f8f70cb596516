# Tables and pictures in forms that a model can read. Compiled into belljar-zygote, and loaded when a program first has
# one to show. It runs in the program's process and with the program's rights: there is no import, no module and no
# file behind it, and its builtins are only the few that guest/helper.c lists. What it is given belongs to the program
# and may do anything when touched; whoever calls these functions expects any exception.

POINTS = 10000  # of all charts of one picture together
SERIES = 100
COLUMNS = 200
ROWS = 1000  # of a table that is sent whole
SIDE = 1568  # pixels; models scale larger pictures down, or refuse them


def plain(value):
    """A number, a text, or None, as JSON has them."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        value = float(value)
        return value if value == value and value not in (INFINITY, -INFINITY) else None
    if isinstance(value, str):
        return str(value)[:1000]
    item = getattr(type(value), "item", None)
    if item is not None:
        inner = item(value)
        if isinstance(inner, (bool, int, float, str)):
            return plain(inner)
    return str(value)[:1000]


def values(data, room):
    """The first of them as a plain list, and whether that were all."""
    kind = getattr(getattr(data, "dtype", None), "kind", "")
    size = len(data)
    data = data[:room]
    if kind and kind not in "mMO":  # dates would become numbers
        data = data.tolist()
    return [plain(item) for item in data], size <= room


def exact(data):
    """The first rows as CSV: unlike the text for people it rounds and leaves out nothing."""
    index = data.index
    counted = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None
    rows = data.iloc[:ROWS] if len(data.shape) == 1 else data.iloc[:ROWS, :COLUMNS]
    header = len(data.shape) > 1 or data.name is not None
    try:
        return rows.to_csv(index=not counted, header=header or not counted and ["value"])
    except Exception:
        return None


def table(data):
    """A compact text, what the table is made of, and its exact values or None."""
    if len(data.shape) == 1:
        text = data.to_string(max_rows=20, name=True, dtype=True)
        columns = [{"name": plain(data.name), "dtype": str(data.dtype)}]
    else:
        text = data.to_string(max_rows=20, max_cols=20, line_width=160, max_colwidth=50, show_dimensions=True)
        columns = [
            {"name": plain(name), "dtype": str(dtype)}
            for name, dtype in zip(data.columns[:COLUMNS], data.dtypes.iloc[:COLUMNS])
        ]
    about = {"shape": [int(n) for n in data.shape], "columns": columns}
    about["index"] = {"name": plain(data.index.name), "dtype": str(data.index.dtype)}
    if len(columns) < (data.shape[1] if len(data.shape) > 1 else 1):
        about["truncated"] = True
    return text, about, exact(data)


def widen_tables(pandas):
    """A table's text has up to 20 columns, on as many lines as they need, and not those that fit into one line of a terminal."""
    if pandas.get_option("display.max_columns") == 0:
        pandas.set_option("display.max_columns", 20)


def is_empty(figure):
    return not (figure.axes or figure.lines or figure.texts or figure.images)


def picture(figure, buffer, form):
    """The bytes of a figure. What lies outside of its edges, such as a legend, is brought in."""
    target = buffer()
    figure.savefig(target, format=form, bbox_inches="tight")
    return target.getvalue()


def sides(png):
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def small_picture(figure, buffer, png):
    """The figure as a smaller PNG for a model, or None if it is small enough."""
    dpi, side = figure.dpi, max(sides(png))
    if side <= SIDE:
        return None
    small = None
    for _ in range(3):  # the first was perhaps not drawn with the figure's own resolution
        dpi = dpi * (SIDE - 8) / side
        target = buffer()
        figure.savefig(target, format="png", bbox_inches="tight", dpi=dpi)
        side = max(sides(target.getvalue()))
        if side <= SIDE:
            small = target.getvalue()
        if SIDE * 3 / 4 < side <= SIDE:
            break
    return small


def small_image(image, buffer):
    """A large image of PIL for a model, or None."""
    if max(image.size) <= SIDE:
        return None
    image = image.copy()
    image.thumbnail((SIDE, SIDE))
    target = buffer()
    image.save(target, format="PNG")
    return target.getvalue()


# --- chart data ---


def is_a(thing, name):
    return any(base.__name__ == name for base in type(thing).__mro__)


def text_of(artist):
    label = str(artist.get_label())
    return "" if label.startswith("_") else label[:1000]


def kind_of(line):
    return "scatter" if line.get_linestyle() in ("None", "", " ") else "line"


def pairs(x, y, room):
    x, all_x = values(x, room)
    y, all_y = values(y, room)
    return x, y, all_x and all_y


def line_series(line, room):
    x, y, whole = pairs(line.get_xdata(orig=True), line.get_ydata(orig=True), room)
    return {"label": text_of(line), "x": x, "y": y}, len(x), whole


def dots_series(dots, room):
    offsets = dots.get_offsets()
    x, y, whole = pairs(offsets[:, 0], offsets[:, 1], room)
    return {"label": text_of(dots), "x": x, "y": y}, len(x), whole


def ticks_of(axis):
    """The label of a number on the axis, if it has one."""
    if not is_a(axis.get_major_formatter(), "StrCategoryFormatter") and not is_a(axis.get_major_formatter(), "FixedFormatter"):
        return {}
    labels = [label.get_text() for label in axis.get_ticklabels()]
    return {float(at): text for at, text in zip(axis.get_ticklocs(), labels) if text}


def bars_series(bars, axes, room):
    lying = getattr(bars, "orientation", "vertical") == "horizontal"
    names = ticks_of(axes.yaxis if lying else axes.xaxis)
    x, y = [], []
    for bar in bars.patches[:room]:
        at = bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2
        x.append(names.get(float(at), plain(at)))
        y.append(plain(bar.get_width() if lying else bar.get_height()))
    series = {"label": text_of(bars), "x": x, "y": y}
    if lying:
        series["horizontal"] = True
    return series, len(x), len(bars.patches) <= room


def same(numbers):
    return len(numbers) > 0 and all(n == numbers[0] for n in numbers)


def box_parts(lines, at):
    """Whisker, whisker, cap, cap, median: how boxplot() draws one box. Gives its numbers and how many lines it took."""
    taken = 0
    if at < len(lines) and len(lines[at][0]) in (5, 11):  # its outline, plain or with a notch
        taken = 1
    part = lines[at + taken : at + taken + 5]
    if len(part) < 5 or any(len(x) != 2 or len(y) != 2 for x, y, _ in part):
        return None
    for lying in (False, True):
        across = [(y, x) if lying else (x, y) for x, y, _ in part]
        if (
            same(across[0][0]) and same(across[1][0])
            and all(same(y) and not same(x) for x, y in across[2:5])
            and across[2][1][0] == across[0][1][1] and across[3][1][0] == across[1][1][1]
        ):
            break
    else:
        return None
    box = {
        "at": plain(across[0][0][0]),
        "min": plain(across[0][1][1]), "q1": plain(across[0][1][0]), "median": plain(across[4][1][0]),
        "q3": plain(across[1][1][0]), "max": plain(across[1][1][1]), "outliers": [],
    }
    taken += 5
    dots = [line[0] if lying else line[1] for line in lines[at + taken : at + taken + 2] if line[2] == "scatter"]
    if dots and len(dots[0]) == 1 and box["min"] <= dots[0][0] <= box["max"]:
        box["mean"] = plain(dots.pop(0)[0])
        taken += 1
    if dots:
        box["outliers"], _ = values(dots[0], 1000)
        taken += 1
    return box, taken, lying


def boxes_of(axes):
    """All boxes if every line of the axes belongs to one."""
    lines = [(line.get_xdata(), line.get_ydata(), kind_of(line)) for line in axes.lines[: SERIES * 8]]
    boxes, at, lying = [], 0, False
    while at < len(lines):
        found = box_parts(lines, at)
        if not found:
            return None
        names = ticks_of(axes.yaxis if found[2] else axes.xaxis)
        found[0]["label"] = names.get(float(found[0]["at"]), "")
        boxes.append(found[0])
        at += found[1]
        lying = found[2]
    return (boxes, lying) if boxes else None


def slices_of(axes):
    wedges = [patch for patch in axes.patches if is_a(patch, "Wedge")][:SERIES]
    return [
        {"label": text_of(wedge), "fraction": plain(round((wedge.theta2 - wedge.theta1) / 360, 6))} for wedge in wedges
    ]


def caps_of(axes):
    """Ends of error bars: lines to the eye only."""
    return [cap for bars in axes.containers if is_a(bars, "ErrorbarContainer") for cap in bars.lines[1]]


def collect(axes, room):
    """Charts of one kind each: [kind, series], and whether something was left out."""
    kinds, whole = {}, True

    def add(kind, series):
        nonlocal room, whole
        data, points, complete = series
        if len(kinds.setdefault(kind, [])) >= SERIES:
            whole = False
            return
        kinds[kind].append(data)
        room -= points
        whole = whole and complete

    slices = slices_of(axes)
    boxes = boxes_of(axes)
    if slices:
        kinds["pie"] = slices
    if boxes:
        kinds["box"] = boxes[0]
    else:
        caps = caps_of(axes)
        for line in axes.lines:
            if line not in caps:
                add(kind_of(line), line_series(line, room))
    for dots in axes.collections:
        if is_a(dots, "PathCollection"):
            add("scatter", dots_series(dots, room))
    for bars in axes.containers:
        if is_a(bars, "BarContainer"):
            add("bar", bars_series(bars, axes, room))
    return kinds, whole, room


def date_text(axis, number):
    """A tick of an axis of dates. Its locator knows the class, and what the numbers count from."""
    earliest, _ = axis.get_major_locator().viewlim_to_dt()
    return type(earliest).fromtimestamp(round(number * 86400, 6), earliest.tzinfo).isoformat()


def axis_of(axis, scale):
    """Positions and labels of its ticks, and the kind of its scale."""
    at = [plain(tick) for tick in values(axis.get_ticklocs(), SERIES)[0]]
    labels = [label.get_text()[:1000] for label in axis.get_ticklabels()[: len(at)]]
    locator = axis.get_major_locator()
    if is_a(locator, "StrCategoryLocator"):
        scale = "categorical"
    elif is_a(locator, "DateLocator"):
        scale, at = "datetime", [date_text(axis, tick) for tick in at]
    return at, labels, str(scale)


def ticks(axes):
    """Both axes of lines and dots. A locator of the program's own may fail."""
    try:
        x_ticks, x_labels, x_scale = axis_of(axes.xaxis, axes.get_xscale())
        y_ticks, y_labels, y_scale = axis_of(axes.yaxis, axes.get_yscale())
    except Exception:
        return {}
    return {
        "x_ticks": x_ticks, "x_tick_labels": x_labels, "x_scale": x_scale,
        "y_ticks": y_ticks, "y_tick_labels": y_labels, "y_scale": y_scale,
    }


def charts(figure):
    """The data behind a picture, one entry for each kind of chart in each of its axes."""
    found, room = [], POINTS
    over = figure._suptitle.get_text()[:1000] if figure._suptitle else ""
    several = len(figure.axes) > 1
    for axes in figure.axes[:SERIES]:
        kinds, whole, room = collect(axes, room)
        title = axes.get_title() or ("" if several else over)
        for kind, series in kinds.items():
            chart = {
                "type": kind, "title": title[:1000], "x_label": axes.get_xlabel()[:1000],
                "y_label": axes.get_ylabel()[:1000], "series": series,
            }
            if several and over:
                chart["figure_title"] = over
            if kind == "line" or kind == "scatter":
                chart.update(ticks(axes))
            if not whole:
                chart["truncated"] = True
            found.append(chart)
    return found


# --- pyplot ---


def open_figures(gcf):
    """Those that pyplot knows, in the order they were made."""
    return [manager.canvas.figure for manager in gcf.get_all_fig_managers()]


def was_seen(figure, cell):
    """It was shown by hand in this cell, and nothing was drawn since."""
    return getattr(figure, "_belljar_seen", None) == cell and not figure.stale


def mark_seen(figure, cell):
    figure.stale = False
    figure._belljar_seen = cell


def close_figure(gcf, figure, pyplot):
    """`plt.show(); plt.savefig("a.png")` saves what was shown, as it does outside, and not an empty figure."""
    gcf.destroy_fig(figure)
    shown[0] = figure
    real = getattr(pyplot, "savefig", None)
    if real is None or getattr(real, "_belljar", False):
        return

    def savefig(*args, **kwargs):
        last = shown[0]
        return real(*args, **kwargs) if gcf.figs or last is None else last.savefig(*args, **kwargs)

    savefig._belljar, savefig.__doc__ = True, real.__doc__
    pyplot.savefig = savefig


shown = [None]
