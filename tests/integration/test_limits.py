"""Each limit by itself: what is reported, and that the program cannot pass it."""
import json

import pytest

import belljar

pytestmark = pytest.mark.usefixtures("watch")


def test_wall_time(who):
    answer = who.run("import time\nprint('before', flush=True)\ntime.sleep(60)", "--timeout", "1")
    assert answer.status == "timeout", answer
    assert answer.json["stdout"] == "before\n"
    assert answer.json["usage"]["wall_ms"] >= 900, answer.json["usage"]


def test_output_up_to_a_timeout_is_kept_even_without_a_newline(who):
    answer = who.run("import sys, time\nsys.stdout.write('partial')\nsys.stdout.flush()\nsys.stderr.write('also')\ntime.sleep(60)", "--timeout", "1")
    assert (answer.status, answer.json["stdout"]) == ("timeout", "partial"), answer
    assert "also" in answer.json["stderr"]


def test_buffered_output_of_a_timeout_is_kept(who):
    answer = who.run("print('not flushed')\nwhile True: pass", "--timeout", "1")
    assert answer.status == "timeout", answer
    assert "not flushed" in answer.json["stdout"], answer


def test_a_fraction_of_a_second(who):
    answer = who.run("import time; time.sleep(60)", "--timeout", "1.5")
    assert answer.status == "timeout" and answer.json["usage"]["wall_ms"] >= 1400, answer


def test_cpu_time_from_the_configuration(who):
    answer = who.run("while True: pass", "--timeout", "20", env={"BELLJAR_CPU_TIME_S": "1"})
    assert answer.status == "timeout", answer
    assert answer.json["usage"]["wall_ms"] < 15000, answer.json["usage"]


def test_cpu_time_from_a_flag_and_its_hint(who):
    answer = who.call("run", "-c", "while True: pass", "--timeout", "20", "--cpu-time", "1")
    assert answer.code == 124 and "raise `--cpu-time`" in answer.errors, answer


def test_cpu_time_of_children_counts(who):
    code = "import os\nfor i in range(3):\n    if os.fork() == 0:\n        while True: pass\nos.wait()"
    answer = who.run(code, "--timeout", "20", env={"BELLJAR_CPU_TIME_S": "1"})
    assert answer.status == "timeout" and answer.json["usage"]["wall_ms"] < 15000, answer


def test_limits_of_own_runs_follow_the_machine(who):
    code = "import os, resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE)[0], os.statvfs('/tmp').f_files >= 10000)"
    for profile in ("open", "standard"):
        answer = who.call("run", "--json", "--profile", profile, "-c", "print(1)")
        record = json.loads(who.call("audit", "show", answer.json["id"], "--json").text.splitlines()[0])["limits"]
        assert record["timeout_ms"] == 0 and record["processes"] == 4096 and record["memory_bytes"] >= 512 << 20, record
    assert who.run(code).json["stdout"] == "1024 True\n"
    answer = who.run("while True: pass", env={"BELLJAR_MAX_TIMEOUT_S": "1"})
    assert answer.status == "timeout" and "1 s" in str(answer.json["denials"]), answer
    answer = who.run("while True: pass", env={"BELLJAR_TIMEOUT_S": "1"})
    assert answer.status == "timeout", answer


def test_memory(who):
    # Without a cgroup memory is looked at from time to time; nothing says that the next line does not begin before that.
    answer = who.run("import time\nx = 'x' * (600 << 20)\ntime.sleep(60)\nprint('got it')", "--memory", "128", "--timeout", "120")
    assert answer.status == "memory_exceeded", answer
    assert "got it" not in answer.json["stdout"]


def test_memory_below_the_limit_is_fine(who):
    answer = who.run("x = bytearray(150 << 20)\nprint(len(x))", "--memory", "256")
    assert answer.status == "success", answer


def test_memory_of_a_child_ends_the_run(who):
    code = "import subprocess\nsubprocess.run(['/usr/bin/python3', '-c', 'x = bytearray(600 << 20); print(1)'])\nprint('went on')"
    answer = who.run(code, "--memory", "128")
    assert answer.status == "memory_exceeded", answer


def test_processes(who):
    code = (
        "import os, time\nn = 0\ntry:\n    for i in range(200):\n        if os.fork() == 0:\n            time.sleep(5)\n            os._exit(0)\n"
        "        n += 1\nexcept OSError as e:\n    print('stopped', e.errno)\nprint(n)\nos._exit(0)"
    )
    answer = who.run(code, "--pids", "20")
    assert "stopped 11" in answer.json["stdout"], answer
    assert int(answer.json["stdout"].split()[-1]) <= 20, answer


def test_descriptors(who):
    code = "import os\nn = 0\ntry:\n    while n < 10000:\n        os.dup(0); n += 1\nexcept OSError as e:\n    print('stopped', e.errno)\nprint(n)"
    answer = who.run(code)
    assert "stopped 24" in answer.json["stdout"], answer
    assert int(answer.json["stdout"].split()[-1]) <= 1024, answer


def test_file_size(who):
    code = "f = open('/workspace/f', 'wb')\ntry:\n    for i in range(40):\n        f.write(bytes(1 << 20)); f.flush()\nexcept OSError as e:\n    print('stopped', e.errno, i)"
    answer = who.run(code, "--disk", "64", env={"BELLJAR_FILE_MB": "8"})
    assert "stopped 27" in answer.json["stdout"], answer


@pytest.mark.parametrize("place", ["/workspace", "/tmp", "/dev/shm"])
def test_disk(who, place):
    code = f"f = open('{place}/f', 'wb')\nn = 0\ntry:\n    for i in range(100):\n        f.write(bytes(1 << 20)); f.flush(); n += 1\nexcept OSError as e:\n    print('stopped', e.errno)\nprint(n)"
    answer = who.run(code, "--disk", "16", "--memory", "512")
    assert "stopped 28" in answer.json["stdout"], answer
    assert int(answer.json["stdout"].split()[-1]) <= 16, answer


def test_disk_is_one_limit_for_all_places(who):
    code = (
        "n = 0\nfor place in ('/workspace', '/tmp', '/dev/shm'):\n    f = open(place + '/f', 'wb')\n    try:\n        for i in range(40):\n"
        "            f.write(bytes(1 << 20)); f.flush(); n += 1\n    except OSError as e:\n        pass\nprint(n)"
    )
    answer = who.run(code, "--disk", "16", "--memory", "512")
    assert int(answer.json["stdout"]) <= 17, answer


def test_inodes(who):
    code = "import os\nn = 0\ntry:\n    for i in range(5000):\n        os.close(os.open(f'/workspace/{i}', os.O_CREAT)); n += 1\nexcept OSError as e:\n    print('stopped', e.errno)\nprint(n)"
    answer = who.run(code, env={"BELLJAR_INODES": "1000"})
    assert "stopped 28" in answer.json["stdout"], answer
    assert int(answer.json["stdout"].split()[-1]) <= 1000, answer


def test_output_keeps_head_and_tail_and_says_what_is_missing(who):
    code = "import os\nos.write(1, b'HEAD\\n')\nfor i in range(2000):\n    os.write(1, b'x' * 999 + b'\\n')\nos.write(1, b'TAIL\\n')"
    answer = who.run(code, "--output", "65536")
    result = answer.json
    assert result["status"] == "success", answer
    assert result["truncated"] == {"stdout": True, "stderr": False}
    assert result["stdout"].startswith("HEAD\n") and result["stdout"].endswith("TAIL\n")
    assert len(result["stdout"]) < 65536 + 1024
    middle = result["stdout"].replace("x", "").strip()
    assert any(c.isdigit() for c in middle), f"no count in the marker: {middle[:200]!r}"


def test_output_just_below_the_limit_is_whole(who):
    answer = who.run("import os\nos.write(1, b'y' * 65536)", "--output", "65536")
    assert answer.json["stdout"] == "y" * 65536
    assert answer.json["truncated"] == {"stdout": False, "stderr": False}


def test_both_streams_are_limited_apart(who):
    answer = who.run("import os\nfor i in range(300):\n    os.write(2, b'e' * 1000)\nos.write(1, b'fine')", "--output", "65536")
    assert answer.json["truncated"] == {"stdout": False, "stderr": True}
    assert answer.json["stdout"] == "fine" and len(answer.json["stderr"]) < 65536 + 1024


@pytest.mark.parametrize(
    "flag, low, high",
    [("--timeout", "0", "100000"), ("--memory", "1", "100000000"), ("--pids", "0", "10000000"), ("--output", "-1", "99999999999999"), ("--disk", "-5", "99999999")],
)
def test_a_limit_out_of_range_is_refused_with_the_range(who, flag, low, high):
    for value in (low, high, "many", "", "5x"):
        answer = who.call("run", "-c", "print('ran')", flag, value)
        assert answer.code == 64, f"{flag} {value}: {answer}"
        assert b"ran" not in answer.out
        assert answer.errors.startswith("belljar: ") and len(answer.errors.splitlines()) <= 2, answer
        assert flag.strip("-") in answer.errors, answer
