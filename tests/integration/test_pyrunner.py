"""PyRunner's documented behaviour, tested against `belljar serve` from outside, and promises that PyRunner did not keep."""
import concurrent.futures
import json

import pytest

from serving import Server

FIELDS = {"status", "stdout", "stderr", "execution_time", "memory_used", "error"}


@pytest.fixture(scope="module")
def server(callers):
    made = Server(callers["user"], "--socket", "none", "--no-auth")
    yield made
    assert made.stop() == 0, made.said


def run(server, code, **more):
    reply = server.post("/run", {"code": code, **more})
    assert reply.status == 200, reply
    answer = reply.json
    assert set(answer) == FIELDS, answer
    return answer


def refused(server, body):
    """The places and types of all mistakes."""
    reply = server.post("/run", body)
    assert reply.status == 422, reply
    return {(tuple(m["loc"]), m["type"]) for m in reply.json["detail"]}


# --- about the service ---


@pytest.mark.smoke
def test_the_root_says_what_the_service_can_do(server):
    answer = server.get("/").json
    assert answer["status"] == "healthy"
    assert answer["capabilities"] == {
        "max_timeout": 300,
        "max_memory_mb": 2048,
        "libraries": ["sympy", "numpy", "pandas", "matplotlib", "scipy", "sklearn"],
    }


def test_health_is_one_word_for_pyrunner_and_more_for_coderunner(server):
    answer = server.get("/health").json
    assert answer["status"] == "healthy" and answer["version"] == "1.0.0"
    assert set(answer["services"]) == {"session_manager", "kernel_pool"}


def test_health_needs_no_token_and_run_does(callers):
    server = Server(callers["user"], "--socket", "none")
    try:
        token, server.token = server.token, None
        assert server.get("/").status == server.get("/health").status == 200
        assert server.post("/run", {"code": "1"}).status == 401
        server.token = token
        assert server.post("/run", {"code": "1"}).status == 200
    finally:
        assert server.stop() == 0


# --- answers ---


@pytest.mark.smoke
def test_a_program_that_succeeds(server):
    answer = run(server, "print('Hello 世界! 🌍')", timeout=30, memory_limit=512)
    assert (answer["status"], answer["stdout"], answer["stderr"]) == ("success", "Hello 世界! 🌍\n", "")
    assert answer["error"] is None
    assert 0 < answer["execution_time"] < 30 and round(answer["execution_time"], 3) == answer["execution_time"]
    assert 0 < answer["memory_used"] < 512 and round(answer["memory_used"], 2) == answer["memory_used"]


def test_a_program_that_fails_keeps_what_it_said(server):
    answer = run(server, "print('before')\nraise ValueError('bad')\nprint('after')")
    assert (answer["status"], answer["stdout"]) == ("error", "before\n")
    assert "ValueError: bad" in answer["stderr"]
    assert answer["error"] == answer["stderr"]


def test_a_program_that_ends_without_a_word_has_an_error_all_the_same(server):
    answer = run(server, "raise SystemExit(3)")
    assert answer["status"] == "error" and "3" in answer["error"]


def test_a_program_that_is_not_python(server):
    answer = run(server, "print('hello'")
    assert answer["status"] == "error" and "syntax" in answer["error"].lower()


def test_a_timeout_keeps_the_output(server):
    answer = run(server, "print('so far')\nwhile True: pass", timeout=1)
    assert (answer["status"], answer["stdout"]) == ("timeout", "so far\n")
    assert answer["stderr"] == "Execution timed out after 1 seconds"
    assert answer["execution_time"] >= 1 and answer["memory_used"] > 0 and answer["error"] is None


def test_memory_that_was_the_reason_is_the_status(server):
    answer = run(server, "print('so far')\ndata = [0] * (100 << 20)", memory_limit=64)
    assert (answer["status"], answer["stdout"]) == ("memory_exceeded", "so far\n")
    assert answer["stderr"] == "Memory limit exceeded" and answer["memory_used"] > 50


@pytest.mark.parametrize("code", ["[0] * 10**10", "import numpy as np\nnp.ones(10**11)", "bytearray(1 << 42)"])
def test_memory_that_cannot_be_had_is_the_status_too(server, code):
    answer = run(server, f"print('so far')\n{code}", memory_limit=128)
    assert (answer["status"], answer["stdout"], answer["error"]) == ("memory_exceeded", "so far\n", None), answer
    assert "MemoryError" in answer["stderr"]


def test_memory_is_measured_for_each_program_apart(server):
    # Without cgroups memory is looked at now and then, and a program gives its memory back before it ends.
    large = run(server, "data = [0] * (4 << 20)\nfor i in range(4_000_000):\n    pass\nprint('x')", memory_limit=256)
    small = run(server, "print('x')", memory_limit=256)
    assert large["memory_used"] > 32 > small["memory_used"] > 0


def test_programs_know_nothing_of_each_other(server):
    run(server, "x = 1")
    assert run(server, "x")["status"] == "error"


# --- the policy ---


@pytest.mark.parametrize(
    "code, word",
    [
        ("import os\nprint(os.getcwd())", "os"),
        ("import os as quiet", "os"),
        ("from os import path", "os"),
        ("def f():\n    import subprocess\nf()", "subprocess"),
        ("import sys", "sys"),
        ("import socket", "socket"),
        ("import urllib.request", "urllib"),
        ("import requests", "requests"),
        ("import time", "time"),
        ("import threading", "threading"),
        ("import pickle", "pickle"),
        ("import io", "io"),
        ("from io import *", "io"),
        ("from io import open", "open"),
        ("import _io", "_io"),
        ("import _socket", "_socket"),
        ("__import__('os').getcwd()", "__import__"),
        ("exec('import os')", "exec"),
        ("eval('1')", "eval"),
        ("open('/etc/passwd')", "open"),
        ("getattr(1, 'real')", "getattr"),
        ("().__class__", "__class__"),
        ("print.__globals__", "__globals__"),
    ],
)
def test_what_the_validator_denies_is_an_answer_that_names_it(server, code, word):
    answer = run(server, code)
    assert (answer["status"], answer["stdout"], answer["execution_time"]) == ("error", "", 0)
    assert answer["stderr"] == "Security validation failed: " + answer["error"]
    assert word in answer["error"]


@pytest.mark.parametrize(
    "module",
    """math cmath decimal fractions random statistics itertools functools operator collections heapq bisect array datetime
    calendar copy pprint re string textwrap unicodedata json csv numpy sympy pandas matplotlib scipy sklearn""".split(),
)
def test_what_the_validator_allows_can_be_imported(server, module):
    answer = run(server, f"import {module}\nprint({module}.__name__)")
    assert (answer["status"], answer["stdout"]) == ("success", module + "\n"), answer


def test_single_names_of_io_are_allowed(server):
    answer = run(server, "from io import StringIO, BytesIO\nStringIO('text').read()")
    assert (answer["status"], answer["stdout"]) == ("success", "text\n"), answer


# --- auto_print ---


@pytest.mark.parametrize(
    "code, printed",
    [
        ("2 + 3", "5\n"),
        ("'text'", "text\n"),
        ("x = 5\nprint(x)\nx + 10", "5\n15\n"),
        ("import numpy as np\nnp.array([1, 2, 3]) * 2", "[2 4 6]\n"),
        ("(1 +\n 2 +\n 3)", "6\n"),
        ("{k: 1 for k in 'ab'}", "{'a': 1, 'b': 1}\n"),
        ("print('once')", "once\n"),
        ("None", ""),
        ("x = print('said')\nx", "said\n"),
        ("x = 1", ""),
        ("def f():\n    return 1", ""),
        ("class C:\n    pass", ""),
        ("import math", ""),
        ("if True:\n    1 + 1", ""),
        ("for i in range(3):\n    i", ""),
    ],
)
def test_the_last_expression_is_printed_as_print_does(server, code, printed):
    assert run(server, code)["stdout"] == printed


def test_nothing_is_printed_that_was_not_asked_for(server):
    assert run(server, "2 + 3", auto_print=False)["stdout"] == ""


def test_a_last_expression_that_fails(server):
    answer = run(server, "1 / 0")
    assert answer["status"] == "error" and "ZeroDivisionError" in answer["stderr"]


# --- requests ---


def test_bounds_of_the_model_are_within(server):
    for more in ({"timeout": 1}, {"timeout": 300}, {"memory_limit": 64}, {"memory_limit": 2048}):
        assert run(server, "1", **more)["status"] == "success"


def test_values_are_taken_as_the_model_takes_them(server):
    assert run(server, "1", timeout="5", memory_limit=128.0, auto_print="off")["stdout"] == ""
    assert run(server, "1", timeout=None, memory_limit=None, auto_print=None)["stdout"] == "1\n"


@pytest.mark.parametrize(
    "body, mistakes",
    [
        ({}, {(("body", "code"), "missing")}),
        ({"code": ""}, {(("body", "code"), "value_error")}),
        ({"code": " \n\t "}, {(("body", "code"), "value_error")}),
        ({"code": "x" * 1_000_001}, {(("body", "code"), "value_error")}),
        ({"code": None}, {(("body", "code"), "string_type")}),
        ({"code": ["1"]}, {(("body", "code"), "string_type")}),
        ({"code": "1", "timeout": 0}, {(("body", "timeout"), "greater_than_equal")}),
        ({"code": "1", "timeout": -1}, {(("body", "timeout"), "greater_than_equal")}),
        ({"code": "1", "timeout": 301}, {(("body", "timeout"), "less_than_equal")}),
        ({"code": "1", "timeout": 1.5}, {(("body", "timeout"), "int_from_float")}),
        ({"code": "1", "timeout": 1e300}, {(("body", "timeout"), "int_from_float")}),
        ({"code": "1", "timeout": "soon"}, {(("body", "timeout"), "int_parsing")}),
        ({"code": "1", "timeout": "9" * 40}, {(("body", "timeout"), "int_parsing")}),
        ({"code": "1", "timeout": []}, {(("body", "timeout"), "int_type")}),
        ({"code": "1", "memory_limit": 63}, {(("body", "memory_limit"), "greater_than_equal")}),
        ({"code": "1", "memory_limit": 2049}, {(("body", "memory_limit"), "less_than_equal")}),
        ({"code": "1", "memory_limit": 2**62}, {(("body", "memory_limit"), "less_than_equal")}),
        ({"code": "1", "auto_print": "maybe"}, {(("body", "auto_print"), "bool_parsing")}),
        ({"code": "1", "auto_print": {}}, {(("body", "auto_print"), "bool_type")}),
        ({"code": "1", "profile": "open"}, {(("body", "profile"), "extra_forbidden")}),
        (
            {"timeout": 0, "memory_limit": 1, "x": 1},
            {
                (("body", "code"), "missing"),
                (("body", "timeout"), "greater_than_equal"),
                (("body", "memory_limit"), "greater_than_equal"),
                (("body", "x"), "extra_forbidden"),
            },
        ),
        ([], {(("body",), "model_attributes_type")}),
        ("code", {(("body",), "model_attributes_type")}),
        (7, {(("body",), "model_attributes_type")}),
    ],
)
def test_mistakes_are_422_and_name_every_field(server, body, mistakes):
    assert refused(server, body) == mistakes


def test_the_words_are_those_its_clients_look_for(server):
    texts = {m["msg"] for m in server.post("/run", {"code": " ", "timeout": 0, "memory_limit": 4096}).json["detail"]}
    assert texts == {
        "Value error, Code cannot be empty",
        "Input should be greater than or equal to 1",
        "Input should be less than or equal to 2048",
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"invalid json",
        b'{"code": "1"',
        b'{"code": "1", "code": "2"}',
        b'{"code": "1"} trailing',
        b'{"code": "\\ud800"}',
        b'{"code": "\\u0000"}',
        b'{"code": "a\x00b"}',
        b'{"code": "\xff"}',
        b'{"code": "\xed\xa0\x80"}',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b'{"code": "1", "timeout": 1e999}',
        b'{"code": "1", "timeout": ' + b"9" * 400 + b"}",
        b'{"code": "1", "timeout": NaN}',
        b'{"code": "1", "timeout": Infinity}',
        b'{"code": "1", "timeout": 0x10}',
        b"[" * 100_000,
        b'{"code":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"a":' * 3000 + b"1" + b"}" * 3000,
        b"{" + b",".join(b'"k%d": 1' % i for i in range(50_000)) + b"}",
        b'{"' + b"k" * 100_000 + b'": 1}',
        b"nul",
    ],
)
def test_hostile_bodies_are_422(server, body):
    reply = server.post_raw("/run", body)
    assert reply.status == 422 and reply.json["detail"], reply
    assert len(reply.body) < 100_000
    assert run(server, "1")["stdout"] == "1\n"


def test_a_body_without_a_type_is_read_as_json_and_one_of_another_type_is_not(server):
    body = json.dumps({"code": "1"}).encode()
    assert server.post_raw("/run", body, None).status == 200
    assert server.post_raw("/run", b"invalid json", None).status == 422
    assert server.post_raw("/run", body, "text/plain").status == 415
    assert server.post_raw("/run", body, "application/x-www-form-urlencoded").status == 415


def test_what_is_too_large_is_413(server):
    assert server.post("/run", {"code": "#" + "x" * (9 << 20)}).status == 413
    # A million characters are within the model, their three million bytes beyond what a program may have.
    assert server.post("/run", {"code": "#" + "語" * 999_000}).status == 413


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_other_methods_are_405(server, method):
    reply = server.call(method, "/run")
    assert reply.status == 405 and reply.headers["allow"] == "POST", reply


def test_a_large_program(server):
    answer = run(server, "print('hello')\n" * 10_000)
    assert answer["status"] == "success" and answer["stdout"].count("hello") == 10_000


def test_many_at_once(server):
    codes = [f"print('request {i}')" if i % 3 else "import os" for i in range(24)]
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda code: run(server, code), codes))
    for i, answer in enumerate(answers):
        expected = ("success", f"request {i}\n") if i % 3 else ("error", "")
        assert (answer["status"], answer["stdout"]) == expected, answer


def test_the_operators_ceilings_hold_and_are_said(callers):
    ceilings = {"BELLJAR_TIMEOUT_S": "9", "BELLJAR_MEMORY_MB": "99", "BELLJAR_MAX_TIMEOUT_S": "20", "BELLJAR_MAX_MEMORY_MB": "256"}
    server = Server(callers["user"], "--socket", "none", "--no-auth", env=ceilings)
    try:
        capabilities = server.get("/").json["capabilities"]
        assert (capabilities["max_timeout"], capabilities["max_memory_mb"]) == (20, 256)
        assert refused(server, {"code": "1", "timeout": 21}) == {(("body", "timeout"), "less_than_equal")}
        assert refused(server, {"code": "1", "memory_limit": 257}) == {(("body", "memory_limit"), "less_than_equal")}
        assert run(server, "1")["status"] == "success"
    finally:
        assert server.stop() == 0
