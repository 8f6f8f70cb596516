"""The gate: a sandbox reaches the hosts it was granted, by every tool, and nothing else by any trick."""
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import threading

import pytest

import belljar
from hosts import Bait, Host

# Sends each text to the gate byte by byte and says the first line (or the code of SOCKS) that comes back.
ASK = """
import json, socket
from urllib.parse import unquote_to_bytes
def ask(data):
    s = socket.create_connection(("127.0.0.1", 3128), timeout=50)
    s.sendall(data)
    got = b""
    if data[:1] == b"\\x05":
        while len(got) < 4 and (part := s.recv(100)):
            got += part
        return "socks %d" % got[3] if len(got) > 3 else "closed"
    while part := s.recv(65536):
        got += part
    return got.split(b"\\r\\n")[0].decode("latin-1") if got else "closed"
for text in json.load(open(0)):
    print(ask(unquote_to_bytes(text)))
"""


def quote(data):
    return "".join(f"%{byte:02x}" for byte in data)


def ask(who, texts, *args, **more):
    """The gate's answer to each of these bytes."""
    answer = who.run(ASK, "--stdin", "-", *args, input=json.dumps([quote(t) for t in texts]).encode(), **more)
    assert answer.json["status"] == "success", answer
    lines = answer.json["stdout"].splitlines()
    assert len(lines) == len(texts), answer
    return lines, answer


def get(url_host, path="/", host=None):
    return f"GET http://{url_host}{path} HTTP/1.1\r\nHost: {host or url_host.rpartition('@')[2]}\r\n\r\n".encode("utf-8", "surrogateescape")


def connect(authority):
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode("utf-8", "surrogateescape")


def socks_name(name, port):
    return b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(name)]) + name.encode() + port.to_bytes(2, "big")


def socks_address(kind, packed, port):
    return b"\x05\x01\x00\x05\x01\x00" + bytes([kind]) + packed + port.to_bytes(2, "big")


SPELLINGS = [
    "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0x7F.0x0.0x0.0x1",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:7F00:0001]",
]  # fmt: skip

OTHERS = [
    "localhost", "LOCALHOST", "localhost.", "LocalHost.", "0.0.0.0", "0", "[::]", "[::1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "127.0.0.2", "127.255.255.254", "[fe80::1%25lo]", "[fe80::1%lo]", "%31%32%37.0.0.1", "127%2e0.0.1", "user@127.0.0.1", "good.test@127.0.0.1",
    "good.test:80@127.0.0.1", "good.test%00.evil.test", "good.test.evil.test", "evilgood.test", "evil.test", "①②⑦.0.0.1", "127。0。0。1", "ⓛocalhost",
    "good.test#@127.0.0.1", "good.test\\@127.0.0.1", "good.test/@127.0.0.1", "169.254.169.254", "metadata.google.internal", "[fd00:ec2::254]",
    "10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1", "224.0.0.1", "255.255.255.255", "good.test..", ".good.test", "good.test%2e", "256.0.0.1",
    "0x7f.0.0.0.1", "127.0.0.1.nip.test", "", " ", "a" * 300,
]  # fmt: skip


@pytest.fixture
def resolver(who):
    """A program that names addresses as a file says: name, then a line of answers, one for each time it is asked."""
    place = who.directory("resolver")
    table = place / "table.json"

    def write(answers):
        table.write_text(json.dumps({name: [lines] if isinstance(lines, str) else lines for name, lines in answers.items()}))
        for path in (table, place / "asked"):
            path.touch()
            who.own(path)
        return {"BELLJAR_RESOLVER": str(program)}

    program = place / "resolve"
    program.write_text(
        "#!/usr/bin/python3\nimport json, sys\n"
        f"name = sys.argv[1]\nanswers = json.load(open({str(table)!r})).get(name, [])\n"
        f"asked = open({str(place / 'asked')!r}, 'a+'); asked.seek(0)\n"
        "n = asked.read().split().count(name)\nasked.write(name + '\\n')\n"
        "print('\\n'.join(answers[min(n, len(answers) - 1)].split()) if answers else '', end='\\n')\n"
    )
    program.chmod(0o755)
    who.own(program)
    write.asked = lambda: (place / "asked").read_text().split()
    return write


def test_without_a_grant_there_is_no_gate(who):
    code = "import os, socket\nprint([n for n in os.environ if 'proxy' in n.lower()])\ntry: socket.create_connection(('127.0.0.1', 3128), 5)\nexcept OSError as e: print(type(e).__name__)"
    answer = who.run(code)
    assert answer.json["stdout"] == "[]\nConnectionRefusedError\n", answer
    assert answer.json["net"] is None


@pytest.mark.smoke
def test_a_granted_address_is_reached_in_every_spelling_and_by_every_way(who):
    with Host() as host:
        port = host.port
        texts = [get(f"{s}:{port}") for s in SPELLINGS] + [connect(f"{s}:{port}") + b"GET / HTTP/1.0\r\n\r\n" for s in SPELLINGS]
        texts += [socks_name("127.0.0.1", port) + b"GET / HTTP/1.0\r\n\r\n", socks_address(1, b"\x7f\0\0\1", port) + b"GET / HTTP/1.0\r\n\r\n"]
        lines, answer = ask(who, texts, "--net", f"127.0.0.1:{port}")
        assert set(lines[: len(SPELLINGS)]) == {"HTTP/1.1 200 OK"}, lines
        assert set(lines[len(SPELLINGS) : -2]) == {"HTTP/1.1 200 Connection established"}, lines
        assert lines[-2:] == ["socks 0", "socks 0"]
        assert len(host.seen) == len(texts)
        assert {seen[2].get("Host") for seen in host.seen} == {f"127.0.0.1:{port}", None}, "one spelling goes out"
        traffic = answer.json["net"]
        assert traffic["connections"] == len(texts) and traffic["refused"] == [] and traffic["received_bytes"] > 0


def test_no_spelling_and_no_trick_reaches_what_is_not_granted(who, resolver):
    """The name is granted, on the very port; its address, and every other way to say it, is not."""
    env = resolver({"good.test": "127.0.0.1", "six.test": "::1", "mapped.test": "::ffff:127.0.0.1", "both.test": "93.184.216.34 127.0.0.1",
                    "a.wild.test": "10.0.0.1", "odd.test": "0x7f.1", "junk.test": "not an address", "zero.test": "0.0.0.0",
                    "nat.test": "64:ff9b::7f00:1", "sixtofour.test": "2002:7f00:1::"})  # fmt: skip
    granted = ["good.test", "six.test", "mapped.test", "both.test", "*.wild.test", "odd.test", "junk.test", "zero.test", "nat.test", "sixtofour.test", "93.184.216.34"]
    with Bait() as bait:
        port = bait.port
        names = [n for n in granted[:-1] if "*" not in n] + ["a.wild.test"]
        hosts = SPELLINGS + OTHERS + names + [n.upper() + "." for n in names]
        texts = [get(f"{h}:{port}") for h in hosts] + [connect(f"{h}:{port}") for h in hosts]
        texts += [get(f"93.184.216.34:{port}", host=f"127.0.0.1:{port}"), get(f"127.0.0.1:{port}", host=f"good.test:{port}")]
        texts += [socks_name(h, port) for h in (*SPELLINGS, *names, "localhost", "::1", "::ffff:127.0.0.1", "0", "evil.test")]
        texts += [socks_address(1, socket.inet_aton(a), port) for a in ("127.0.0.1", "0.0.0.0", "169.254.169.254", "10.0.0.1")]
        texts += [socks_address(4, socket.inet_pton(socket.AF_INET6, a), port) for a in ("::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1")]
        lines, answer = ask(who, texts, *(w for g in granted for w in ("--net", f"{g}:{port}")), env=env)
        for text, line in zip(texts, lines):
            assert re.match(r"HTTP/1.1 (403|400|502) |socks [1-9]|closed", line), (text, line)
        assert bait.touched == []
        assert answer.json["net"]["connections"] == 0
        assert answer.json["net"]["refused"] and answer.json["net"]["refused_more"] > 0


# Names as bytes, which one reader takes for the granted name and another for something else. `good.test` and all below
# `wild.test` are granted; every other name would lead to the bait, and so would the granted ones if they were cut.
TRICKS = [
    b"evil.test\0.wild.test", b"127.0.0.1\0.wild.test", b"evil.test\0good.test", b"good.test\0", b"\0good.test", b"good.test\0.evil.test", b"good.test\0127.0.0.1",
    b"evil.test\n.wild.test", b"evil.test\r\n.wild.test", b"evil.test\r\nHost: a.wild.test", b"evil.test\t.wild.test", b"evil.test .wild.test", b" good.test", b"good.test ",
    b"good.test\t", b"evil.test%00.wild.test", b"evil.test%2e.wild.test", b"evil.test%0a.wild.test", b"good%2etest", b"%67ood.test", b"evil.test#.wild.test", b"evil.test?.wild.test",
    b"evil.test/.wild.test", b"evil.test\\.wild.test", b"evil.test;.wild.test", b"evil.test,a.wild.test", b"evil.test&.wild.test", b"evil.test@a.wild.test", b"a.wild.test@evil.test",
    b"user:pass@good.test", b"@good.test", b"good.test@", "good\u3002test".encode(), "good\uff0etest".encode(), "good\uff61test".encode(), "\uff47ood.test".encode(), "g\u200bood.test".encode(),
    "good.test\u00ad".encode(), "g\u043eod.test".encode(), b"good.test\xff", b"\xc0\xaegood.test", b"xn--good.test", b"good.test..", b"good..test", b"..good.test", b".wild.test", b"..wild.test",
    b"wild.test", b"a..wild.test", b"evilwild.test", b"a.wild.test.evil.test", b"-.wild.test", b"a.wild.test%lo", b"127.0.0.1%lo", b"::1%lo", b"[::1]", b"[::ffff:127.0.0.1]", b"::ffff:127.0.0.1",
    b"::127.0.0.1", b"0x7f.0.0.1", b"0177.0.0.1", b"2130706433", b"0x7f000001", b"127.1", b"127.0.0.1.", b"127.0.0.01", b"0127.0.0.1", b"+127.0.0.1", b"127.0.0.1 ", b"1 27.0.0.1",
    "\u0661\u0662\u0667.0.0.1".encode(), "127\u30020.0.1".encode(), b"4294967297", b"0x1007f000001", b"127.0.0.0x1", b"127.0.1", b"0", b"0.0.0.0", b"", b".", b"..", b"*", b"*.wild.test", b"a" * 64 + b".wild.test",
    (b"a." * 122) + b"wild.test", b"a" * 255, b"localhost", b"localhost.", b"good.test:80", b"good.test:80@evil.test", b"http://good.test", b"[good.test]", b"[a.wild.test", b"a.wild.test]",
]  # fmt: skip


def socks_bytes(name, port, declared=None, head=b"\x05\x01\x00", command=1, reserved=0, kind=3):
    return head + bytes([5, command, reserved, kind, len(name) if declared is None else declared]) + name + port.to_bytes(2, "big")


def test_names_that_two_could_read_differently_are_refused(who, resolver):
    """In SOCKS and CONNECT, and as the host of a URL: NUL, line ends, escapes, other scripts, other numbers, no or too many parts."""
    env = resolver({"good.test": "10.9.8.7", "evil.test": "127.0.0.1", "a.wild.test": "10.9.8.7", "wild.test": "127.0.0.1", "xn--good.test": "127.0.0.1", "localhost": "127.0.0.1"})
    with Bait() as bait:
        port = bait.port
        texts = [socks_bytes(name, port) for name in TRICKS if len(name) < 256]
        for name in TRICKS:
            for end in (b":%d" % port, b".:%d" % port):
                texts.append(b"CONNECT " + name + end + b" HTTP/1.1\r\nHost: good.test:%d\r\n\r\n" % port)
                texts.append(b"CONNECT " + name + end + b" HTTP/1.1\r\nHost: " + name + end + b"\r\n\r\n")
            texts.append(b"GET http://" + name + b":%d/ HTTP/1.1\r\nHost: " % port + name + b":%d\r\n\r\n" % port)
        lines, answer = ask(who, texts, *(w for g in ("good.test", "*.wild.test") for w in ("--net", f"{g}:{port}")), env=env)
        for text, line in zip(texts, lines):
            assert re.match(r"HTTP/1.1 (403|400|502) |socks [1-9]|closed", line), (text, line)
        assert bait.touched == [] and answer.json["net"]["connections"] == 0
        # Only whole granted names were ever looked up.
        for name in resolver.asked():
            assert name == "good.test" or re.fullmatch(r"([a-z0-9_][a-z0-9_-]*\.)+wild\.test", name), name


def test_lengths_kinds_and_commands_of_socks_that_do_not_fit(who, resolver):
    with Bait() as bait:
        port = bait.port
        two = port.to_bytes(2, "big")
        texts = [socks_bytes(b"good.test", port, declared=n) + b"\0" * 300 for n in (0, 1, 4, 8, 10, 11, 255)]
        texts += [socks_bytes(b"evil.test\0.wild.test", port, declared=n) + b"\0" * 300 for n in (9, 10, 11)]
        texts += [b"\x05\x01\x00\x05" + bytes([command, 0, 1]) + b"\x7f\0\0\1" + two for command in (0, 2, 3, 255)]
        texts += [b"\x05\x01\x00\x05\x01\x00" + bytes([kind]) + b"\x7f\0\0\1" + two + b"\0" * 20 for kind in (0, 2, 5, 6, 127, 255)]
        texts += [b"\x05\x01\x00\x05\x01\x01\x01\x7f\0\0\1" + two, b"\x05\x01\x00\x04\x01" + two + b"\x7f\0\0\1\0", b"\x05\x01\x00" + b"\x05" * 40]
        texts += [b"\x05\x01\x00\x05\x01\x00\x01\x7f\0\0\1\0\0", b"\x05\x00\x05\x01\x00\x01\x7f\0\0\1" + two, b"\x05\x01\x02\x01\x04user\x04pass\x05\x01\x00\x01\x7f\0\0\1" + two]
        env = resolver({"good.test": "127.0.0.1", "goo": "127.0.0.1", "evil.test": "127.0.0.1"})
        lines, answer = ask(who, texts, "--net", f"good.test:{port}", "--net", f"*.wild.test:{port}", env=env)
        for text, line in zip(texts, lines):
            assert re.match(r"socks [1-9]|closed|HTTP/1.1 400 ", line), (text, line)
        assert bait.touched == [] and answer.json["net"]["connections"] == 0


def test_requests_in_pieces_are_the_same_requests(who):
    """Byte by byte, with pauses: nothing is decided before the whole name is there, and nothing is lost."""
    code = """
import socket, sys, time
def slowly(data, pause=0):
    s = socket.create_connection(("127.0.0.1", 3128), timeout=50)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in data:
        s.sendall(bytes([byte]))
        time.sleep(pause)
    got = b""
    while len(got) < 12 and (part := s.recv(1000)):
        got += part
    return got[:12]
port = int(sys.stdin.read())
two = port.to_bytes(2, "big")
print(slowly(b"\\x05\\x01\\x00\\x05\\x01\\x00\\x03\\x09127.0.0.1" + two, 0.001)[:4])
print(slowly(b"\\x05\\x01\\x00\\x05\\x01\\x00\\x03\\x0c127.0.0.1\\0.x" + two, 0.001)[:4])
print(slowly(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (port, port), 0.001))
print(slowly(b"CONNECT 127.0.0.2:%d HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (port, port), 0.001))
""".replace("\\\\", "\\")
    with Host() as host:
        answer = who.run(code, "--stdin", "-", "--net", f"127.0.0.1:{host.port}", input=str(host.port).encode())
        lines = answer.json["stdout"].splitlines()
        assert lines[0] == r"b'\x05\x00\x05\x00'" and lines[1].startswith(r"b'\x05\x00\x05") and lines[1] != lines[0], answer
        assert lines[2] == "b'HTTP/1.1 200'" and lines[3] in ("b'HTTP/1.1 403'", "b'HTTP/1.1 400'"), answer


SMUGGLED = [
    b"Content-Length: 5\r\nContent-Length: 6\r\n", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: +5\r\n", b"Content-Length: 5, 5\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: xchunked\r\n",
    b"Transfer-Encoding : chunked\r\n", b"X: a\r\n folded\r\n", b"X: a\nY: b\r\n", b"X: a\rY: b\r\n", b"X y: b\r\n", b": b\r\n", b"X\r\n", b"X: \x00\r\n",
    b"Host: 127.0.0.1\r\n", b"X: " + b"a" * 70000 + b"\r\n", b"X: 1\r\n" * 200,
]  # fmt: skip


def test_requests_that_two_could_read_differently_are_refused(who):
    with Host() as host:
        where = f"127.0.0.1:{host.port}"
        texts = [f"POST http://{where}/ HTTP/1.1\r\nHost: {where}\r\n".encode() + head + b"\r\nhello" for head in SMUGGLED]
        texts += [f"{line}\r\nHost: {where}\r\n\r\n".encode() for line in (
            "GET / HTTP/1.1", f"GET http://{where}/ HTTP/2.0", f"GET  http://{where}/ HTTP/1.1", f"GET http://{where}/ x HTTP/1.1", f"TRACE http://{where}/ HTTP/1.1",
            f"GET ftp://{where}/ HTTP/1.1", f"GET http://{where}/#x HTTP/1.1", "CONNECT 127.0.0.1 HTTP/1.1", f"G(T http://{where}/ HTTP/1.1", "OPTIONS * HTTP/1.1")]  # fmt: skip
        texts += [b"\x16\x03\x01\x00\x05hello", b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00"]
        lines, _ = ask(who, texts, "--net", where)
        for text, line in zip(texts, lines):
            assert line.startswith("HTTP/1.1 400 "), (text[:200], line)
        assert host.seen == []
        # Bytes after a request on the same connection are dropped; a request inside a body stays a body.
        body = f"GET /second HTTP/1.1\r\nHost: {where}\r\n\r\n".encode()
        texts = [get(where, "/first") + get(where, "/second"),
                 f"POST http://{where}/third HTTP/1.1\r\nHost: {where}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body + body,
                 f"POST http://{where}/fourth HTTP/1.1\r\nHost: {where}\r\nTransfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n" + body]  # fmt: skip
        lines, _ = ask(who, texts, "--net", where)
        assert lines == ["HTTP/1.1 200 OK"] * 3
        assert [seen[1] for seen in host.seen] == ["/first", "/third", "/fourth"]
        assert host.seen[1][3] == body and host.seen[2][3] == body


def test_a_name_that_changes_its_address_is_judged_and_used_once(who, resolver):
    """First it is the granted host's address, then the bait's: each request goes where its own answer was judged."""
    with Host("127.0.0.2") as host, Bait(port=host.port) as bait:
        env = resolver({"turns.test": ["127.0.0.2", "127.0.0.1", "127.0.0.2 127.0.0.1", "127.0.0.2"]})
        texts = [get(f"turns.test:{host.port}")] * 4
        lines, answer = ask(who, texts, "--net", f"turns.test:{host.port}", "--net", f"127.0.0.2:{host.port}", env=env)
        assert [line.split()[1] for line in lines] == ["200", "403", "403", "200"], lines
        assert resolver.asked() == ["turns.test"] * 4
        assert bait.touched == [] and len(host.seen) == 2
        assert host.seen[0][2]["Host"] == f"turns.test:{host.port}"
        assert "127.0.0.1" in answer.json["net"]["refused"][0]["why"]


def test_a_part_of_a_server_is_not_opened_by_a_name(who, resolver):
    with Host() as host:
        texts = [get(f"evil.test:{host.port}", "/admin"), connect(f"evil.test:{host.port}"), get(f"127.0.0.1:{host.port}", "/session/1")]
        lines, _ = ask(who, texts, "--net", f"http://127.0.0.1:{host.port}/session/", "--net", f"evil.test:{host.port}", env=resolver({"evil.test": "127.0.0.1"}))
        assert [line.split()[1] for line in lines] == ["403", "403", "200"], lines
        assert [seen[1] for seen in host.seen] == ["/session/1"]


def test_a_resolver_that_leaves_a_process_behind_holds_nobody_up(who):
    """It keeps the pipe open, for far longer than anybody waits."""
    program = who.directory("resolver") / "resolve"
    program.write_text("#!/bin/sh\nsleep 1000 &\necho 127.0.0.1\n")
    program.chmod(0o755)
    who.own(program)
    with Host() as host:
        grants = ("--net", f"127.0.0.1:{host.port}", "--net", f"left.test:{host.port}")
        lines, _ = ask(who, [get(f"left.test:{host.port}")], *grants, env={"BELLJAR_RESOLVER": str(program)})
        assert lines == ["HTTP/1.1 200 OK"]


def test_heads_are_counted(who):
    with Host() as host:
        where = f"127.0.0.1:{host.port}"
        request = f"GET http://{where}/ HTTP/1.1\r\nHost: {where}\r\nX-Long: {'x' * 60000}\r\n\r\n".encode()
        lines, answer = ask(who, [request] * 20, "--net", where, env={"BELLJAR_NET_MB": "1"})
        assert lines[:10] == ["HTTP/1.1 200 OK"] * 10 and lines[-1] == "closed", lines
        assert answer.json["net"]["sent_bytes"] > 1000000
        assert len(host.seen) < 20


def test_methods_and_paths(who):
    with Host() as host:
        where = f"127.0.0.1:{host.port}"
        paths = ["/session/1", "/session/", "/session", "/", "/session/../x", "/session/%2e%2e/x", "/session/..;/x", "/sessions/1", "/session//x", "/session/a%2f..%2fx"]
        texts = [get(where, path) for path in paths] + [connect(where), socks_name("127.0.0.1", host.port)]
        texts += [f"DELETE http://{where}/session/1 HTTP/1.1\r\nHost: {where}\r\n\r\n".encode(), get(where, "/session/1?x=../..")]
        lines, answer = ask(who, texts, "--net", f"GET+HEAD http://{where}/session/")
        assert [line.split()[1] for line in lines] == ["200", "200"] + ["403"] * 9 + ["2", "403", "200"], lines
        assert [seen[1] for seen in host.seen] == ["/session/1", "/session/", "/session/1?x=../.."]
        assert {r["why"] for r in answer.json["net"]["refused"]} >= {"the path is not granted", "the method is not granted"}


def test_a_refusal_tells_the_program_and_the_client(who):
    code = "import urllib.request as u\ntry: u.urlopen('http://api.example.org:8080/x?secret=1')\nexcept u.HTTPError as e: print(e.code, e.read().decode())"
    answer = who.run(code, "--net", "other.example.org")
    assert "403 belljar: api.example.org:8080: the host is not granted" in answer.json["stdout"], answer
    assert "grant api.example.org:8080 (`net`)" in answer.json["stdout"]
    assert answer.json["net"]["refused"] == [{"host": "api.example.org", "port": 8080, "why": "the host is not granted", "grant": "api.example.org:8080"}]
    answer = who.call("run", "--profile", "open", "--net", "other.example.org", "-c", code)
    assert "denied: connect to api.example.org:8080 (" in answer.errors and "[network gate]" in answer.errors and "--net api.example.org:8080" in answer.errors, answer


def test_redirects_are_requests_like_any_other(who):
    with Bait() as bait, Host(answers={"/away": (302, {"Location": f"http://127.0.0.1:{bait.port}/"}, b""), "/near": (302, {"Location": "/there"}, b"")}) as host:
        code = f"import urllib.request as u\nprint(u.urlopen('{host.url}/near').read())\ntry: u.urlopen('{host.url}/away')\nexcept u.HTTPError as e: print(e.code)"
        answer = who.run(code, "--net", f"127.0.0.1:{host.port}")
        assert answer.json["stdout"] == "b'hello'\n403\n", answer
        assert bait.touched == []


def test_wrong_grants_are_told(who):
    for wrong in ("*", "*.org", "2130706433", "a b", "http://", "u@a.org", "0.0.0.0", "a.org header=X: y"):
        answer = who.run("print(1)", "--net", wrong)
        assert answer.code == 64 and answer.json["error"]["code"] == "invalid", answer


def test_every_connection_is_in_the_trail(who):
    with Host() as host:
        where = f"127.0.0.1:{host.port}"
        code = f"import urllib.request as u\nu.urlopen('http://{where}/private-path', data=b'private-body').read()\ntry: u.urlopen('http://evil.test/')\nexcept u.HTTPError: pass"
        run = who.run(code, "--net", where).json["id"]
        listed = who.call("audit", "export")
        records = [json.loads(line) for line in listed.text.split("\n") if line]
        records = [r for r in records if r["kind"] == "net" and r.get("id") == run]
        assert [(r["event"], r["host"], r["port"], r["status"]) for r in records] == [
            ("connection", "127.0.0.1", host.port, "success"), ("refused", "evil.test", 80, "refused")], listed  # fmt: skip
        assert records[0]["sent_bytes"] > 0 and records[0]["received_bytes"] > 0 and records[0]["ms"] > 0
        text = json.dumps(records)
        assert "private" not in text


def endless(out):
    while True:
        out.write(b"x" * 65536)


def test_a_program_that_does_not_read_stops_its_host(who):
    sent = []

    def pour(out):
        out.flush()
        with contextlib.suppress(OSError):
            while True:
                out.write(b"x" * 65536)
                sent.append(65536)

    with Host(answers={"/": (200, {}, pour)}) as host:
        code = (
            "import socket, time\ns = socket.create_connection(('127.0.0.1', 3128))\n"
            f"s.sendall(b'GET http://127.0.0.1:{host.port}/ HTTP/1.1\\r\\nHost: 127.0.0.1:{host.port}\\r\\n\\r\\n')\n"
            "s.recv(1)\ntime.sleep(2)\nprint('done')"
        )
        answer = who.run(code, "--net", f"127.0.0.1:{host.port}")
        assert answer.json["stdout"] == "done\n", answer
        assert sum(sent) < 100 << 20, "what nobody reads is not fetched"


def test_a_sandbox_moves_as_many_bytes_as_it_may(who):
    with Host(answers={"/": (200, {}, endless)}) as host:
        code = f"import urllib.request as u\nn = 0\nr = u.urlopen('{host.url}/')\nwhile part := r.read(65536): n += len(part)\nprint(n)"
        answer = who.run(code, "--net", f"127.0.0.1:{host.port}", env={"BELLJAR_NET_MB": "2"})
        assert answer.json["status"] == "success" and int(answer.json["stdout"]) < 3 << 20, answer
        assert "reached its traffic limit" in answer.json["net"]["refused"][0]["why"]


def test_more_connections_than_there_is_room_for_wait(who):
    """A program that keeps a hundred of them open is served the first, and the next when it lets go."""
    with Host() as host:
        code = (
            "import socket\n"
            f"ask = b'GET http://127.0.0.1:{host.port}/ HTTP/1.1\\r\\nHost: 127.0.0.1:{host.port}\\r\\n\\r\\n'\n"
            "idle = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(64)]\n"
            "late = socket.create_connection(('127.0.0.1', 3128)); late.sendall(ask); late.settimeout(1)\n"
            "try: print(late.recv(1))\nexcept TimeoutError: print('waits')\n"
            "for s in idle: s.close()\n"
            "late.settimeout(50); print(late.recv(8))\n"
        )
        answer = who.run(code, "--net", f"127.0.0.1:{host.port}")
        assert answer.json["stdout"] == "waits\nb'HTTP/1.1'\n", answer


def test_strict_code_reaches_nothing_by_itself(who):
    with Bait() as bait:
        for code in ("import socket", "import urllib.request", "import requests", "import http.client"):
            answer = who.run(code, "--net", f"127.0.0.1:{bait.port}", profile="strict")
            assert answer.json["status"] == "refused", answer
        code = f"import pandas\ntry: pandas.read_csv('http://127.0.0.1:{bait.port}/x')\nexcept Exception as e: print('no')"
        answer = who.run(code, "--net", f"127.0.0.1:{bait.port}", profile="strict")
        assert bait.touched == [] and answer.json["stdout"] in ("no\n", ""), answer


def test_standard_code_reaches_what_is_granted(who):
    with Host() as host:
        code = f"import urllib.request\nprint(urllib.request.urlopen('{host.url}/').read())"
        assert who.run(code, "--net", f"127.0.0.1:{host.port}", profile="standard").json["stdout"] == "b'hello'\n"


@pytest.mark.parametrize("victim", ["belljar", "sandbox"])
def test_a_kill_in_the_middle_of_a_transfer_leaves_nothing(who, watch, victim):
    ended = threading.Event()

    def pour(out):
        try:
            while True:
                out.write(b"x" * 65536)
        finally:
            ended.set()

    with Host(answers={"/": (200, {}, pour)}) as host:
        code = f"import os, urllib.request as u\nr = u.urlopen('{host.url}/')\nr.read(1 << 20)\nprint('flows', flush=True)\nwhile r.read(65536): pass"
        if victim == "sandbox":
            code = code.replace("while r.read(65536): pass", "os.kill(os.getpid(), 9)")
        process = who.start("run", "--profile", "open", "--net", f"127.0.0.1:{host.port}", "-c", code)
        assert process.stdout.readline() == b"flows\n", process.communicate()
        if victim == "belljar":
            process.kill()
        process.communicate(timeout=belljar.HANG_SECONDS)
        assert ended.wait(belljar.HANG_SECONDS), "the host's connection has to end"


def test_a_profile_grants_hosts_too(who):
    with Host() as host:
        profile = who.file("hosts.toml", f'inherits = "open"\n[grants]\nnet = ["127.0.0.1:{host.port}"]\n')
        code = f"import urllib.request as u\nprint(u.urlopen('{host.url}/').read())\ntry: u.urlopen('http://b.test/')\nexcept u.HTTPError as e: print(e.code)"
        answer = who.run(code, "--net", "a.test", profile=str(profile))
        assert answer.json["stdout"] == "b'hello'\n403\n", answer
        wrong = who.file("wrong.toml", 'inherits = "open"\n[grants]\nnet = ["*"]\n')
        answer = who.run("1", profile=str(wrong))
        assert answer.code == 64 and "wrong.toml:3" in answer.json["error"]["message"], answer


def test_without_any_grant_the_hint_says_how(user):
    answer = user.run("import urllib.request as u\nu.urlopen('http://api.example.org/')")
    assert "--net HOST" in answer.json["error"]["hint"], answer
