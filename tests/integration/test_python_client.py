"""The client library in sdk/python/: its own tests, its examples, and that it can be installed."""
import os
import re
import subprocess
import sys

import pytest

import belljar
from serving import Server

SOURCE = belljar.ROOT / "sdk/python"


def python(who, *args, env=None, **more):
    """A process of its own: the tests' own library has the same name."""
    return subprocess.run(
        [sys.executable, *map(str, args)], env=who.environment({"PYTHONDONTWRITEBYTECODE": "1", **(env or {})}),
        capture_output=True, text=True, timeout=300, **who.identity(), **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def installed(base, callers):
    """A directory from which an ordinary user can import it."""
    target = os.path.join(base, "client")
    build = os.path.join(base, "client-source")
    subprocess.run(["cp", "-r", str(SOURCE), build], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
         "--root-user-action=ignore", "--target", target, build],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done
    return target


@pytest.fixture(scope="module")
def client_server(callers):
    s = Server(callers["user"])
    yield s
    assert s.stop() == 0, s.said


CLASSES = ["Runs", "Streams", "Sessions", "Copies", "Batches"]


@pytest.mark.parametrize("name", CLASSES)
def test_the_clients_own_tests(user, installed, client_server, name):
    env = {
        "PYTHONPATH": installed,
        "BELLJAR_TEST_URL": f"http://127.0.0.1:{client_server.port}",
        "BELLJAR_TEST_TOKEN": client_server.token,
        "BELLJAR_TEST_SOCKET": client_server.socket,
    }
    tests = os.path.join(os.path.dirname(installed), "client-source", "tests")
    done = python(user, "-W", "error::ResourceWarning", "-m", "unittest", f"test_client.{name}", env=env, cwd=tests)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^OK$", done.stderr, re.MULTILINE), done.stderr  # and nothing was skipped


def test_all_of_them_are_run():
    text = (SOURCE / "tests" / "test_client.py").read_text(encoding="utf-8")
    assert re.findall(r"^class (\w+)\(Case\)", text, re.MULTILINE) == CLASSES


def test_the_examples_of_its_readme(user, installed, client_server):
    """As they stand, one after the other, with nothing but the environment to find the server."""
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    done = python(user, "-c", "\n".join(blocks), env={"PYTHONPATH": installed})
    assert done.returncode == 0, done
    assert done.stdout.startswith("0\n1\n2\n"), done.stdout
    assert {"a accepted", "b wrong_answer"} <= set(done.stdout.splitlines())


def test_it_speaks_tls(user, installed, base):
    cert, key = os.path.join(base, "py-cert.pem"), os.path.join(base, "py-key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    for path in (cert, key):
        user.own(path)
    process = user.start("serve", "--listen", "127.0.0.1:0", "--socket", "none", "--tls-cert", cert, "--tls-key", key,
                         env={"BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "1", "BELLJAR_POOL_HOT": "0"})  # fmt: skip
    port = re.search(rb"https://127.0.0.1:(\d+)", process.stdout.readline())[1].decode()
    token = re.search(rb"token is in (.*)", process.stdout.readline())[1].decode()
    script = (
        "import sys, belljar\n"
        "url, token, ca = sys.argv[1:]\n"
        "with belljar.Client(url, token_file=token, ca_file=ca) as c:\n"
        "    print(c.run('print(1)').stdout, end='')\n"
        "try:\n"
        "    belljar.Client(url, token_file=token).run('1')\n"
        "except belljar.Unreachable as e:\n"
        "    print('CERTIFICATE_VERIFY_FAILED' in str(e))\n"
    )
    done = python(user, "-c", script, f"https://localhost:{port}", token, cert, env={"PYTHONPATH": installed})
    process.terminate()
    process.communicate(timeout=belljar.HANG_SECONDS)
    assert done.stdout == "1\nTrue\n", done


def test_it_needs_nothing_but_the_library():
    """No import from elsewhere, and no module that later versions of Python have not."""
    for path in (SOURCE / "belljar").glob("*.py"):
        for name in re.findall(r"^ {0,8}(?:from ([\w.]+) import|import ([\w.]+)$)", path.read_text(encoding="utf-8"), re.MULTILINE):
            name = name[0] or name[1]
            if path.name != "__init__.py" and not name.startswith("."):
                assert name.split(".")[0] in sys.stdlib_module_names, (path, name)
