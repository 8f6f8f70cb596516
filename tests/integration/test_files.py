"""The answer lists the files that a program leaves in /workspace, whatever it tries."""
import pytest

# The most files that an answer lists (LIMIT_FILES_NAMED).
NAMED = 100


def names(answer):
    return [f["path"] for f in answer.json["files"]]


@pytest.mark.smoke
def test_new_files_are_listed_with_their_size(who):
    answer = who.run("import os\nos.mkdir('d')\nopen('out.csv', 'w').write('x' * 120)\nopen('d/e', 'w')")
    assert answer.json["files"] == [{"path": "d/e", "size": 0}, {"path": "out.csv", "size": 120}], answer
    assert answer.json["files_gone"] == []
    assert answer.json["files_truncated"] is False


def test_bash_too(who):
    answer = who.run("echo hello > greeting; mkdir d; echo > /tmp/elsewhere", "-l", "bash")
    assert answer.json["files"] == [{"path": "greeting", "size": 6}], answer


def test_nothing_written_is_an_empty_list(who):
    answer = who.run("print(1)")
    assert (answer.json["files"], answer.json["files_truncated"]) == ([], False), answer


def test_nothing_ran_and_nothing_is_listed(who):
    answer = who.run("import subprocess", profile="strict")
    assert answer.status == "refused" and answer.json["files"] == [], answer


@pytest.mark.parametrize(
    "end, status",
    [("1 / 0", "error"), ("import os; os.kill(os.getpid(), 9)", "error"), ("while True: pass", "timeout")],
)
def test_files_are_listed_however_it_ends(who, end, status):
    answer = who.run(f"open('partial', 'w').write('xyz')\n{end}", "--timeout", "1")
    assert answer.status == status, answer
    assert answer.json["files"] == [{"path": "partial", "size": 3}], answer


def test_only_regular_files_are_listed(who):
    answer = who.run(
        "import os, socket\n"
        "os.symlink('/etc/passwd', 'link'); os.symlink('/', 'root'); os.mkfifo('fifo'); os.mkdir('directory')\n"
        "socket.socket(socket.AF_UNIX).bind('socket')\n"
        "open('regular', 'w')\n"
    )
    assert names(answer) == ["regular"], answer


def test_a_sparse_file_is_listed_and_not_read(who):
    answer = who.run("import os\nopen('s', 'w'); os.truncate('s', 60 << 20)")
    assert answer.json["files"] == [{"path": "s", "size": 60 << 20}], answer


def test_odd_names_are_escaped_and_stay_apart(who):
    answer = who.run(
        "import os\n"
        "for name in (b'new\\nline', b'\\xff', b'\\xfe', b'back\\\\slash', '\\u00e4'.encode(), b'\\x1b[31m'):\n"
        "    open(name, 'w')"
    )
    expected = ["\\x1b[31m", "back\\x5cslash", "new\\x0aline", "ä", "\\xfe", "\\xff"]
    assert names(answer) == expected, answer


def test_more_than_a_reader_wants_is_cut_and_said(who):
    answer = who.run("for i in range(5000): open(f'{i:04}', 'w')")
    assert len(answer.json["files"]) == NAMED and answer.json["files_truncated"] is True, answer
    assert names(answer)[0] == "0000"


def test_what_is_closed_to_us_is_said_to_be_missing(who):
    answer = who.run(
        "import os\nos.mkdir('shut'); open('shut/x', 'w'); os.chmod('shut', 0)\nopen('f', 'w'); os.chmod('f', 0)"
    )
    assert names(answer) == ["f"] and answer.json["files_truncated"] is True, answer


def test_a_tree_deeper_than_any_path_ends(who):
    answer = who.run("import os\nfor i in range(3000):\n    os.mkdir('d'); os.chdir('d')\nopen('f', 'w')")
    assert answer.status == "success" and answer.json["files_truncated"] is True, answer


def test_children_that_keep_renaming_do_not_hold_the_answer(who):
    answer = who.run(
        "import os, time\n"
        "os.mkdir('d'); open('d/secret', 'w').write('inside'); os.symlink('/etc', 'e')\n"
        "for i in range(3):\n"
        "    if os.fork() == 0:\n"
        "        while True:\n"
        "            try:\n"
        "                os.rename('d', 'x'); os.rename('e', 'd'); os.rename('d', 'e'); os.rename('x', 'd')\n"
        "                open('f%d' % time.monotonic_ns(), 'w')\n"
        "            except OSError:\n"
        "                pass\n"
        "time.sleep(0.3)\nos._exit(0)",
        "--timeout", "20",
    )  # fmt: skip
    assert answer.status == "success", answer
    assert all(n in ("d/secret", "x/secret") or n.startswith("f") for n in names(answer)), answer


def test_no_descriptor_of_the_workspace_is_in_the_program(who):
    answer = who.run(
        "import os\n"
        "links = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if os.path.lexists(f'/proc/self/fd/{fd}')]\n"
        "print([link for link in links if link.startswith('/workspace')])"
    )
    assert answer.json["stdout"] == "[]\n", answer
