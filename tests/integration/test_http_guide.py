"""The examples of docs/guide/http.md do what they say."""
import re
import subprocess

import belljar
from serving import Server


def blocks():
    text = (belljar.ROOT / "docs/guide/http.md").read_text(encoding="utf-8")
    return re.findall(r"^```(sh|text|json)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_examples_of_the_guide(user):
    server = Server(user, "--socket", "none", env={"XDG_STATE_HOME": None})
    script, expected, tried = "set -eu\n", [], 0
    found = blocks()
    for (kind, text), following in zip(found, found[1:] + [("", "")]):
        if kind != "sh" or "belljar serve" in text:
            continue
        text = text.replace("http://127.0.0.1:8222", f"http://127.0.0.1:{server.port}")
        shows = following[0] == "text"
        script += f"echo '### {tried}'\n{{\n{text}}}{'' if shows else ' > /dev/null'}\n"
        expected.append(following[1] if shows else "")
        tried += 1
    done = subprocess.run(
        ["bash", "-c", script.replace("curl ", "curl --fail-with-body ")],
        env=user.environment({"XDG_STATE_HOME": None, "PATH": f"{user.program.parent}:/usr/bin:/bin"}), capture_output=True, text=True, timeout=300, **user.identity(),
    )  # fmt: skip
    assert done.returncode == 0, done
    shown = re.split(r"### \d+\n", done.stdout)[1:]
    assert [s.rstrip("\n") for s in shown] == [e.rstrip("\n") for e in expected]  # a file may end without a newline
    assert tried >= 6
    assert server.stop() == 0
