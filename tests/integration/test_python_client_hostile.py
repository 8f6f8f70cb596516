"""The client library against servers that lie, and against arguments and results that try to get out of their place."""
import json
import stat
import threading

import pytest
from client_ways import Saying, Ways, answer, belljar_client

from belljar_client import types  # isort: skip
from belljar_client.http1 import HEAD_BYTES  # isort: skip

GOOD = {"id": "run_1", "status": "success", "exit_code": 0, "stdout": "ok\n", "stderr": ""}
RESULT = answer(json.dumps(GOOD).encode())


@pytest.fixture(scope="module", params=["Client", "AsyncClient"])
def ways(request):
    w = Ways(request.param)
    yield w
    w.close()


def head(*lines):
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()


WRONG = {
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "HTTP/2": b"HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "a status below 100": b"HTTP/1.1 99 No\r\nContent-Length: 2\r\n\r\n{}",
    "a header without a colon": head("no colon", "Content-Length: 2") + b"{}",
    "a space before the colon": head("Name : x", "Content-Length: 2") + b"{}",
    "a folded header": head("A: x", " folded", "Content-Length: 2") + b"{}",
    "two lengths": head("Content-Length: 2", "Content-Length: 3") + b"{}",
    "a length and chunks": head("Content-Length: 2", "Transfer-Encoding: chunked") + b"{}",
    "another coding": head("Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
    "a negative chunk": head("Transfer-Encoding: chunked") + b"-1\r\n{}\r\n",
    "a chunk that is too long": head("Transfer-Encoding: chunked") + b"2\r\n{}x\r\n0\r\n\r\n",
    "an endless chunk size": head("Transfer-Encoding: chunked") + b"f" * 5000,
    "a negative length": head("Content-Length: -2") + b"{}",
    "a huge length": head("Content-Length: 99999999999999999999") + b"{}",
    "a content encoding": head("Content-Length: 2", "Content-Encoding: gzip") + b"{}",
    "no length": head("Content-Type: application/json"),
    "a long header": head("X: " + "y" * HEAD_BYTES, "Content-Length: 2") + b"{}",
    "many headers": head(*["X: y"] * 20000),
    "many interim answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
    "a redirection": answer(b"", "302 Found", ["Location: http://127.0.0.1:1/"]),
    "not JSON": answer(b"not json"),
    "deep JSON": answer(b"[" * 100_000),
    "a huge number": answer(b"9" * 10_000),
    "a list": answer(b"[]"),
    "a string": answer(b'"text"'),
    "an empty object": answer(b"{}"),
    "a number as output": answer(json.dumps({**GOOD, "stdout": 5}).encode()),
    "no status": answer(json.dumps({**GOOD, "status": None}).encode()),
    "a display that is a number": answer(json.dumps({**GOOD, "displays": [3]}).encode()),
    "invalid base64": answer(json.dumps({**GOOD, "collected": [{"path": "x", "size": 1, "encoding": "base64", "content": "?"}]}).encode()),
    "a text as a time": answer(json.dumps({**GOOD, "usage": {"wall_ms": "x"}}).encode()),
    "a number as the name of an error": answer(json.dumps({**GOOD, "error": {"name": 1, "message": "x"}}).encode()),
    "no body of an error": answer(b"", "500 Oh", ["Retry-After: " + "9" * 4000]),
    "an error that is a number": answer(b'{"error": 5}', "400 Bad"),
    "an error of another server": answer(b'{"detail": "x"}', "404 Not Found"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_is_wrong_is_an_error(ways, name):
    with Saying(WRONG[name]) as server:
        with pytest.raises(belljar_client.ProtocolError) as caught:
            ways.client(server.url, token="x", timeout=30).run("1")
        assert caught.value.code == "protocol" and len(server.asked) == 1


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200", RESULT[:-3], head("Transfer-Encoding: chunked") + b"5\r\nab"], ids=["nothing", "head", "length", "chunk"])
def test_an_answer_that_ends_early_is_a_broken_connection(ways, said):
    with Saying(said) as server, pytest.raises(belljar_client.Unreachable):
        ways.client(server.url, timeout=30).run("1")


def test_answers_are_bounded(ways):
    """Whatever length is promised, and also if none is."""
    endless = [head("Transfer-Encoding: chunked"), *[b"10000\r\n" + b"x" * 65536 + b"\r\n"] * 64]
    event = [head("Transfer-Encoding: chunked"), b"6\r\ndata: \r\n", *endless[1:]]
    for said in (endless, [answer(b"", length=10**14), b"x" * (4 << 20)]):
        with Saying(said) as server, pytest.raises(belljar_client.ProtocolError, match="longer than 1000000 bytes"):
            ways.client(server.url, max_answer_bytes=1_000_000, timeout=30).run("1")
    with Saying(event) as server, pytest.raises(belljar_client.ProtocolError, match="longer than 1000000 bytes"):
        list(ways.client(server.url, max_answer_bytes=1_000_000, timeout=30).stream("1"))
    with Saying(event) as server, pytest.raises(belljar_client.ProtocolError, match="longer than 1000000 bytes"):
        list(ways.client(server.url, max_answer_bytes=1_000_000, timeout=30).batch([{"code": "1"}]))
    error = [head("Transfer-Encoding: chunked").replace(b"200 OK", b"400 Bad"), *endless[1:]]
    with Saying(error) as server, pytest.raises(belljar_client.ProtocolError):
        ways.client(server.url, timeout=30).run("1")


def test_an_event_of_empty_lines_is_bounded(ways):
    """Each takes a place in memory, and none of them has a length."""
    lines = b"data:\n" * 10000
    said = [head("Transfer-Encoding: chunked"), *[b"%x\r\n%s\r\n" % (len(lines), lines)] * 20]
    with Saying(said) as server, pytest.raises(belljar_client.ProtocolError, match="longer than the client accepts"):
        list(ways.client(server.url, max_answer_bytes=100_000, timeout=30).stream("1"))


def test_silence_ends(ways):
    quiet = threading.Event()

    class Quiet(Saying):
        def talk(self, client):
            self.read_request(client)
            quiet.wait(60)

    with Quiet() as server, pytest.raises(belljar_client.Unreachable) as caught:
        ways.client(server.url, timeout=0.3, retries=0).run("1")
    quiet.set()
    assert caught.value.code == "timeout" and "timeout" in caught.value.hint


def test_bytes_that_nobody_asked_for_answer_nothing(ways):
    """An answer to a question that was not asked yet must not be taken for that of the next one."""
    planted = answer(json.dumps({**GOOD, "stdout": "planted\n"}).encode())
    with Saying(RESULT + planted, RESULT, closes=False) as server:
        client = ways.client(server.url, timeout=30)
        assert [client.run("1").stdout, client.run("2").stdout] == ["ok\n", "ok\n"]


def test_what_follows_a_refused_body_is_not_taken_for_its_rest(ways):
    class Early(Saying):
        """Answers when it has read the head, and leaves the connection open."""

        def read_request(self, client):
            data = b""
            while b"\r\n\r\n" not in data:
                piece = client.recv(65536)
                if not piece:
                    return False
                data += piece
            self.asked.append(data)
            return True

    refused = answer(b'{"error": {"code": "too_large", "message": "too much", "hint": null}}', "413 Too Large")
    with Early(refused, RESULT, closes=False) as server:
        client = ways.client(server.url, timeout=30, retries=0)
        with pytest.raises(belljar_client.TooLargeError):
            client.run("1", stdin="x" * 30_000_000)
        assert client.run("2").ok
        assert [data.split(b"\r\n")[0] for data in server.asked] == [b"POST /v1/run HTTP/1.1"] * 2


def test_a_busy_server_is_asked_again(ways):
    busy = answer(b'{"error": {"code": "busy", "message": "full", "hint": "wait"}}', "429 Too Many Requests", ["Retry-After: 0", "Connection: close"])
    long = busy.replace(b"Retry-After: 0", b"Retry-After: 31")
    with Saying(busy, RESULT) as server:
        client = ways.client(server.url)
        client_sleeps(ways, client)
        assert client.run("1").ok and len(server.asked) == 2
    with Saying(long) as server:
        with pytest.raises(belljar_client.BusyError) as caught:
            ways.client(server.url).run("1")
        assert caught.value.retry_after == 31 and len(server.asked) == 1
    with Saying(busy) as server:
        with pytest.raises(belljar_client.BusyError):
            ways.client(server.url, retries=0).run("1")
        assert len(server.asked) == 1


def client_sleeps(ways, client):
    """Nobody has to wait for a test."""
    async def sleep(seconds):
        pass

    target = client.target if ways.loop else client
    target._transport.network.sleep = sleep


def test_texts_of_a_server_are_safe_to_print(ways):
    said = answer(json.dumps({"error": {"code": "invalid", "message": "a\x1b]0;b\x07\u202e", "hint": "\x9bc"}}).encode(), "400 Bad")
    with Saying(said) as server, pytest.raises(belljar_client.InvalidError) as caught:
        ways.client(server.url).run("1")
    assert str(caught.value) == "a\\x1b]0;b\\x07\\u202e (hint: \\x9bc)"


@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "a\nb", "é", "\0", ""], ids=["header", "line", "letter", "NUL", "empty"])
def test_no_argument_becomes_a_header(ways, key):
    with Saying(RESULT) as server:
        client = ways.client(server.url)
        for call in (lambda: client.run("1", key=key), lambda: list(client.stream("1", key=key)), lambda: ways.client(server.url, token=key or "\r").run("1")):
            with pytest.raises(belljar_client.InvalidError):
                call()
        assert server.asked == []


def test_no_name_becomes_another_path(ways):
    session = answer(json.dumps({"session_id": "../../v1/runs", "name": "x"}).encode(), "201 Created")
    with Saying(session, answer(b"{}"), RESULT) as server:
        client = ways.client(server.url)
        s = client.session()
        with pytest.raises(belljar_client.ProtocolError):
            s.refresh()
        for path in ("..", "../x", "a/../../b", "", ".", "a/./b"):
            for use in (s.files.read, s.files.delete, lambda p: s.files.write(p, b""), lambda p: list(s.files.chunks(p))):
                with pytest.raises(belljar_client.InvalidError):
                    use(path)
        for name in ("", ".", ".."):
            for use in (client.get_session, client.result, client.cancel, client.skills.get, client.states.delete, s.delete_checkpoint):
                with pytest.raises(belljar_client.InvalidError):
                    use(name)
        client.result("a/b?c=d#e f\r\n")
        lines = [asked.split(b"\r\n")[0] for asked, _ in server.asked]
        assert lines == [
            b"POST /v1/sessions HTTP/1.1",
            b"GET /v1/sessions/..%2F..%2Fv1%2Fruns HTTP/1.1",
            b"GET /v1/runs/a%2Fb%3Fc%3Dd%23e%20f%0D%0A HTTP/1.1",
        ]


def test_a_list_of_files_comes_to_an_end(ways):
    page = answer(json.dumps({"files": [{"path": "a", "kind": "file", "size": 1}], "has_more": True}).encode())
    session = answer(json.dumps({"session_id": "ses_1", "name": "x"}).encode())
    with Saying(session, page) as server:
        s = ways.client(server.url).session()
        with pytest.raises(belljar_client.ProtocolError, match="again"):
            list(s.files.list())
        assert len(server.asked) == 3


def test_a_failed_download_leaves_nothing(ways, tmp_path):
    session = answer(json.dumps({"session_id": "ses_1", "name": "x"}).encode())
    target = tmp_path / "file"
    target.write_text("before")
    for closes in (True, False):
        with Saying(session, answer(b"half", length=1000), closes=closes) as server:
            s = ways.client(server.url, retries=0, timeout=30 if closes else 0.3).session()
            with pytest.raises(belljar_client.Unreachable) as caught:
                s.files.download("x", target)
            assert caught.value.code == ("unreachable" if closes else "timeout")
    assert [p.name for p in tmp_path.iterdir()] == ["file"] and target.read_text() == "before"


# --- results ---


def result(**more):
    return types.read_result({**GOOD, **more})


def collected(*paths):
    return result(collected=[{"path": p, "size": 1, "content": "x"} for p in paths])


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", ".", "a//b", "a/", "x\0y", ".."], ids=repr)
def test_no_collected_file_leaves_its_directory(tmp_path, path):
    into = tmp_path / "into"
    with pytest.raises(belljar_client.ProtocolError):
        collected("good", path).save_collected(into)
    assert not into.exists(), "nothing is written if one of them is wrong"


@pytest.mark.parametrize("path", [".git/config", "a/.envrc", "a/__PyCache__/b.pyc", "HEAD", ".\x1b[2J"], ids=repr)
def test_collected_files_that_tools_obey_are_asked_for(tmp_path, path):
    into = tmp_path / "into"
    with pytest.raises(belljar_client.InvalidError, match="hidden=True") as caught:
        collected("good", path).save_collected(into)
    assert not into.exists() and "\x1b" not in str(caught.value)
    collected("good", path).save_collected(into, hidden=True)
    assert (into / path).read_text() == "x"


def test_collected_files_follow_no_links(tmp_path):
    outside, into = tmp_path / "outside", tmp_path / "into"
    outside.mkdir()
    into.mkdir()
    (into / "link").symlink_to(outside)
    (into / "file").symlink_to(outside / "target")
    with pytest.raises(OSError):
        collected("link/x").save_collected(into)
    collected("file", "deep/er/x").save_collected(into)
    assert list(outside.iterdir()) == [] and not (into / "file").is_symlink() and (into / "deep/er/x").read_text() == "x"
    assert not stat.S_IMODE((into / "file").stat().st_mode) & 0o111


PNG = "iVBORw0KGgo="
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def displays(*forms):
    return [{"bundle": 0, "mime": mime, "data": data, **({"encoding": "base64"} if mime.startswith("image/") and "svg" not in mime else {})} for mime, data in forms]


def test_a_notebook_shows_no_html_of_a_program():
    r = result(
        status="error", stdout=EVIL, stderr=EVIL, result={"text": EVIL}, error={"name": EVIL, "message": EVIL, "hint": EVIL},
        violations=[{"rule": "x", "message": EVIL}] * 2, denials=[{"what": EVIL, "layer": EVIL, "hint": EVIL, "count": 1}],
        displays=displays(("text/html", EVIL)) + [{**d, "bundle": 1} for d in displays(("text/csv", f"a,b\n{EVIL},2\n"), ("text/html", EVIL))]
        + [{**d, "bundle": 2} for d in displays((f'image/png" onerror="{EVIL}', PNG))] + [{**d, "bundle": 3} for d in displays(("image/svg+xml", EVIL))],
    )  # fmt: skip
    page = r._repr_html_()
    assert "<script" not in page and "<img src=x" not in page and "onerror=\"" not in page and 'src="data:image/svg+xml;base64,' in page
    assert "<th>a</th>" in page and "<td>2</td>" in page
    for d in r.displays:
        assert "<script" not in d._repr_html_()


def test_a_notebook_shows_pictures_and_tables():
    r = result(displays=displays(("text/plain", "Figure"), ("image/png", PNG)))
    assert f'<img src="data:image/png;base64,{PNG}"' in r._repr_html_() and "Figure" not in r._repr_html_()
    assert r._repr_png_() == b"\x89PNG\r\n\x1a\n" == r.displays[1]._repr_png_() and r.displays[0]._repr_png_() is None
    assert result()._repr_png_() is None
    rows = "\n".join(f"{i},x" for i in range(500))
    page = result(displays=displays(("text/csv", f"n,v\n{rows}\n")))._repr_html_()
    assert page.count("<tr>") == 61 and "first 60 rows" in page
    assert "<pre" in result(displays=displays(("text/csv", "x" * 200_000), ("text/plain", "plain")))._repr_html_()


def test_pictures_are_saved_under_names_of_ours(tmp_path):
    r = result(displays=displays(("image/png", PNG)) + [{**displays(("image/svg+xml", "<svg/>"))[0], "bundle": 1}])
    assert [p.name for p in r.save_pictures(tmp_path)] == ["picture-1.png", "picture-2.svg"]
    assert (tmp_path / "picture-2.svg").read_text() == "<svg/>"


def test_a_result_as_text_is_safe_to_print():
    text = str(result(status="error", stdout="\x1b[2Ja\u202e\r", stderr="b\tc\n", error={"name": "E", "message": "\x07"}))
    assert text == "\\x1b[2Ja\\u202e\\r\nb\tc\nE: \\x07"
    change = {"path": "a\nM b\x1b", "change": "created", "kind": "file", "added": 1, "removed": 0}
    assert str(types.read(types.Changes, {"changes": [change], "has_more": False, "version": "1", "hidden_bytes": 0})) == "A a\\nM b\\x1b  +1 -0"
    assert str(result(status="timeout", stdout="")) == "the program exceeded its time limit"
    with pytest.raises(belljar_client.ProgramFailed, match="exit code 3"):
        result(status="error", exit_code=3).raise_for_error()


def test_a_coroutine_function_is_no_callback_of_a_blocking_client():
    async def later(event):
        raise AssertionError("it is not called")

    start = 'event: start\ndata: {"id":"r"}\n\n'
    said = head("Transfer-Encoding: chunked") + f"{len(start):x}\r\n{start}\r\n".encode()
    with Saying(said) as server, pytest.raises(TypeError, match="AsyncClient"):
        belljar_client.Client(server.url).stream("1").wait(on_event=later)
