"""Output of a program with `belljar run` arrives whole, however much it is and however slowly it is read."""
import fcntl
import hashlib
import os
import pty
import re
import struct
import subprocess
import termios
import time

import belljar
import prompt



class Run(prompt.Prompt):
    command = "run"


# Numbered lines, so that a piece that is missing or doubled changes the hash.
LINES = """
import sys
block = ''.join('%%07d abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 the quick brown fox\\n' %% i for i in range(10000))
for n in range(%d):
    sys.stdout.write('%%d\\n' %% n)
    sys.stdout.write(block)
"""


def expected(rounds):
    block = "".join("%07d abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 the quick brown fox\n" % i for i in range(10000)).encode()
    digest, size = hashlib.sha256(), 0
    for n in range(rounds):
        for piece in (b"%d\n" % n, block):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size


def peak_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))


def fill(process):
    """Waits until the program's output has filled the pipe that nobody reads. Short writes fill it with fewer bytes than it
    has room for: it is full when nothing more comes."""
    fd, before, same = process.stdout.fileno(), 0, 0
    end = time.monotonic() + belljar.HANG_SECONDS
    while same < 30:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "the pipe does not fill"
        time.sleep(0.01)
        now = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"0000"))[0]
        before, same = now, same + 1 if now and now == before else 0


def test_three_hundred_megabytes_arrive_whole_in_constant_memory(user):
    want, size = expected(320)
    assert size > 290_000_000
    process = user.start("run", "--timeout", "300", "-c", LINES % 320)
    fill(process)
    digest, got, early, late = hashlib.sha256(), 0, None, None
    while piece := process.stdout.read1(1 << 16):
        digest.update(piece)
        got += len(piece)
        if early is None and got > 8_000_000:
            early = peak_kb(process.pid)
        if late is None and got > size - 2_000_000:
            late = peak_kb(process.pid)
    errors = process.stderr.read()
    assert process.wait(belljar.HANG_SECONDS) == 0, errors
    assert (digest.hexdigest(), got) == (want, size)
    assert errors == b""
    if "ASAN_OPTIONS" not in os.environ:  # which keeps freed memory
        assert late - early < 16 * 1024, (early, late)


def test_a_file_gets_all_of_both_streams(who):
    out, err = who.home / "tmp" / "big.out", who.home / "tmp" / "big.err"
    code = "import sys\nfor i in range(300000):\n    print(i, 'out')\n    print(i, 'err', file=sys.stderr)"
    with open(out, "wb") as o, open(err, "wb") as e:
        answer = who.call("run", "--timeout", "120", "-c", code, stdout=o, stderr=e)
    assert answer.code == 0
    assert out.read_bytes() == b"".join(b"%d out\n" % i for i in range(300000))
    assert err.read_bytes() == b"".join(b"%d err\n" % i for i in range(300000))
    out.unlink(), err.unlink()


def test_secrets_are_masked_all_the_way(user):
    code = "for i in range(60000):\n    print(i, 'password=hunter2hunter2' if i % 1000 == 999 else 'x' * 80)"
    answer = user.call("run", "--profile", "open", "--timeout", "120", "-c", code)
    assert answer.code == 0, answer.errors
    assert b"hunter2" not in answer.out
    lines = answer.out.splitlines()
    assert len(lines) == 60000 and lines[-1].startswith(b"59999 password=[") and lines[-2] == b"59998 " + b"x" * 80


def test_a_reader_that_goes_ends_the_program_like_sigpipe(who, watch):
    process = who.start("run", "-c", "i = 0\nwhile True:\n    print('line', i)\n    i += 1")
    assert process.stdout.readline() == b"line 0\n"
    process.stdout.close()
    assert process.wait(belljar.HANG_SECONDS) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_program_that_ended_before_its_reader_went(user):
    process = user.start("run", "-c", "print('x' * 300000)")
    fill(process)
    process.stdout.close()
    assert process.wait(belljar.HANG_SECONDS) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_full_disk_is_reported(user):
    with open("/dev/full", "wb") as full:
        answer = user.call("run", "-c", "print('x' * 100000)", stdout=full)
    assert answer.code == belljar.EXIT_OWN
    assert "write to standard output: No space left on device" in answer.errors


def test_the_clock_goes_on_while_nobody_reads(user):
    process = user.start("run", "--timeout", "1", "-c", "while True: print('x' * 1000)")
    fill(process)
    out, err = process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 124, err
    assert set(out) == set(b"x\n")


def test_ctrl_c_while_nobody_reads(user):
    process = user.start("run", "-c", "while True: print('x' * 1000)")
    fill(process)
    process.send_signal(2)
    process.communicate(timeout=belljar.HANG_SECONDS)
    assert process.returncode == 130


def test_our_own_end_of_the_pipe_stays_blocking(user):
    """O_NONBLOCK would hold for every process that shares the pipe."""
    read, write = os.pipe()
    process = user.start("run", "-c", "print(1)", stdout=write)
    assert process.wait(belljar.HANG_SECONDS) == 0
    assert not fcntl.fcntl(write, fcntl.F_GETFL) & os.O_NONBLOCK
    os.close(write)
    assert os.read(read, 10) == b"1\n"
    os.close(read)
    process.stderr.close()


def test_a_terminal_gets_everything(user):
    ours, theirs = pty.openpty()
    process = user.start("run", "--timeout", "120", "-c", "for i in range(400000): print(i)", stdout=theirs)
    os.close(theirs)
    got = bytearray()
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        got += piece
    os.close(ours)
    assert process.wait(belljar.HANG_SECONDS) == 0
    process.stderr.close()
    assert bytes(got).replace(b"\r\n", b"\n") == b"".join(b"%d\n" % i for i in range(400000))


def test_a_bar_is_drawn_in_its_line_on_a_terminal(user):
    code = r"import sys; sys.stderr.write('\r 50%|#    |\r100%|##|\x1b[K\n\x1b[8mhidden\x1b[2Jend\n')"
    ours, theirs = pty.openpty()
    process = user.start("run", "-c", code, stderr=theirs, env={"TERM": "xterm"})
    os.close(theirs)
    got = b""
    while b"end" not in got:
        got += os.read(ours, 65536)
    assert process.wait(belljar.HANG_SECONDS) == 0
    os.close(ours), process.stdout.close()
    assert b"\r 50%|#    |\r100%|##|\x1b[K\r\n" in got and b"\r\nhidden\\x1b[2Jend" in got, got


def test_a_shell_gets_all_output_of_a_cell(user):
    answer = user.call("shell", input=b"for i in range(400000): print(i)\n\n", hang=2 * belljar.HANG_SECONDS)
    assert answer.out == b"".join(b"%d\n" % i for i in range(400000)), answer.errors


def test_json_keeps_beginning_and_end(user):
    answer = user.run("for i in range(300000): print(i)")
    assert answer.json["truncated"]["stdout"] and len(answer.json["stdout"]) < 1_100_000


def test_a_socket_as_standard_output(user):
    import socket

    ours, theirs = socket.socketpair()
    process = user.start("run", "-c", "for i in range(200000): print(i)", stdout=theirs.fileno())
    theirs.close()
    with ours.makefile("rb") as f:
        assert f.read() == b"".join(b"%d\n" % i for i in range(200000))
    ours.close()
    assert process.wait(belljar.HANG_SECONDS) == 0
    process.stderr.close()


def test_lines_of_ours_begin_on_a_line_of_their_own(user):
    """A program that leaves a colour on, or ends with a carriage return, does not write into them."""
    for last, end in (("raise SystemExit(1)", r"\x1b\[0m\r+\n$"), ("1 / 0", r"\r\n\x1b\[0m$")):
        with Run(user, "--profile", "open", "-c", "print('all is well \\x1b[30;40m\\r', end=''); " + last) as p:
            before = p.wait("belljar: ")
            assert re.search(end, before), before


MIXED = "import sys\nfor i in range(200):\n    print('out', i)\n    print('err', i, file=sys.stderr)\nprint(1 / 0)\n"


def test_two_streams_that_end_in_one_place_keep_their_order(who):
    """As in `program 2>&1`; the traceback comes last, once."""
    answer = who.call("run", "-c", MIXED, stderr=subprocess.STDOUT)
    lines = answer.text.splitlines()
    assert lines[:400] == [f"{word} {i}" for i in range(200) for word in ("out", "err")], answer
    assert lines[400].startswith("Traceback") and lines[-1].startswith("ZeroDivisionError") and len(lines) < 410, answer
    answer = who.call("exec", "--", "sh", "-c", "echo a; echo b >&2; echo c; nosuch-command", stderr=subprocess.STDOUT)
    assert answer.text.startswith("a\nb\nc\n") and "hint: " in answer.text, answer
    answer = who.call("run", "-c", MIXED)  # two pipes
    assert "err" not in answer.text and "out" not in answer.errors, answer
    assert who.call("audit", "replay", "--limit", "3").code == 0


def test_a_program_knows_the_width_of_the_terminal_it_writes_to(user):
    code = "import os, shutil; print(*shutil.get_terminal_size(), os.environ.get('LINES'))"
    with Run(user, "-c", code, columns=77, rows=33) as p:
        p.wait("77 33 33")
        assert p.end() == 0
    with Run(user, "--env", "COLUMNS=50", "-c", code, columns=77, rows=33) as p:
        p.wait("50 33 33")
        assert p.end() == 0
    assert user.call("run", "-c", code).text == "80 24 None\n"
    with Run(user, "--seed", "1", "-c", code, columns=77) as p:  # the same everywhere
        p.wait("80 24 None")
        assert p.end() == 0
