"""`belljar run --here`: a program with files next to it, and what is said when they are not granted."""
import json
import re
import shlex

import pytest


@pytest.fixture
def project(who):
    top = who.directory("project")
    for name, text in {
        "main.py": "import json, os, sys, helper, package.part\n"
        "print(json.dumps([helper.WHO, package.part.WHO, os.getcwd(), sys.path[0], __file__, sys.argv, open('data.csv').read()]))",
        "helper.py": "WHO = 'helper'",
        "random.py": "WHO = 'mine'",
        "shadow.py": "import random\nprint(random.WHO)",
        "data.csv": "a,b\n",
        "read.py": "print(open('data.csv').read())",
        "refused.py": "import ctypes",
        "write.py": "open('new.txt', 'w').write('x')",
        "script.sh": '. "$(dirname "$0")/part.sh"\ncat data.csv',
        "part.sh": "echo part",
        "package/__init__.py": "",
        "package/part.py": "WHO = 'part'",
        "sub/main.py": "import helper\nprint(helper.WHO, open('data.csv').read())",
        "sub/helper.py": "WHO = 'sub'",
        "sub/only.txt": "only\n",
        "sub/read.py": "print(open('only.txt').read())",
    }.items():
        path = top / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for path in [top, *top.rglob("*")]:
        who.own(path)
    return top


def test_a_program_finds_what_is_next_to_it(who, project):
    answer = who.call("run", "--here", "main.py", "--here", "-c", cwd=project)
    assert answer.code == 0 and not answer.errors, answer
    helper, part, cwd, path, file, argv, data = json.loads(answer.text)
    assert (helper, part, data) == ("helper", "part", "a,b\n")
    # In a sandbox, /var/tmp is a link to /tmp.
    assert path == str(project) and cwd == re.sub("^/var/tmp/", "/tmp/", path) and file == f"{path}/main.py"
    assert argv == ["main.py", "--here", "-c"]


def test_the_directory_of_the_file_comes_first_as_in_python(who, project):
    assert who.call("run", "--here", "sub/main.py", cwd=project).text == "sub a,b\n\n"
    assert who.call("run", "--here", "shadow.py", cwd=project).text == "mine\n"
    assert who.call("run", "--profile", "open", "--allow", ".", "sub/main.py", cwd=project).text == "sub a,b\n\n"
    assert who.call("run", "--allow", ".", "sub/main.py", cwd=project).text == "sub a,b\n\n"


def test_bash_finds_its_own_directory(who, project):
    assert who.call("run", "--here", "script.sh", cwd=project).text == "part\na,b\n"


def test_here_is_read_only_and_says_so(who, project):
    answer = who.call("run", "--here", "write.py", cwd=project)
    assert answer.code == 1 and "hint: " in answer.errors and ":rw`" in answer.errors, answer
    assert not (project / "new.txt").exists()
    answer = who.call("run", "--here", "--allow", ".:rw", "write.py", cwd=project)
    assert answer.code == 0 and (project / "new.txt").read_text() == "x", answer


def test_a_chosen_profile_stays(who, project):
    answer = who.call("run", "--here", "--profile", "standard", "refused.py", cwd=project)
    assert answer.code == 126 and "importing module `ctypes`" in answer.errors, answer
    answer = who.call("run", "--here", "read.py", cwd=project, env={"BELLJAR_PROFILE": "strict"})
    assert answer.code == 77 and "strict" in answer.errors, answer


def test_a_short_form_of_workdir(who, project):
    assert who.call("run", "--allow", ".", "-C", "sub", "sub/read.py", cwd=project).text == "only\n\n"
    answer = who.call("run", "-C", ".", "read.py", cwd=project)
    assert answer.code == 77 and "`--allow DIR`" in answer.errors, answer


@pytest.mark.parametrize(
    "args, names",
    [
        (["read.py"], ["`data.csv` is in the current directory", "`--here`"]),
        (["sub/read.py"], ["`only.txt` is next to the program", "`--allow sub`"]),
        (["main.py"], ["`helper` is next to the program", "`--here`"]),
        (["--profile", "open", "main.py"], ["`helper` is next to the program", "`--here`"]),
        (["--profile", "open", "-c", "open('{project}/data.csv')"], ["exists on this machine", "`--allow {project}`"]),
    ],
)
def test_errors_name_the_flag_that_helps(who, project, args, names):
    args = [a.replace("{project}", str(project)) for a in args]
    answer = who.call("run", *args, cwd=project)
    assert answer.code in (1, 126), answer
    names = [name.replace("{project}", str(project)) for name in names]
    for name in names:
        assert name in answer.errors, answer
    found = who.call("run", "--json", *args, cwd=project).json
    hints = [found["error"]["hint"]] if found["error"] else [v["hint"] for v in found["violations"]]
    assert all(any(name in hint for hint in hints if hint) for name in names), found


FLAGS = re.compile(r"`((?:--here|--allow|-C|--profile)[^`]*)`")

# (where it is started, words of the command line); words of hints are added behind `run`, as the hint says.
FOLLOWED = [
    (".", ["read.py"]),
    (".", ["--profile", "open", "read.py"]),
    (".", ["sub/read.py"]),
    (".", ["--allow", "other", "read.py"]),
    (".", ["--allow", "other", "sub/read.py"]),
    (".", ["--allow", ".", "--allow", "{data}", "sub/read.py"]),
    (".", ["--allow", ".", "--allow", "{data}", "read.py"]),
    (".", ["--allow", ".", "sub/read.py"]),
    (".", ["--allow", ".", "-C", "other", "read.py"]),
    ("sub", ["--profile", "open", "-c", "print(open('../data.csv').read())"]),
    ("sub", ["--allow", "../other", "-c", "print(open('../data.csv').read())"]),
    ("sub", ["../read.py"]),
    ("a b", ["../read.py"]),
    (".", ["a b/read.py"]),
    (".", ["-c", "print(open('{project}/data.csv').read())"]),
    (".", ["own.py"]),
    (".", ["--profile", "standard", "own.py"]),
    (".", ["--profile", "open", "own.py"]),
    (".", ["--profile", "strict", "own.py"]),
    (".", ["--profile", "marketplace", "own.py"]),
    (".", ["sub/own.py"]),
    (".", ["--allow", "other", "sub/lone.py"]),
    (".", ["--profile", "marketplace", "--allow", ".", "own.py"]),
    (".", ["--allow", "other", "own.py"]),
    (".", ["--allow", "other", "--profile", "open", "sub/own.py"]),
    ("other", ["../sub/own.py"]),
]


def follow(who, words, cwd):
    """Runs it, and again with all that the hint says, while it fails and says something."""
    for _ in range(3):
        answer = who.call("run", *words, cwd=cwd)
        if answer.code == 0:
            return answer
        flags = [word for found in FLAGS.findall(answer.errors) for word in shlex.split(found)]
        assert flags, (words, answer)
        at = next((i for i, word in enumerate(words) if word == "-c" or word.endswith(".py")), len(words))
        words = [*words[:at], *flags, *words[at:]]
    raise AssertionError((words, answer))


@pytest.mark.parametrize("start, words", FOLLOWED)
def test_doing_what_the_hint_says_works(who, project, start, words):
    data = who.directory("data-of-" + project.name)
    for name, text in {
        "own.py": "import helper\nprint(helper.WHO)", "sub/own.py": "import helper\nprint(helper.WHO)",
        "sub/lone.py": "import lonely\nprint(lonely.WHO)", "sub/lonely.py": "WHO = 'sub'",
        "other/x": "", "a b/read.py": "print(open('mine.txt').read())", "a b/mine.txt": "mine\n",
    }.items():  # fmt: skip
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)
        who.own((project / name).parent)
        who.own(project / name)
    words = [w.replace("{project}", str(project)).replace("{data}", str(data)) for w in words]
    first = who.call("run", *words, cwd=project / start)
    assert first.code in (1, 126), first
    answer = follow(who, words, project / start)
    assert answer.text.strip() in ("a,b", "only", "mine", "helper", "sub"), answer


def test_a_granted_program_finds_the_modules_next_to_it(who, project):
    for name, text in {"sub/lone.py": "import lonely\nprint(lonely.WHO)", "sub/lonely.py": "WHO = 'sub'"}.items():
        (project / name).write_text(text)
        who.own(project / name)
    answer = who.call("run", "--allow", ".", "sub/lone.py", cwd=project)
    assert answer.code == 0 and answer.text == "sub\n" and not answer.errors, answer


def test_a_link_to_another_place_gets_no_hint(who, project):
    """Granting the directory of the link would not show the file."""
    secret = who.directory("elsewhere") / "secret.csv"
    secret.write_text("x")
    (project / "linked.csv").symlink_to(secret)
    answer = who.call("run", "--profile", "open", "-c", "open('linked.csv')", cwd=project)
    assert answer.code == 1 and "is in the current directory" not in answer.errors, answer
    answer = who.call("run", "--profile", "open", "-c", f"open('{secret}')", cwd=project)
    assert "`--allow DIR`" in answer.errors and f"--allow {secret.parent}" not in answer.errors, answer


def test_what_is_not_there_gets_no_such_hint(who, project):
    for code in ("open('nowhere.csv')", "open('/nowhere.csv')", "import nowhere", "open('data.csv\\n`--net *`')"):
        answer = who.call("run", "--profile", "open", "-c", code, cwd=project)
        assert answer.code == 1 and "--here" not in answer.errors and "exists on this machine" not in answer.errors, answer


def test_a_server_has_no_here(who, project):
    answer = who.call("run", "--server", "http://127.0.0.1:9", "--here", "read.py", cwd=project)
    assert answer.code == 64 and "--here" in answer.errors, answer
