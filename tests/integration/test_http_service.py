"""`belljar serve` under a service manager: the units as they are installed, sockets that are passed, and what is told."""
import configparser
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

import belljar
from serving import PLAIN, Reply, UnixConnection

SERVICE = belljar.ROOT / "packaging/systemd"

# As the manager does it: the sockets are the descriptors from 3 on, and LISTEN_PID is the one they are meant for.
PASS = ("bash", "-c", 'exec 3<&"$A"; test -z "$B" || exec 4<&"$B"; LISTEN_PID=${MEANT:-$$} exec "$0" "$@"')


class News:
    """The other end of $NOTIFY_SOCKET."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name)
        self.socket.settimeout(belljar.HANG_SECONDS)
        if name.startswith("/"):
            os.chmod(name, 0o666)

    def next(self):
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())


def listening(family, address):
    s = socket.socket(family)
    s.bind(address)
    s.listen()
    return s


def start(who, sockets, *args, env=None):
    numbers = [str(s.fileno()) for s in sockets]
    more = {"A": numbers[0], "B": numbers[1] if len(numbers) > 1 else "", "LISTEN_FDS": str(len(numbers)), "LISTEN_FDNAMES": "x"}
    return who.start(
        "serve", *args, wrapper=PASS, env={**PLAIN, **more, **(env or {})}, pass_fds=[s.fileno() for s in sockets],
        stderr=subprocess.STDOUT,
    )  # fmt: skip


def end(process):
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 0, out
    return out.decode()


def fails(process, code):
    out, _ = process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == code, out
    return out.decode()


def ask(connection, path="/v1/sessions", headers=None):
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    return Reply(answer.status, answer.getheaders(), answer.read())


# --- news ---


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_the_manager_is_told_when_it_is_ready_and_when_it_stops(user, kind):
    path = str(user.home / "tmp" / "notify") if kind == "path" else f"\0belljar-test-{os.getpid()}"
    news = News(path)
    process = user.start("serve", "--listen", "127.0.0.1:0", "--socket", "none",
                         env={**PLAIN, "NOTIFY_SOCKET": path.replace("\0", "@")}, stderr=subprocess.STDOUT)  # fmt: skip
    assert news.next() == {"READY": "1", "STATUS": "Takes requests"}
    port = int(re.search(rb":(\d+)\n", process.stdout.readline())[1])
    socket.create_connection(("127.0.0.1", port)).close()  # it did not lie
    process.send_signal(signal.SIGTERM)
    assert news.next()["STOPPING"] == "1"
    assert process.communicate(timeout=belljar.HANG_SECONDS) and process.returncode == 0
    if kind == "path":
        os.unlink(path)


@pytest.mark.parametrize("name", ["/nowhere/at/all", "@", "relative", "/" + "x" * 200, ""])
def test_a_manager_that_does_not_listen_is_no_reason_to_fail(user, name):
    process = user.start("serve", "--listen", "127.0.0.1:0", "--socket", "none", env={**PLAIN, "NOTIFY_SOCKET": name},
                         stderr=subprocess.STDOUT)  # fmt: skip
    assert b"listening on" in process.stdout.readline()
    end(process)


# --- sockets ---


def test_passed_sockets_are_used_and_no_others(who):
    path = str(who.home / "tmp" / "passed.sock")
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as tcp, listening(socket.AF_UNIX, path) as local:
        who.own(path)
        process = start(who, [tcp, local], "--listen", "192.0.2.1:1")  # which would fail
        try:
            assert b"2 sockets of the service manager" in process.stdout.readline()
            token = open(re.search(rb"the token is in (.*)\n", process.stdout.readline())[1], encoding="ascii").read().strip()
            over_tcp = http.client.HTTPConnection("127.0.0.1", tcp.getsockname()[1], timeout=belljar.HANG_SECONDS)
            assert ask(over_tcp).status == 401
            assert ask(over_tcp, headers={"Authorization": f"Bearer {token}"}).status == 200
            # A process of another user comes over the Unix socket, too, and is nobody; one of the same is known.
            reply = ask(UnixConnection(path, belljar.HANG_SECONDS))
            assert reply.status == (200 if who.uid == os.getuid() else 401)
            assert not (who.home / "runtime" / "belljar" / "http.sock").exists()
        finally:
            end(process)
        assert os.path.exists(path), "the manager's socket is not ours to remove"
        # It still listens: what comes now waits for the next server.
        with socket.create_connection(tcp.getsockname(), timeout=5):
            pass
    os.unlink(path)


def test_sockets_of_another_process_are_left_alone(user):
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as tcp:
        process = start(user, [tcp], "--listen", "127.0.0.1:0", "--socket", "none", env={"MEANT": "1"})
        said = process.stdout.readline().decode()
        assert "listening on http://127.0.0.1:" in said and str(tcp.getsockname()[1]) not in said
        end(process)


def test_what_is_no_listening_socket_is_refused(user):
    with socket.socket() as quiet, open("/dev/null", "rb") as file, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        assert "descriptor 3 is not a listening stream socket" in fails(start(user, [quiet]), 64)
        assert "descriptor 3 is not a listening stream socket" in fails(start(user, [datagrams]), 64)
        assert "descriptor 3, passed as a socket" in fails(start(user, [file]), 71)


@pytest.mark.parametrize("count", ["9", "99999999999999999999", "-1", "x", "1x", ""])
def test_a_wrong_number_of_sockets_is_not_believed(user, count):
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as tcp:
        process = start(user, [tcp], "--listen", "127.0.0.1:0", "--socket", "none", env={"LISTEN_FDS": count})
        if count == "9":
            assert "at most 8 sockets can be passed" in fails(process, 65)
        else:
            assert b"listening on http://127.0.0.1:" in process.stdout.readline()
            end(process)


def test_a_passed_socket_beyond_this_machine_needs_tls_and_a_token(user):
    with listening(socket.AF_INET, ("0.0.0.0", 0)) as tcp:
        assert "needs TLS and a token" in fails(start(user, [tcp]), 77)
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as near, listening(socket.AF_INET6, ("::", 0)) as far:
        assert "needs TLS and a token" in fails(start(user, [near, far]), 77)


def test_programs_know_nothing_of_the_manager(user):
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as tcp:
        process = start(user, [tcp], "--no-auth", env={"NOTIFY_SOCKET": "@belljar-nobody"})
        process.stdout.readline()
        c = http.client.HTTPConnection("127.0.0.1", tcp.getsockname()[1], timeout=belljar.HANG_SECONDS)
        c.request("POST", "/v1/run", b'{"code": "env; ls -l /proc/self/fd", "language": "bash", "profile": "open"}',
                  {"Content-Type": "application/json"})  # fmt: skip
        said = c.getresponse().read().decode()
        assert "PATH=" in said and "LISTEN_" not in said and "NOTIFY" not in said
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        for child in children:  # the zygote, which is of the same user but has been given nothing
            if open(f"/proc/{child}/comm", encoding="ascii").read() == "belljar-closer\n":
                continue  # a fork of the server, which runs no program
            variables = open(f"/proc/{child}/environ", "rb").read() if os.getuid() == 0 else b""
            assert b"LISTEN_" not in variables and b"NOTIFY_" not in variables
        end(process)


# --- the files ---


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The files that `make install` installs, from its own build directory."""
    root = tmp_path_factory.mktemp("installed")
    program = belljar.program_path()
    subprocess.run(
        ["meson", "install", "-C", program.parent, "--no-rebuild", "--quiet", "--destdir", root], check=True, capture_output=True
    )
    return root


def unit_files(root):
    found = sorted(root.rglob("systemd/*/belljar.*"))
    assert [f.relative_to(f.parents[1]).as_posix() for f in found] == [
        "system/belljar.service", "system/belljar.socket", "user/belljar.service", "user/belljar.socket",
    ]  # fmt: skip
    return found


def read_unit(path):
    unit = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    unit.optionxform = str
    unit.read_string(path.read_text())
    return unit


def test_units_are_installed_and_name_the_installed_program(installed):
    for path in unit_files(installed):
        assert "@bindir@" not in path.read_text()
        if path.suffix != ".service":
            continue
        service = read_unit(path)["Service"]
        program = service["ExecStart"].split()
        assert service["NoNewPrivileges"] == "yes"
        if path.name == "belljar-nats.service":
            assert program[0] == "/usr/sbin/nats-server" and service["User"] == "nats"
            continue
        assert (installed / program[0].lstrip("/")).exists() and service["Type"] == "notify"
        if path.name == "belljar.service":
            assert program[1:] == ["serve"] and service["Delegate"] == "yes"
        else:
            assert program[1:3] == ["cluster", path.stem.removeprefix("belljar-")] and service["RestrictNamespaces"] == "yes"
    assert list(installed.rglob("sysusers.d/belljar.conf"))


def test_systemd_has_nothing_to_say_against_the_units(installed, tmp_path):
    """With the program at the place that the units name, whatever the prefix."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze")
    for path in unit_files(installed):
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", path.read_text(), flags=re.MULTILINE)
        copy = tmp_path / path.parent.name / path.name
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text)
    for kind in ("system", "user"):
        files = sorted((tmp_path / kind).iterdir())
        done = subprocess.run(
            ["systemd-analyze", f"--{kind}", "--man=no", "verify", *files], capture_output=True, text=True,
            env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        )  # fmt: skip
        ours = [line for line in done.stderr.splitlines() if "belljar" in line]
        assert not ours, ours


def test_the_sample_of_settings_can_be_used_as_it_is(installed, user):
    path = user.home / "tmp" / "sample.toml"
    shutil.copy(next(installed.rglob("config.toml.sample")), path)
    user.own(path)
    answer = user.call("config", "--json", "--config", path)
    assert answer.code == 0, answer
    plain = user.call("config", "--json").json
    assert {k: v["value"] for k, v in answer.json.items()} == {k: v["value"] for k, v in plain.items()}
    path.unlink()
