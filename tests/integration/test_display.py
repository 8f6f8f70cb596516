"""Displays: tables, pictures, objects with their own forms, and hostile objects."""
import base64
import os
import struct
import zlib

import pytest

pytestmark = pytest.mark.usefixtures("watch")

PICTURES = "application/vnd.belljar.chart+json"
TABLES = "application/vnd.belljar.table+json"


def bundles(answer):
    """[{mime: entry}] in the order they were shown."""
    found = {}
    for entry in answer.json["displays"]:
        found.setdefault(entry["bundle"], {})[entry["mime"]] = entry
    assert list(found) == list(range(len(found))), answer
    return list(found.values())


def pixels(entry):
    """Size and bytes of a PNG, of which every chunk is checked."""
    data = base64.b64decode(entry["data"], validate=True)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack_from(">I", data, at + 8 + length)[0]
        chunks[kind] = chunks.get(kind, b"") + body
        at += 12 + length
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    return width, height, zlib.decompress(chunks[b"IDAT"])


def charts(bundle):
    return bundle[PICTURES]["data"]


def succeeded(answer):
    assert answer.json["status"] == "success" and not answer.json["stderr"], answer
    return bundles(answer)


# --- display() ---


@pytest.mark.smoke
@pytest.mark.parametrize("profile", ["strict", "standard", "open"])
def test_display_shows_text_and_keeps_order(who, profile):
    answer = who.run("print('a')\ndisplay(1, 'two')\nprint('b')", profile=profile)
    assert [b["text/plain"]["data"] for b in succeeded(answer)] == ["1", "'two'"]
    assert answer.json["stdout"] == "a\nb\n"


def test_without_json_it_is_printed_where_it_happens(who):
    answer = who.call("run", "-c", "for i in range(50):\n    print('line', i)\n    display(i)\nprint('x' * 20000)\ndisplay('end')")
    expected = "".join(f"line {i}\n{i}\n" for i in range(50)) + "x" * 20000 + "\n'end'\n"
    assert (answer.code, answer.text) == (0, expected), answer


def test_every_form_of_an_object(who):
    code = """
class Rich:
    def _repr_html_(self): return '<b>html</b>'
    def _repr_markdown_(self): return '**md**'
    def _repr_svg_(self): return '<svg/>'
    def _repr_png_(self): return b'\\x89PNG'
    def _repr_jpeg_(self): return b'\\xff\\xd8\\xff'
    def _repr_latex_(self): return '$x$'
    def _repr_json_(self): return {'a': [1, None]}
    def __repr__(self): return 'plain'
display(Rich())
"""
    (shown,) = succeeded(who.run(code))
    assert {mime: entry["data"] for mime, entry in shown.items()} == {
        "text/html": "<b>html</b>", "text/markdown": "**md**", "image/svg+xml": "<svg/>",
        "image/png": base64.b64encode(b"\x89PNG").decode(), "image/jpeg": base64.b64encode(b"\xff\xd8\xff").decode(),
        "text/latex": "$x$", "application/json": {"a": [1, None]}, "text/plain": "plain",
    }  # fmt: skip
    assert {mime for mime, entry in shown.items() if entry.get("encoding") == "base64"} == {"image/png", "image/jpeg"}


def test_a_bundle_and_raw_data(who):
    code = """
class Both:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/html': '<i>', 'application/vnd.x+json': {'k': 1}}, {'text/html': {'isolated': True}}
display(Both())
display({'text/markdown': '# t', 'text/plain': 't'}, raw=True)
"""
    both, raw = succeeded(who.run(code))
    assert both["text/html"]["data"] == "<i>" and both["application/vnd.x+json"]["data"] == {"k": 1}
    assert {m: e["data"] for m, e in raw.items()} == {"text/markdown": "# t", "text/plain": "t"}


def test_the_value_of_a_program_has_its_forms_too(who):
    code = "class H:\n    def _repr_html_(self): return '<b>'\n    def __repr__(self): return 'H'\n"
    for end in ("H()", "result = H()"):
        answer = who.run(code + end)
        (shown,) = succeeded(answer)
        assert set(shown) == {"text/html"} and answer.json["result"]["text"] == "H"
    assert who.call("run", "-c", code + "H()").out == b""


def test_plain_values_are_not_displays(who):
    answer = who.run("[1, {'a': 2}]")
    assert answer.json["displays"] == [] and answer.json["result"]["json"] == [1, {"a": 2}], answer


def test_display_takes_no_argument_it_does_not_know(who):
    answer = who.run("display(1, colour='red')")
    assert answer.json["error"]["name"] == "TypeError" and answer.json["displays"] == [], answer


def test_a_child_process_prints_instead(who):
    code = "import os\nif os.fork() == 0:\n    display('child')\n    os._exit(0)\nos.wait()\ndisplay('parent')"
    answer = who.run(code)
    assert [b["text/plain"]["data"] for b in succeeded(answer)] == ["'parent'"]
    assert answer.json["stdout"] == "'child'\n"


def test_threads_show_whole_things(who):
    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda i: display(str(i) * 30000), range(10)))
"""
    texts = [b["text/plain"]["data"] for b in succeeded(who.run(code))]
    assert sorted(texts) == [repr(str(i) * 30000) for i in range(10)]


# --- tables ---


@pytest.mark.smoke
@pytest.mark.parametrize("profile", ["strict", "open"])
def test_a_table(who, profile):
    code = """
import pandas as pd
frame = pd.DataFrame({'n': range(1000), 'x': 0.5, 'when': pd.Timestamp('2024-01-02')}, index=pd.RangeIndex(1000, name='id')).astype({'when': 'datetime64[ns]'})
display(frame)
display(frame['x'])
frame
"""
    answer = who.run(code, profile=profile)
    frame, series, value = succeeded(answer)
    assert frame[TABLES]["data"] == {
        "shape": [1000, 3],
        "columns": [
            {"name": "n", "dtype": "int64"}, {"name": "x", "dtype": "float64"}, {"name": "when", "dtype": "datetime64[ns]"},
        ],
        "index": {"name": "id", "dtype": "int64"},
    }  # fmt: skip
    assert "<table" in frame["text/html"]["data"] and frame["text/html"]["data"].count("<tr") < 100
    lines = frame["text/plain"]["data"].splitlines()
    assert len(lines) < 30 and lines[-1] == "[1000 rows x 3 columns]"
    assert series[TABLES]["data"]["shape"] == [1000] and series["text/plain"]["data"].count("\n") < 30
    assert set(value) == {"text/html", "text/csv", TABLES} and "[1000 rows x 3 columns]" in answer.json["result"]["text"]


def test_a_table_that_is_wide_and_full_of_text(who):
    code = "import pandas as pd\ndisplay(pd.DataFrame({f'c{i}': ['x' * 5000] * 50 for i in range(500)}))"
    (shown,) = succeeded(who.run(code))
    about = shown[TABLES]["data"]
    assert about["shape"] == [50, 500] and len(about["columns"]) == 200 and about["truncated"] is True
    assert len(shown["text/plain"]["data"]) < 100_000


# --- pictures ---


def plot(body):
    return "import matplotlib.pyplot as plt\n" + body


@pytest.mark.smoke
@pytest.mark.parametrize("profile", ["strict", "standard", "open"])
@pytest.mark.parametrize("end", ["plt.show()", "", "fig.show()", "display(fig)", "fig"])
def test_a_figure_comes_once_and_is_a_picture(who, profile, end):
    code = plot(f"fig, ax = plt.subplots()\nax.plot([1, 2, 3], [4, 5, 6], label='up')\nax.set_title('T')\n{end}\n")
    answer = who.run(code, profile=profile)
    (shown,) = succeeded(answer)
    png = shown["image/png"]
    width, height, data = pixels(png)
    assert (png["width"], png["height"]) == (width, height) and 300 < width < 900 and 200 < height < 700
    assert len(set(data[i : i + 4] for i in range(0, len(data) - 4, 997))) > 3, "the picture has one colour"
    (chart,) = charts(shown)
    ticks = [chart.pop(f"{axis}_{part}") for axis in "xy" for part in ("ticks", "tick_labels", "scale")]
    assert ticks[0][1:-1] == [1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3] and ticks[1][1] == "1.00" and ticks[2] == ticks[5] == "linear", ticks
    assert chart == {
        "type": "line", "title": "T", "x_label": "", "y_label": "",
        "series": [{"label": "up", "x": [1, 2, 3], "y": [4, 5, 6]}],
    }  # fmt: skip


def test_show_closes_so_that_the_next_plot_is_a_new_one(who):
    code = plot("plt.plot([1, 2])\nplt.show()\nprint(plt.get_fignums())\nplt.bar(['a', 'b'], [3, 4])\n")
    answer = who.run(code)
    first, second = succeeded(answer)
    assert answer.json["stdout"] == "[]\n"
    assert [c["type"] for c in charts(first)] == ["line"] and [c["type"] for c in charts(second)] == ["bar"]


def test_a_figure_that_changed_after_it_was_shown_comes_again(who):
    code = plot("fig, ax = plt.subplots()\nax.plot([1, 2])\ndisplay(fig)\nax.plot([2, 1])\n")
    first, second = succeeded(who.run(code))
    assert len(charts(first)[0]["series"]) == 1 and len(charts(second)[0]["series"]) == 2


def test_figures_of_a_program_that_fails_are_shown(who):
    answer = who.run(plot("plt.plot([1, 2])\n1 / 0\n"))
    assert answer.json["error"]["name"] == "ZeroDivisionError" and answer.json["error"]["line"] == 3
    assert len(bundles(answer)) == 1


def test_backend_chosen_by_the_program(who):
    code = "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.plot([3])\n"
    assert len(succeeded(who.run(code))) == 2


@pytest.mark.parametrize(
    "body, kind, series",
    [
        ("ax.plot([1, 2], [3, float('nan')])", "line", [{"label": "", "x": [1, 2], "y": [3, None]}]),
        ("ax.plot([1, 2], [3, 4], 'o', label='dots')", "scatter", [{"label": "dots", "x": [1, 2], "y": [3, 4]}]),
        ("ax.scatter([1, 2], [3, 4], label='s')", "scatter", [{"label": "s", "x": [1, 2], "y": [3, 4]}]),
        ("ax.bar(['p', 'q'], [3, 4], label='b')", "bar", [{"label": "b", "x": ["p", "q"], "y": [3, 4]}]),
        ("ax.barh(['p', 'q'], [3, 4])", "bar", [{"label": "", "x": ["p", "q"], "y": [3, 4], "horizontal": True}]),
        ("ax.hist([1, 1, 2], bins=[0.5, 1.5, 2.5])", "bar", [{"label": "", "x": [1, 2], "y": [2, 1]}]),
        ("ax.pie([1, 3], labels=['u', 'v'])", "pie", [{"label": "u", "fraction": 0.25}, {"label": "v", "fraction": 0.75}]),
        (
            # Since matplotlib 3.9 they are `tick_labels`.
            "import inspect; named = [n for n in ('tick_labels', 'labels') if n in inspect.signature(ax.boxplot).parameters][0]; "
            "ax.boxplot([[1, 2, 3, 4, 50], [2, 3, 4]], **{named: ['A', 'B']})", "box",
            [
                {"at": 1, "min": 1, "q1": 2, "median": 3, "q3": 4, "max": 4, "outliers": [50], "label": "A"},
                {"at": 2, "min": 2, "q1": 2.5, "median": 3, "q3": 3.5, "max": 4, "outliers": [], "label": "B"},
            ],
        ),
        (
            "ax.boxplot([[2, 3, 4]], vert=False, patch_artist=True)", "box",
            [{"at": 1, "min": 2, "q1": 2.5, "median": 3, "q3": 3.5, "max": 4, "outliers": [], "label": "1"}],
        ),
        (
            "import datetime\nax.plot([datetime.date(2024, 1, 2)], [1])", "line",
            [{"label": "", "x": ["2024-01-02"], "y": [1]}],
        ),
    ],
)  # fmt: skip
def test_chart_data(user, body, kind, series):
    code = plot(f"fig, ax = plt.subplots()\n{body}\nax.set_xlabel('X')\nax.set_ylabel('Y')\nplt.show()\n")
    (shown,) = succeeded(user.run(code))
    (chart,) = charts(shown)
    assert (chart["type"], chart["x_label"], chart["y_label"]) == (kind, "X", "Y")
    assert chart["series"] == series


def test_several_kinds_and_several_axes(user):
    code = plot("fig, (a, b) = plt.subplots(1, 2)\na.plot([1])\na.bar([1], [2])\nb.pie([1])\n")
    (shown,) = succeeded(user.run(code))
    assert [c["type"] for c in charts(shown)] == ["line", "bar", "pie"]


def test_chart_data_is_bounded(user):
    (shown,) = succeeded(user.run(plot("plt.plot(range(100000))\nplt.plot(range(100000))\n")))
    (chart,) = charts(shown)
    assert chart["truncated"] is True and sum(len(s["x"]) for s in chart["series"]) == 10000


def test_svg_on_request(user):
    (shown,) = succeeded(user.run("from belljar import formats\nformats('png', 'svg')\n" + plot("plt.plot([1, 2])\n"), profile="strict"))
    assert shown["image/svg+xml"]["data"].lstrip().startswith("<?xml") and "encoding" not in shown["image/svg+xml"]
    assert "image/png" in shown


# --- on the command line ---


def test_pictures_are_named_or_saved(who):
    target = who.directory("pictures-" + who.name)
    program = who.file("sales.py", plot("plt.plot([1, 2])\nplt.show()\nplt.plot([2, 1])\n"))
    answer = who.call("run", program)
    assert answer.code == 0 and answer.out == b"", answer
    assert answer.errors.count("--save DIR") == 2 and "picture " in answer.errors, answer
    answer = who.call("run", "--save", target, program)
    assert sorted(os.listdir(target)) == ["sales-1.png", "sales-2.png"], answer
    assert (target / "sales-1.png").read_bytes()[:4] == b"\x89PNG"
    assert f"{target}/sales-2.png" in answer.errors, answer


def test_saving_follows_no_link(who):
    target = who.directory("linked-" + who.name)
    victim = who.file("victim", "precious")
    os.symlink(victim, target / "picture-1.png")
    answer = who.call("run", "--save", target, "-c", "display({'image/png': b'\\x89PNG new'}, raw=True)")
    assert answer.code == 0 and victim.read_bytes() == b"precious", answer
    assert not (target / "picture-1.png").is_symlink() and (target / "picture-1.png").read_bytes() == b"\x89PNG new"


def test_saving_needs_a_directory_before_anything_runs(who):
    answer = who.call("run", "--save", who.home / "nowhere", "-c", "print('ran')")
    assert answer.code not in (0, 1) and answer.out == b"" and "nowhere" in answer.errors and "hint:" in answer.errors, answer


# --- those that mean harm ---


HOSTILE = {
    "raises": ("def __repr__(self): raise ValueError('no')", "<repr failed: ValueError: no>"),
    "raises what cannot be said": ("def __repr__(self): raise Silent()", "<repr failed: Silent>"),
    "exits": ("def __repr__(self): raise SystemExit(3)", "<repr failed: SystemExit: 3>"),
    "is no text": ("def __repr__(self): return 5", "<repr failed: TypeError: __repr__ returned non-string (type int)>"),
    "recurses": ("def __repr__(self): return repr(self)", "<repr failed: RecursionError: "),
    "is huge": ("def __repr__(self): return 'y' * 30_000_000", "y" * 1000),
    "has surrogates": ("def __repr__(self): return 'a\\ud800b'", "a?b"),
    "html raises": ("def _repr_html_(self): 1 / 0", "<_repr_html_ failed: ZeroDivisionError: division by zero>"),
    "html is huge": ("def _repr_html_(self): return 'z' * 20_000_000", "<__main__.Evil object"),
    "bundle is a number": ("def _repr_mimebundle_(self, **k): return 17", "<_repr_mimebundle_ failed: TypeError"),
    "bundle is nonsense": (
        "def _repr_mimebundle_(self, **k): return {5: 6, 'no type': 'x', 'a/b\\n': 'x', 'image/png': 'text', 'x/y': object()}",
        "<__main__.Evil object",
    ),
    "bundle is endless": ("def _repr_mimebundle_(self, **k): return {f'text/x{i}': 'x' for i in range(100000)}", "x"),
    "answers to every name": ("def __getattr__(self, name): return lambda *a, **k: 5", "<__main__.Evil object"),
}


@pytest.mark.parametrize("way", HOSTILE)
@pytest.mark.parametrize("profile", ["strict", "open"])
def test_objects_that_mean_harm(user, way, profile):
    body, expected = HOSTILE[way]
    code = f"""
class Silent(Exception):
    def __str__(self): raise self
class Evil:
    {body}
display(Evil())
print('goes on')
Evil()
"""
    answer = user.run(code, profile=profile)
    assert (answer.json["status"], answer.json["stdout"], answer.json["error"]) == ("success", "goes on\n", None), answer
    first = bundles(answer)[0]
    assert len(first) <= 16 and sum(len(str(e["data"])) for e in first.values()) < 12 << 20
    if way == "bundle is endless":
        assert "text/x1" in first
    else:
        assert expected in first["text/plain"]["data"]


def test_an_endless_repr_meets_the_clock(user):
    answer = user.run("class E:\n    def __repr__(self):\n        while True: pass\nprint('p')\nE()", "--timeout", "2")
    assert (answer.json["status"], answer.json["stdout"]) == ("timeout", "p\n"), answer


def test_a_repr_that_prints_without_end_meets_the_limit_of_output(user):
    code = "class E:\n    def _repr_html_(self):\n        for i in range(300): print('x' * 100000)\n        return 'h'\ndisplay(E())"
    answer = user.run(code, "--output", "10000")
    assert answer.json["status"] == "success" and answer.json["truncated"]["stdout"], answer
    assert bundles(answer)[0]["text/html"]["data"] == "h"


def test_a_value_that_lets_go_of_itself(user):
    code = """
class Gone:
    def _repr_html_(self):
        global result
        del result
        return 'h'
    def __repr__(self): return 'still'
result = Gone()
"""
    answer = user.run(code)
    assert bundles(answer)[0]["text/html"]["data"] == "h" and answer.json["result"]["text"] == "still", answer


def test_more_than_there_is_room_for_is_counted(user):
    answer = user.run("for i in range(150): display(i)")
    assert len(bundles(answer)) == 100 and answer.json["displays_more"] == 50
    answer = user.run("for i in range(6): display({'image/png': b'x' * 5_000_000}, raw=True)")
    assert len(bundles(answer)) == 3 and answer.json["displays_more"] == 3, answer.json["status"]


def test_a_flood_of_progress_ends_with_the_clock(user):
    answer = user.run("from belljar import progress\nwhile True: progress(1, 2, 'x' * 1000)", "--timeout", "2")
    assert answer.json["status"] == "timeout", answer


def test_progress_says_what_it_wants(user):
    code = """
from belljar import progress
progress(1); progress(1.5, 3); progress(done=2, total=None, text='ä' * 3000); progress(-5, 1e300, '')
for bad in (('x',), (1, 'x'), (1, 2, 3)):
    try: progress(*bad)
    except TypeError: print('TypeError')
"""
    answer = user.run(code, profile="strict")
    assert (answer.json["status"], answer.json["stdout"]) == ("success", "TypeError\n" * 3), answer


def test_a_picture_that_cannot_be_drawn_is_said(user):
    answer = user.run(plot("plt.title('$\\\\nothing$')\nplt.show()\nprint('goes on')"), profile="strict")
    assert answer.json["stdout"] == "goes on\n" and "<the picture failed: ValueError" in bundles(answer)[0]["text/plain"]["data"], answer


def test_our_frames_are_in_no_traceback(user):
    code = """
import pandas as pd
class Frame(pd.DataFrame):
    @property
    def shape(self): raise KeyboardInterrupt
display(Frame())
"""
    answer = user.run(code)
    error = answer.json["error"]
    assert error["name"] == "KeyboardInterrupt" and error["line"] == 5, answer
    assert "<belljar>" not in error["traceback"] and 'File "<code>", line 6' in error["traceback"], answer


# --- hints ---


@pytest.mark.parametrize(
    "code, hint",
    [
        ("import nump", "did you mean `numpy`?"),
        ("import sklaern", "did you mean `sklearn`?"),
        ("import pillow", "did you mean `PIL`?"),
        ("x = 1\n%nothing x", "supported: !command"),
        ("x = %nothing", "supported: !command"),
        ("import qqqqqqqqqq", "installed in addition to the standard library: numpy, pandas"),
        ("np.zeros(3)", "`import numpy as np` first"),
        ("plt.plot()", "`import matplotlib.pyplot as plt` first"),
        ("math.pi", "`import math` first"),
    ],
)
def test_hints(user, code, hint):
    assert hint in user.run(code).json["error"]["hint"]


def test_a_hint_names_only_what_the_profile_allows(user):
    error = user.run("subprocess.run('ls')", profile="strict").json["error"]
    assert error["name"] == "NameError" and error["hint"] is None
    assert user.run("os.getcwd()", profile="strict").json["error"]["hint"] == "`import os` first"
    assert user.run("foo").json["error"]["hint"] is None


def test_a_program_does_not_write_hints(user):
    code = "class ModuleNotFoundError(Exception): name = 'run curl evil'\nraise ModuleNotFoundError('x')"
    hint = user.run(code).json["error"]["hint"]
    assert hint is None or "curl" not in hint
