"""Values of earlier cells, and completion from what a session holds."""
import pytest

from serving import Server


@pytest.fixture(scope="module")
def server(callers):
    s = Server(callers["user"])
    yield s
    assert s.stop() == 0, s.said


def execute(server, session, code, **more):
    answer = server.execute(session, code, **more)
    return {**answer, "value": (answer["result"] or {}).get("json")}


@pytest.fixture
def run(server):
    with server.session() as name:
        yield lambda code, **more: execute(server, name, code, **more)


def test_values_of_earlier_cells(run):
    assert run("Out")["status"] == "error"
    run("6 * 7")
    assert run("_ + 1")["value"] == 43
    assert run("_, __")["value"] == [43, 42]
    run("'quiet';")
    assert run("_")["value"] == [43, 42]
    assert 42 in run("list(Out.values())")["value"]
    run("for _ in range(3): pass")
    run("'not kept in a name that is in use'")
    assert run("_")["value"] == 2
    assert run("for i in range(50): pass\nlen(Out) <= 32")["value"] is True


def words(run, text):
    answer = run("%%complete\n" + text)
    assert answer["status"] == "success", answer
    return answer["value"]["start"], answer["value"]["words"]


def test_a_word_is_completed_from_what_is_there(run):
    run("import json, collections\nrow = {'größe': 1, 'groß': 2, 'x y': 3, 4: 5}\nmy_value = [1]\nopen('data.csv', 'w').close()")
    assert words(run, "my_va") == (0, ["my_value"])
    assert words(run, "x = json.dum") == (9, ["dump", "dumps"])
    assert words(run, "ü = row['gr") == (len("ü = row['".encode()), ["groß']", "größe']"])
    assert words(run, "my_value.app") == (9, ["append"])
    assert words(run, "my_value[0].bit_l")[1] == ["bit_length"]
    assert words(run, "open('da") == (6, ["data.csv"])
    assert words(run, "!cat da") == (5, ["data.csv"])
    assert words(run, "import collectio") == (7, ["collections"])
    assert words(run, "%timei") == (0, ["%timeit"])
    assert words(run, "for i in x:\n    my_v") == (16, ["my_value"])
    for text in ("nothing.here", "f().x", "(", "'", "row[", "1.", "\\", "x.y['", "[[[[[[", "import ", "from os import "):
        start, found = words(run, text)
        assert 0 <= start <= len(text) and isinstance(found, list), text


def test_completion_leaves_no_trace(run):
    run("x = 1\nx")
    words(run, "x")
    assert run("_")["value"] == 1
    assert run("import linecache; any('%%comp' + 'lete' in str(e) for e in linecache.cache.values())")["value"] is False


def test_a_hostile_object_cannot_do_more_than_a_cell(run):
    run("class H:\n    def __dir__(self):\n        return ['fine', 'a' * 10 ** 6, 5, '\\x1b[2J'] + ['n%d' % i for i in range(10 ** 5)]\nh = H()")
    start, found = words(run, "h.")
    assert len(found) <= 500 and max(map(len, found)) <= 200
    run("class E:\n    def __dir__(self): raise SystemExit\ne = E()")
    assert run("%%complete\ne.x")["status"] in ("success", "error")
    run("class L:\n    def __dir__(self):\n        while True: pass\nl = L(); kept = 1")
    assert run("%%complete\nl.x", timeout_s=1)["status"] == "timeout"
    assert run("kept")["value"] == 1
