"""Durable jobs (`/v1/jobs`): what was accepted is run, whatever happens to the server."""
import contextlib
import itertools
import json
import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import uuid
from pathlib import Path

import belljar
import host
import pytest
from serving import Server, wait_until

OVER = ("done", "failed", "lost", "cancelled")


@pytest.fixture
def place(who):
    """A state directory and a directory in which programs leave marks, of the test's own."""
    state, marks = who.directory(f"jobs-{uuid.uuid4().hex}"), who.directory(f"marks-{uuid.uuid4().hex}")
    return {"XDG_STATE_HOME": str(state), "BELLJAR_ALLOW": f"{marks}:rw", "BELLJAR_PROFILE": "open", "BELLJAR_SOCKET": "none"}


def marks_of(place):
    return Path(place["BELLJAR_ALLOW"].removesuffix(":rw"))


def mark(place, name, then="pass"):
    """A program that notes that it has begun."""
    return f"with open({str(marks_of(place) / name)!r}, 'a') as f: f.write('x')\n{then}\nprint('end of', {name!r})"


def begun(place, name):
    path = marks_of(place) / name
    return len(path.read_text()) if path.exists() else 0


def submit(server, code, headers=None, **fields):
    reply = server.post("/v1/jobs", {"code": code, **fields}, headers=headers)
    assert reply.status == 202, reply
    assert reply.headers["location"] == f"/v1/jobs/{reply.json['id']}"
    return reply.json


def job(server, id):
    reply = server.get(f"/v1/jobs/{id}")
    assert reply.status == 200, reply
    return reply.json


def wait(server, id, states=OVER):
    return wait_until(lambda: (j := server.get(f"/v1/jobs/{id}?wait_s=2").json)["state"] in states and j, f"{id} is {states}")


def result(server, id):
    reply = server.get(f"/v1/jobs/{id}/result")
    assert reply.status == 200, reply
    return reply.json


def kill(server):
    server.process.send_signal(signal.SIGKILL)
    server.process.communicate()


def outcomes(j):
    assert [a["number"] for a in j["history"]] == list(range(1, j["attempts"] + 1)), j
    return [a["outcome"] for a in j["history"]]


def tokens_of(who, place, *names):
    return [who.call("token", "add", name, env=place).text.strip() for name in names]


# --- one server ---


@pytest.fixture(scope="module")
def jobs_server(callers):
    state = callers["user"].directory(f"jobs-{uuid.uuid4().hex}")
    with Server(callers["user"], env={"XDG_STATE_HOME": str(state), "BELLJAR_PROFILE": "open", "BELLJAR_SOCKET": "none"}) as server:
        yield server


def test_a_job_is_run_and_its_result_kept(jobs_server):
    assert jobs_server.get("/v1/jobs").status == 200
    made = submit(jobs_server, "print(6 * 7)", correlation_id="c-1", keep_s=60)
    assert made["state"] in ("waiting", "running") and made["result_bytes"] == 0 and made["ended_at"] is None
    over = wait(jobs_server, made["id"])
    assert (over["state"], over["outcome"], over["attempts"], over["error"]) == ("done", "success", 1, None)
    assert over["correlation_id"] == "c-1" and over["keep_s"] == 60 and over["expires_at"] > over["ended_at"]
    assert outcomes(over) == ["success"]
    got = result(jobs_server, made["id"])
    assert got["stdout"] == "42\n" and got["id"] == over["history"][0]["run_id"] and got["correlation_id"] == "c-1"
    # An attempt is a run like any other.
    assert jobs_server.get(f"/v1/runs/{got['id']}").json["stdout"] == "42\n"
    listed = jobs_server.get("/v1/jobs?state=done").json["jobs"]
    assert made["id"] in [j["id"] for j in listed] and "history" not in listed[0]
    assert jobs_server.call("DELETE", f"/v1/jobs/{made['id']}").status == 204
    assert jobs_server.get(f"/v1/jobs/{made['id']}").status == 404
    assert jobs_server.get(f"/v1/jobs/{made['id']}/result").status == 404


def test_pages_of_the_list(jobs_server):
    # Jobs of one millisecond have no order but that of their ids.
    ids = sorted(submit(jobs_server, "1", delay_s=3600)["id"] for _ in range(5))
    first = jobs_server.get("/v1/jobs?state=waiting&limit=2").json["jobs"]
    second = jobs_server.get(f"/v1/jobs?state=waiting&limit=3&before={first[-1]['id']}").json["jobs"]
    assert [j["id"] for j in first + second] == ids[::-1]
    for id in ids:
        assert jobs_server.post(f"/v1/jobs/{id}/cancel", {}).json == {"cancelled": True}
        assert job(jobs_server, id)["state"] == "cancelled"
        assert jobs_server.post(f"/v1/jobs/{id}/cancel", {}).json == {"cancelled": False}
    assert jobs_server.get("/v1/jobs?state=waiting").json == {"jobs": []}


def test_mistakes_are_told_at_once(jobs_server):
    for body, words in [
        ({}, "code"),
        ({"code": "1", "language": "cobol"}, "language"),
        ({"code": "1", "retry_on": ["success"]}, "retry_on"),
        ({"code": "1", "repeatable": False, "max_attempts": 2}, "repeatable"),
        ({"code": "1", "max_attempts": 0}, "max_attempts"),
        ({"code": "1", "keep_s": 1e9}, "keep_s"),
        ({"code": "1", "profile": "nobody"}, "nobody"),
        ({"code": "1", "detach": True}, "detach"),
    ]:
        reply = jobs_server.post("/v1/jobs", body)
        assert reply.status in (400, 404) and words in reply.error["message"], (body, reply)
    for path in ("/v1/jobs/job_x", "/v1/jobs/job_x/result"):
        assert jobs_server.get(path).status == 404
    assert jobs_server.call("DELETE", "/v1/jobs/job_x").status == 404
    assert jobs_server.post("/v1/jobs/job_x/cancel", {}).status == 404


def test_a_running_job_is_cancelled_and_its_output_kept(jobs_server):
    made = submit(jobs_server, "import time\nprint('so far', flush=True)\ntime.sleep(3600)", timeout_s=300)
    wait_until(lambda: job(jobs_server, made["id"])["state"] == "running", "it runs")
    run = job(jobs_server, made["id"])["history"][0]["run_id"]
    wait_until(lambda: "so far" in jobs_server.get(f"/v1/runs/{run}/follow?wait=false").body.decode(), "it has written")
    refused = jobs_server.call("DELETE", f"/v1/jobs/{made['id']}")
    assert refused.status == 409 and "cancel" in refused.error["hint"]
    early = jobs_server.get(f"/v1/jobs/{made['id']}/result")
    assert early.status == 409 and "running" in early.error["message"]
    assert jobs_server.post(f"/v1/jobs/{made['id']}/cancel", {}).json == {"cancelled": True}
    over = wait(jobs_server, made["id"])
    assert (over["state"], outcomes(over)) == ("cancelled", ["cancelled"])
    assert result(jobs_server, made["id"])["stdout"] == "so far\n"


def test_a_failing_program_is_tried_again(jobs_server):
    once = wait(jobs_server, submit(jobs_server, "raise SystemExit(3)")["id"])
    assert (once["state"], outcomes(once)) == ("done", ["error"])
    made = submit(jobs_server, "print('x')\nraise SystemExit(3)", retry_on=["error"], max_attempts=3, retry_delay_s=0.05)
    over = wait(jobs_server, made["id"])
    assert (over["state"], over["outcome"], outcomes(over)) == ("done", "error", ["error"] * 3)
    got = result(jobs_server, made["id"])
    assert got["exit_code"] == 3 and got["id"] == over["history"][2]["run_id"]


def test_progress_is_shown(jobs_server):
    code = "from belljar import progress\nprogress(3, 7, 'halfway')\nimport time\ntime.sleep(3600)"
    made = submit(jobs_server, code, timeout_s=300)
    seen = wait_until(lambda: job(jobs_server, made["id"])["progress"], "progress")
    assert seen == {"done": 3, "total": 7, "text": "halfway"}
    assert jobs_server.get("/v1/jobs?state=running").json["jobs"][0]["progress"] == seen
    jobs_server.post(f"/v1/jobs/{made['id']}/cancel", {})
    assert wait(jobs_server, made["id"])["progress"] is None


def test_a_large_result_comes_back_whole(jobs_server):
    made = submit(jobs_server, "print('z' * 3_000_000)", output_bytes=4_000_000)
    assert wait(jobs_server, made["id"])["result_bytes"] > 3_000_000
    assert result(jobs_server, made["id"])["stdout"] == "z" * 3_000_000 + "\n"


def test_a_result_that_is_too_large_is_an_error(jobs_server):
    """Control characters are six bytes each in JSON."""
    code = "import sys\nfor stream in (sys.stdout, sys.stderr): stream.write('\\x01' * 3_000_000)"
    made = submit(jobs_server, code, output_bytes=4_000_000)
    over = wait(jobs_server, made["id"])
    assert (over["state"], over["error"]["code"], over["result_bytes"]) == ("failed", "too_large", 0)


def test_secrets_are_masked(jobs_server):
    made = submit(jobs_server, "print('ghp_' + 'a1B2' * 9)\nraise ValueError('ghp_' + 'a1B2' * 9)")
    wait(jobs_server, made["id"])
    assert b"a1B2a1B2" not in jobs_server.get(f"/v1/jobs/{made['id']}/result").body


def test_files_go_in_and_come_back(jobs_server):
    made = submit(jobs_server, "open('b.txt', 'w').write(open('a.txt').read().upper())",
                  files=[{"path": "a.txt", "content": "abc"}], collect=["b.txt"])  # fmt: skip
    wait(jobs_server, made["id"])
    assert result(jobs_server, made["id"])["collected"][0]["content"] == "ABC"


def test_a_job_is_deleted_when_its_time_is_up(jobs_server):
    made = submit(jobs_server, "1", keep_s=1)
    wait_until(lambda: jobs_server.get(f"/v1/jobs/{made['id']}").status == 404, "it is gone")
    assert made["id"] not in [j["id"] for j in jobs_server.get("/v1/jobs").json["jobs"]]


def test_waiting_requests_are_answered(jobs_server):
    made = submit(jobs_server, "1", delay_s=3600)
    assert jobs_server.get(f"/v1/jobs/{made['id']}?wait_s=0.05").json["state"] == "waiting"
    with jobs_server.open() as s:
        request = f"GET /v1/jobs/{made['id']}?wait_s=60 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {jobs_server.token}\r\n\r\n"
        s.sendall(request.encode())
        assert jobs_server.post(f"/v1/jobs/{made['id']}/cancel", {}).json == {"cancelled": True}
        assert b'"cancelled"' in s.recv(65536)


def test_metrics_count_them(jobs_server):
    submit(jobs_server, "1", delay_s=3600)
    text = jobs_server.get("/metrics").body.decode()
    assert int(float(text.split("\nbelljar_jobs_waiting ")[1].split("\n")[0])) >= 1


# --- keys ---


def test_the_same_key_is_one_job_also_after_a_kill(who, place):
    key, body = {"Idempotency-Key": secrets.token_hex(8)}, {"code": mark(place, "once")}
    with Server(who, env=place) as server:
        first = server.post("/v1/jobs", body, headers=key)
        again = server.post("/v1/jobs", body, headers=key)
        assert first.status == again.status == 202 and first.json["id"] == again.json["id"]
        assert again.headers["idempotency-replayed"] == "true" and "idempotency-replayed" not in first.headers
        wait(server, first.json["id"])
        kill(server)
    with Server(who, env=place) as server:
        assert server.post("/v1/jobs", body, headers=key).json["id"] == first.json["id"]
        other = server.post("/v1/jobs", {"code": "2"}, headers=key)
        assert other.status == 422 and "another request" in other.error["message"]
        assert begun(place, "once") == 1


# --- the end of the server ---


def test_a_killed_server_runs_it_again(who, place):
    with Server(who, env=place) as server:
        then = f"import os, time\nif os.path.getsize({str(marks_of(place) / 'twice')!r}) == 1: time.sleep(3600)"
        made = submit(server, mark(place, "twice", then), timeout_s=300)
        wait_until(lambda: begun(place, "twice") == 1, "it has begun")
        kill(server)
    with Server(who, env=place) as server:
        over = wait(server, made["id"])
        assert (over["state"], over["attempts"], outcomes(over)) == ("done", 2, ["interrupted", "success"])
        assert result(server, made["id"])["stdout"] == "end of twice\n" and begun(place, "twice") == 2


def test_what_may_not_be_repeated_is_lost(who, place):
    with Server(who, env=place) as server:
        made = submit(server, mark(place, "lost", "import time; time.sleep(3600)"), timeout_s=300, repeatable=False)
        waits = submit(server, mark(place, "waits"), repeatable=False, delay_s=1)
        wait_until(lambda: begun(place, "lost") == 1, "it has begun")
        kill(server)
    with Server(who, env=place) as server:
        over = job(server, made["id"])
        assert (over["state"], outcomes(over)) == ("lost", ["interrupted"])
        assert "not repeatable" in over["error"]["message"]
        reply = server.get(f"/v1/jobs/{made['id']}/result")
        assert reply.status == 409 and "lost" in reply.error["message"]
        # One that had not begun is not lost.
        assert wait(server, waits["id"])["state"] == "done" and begun(place, "waits") == 1
        assert begun(place, "lost") == 1


def test_attempts_have_an_end(who, place):
    made = None
    for attempt in (1, 2):
        with Server(who, env=place) as server:
            made = made or submit(server, mark(place, "often", "import time; time.sleep(3600)"), timeout_s=300, max_attempts=2)
            wait_until(lambda: begun(place, "often") == attempt, f"attempt {attempt}")
            kill(server)
    with Server(who, env=place) as server:
        over = job(server, made["id"])
        assert (over["state"], outcomes(over)) == ("failed", ["interrupted", "interrupted"])
        assert "last attempt" in over["error"]["message"] and begun(place, "often") == 2


def test_nothing_that_was_accepted_is_lost(who, place):
    """Killed at many moments: each job that was answered with 202 has its end, and as many attempts as it was begun."""
    names, accepted = (f"n{i}" for i in itertools.count()), {}
    for round in range(6):
        with Server(who, env=place) as server:
            connection = server.connect()
            for _ in range(3 + 4 * round):
                name = next(names)
                body = {"code": mark(place, name), "max_attempts": 20, "retry_delay_s": 0}
                reply = server.call("POST", "/v1/jobs", body, connection=connection)
                assert reply.status == 202, reply
                accepted[reply.json["id"]] = name
            connection.close()
            kill(server)
    with Server(who, env=place) as server:
        for id, name in accepted.items():
            over = wait(server, id)
            assert (over["state"], over["outcome"]) == ("done", "success"), over
            assert result(server, id)["stdout"] == f"end of {name}\n"
            # An attempt that is noted and was killed before its program began left no mark.
            assert 1 <= begun(place, name) <= over["attempts"]
            assert outcomes(over) == ["interrupted"] * (over["attempts"] - 1) + ["success"]


def test_a_stopped_server_ends_what_runs_and_leaves_the_rest(who, place):
    gate = marks_of(place) / "gate"
    then = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    with Server(who, env={**place, "BELLJAR_STOP_GRACE_S": "120", "BELLJAR_RUNS_MAX": "2"}) as server:
        runs = submit(server, mark(place, "runs", then), timeout_s=100, repeatable=False)
        rest = [submit(server, mark(place, f"rest{i}"), repeatable=False) for i in range(3)]
        wait_until(lambda: begun(place, "runs") == 1, "it has begun")
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("told to stop")
        gate.touch()
        who.own(gate)
        assert server.wait() == 0, server.said
    with Server(who, env=place) as server:
        assert job(server, runs["id"])["state"] == "done" and begun(place, "runs") == 1
        for i, one in enumerate(rest):
            assert wait(server, one["id"])["state"] == "done" and begun(place, f"rest{i}") == 1


def test_a_second_server_takes_over(who, place):
    with Server(who, env=place) as first:
        made = submit(first, mark(place, "moves", "import time; time.sleep(3600)"), timeout_s=300, max_attempts=1)
        wait_until(lambda: begun(place, "moves") == 1, "it has begun")
        with Server(who, env=place) as second:
            busy = second.post("/v1/jobs", {"code": "1"})
            assert busy.status == 429 and "another server" in busy.error["message"]
            assert second.get("/v1/jobs").status == 429
            assert job(first, made["id"])["state"] == "running"  # and not taken for interrupted
            kill(first)
            over = wait_until(lambda: (r := second.get(f"/v1/jobs/{made['id']}")).status == 200 and r.json, "it has taken over")
            assert over["state"] == "failed"


def test_a_damaged_record_holds_up_no_other(who, place):
    with Server(who, env=place) as server:
        bad = submit(server, "1", delay_s=2)
        good = submit(server, "print('good')", delay_s=2)
        kill(server)
    with contextlib.closing(sqlite3.connect(Path(place["XDG_STATE_HOME"]) / "belljar/jobs.sqlite")) as file:
        file.execute("DELETE FROM piece WHERE job=?", (bad["id"],))
        file.commit()
    with Server(who, env=place) as server:
        over = wait(server, bad["id"])
        assert (over["state"], over["attempts"]) == ("failed", 0) and "missing" in over["error"]["message"]
        assert wait(server, good["id"])["state"] == "done"


# --- bounds ---


def test_a_token_has_so_many_jobs(who, place):
    with Server(who, env={**place, "BELLJAR_JOBS_MAX": "2"}) as server:
        ids = [submit(server, "1", delay_s=3600)["id"] for _ in range(2)]
        full = server.post("/v1/jobs", {"code": "1"})
        assert full.status == 429 and "jobs_max" in full.error["hint"] and int(full.headers["retry-after"]) > 0
        server.post(f"/v1/jobs/{ids[0]}/cancel", {})
        submit(server, "1", delay_s=3600)


def test_jobs_belong_to_their_token(who, place):
    one, two = tokens_of(who, place, "one", "two")
    with Server(who, env=place) as server:
        as_one, as_two = ({"Authorization": f"Bearer {t}"} for t in (one, two))
        made = submit(server, "print(1)", headers=as_one)
        assert server.get("/v1/jobs", headers=as_two).json == {"jobs": []}
        for method, path in [("GET", ""), ("GET", "/result"), ("DELETE", "")]:
            assert server.call(method, f"/v1/jobs/{made['id']}{path}", headers=as_two).status == 404
        assert server.post(f"/v1/jobs/{made['id']}/cancel", {}, headers=as_two).status == 404
        wait_until(lambda: server.get(f"/v1/jobs/{made['id']}", headers=as_one).json["state"] == "done", "it is done")
        later = submit(server, "print(2)", headers=as_one, delay_s=3600)
        assert who.call("token", "rm", "one", env=place).code == 0
        assert server.get(f"/v1/jobs/{later['id']}", headers=as_one).status == 401
        again = tokens_of(who, place, "one")[0]
        assert server.get("/v1/jobs", headers={"Authorization": f"Bearer {again}"}).json == {"jobs": []}


def test_many_jobs_of_one_token_do_not_hold_up_another(who, place):
    one, two = tokens_of(who, place, "one", "two")
    with Server(who, env={**place, "BELLJAR_RUNS_MAX": "4"}) as server:
        many = [submit(server, "import time; time.sleep(3600)", headers={"Authorization": f"Bearer {one}"}, timeout_s=300) for _ in range(8)]
        few = submit(server, "print(1)", headers={"Authorization": f"Bearer {two}"})
        headers = {"Authorization": f"Bearer {two}"}
        wait_until(lambda: server.get(f"/v1/jobs/{few['id']}", headers=headers).json["state"] == "done", "the other's is done")
        states = [server.get(f"/v1/jobs/{m['id']}", headers={"Authorization": f"Bearer {one}"}).json["state"] for m in many]
        assert "waiting" in states and "done" not in states
        for m in many:
            server.post(f"/v1/jobs/{m['id']}/cancel", {}, headers={"Authorization": f"Bearer {one}"})


@pytest.fixture
def small_disk(who, place):
    """The state is on a small disk of its own."""
    if os.getuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    state = place["XDG_STATE_HOME"]
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size=4m,mode=700,uid={who.uid},gid={who.gid}", host.OWN_MOUNT, state], check=True
    )
    yield Path(state)
    subprocess.run(["umount", "-l", state], check=True)


def fill(directory, who):
    path = directory / "fill"
    with open(path, "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(4096))
        except OSError:
            pass
    who.own(path)
    return path


def test_a_full_disk_refuses_jobs_and_loses_no_result(who, place, small_disk):
    gate = marks_of(place) / "gate"
    then = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nprint('y' * 200_000)"
    with Server(who, env={**place, "BELLJAR_TRAIL": "off", "BELLJAR_UNDO": "off"}) as server:
        made = submit(server, mark(place, "full", then), timeout_s=300, repeatable=False)
        wait_until(lambda: begun(place, "full") == 1, "it has begun")
        filler = fill(small_disk, who)
        refused = server.post("/v1/jobs", {"code": "#" * 300_000})
        assert refused.status == 429 and "full" in refused.error["message"], refused
        gate.touch()
        server.wait_for("full")  # the log says that the result cannot be written
        assert job(server, made["id"])["state"] == "running"
        filler.unlink()
        over = wait(server, made["id"])
        assert (over["state"], over["attempts"]) == ("done", 1)
        assert len(result(server, made["id"])["stdout"]) > 200_000
        assert wait(server, submit(server, "1")["id"])["state"] == "done"


# In place of the C library's: a disk that fails while the file is there. Without AIO, which asks Linux itself.
FAILING = """
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static long (*next)(long, ...);

long syscall(long number, ...)
{
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (!next)
        next = dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_io_setup) {
        errno = ENOSYS;
        return -1;
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int fdatasync(int fd)
{
    if (access(FLAG, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}
"""


@pytest.fixture
def failing_disk(who, place, tmp_path):
    """The flag that makes the server's disk fail, and the variables for it."""
    if not shutil.which("cc"):
        pytest.skip("needs a C compiler")
    flag, library = marks_of(place) / "flag", marks_of(place) / "failing.so"
    (tmp_path / "failing.c").write_text(FAILING)
    words = ["-shared", "-fPIC", "-D_GNU_SOURCE", f'-DFLAG="{flag}"', "-o", library, tmp_path / "failing.c", "-ldl"]
    subprocess.run(["cc", *words], check=True)
    who.own(library)
    return flag, {"LD_PRELOAD": str(library), "BELLJAR_TRAIL": "off", "BELLJAR_UNDO": "off"}


def test_a_disk_that_fails_accepts_nothing_and_begins_nothing(who, place, failing_disk):
    flag, env = failing_disk
    with Server(who, env={**place, **env}) as server:
        made = submit(server, mark(place, "later"), delay_s=1.5, repeatable=False)
        flag.touch()
        reply = server.post("/v1/jobs", {"code": mark(place, "refused")})
        assert reply.status == 500 and "written to the disk" in reply.error["message"], reply
        listed = server.get("/v1/jobs").json["jobs"]
        assert [j["state"] for j in listed if j["id"] != made["id"]] == ["cancelled"]
        wait_until(lambda: job(server, made["id"])["history"], "its turn has come")
        wait_until(lambda: job(server, made["id"])["state"] == "waiting", "it waits again")
        assert outcomes(job(server, made["id"])) == ["failed"] and begun(place, "later") == 0
        flag.unlink()
        over = wait(server, made["id"])
        assert (over["state"], outcomes(over)) == ("done", ["failed", "success"])
        assert begun(place, "later") == 1 and begun(place, "refused") == 0


def test_a_server_without_jobs_has_no_file(who, place):
    with Server(who, env=place) as server:
        assert server.get("/v1/jobs").json == {"jobs": []}
        assert json.loads(server.get("/v1/stats").body)
        assert not list(Path(place["XDG_STATE_HOME"]).glob("belljar/jobs*"))
    assert belljar.program_path().exists()
