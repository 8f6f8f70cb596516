"""Dify's sandbox and SandboxFusion: one route each, tested as their clients call them."""
import base64

import pytest

from serving import Server


@pytest.fixture(scope="module")
def server(callers):
    made = Server(callers["user"], "--socket", "none")
    yield made
    assert made.stop() == 0, made.said


def encoded(data):
    return base64.b64encode(data).decode()


# --- Dify ---

NODE = """
def main(a, b):
    return {"sum": a + b}

import json
from base64 import b64decode
inputs = json.loads(b64decode("%s").decode("utf-8"))
print("<<RESULT>>" + json.dumps(main(**inputs), indent=4) + "<<RESULT>>")
""" % encoded(b'{"a": 2, "b": 40}')


def dify(server, body):
    reply = server.post("/v1/sandbox/run", body)
    assert reply.status == 200, reply
    assert set(reply.json) == {"code", "message", "data"}
    return reply.json


@pytest.mark.smoke
def test_a_node_of_dify(server):
    answer = dify(server, {"language": "python3", "code": NODE, "preload": "", "enable_network": True})
    assert answer["code"] == 0 and answer["message"] == "success"
    assert answer["data"] == {"error": "", "stdout": '<<RESULT>>{\n    "sum": 42\n}<<RESULT>>\n'}


def test_what_fails_in_dify_is_in_error(server):
    answer = dify(server, {"language": "python3", "code": "print(1)\n1/0"})
    assert answer["code"] == 0 and answer["data"]["stdout"] == "1\n"
    assert "ZeroDivisionError" in answer["data"]["error"]


def test_mistakes_in_requests_of_dify(server):
    assert dify(server, {"language": "cobol", "code": "x"}) == {"code": -400, "message": "unsupported language", "data": None}
    for body in ({"language": "python3"}, {"language": "python3", "code": 7}, []):
        assert server.post("/v1/sandbox/run", body).status == 422


def test_the_token_may_come_as_an_api_key(server):
    token, server.token = server.token, None
    try:
        body = {"language": "python3", "code": "print(1)"}
        assert server.post("/v1/sandbox/run", body).status == 401
        assert server.post("/v1/sandbox/run", body, headers={"X-Api-Key": "wrong"}).status == 401
        assert server.post("/v1/sandbox/run", body, headers={"X-Api-Key": token}).json["data"]["stdout"] == "1\n"
        # The other header wins: nobody can hide a wrong token behind a right one.
        both = {"X-Api-Key": token, "Authorization": "Bearer wrong"}
        assert server.post("/v1/sandbox/run", body, headers=both).status == 401
    finally:
        server.token = token


# --- SandboxFusion ---


def fusion(server, code, language="python", **more):
    reply = server.post("/run_code", {"code": code, "language": language, **more})
    assert reply.status == 200, reply
    answer = reply.json
    assert set(answer) == {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}
    return answer


@pytest.mark.smoke
def test_a_program_of_sandboxfusion(server):
    answer = fusion(server, "print(int(input()) * 2)", stdin="21\n", run_timeout=5, compile_timeout=10, memory_limit_MB=-1)
    assert answer["status"] == "Success" and answer["message"] == ""
    assert answer["run_result"]["status"] == "Finished" and answer["run_result"]["return_code"] == 0
    assert answer["run_result"]["stdout"] == "42\n"


def test_how_programs_of_sandboxfusion_end(server):
    failed = fusion(server, "import sys; print('x', file=sys.stderr); sys.exit(3)")
    assert failed["status"] == "Failed" and failed["run_result"]["return_code"] == 3 and failed["run_result"]["stderr"] == "x\n"
    late = fusion(server, "print('before', flush=True)\nwhile True: pass", run_timeout=1)
    assert late["status"] == "Failed" and late["run_result"]["status"] == "TimeLimitExceeded"
    assert late["run_result"]["return_code"] is None and late["run_result"]["stdout"] == "before\n"
    assert fusion(server, "echo $((6*7))", "bash")["run_result"]["stdout"] == "42\n"


def test_files_of_sandboxfusion(server):
    data = bytes(range(256))
    code = "data = open('in/a[1].bin', 'rb').read()\nopen('out*.bin', 'wb').write(data[::-1])\nopen('outX.bin', 'wb')"
    answer = fusion(server, code, files={"in/a[1].bin": encoded(data), "none": None}, fetch_files=["out*.bin", "./missing"])
    assert answer["status"] == "Success", answer
    assert answer["files"] == {"out*.bin": encoded(data[::-1])}


def test_a_file_that_is_too_large_to_fetch_is_said(server):
    code = "with open('large', 'wb') as f:\n    for _ in range(48): f.write(bytes(1 << 20))\nopen('small', 'w').write('x')"
    answer = fusion(server, code, fetch_files=["large", "small"])
    assert answer["status"] == "Success" and answer["files"] == {"small": encoded(b"x")}, answer["message"]
    assert "too large" in answer["message"]


def test_what_sandboxfusion_cannot_do_is_said(server):
    answer = fusion(server, "int main(){}", "cpp")
    assert answer["status"] == "SandboxError" and "/languages" in answer["message"] and answer["run_result"] is None
    assert "base64" in fusion(server, "1", files={"x": "?"})["message"]
    assert fusion(server, "1", files={"../x": ""})["status"] == "SandboxError"
    assert server.post("/run_code", {"code": "1", "language": "python", "fetch_files": ["x"] * 33}).status == 422
    answer = fusion(server, "1", run_timeout=1e9)
    assert answer["status"] == "SandboxError" and "--timeout" not in answer["message"], answer  # an option of the command line
    reply = server.post("/run_code", {"code": 1, "language": "python", "files": [], "fetch_files": {}, "run_timeout": "x"})
    assert reply.status == 422
    assert {m["loc"][1] for m in reply.json["detail"]} == {"code", "files", "fetch_files", "run_timeout"}
