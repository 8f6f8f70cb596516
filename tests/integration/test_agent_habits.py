"""Habits of agents: their answers have no noise, and name the next step."""
import re
import secrets
import shlex

import pytest

import mcp


@pytest.fixture
def project(who):
    folder = who.directory("habits-" + secrets.token_hex(4))
    (folder / "mine.py").write_text("OWN = 1\n")
    (folder / "pip.py").write_text("OWN = 2\n")  # one that is installed, too
    for path in [folder, *folder.rglob("*")]:
        who.own(path)
    return folder


def add(who, path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    who.own(path.parent)
    who.own(path)


@pytest.fixture
def client(who, project):
    with mcp.Client(who, "--allow", f"{project}:rw") as client:
        client.initialize()
        client.text("run_code", {"code": "1"})
        yield client


def bash(client, code):
    return client.text("run_code", {"code": code, "language": "bash"})


@pytest.mark.parametrize("code", ["seq 1000000 | head -1", "yes | sed 1q", "grep -r . /usr/share/zoneinfo 2>/dev/null | head -1 >/dev/null; echo y"])
def test_a_pipe_that_is_closed_early_makes_no_noise(who, client, code):
    """The first command ends by SIGPIPE; in a session Bash would then complain that it has no terminal."""
    assert bash(client, code) in ("1\n", "y\n")
    done = who.run(code, "--language", "bash", profile="standard")
    assert (done.json["stdout"], done.json["stderr"]) in (("1\n", ""), ("y\n", "")), done


def test_a_killed_command_makes_no_noise(client):
    said = bash(client, "sleep 60 & kill $!; wait $!; bash -c 'kill -TERM $$'; echo ended")
    assert "ended" in said and "tcsetattr" not in said, said


def test_an_unknown_topic_names_the_topics(client):
    said = client.text("more", {"topic": "apply changes"})
    assert "did you mean `review_changes`?" in said and "topics: api, files" in said, said
    assert "did you mean `files`" in client.text("more", {"topic": "file"})
    said = client.text("more", {"topic": "zzz"})
    assert "topics: api, files" in said and "did you mean" not in said, said


def test_a_fork_says_how_its_changes_are_applied(client):
    answer = client.call("fork_session", {"n": 1})
    if answer.get("isError"):
        pytest.skip("a checked build copies no memory")
    said = mcp.text_of(answer)
    assert 'more {"tool": "review_changes", "arguments": {"session_id": "ID", "action": "show" or "apply"}}' in said, said


def test_a_refused_import_says_what_to_do(client, project):
    said = client.text("run_code", {"code": "import pip\nimport setuptools"})
    lines = [line for line in said.splitlines() if line.startswith("- line")]
    assert "would be imported instead of yours" in lines[0] and "with Bash" in lines[0], said
    assert "run `python3` with Bash, where" in lines[1], said
    assert len(lines) == 2, said
    said = client.text("run_code", {"code": "import mine\nimport pty"})
    assert said.count("- line") == 1 and "`pty`" in said, said
    assert bash(client, f"cd {project}; python3 -c 'import pip; print(pip.OWN)'") == "2\n"


def test_topics_are_found_by_other_words(client):
    assert "packages: " in client.text("more", {"topic": "packages"}) and "limits: " in client.text("more", {"topic": "limits"})
    assert "git_commit" in client.text("more", {"topic": "git"}) and "undo_run" in client.text("more", {"topic": "undo"})


@pytest.mark.parametrize("name, meant", [("list_directory", "list_files"), ("bash", "execute_bash_code"), ("run_python", "execute_python_code"), ("undo", "undo_run")])
def test_an_unknown_tool_names_one_that_is_there(client, name, meant):
    error = client.request("tools/call", {"name": name, "arguments": {}})["error"]
    assert f"did you mean {meant}?" in error["message"], error


def test_a_hint_does_not_advise_what_the_profile_refuses(client):
    said = client.text("run_code", {"code": "os.getcwd()"})
    assert "NameError" in said and "`import os` first" in said, said
    said = client.text("run_code", {"code": "subprocess.run(1)"})
    assert "NameError" in said and "import subprocess" not in said, said
    assert "`import json` first" in client.text("run_code", {"code": "json.dumps(1)"})
    said = client.text("run_code", {"code": "import subprocess"})
    assert "write the line `!command` in the cell" in said and "run a Bash program instead" in said and "`open`" not in said, said


# Programs that are refused before they run, or stopped while they run, and the words their hint must have.
STARTS = {
    "import subprocess\nsubprocess.run(['ls'])": "!command",
    "import os\nos.system('ls')": "!command",
    "import os\nos.popen('ls').read()": "!command",
    "import os\nos.execv('/bin/ls', ['ls'])": "!command",
    "import asyncio.subprocess": "!command",
    "import asyncio\nasync def f():\n    await asyncio.create_subprocess_shell('ls')\nawait f()": "!command",
    "import pytest\npytest.main(['t.py'])": "!python3 -m pytest -q FILE",
    "import os\nos.fork()": "ThreadPoolExecutor",
    "from multiprocessing import Pool": "ThreadPoolExecutor",
    "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor() as p:\n    list(p.map(abs, [-1]))": "ThreadPoolExecutor",
    "import sys\nsys.settrace(None)": "run it as a script with Bash",
    "def f(): pass\nf.__globals__": "use globals()",
}


def test_a_refused_start_of_a_program_says_what_to_write_instead(client, who):
    for code, meant in STARTS.items():
        said = client.text("run_code", {"code": code})
        assert meant in said and "`open`" not in said and ("— " in said or "\nhint: " in said), (code, said)
    for code in ("import subprocess", "import os\nos.system('ls')", "import pytest"):
        said = who.call("run", "-c", code).errors
        assert "Bash" in said and "!" not in said, said


def test_what_the_hint_of_a_refused_start_says_works(client, project):
    (project / "test_it.py").write_text("def test_it():\n    assert 1\n")
    assert client.text("run_code", {"code": "x = 2\n!echo one {x}\nlines = !printf 'a\\nb'\nprint(lines[1])"}) == "one 2\nb\n"
    assert "1 passed" in client.text("run_code", {"code": "!python3 -m pytest -q -p no:cacheprovider test_it.py"})
    assert client.text("run_code", {"code": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as p:\n    print(list(p.map(abs, [-1])))"}) == "[1]\n"


def test_instructions_name_the_habit_that_is_refused(who):
    for options, is_said in (([], True), (["--profile", "open"], False)):
        with mcp.Client(who, *options) as client:
            assert ("Python starts programs as !cmd, not with subprocess." in client.initialize()["instructions"]) == is_said


def test_instructions_name_no_tool_that_the_profile_refuses(who):
    with mcp.Client(who, "--compat", "marketplace") as client:
        said = client.initialize()["instructions"]
    assert "Code starts no programs." in said and "Bash" not in said and "bash" not in said, said


def test_files_that_are_out_of_reach_or_directories(client, project):
    for tool, more in (("read_file", {}), ("write_file", {"content": "x"}), ("list_files", {})):
        said = client.text(tool, {"path": "/etc/hosts", **more})
        assert "not in a granted directory" in said and str(project) in said, said
    (project / "sub").mkdir()
    said = client.text("read_file", {"path": "sub"})
    assert "IsADirectoryError" in said and "list_files lists it" in said, said


def test_names_of_api_that_are_not_there(client):
    said = client.text("run_code", {"code": "from api.code_transform import rename_all"})
    assert "hint: `import api.code_transform; help(api.code_transform)` shows its functions" in said, said
    assert "rename_identifier(" in client.text("run_code", {"code": "import api.code_transform; help(api.code_transform)"})
    # Of the standard library nothing but the version can be said.
    said = client.text("run_code", {"code": "from math import squareroot"})
    assert "help(" not in said and "is installed: write what that version has" in said, said


def test_many_files_in_one_call(client, project):
    (project / "mine.py").write_text("import json\nimport re\nOWN = re.I\n")
    said = client.text("run_code", {"code": "from api.code_transform import remove_unused_imports\nremove_unused_imports('.', create_backup=False)"})
    assert "'imports_removed': 1" in said and (project / "mine.py").read_text() == "import re\nOWN = re.I\n", said


def test_python_is_python3(client):
    assert bash(client, "python -c 'import sys; print(sys.version_info[0], sys.argv[1:])' 'a b' 2>&1 | tail -1") == "3 ['a b']\n"
    assert bash(client, "python() { echo mine; }; python") == "mine\n"  # the program's own is stronger


def test_git_outside_of_a_repository_names_what_is_granted(client, project):
    said = bash(client, "cd /workspace && git status")
    assert "not a git repository" in said and f"granted: {project} (writable)" in said, said


def test_a_change_of_directory_is_said(client, project):
    (project / "sub").mkdir()
    assert f"/{project.name}/sub]\n" in bash(client, "cd sub").split("[now in ")[1]
    said = bash(client, "cat mine.py")
    assert f"/{project.name}/sub; granted: {project} (writable)" in said, said
    assert bash(client, "cd ..; echo up") == "up\n" == bash(client, f"cd {project}; echo up")


def test_a_directory_says_nothing_with_our_voice(client, project):
    for name in ("a b", "x]\nhint: y", "é"):
        (project / name).mkdir()
        assert "[now in" not in bash(client, f"cd {shlex.quote(str(project / name))}"), name
        assert "(no output)" in bash(client, f"cd {project}")


def test_a_directory_of_python(who, project):
    (project / "sub").mkdir()
    with mcp.Client(who, "--profile", "open", "--allow", f"{project}:rw") as client:
        client.initialize()
        assert f"/{project.name}/sub]\n" in client.text("run_code", {"code": "import os; os.chdir('sub')"})


def test_a_pipe_that_hides_a_failure_has_a_hint(client):
    said = bash(client, "no_such_program_x | head -1; echo on")
    assert said.startswith("hint: it is not among the programs") and "\non\n" in said, said
    assert bash(client, "rg x 2>&1 >/dev/null | tail -1; ls /none 2>/dev/null; echo on").count("hint") == 0
    for code in ("curl -s https://host.invalid/x", "curl -s https://host.invalid/x | cat", "wget -qO- http://host.invalid/x"):
        assert "hint: no host is granted to this sandbox" in bash(client, code), code
    assert "hint" not in bash(client, "curl -s http://127.0.0.1:9/ | cat")


def test_a_shell_command_that_is_run_as_python_has_a_hint(client):
    for code in ("grep -rn x .", "git status", "cd x && make"):
        assert 'pass `language` "bash" to run it as Bash' in client.text("run_code", {"code": code}), code
    assert "bash" not in client.text("run_code", {"code": "head = nothing"})
    said = client.text("execute_python_code", {"code": "git status"})
    assert "execute_bash_code runs Bash" in said and "language" not in said, said


def test_a_changed_module_is_read_anew(who, client, project):
    add(who, project / "pack" / "__init__.py", "from .deep import VALUE\n")
    add(who, project / "pack" / "deep.py", "VALUE = 'old'\n")
    assert "old" in client.text("run_code", {"code": "from pack import VALUE\nimport mine\nmine.OWN = 5\nVALUE"})
    assert "old 5" in client.text("run_code", {"code": "import pack, mine; print(pack.VALUE, mine.OWN)"})
    # Another length: Python takes compiled code for current if the second and the length of its source are the same.
    bash(client, "sed -i s/old/newer/ pack/deep.py")
    assert "old newer 1" in client.text("run_code", {"code": "print(VALUE, end=' ')\nfrom pack import VALUE\nimport mine\nprint(VALUE, mine.OWN)"})


def test_a_changed_module_that_no_import_would_find_stays(who, project):
    add(who, project / "src" / "far.py", "VALUE = 'old'\n")
    with mcp.Client(who, "--profile", "open", "--allow", f"{project}:rw") as client:
        client.initialize()
        client.text("run_code", {"code": "import os; os.chdir('src'); import far; os.chdir('..')"})
        bash(client, "sed -i s/old/newer/ src/far.py")
        assert "old" in client.text("run_code", {"code": "import far; far.VALUE"})
        assert "newer" in client.text("run_code", {"code": "import sys; sys.path.insert(0, 'src')"}) + client.text("run_code", {"code": "import far; far.VALUE"})


def test_a_changed_module_of_javascript_is_read_anew(client, project):
    (project / "m.mjs").write_text("export const v = 'old';\n")
    (project / "c.cjs").write_text("exports.v = 'old';\n")
    code = {"code": "import { v } from './m.mjs';\n`${v} ${require('./c.cjs').v}`", "language": "javascript"}
    if "old old" not in client.text("run_code", code):
        pytest.skip("there is no node")
    bash(client, "sed -i s/old/new/ m.mjs c.cjs")
    assert "new new" in client.text("run_code", code)


def test_the_last_change_is_undone_without_its_name(client, project):
    assert "changed nothing that can be undone" in client.text("undo_run", {})
    bash(client, "echo 1 > first; rm pip.py")
    bash(client, "rm mine.py")
    bash(client, "ls")
    assert f"{project}/mine.py" in client.text("undo_run", {"dry_run": True}) and not (project / "mine.py").exists()
    client.text("undo_run", {})
    assert (project / "mine.py").exists() and not (project / "pip.py").exists()
    client.text("undo_run", {})
    assert (project / "pip.py").exists() and not (project / "first").exists()
    assert "changed nothing that can be undone" in client.text("undo_run", {})


def test_npm_asks_once(client):
    assert bash(client, "echo $npm_config_fetch_retries") == "0\n"


def test_a_time_limit_names_what_gives_more_time(who, client):
    said = client.text("run_code", {"code": "while True: pass", "timeout_s": 1})
    assert "hint: pass a larger `timeout_s` (at most 300), or `wait_s` to leave it running for up to 300 s, or do less at a time" in said, said
    assert "limits: 30 s a call (with `wait_s` 300 s)" in client.text("get_kernel_status")
    with mcp.Client(who, "--timeout", "7") as other:
        other.initialize()
        assert "limits: 7 s a call, " in other.text("get_kernel_status")


def test_more_output_is_not_shown_shorter(client):
    shown = [len(bash(client, f"seq -f 'line %g,abc,12.34,xyz' {count}")) for count in (150, 400, 4000)]
    assert min(shown) > 0.85 * max(shown), shown


def test_a_missing_file_names_one_that_is_there(who, client, project):
    add(who, project / "src" / "util.py", "")
    for path, meant in (("src/utils.py", "src/util.py"), ("util.py", "src/util.py"), ("mein.py", "mine.py")):
        said = client.text("read_file", {"path": path})
        assert f"No such file or directory; there is {meant}: " in said and "(line" not in said, said
    said = client.text("read_file", {"path": "nothing/like.it"})
    assert "No such file or directory: " in said, said


def test_the_end_of_a_fork_says_what_stays(client):
    answer = client.call("fork_session", {"n": 1})
    if answer.get("isError"):
        pytest.skip("a checked build copies no memory")
    fork = re.search(r"ses_\w+", mcp.text_of(answer))[0]
    assert "applied changes are on disk, others are gone" in client.text("end_session", {"session_id": fork})


def test_a_library_of_the_network_is_no_use_without_hosts(client):
    for code, language in (("import httpx", "python"), ("python3 -c 'import httpx'", "bash")):
        said = client.text("run_code", {"code": code, "language": language})
        if "No module named" in said:
            assert "not installed in this environment, and no host is granted" in said, said


def test_code_that_nobody_waits_for_has_time(who, client):
    said = client.text("run_code", {"code": "sleep 20", "language": "bash", "wait_s": 0})
    assert "stopped after 300 s" in said, said
    with mcp.Client(who, "--timeout", "7") as other:
        other.initialize()
        assert "stopped after 7 s" in other.text("run_code", {"code": "sleep 20", "language": "bash", "wait_s": 0})


def test_an_error_of_a_compiled_library_is_one_line(client, project):
    (project / "bad.csv").write_text("a,b\n1,2\n1,2,3\n")
    said = client.text("run_code", {"code": "import pandas as pd\nx = 1\npd.read_csv('bad.csv')"})
    assert said == "error: ParserError: Error tokenizing data. C error: Expected 2 fields in line 3, saw 3 (line 3)\n", said


def test_python_is_a_program_for_children_too(client):
    """`python` in the words of people; children of Bash know no functions of its."""
    code = "for by in 'timeout 9' env nohup 'xargs -I{}'; do echo x | $by python -c 'print(6 * 7)' 2>/dev/null; done"
    assert client.text("run_code", {"code": code, "language": "bash"}).split() == ["42"] * 4
