"""`belljar mcp --allow DIR:cow`: the tool with which an agent's changes are looked at, applied and discarded."""
import secrets

import pytest

import mcp


@pytest.fixture
def folder(who):
    path = who.directory("cow-" + secrets.token_hex(4))
    (path / "a").write_text("a\n")
    who.own(path / "a")
    return path


def names(client):
    return [t["name"] for t in client.request("tools/list")["result"]["tools"]]


def review(client, **arguments):
    return mcp.text_of(client.call("review_changes", arguments))


def test_show_apply_discard(who, folder):
    with mcp.Client(who, "--tools", "all", "--profile", "open", "--allow", f"{folder}:cow") as client:
        client.initialize()
        assert "review_changes" in names(client)
        client.call("execute_bash_code", {"code": f"cd '{folder}'; echo more >> a; echo n > new; echo evil > .bashrc"})
        assert (folder / "a").read_text() == "a\n"
        shown = review(client)
        for line in (f"changed {folder}/a +1 -0", f"created {folder}/new +1 -0", f"created {folder}/.bashrc +1 -0 — will not be applied: protected", "+more"):
            assert line in shown.splitlines(), shown
        version = shown.rsplit("version ", 1)[1]
        assert review(client, action="apply", paths=["a"], version=version) == "1 change applied"
        assert (folder / "a").read_text() == "a\nmore\n" and not (folder / "new").exists()
        failed = client.call("review_changes", {"action": "apply", "version": version})
        assert failed["isError"] and "review them again" in mcp.text_of(failed), failed
        assert review(client, action="discard") == "2 changes discarded"
        assert review(client) == "nothing has changed"
        said = client.call("execute_bash_code", {"code": f"ls -A '{folder}'"})
        assert mcp.text_of(said) == "a\n" and sorted(p.name for p in folder.iterdir()) == ["a"], said


def test_a_model_reads_what_cannot_be_seen(who, folder):
    with mcp.Client(who, "--tools", "all", "--profile", "open", "--allow", f"{folder}:cow") as client:
        client.initialize()
        client.call("execute_bash_code", {"code": f"cd '{folder}'; echo $'safe\\U000e0065' > $'x\\u2060'"})
        shown = review(client)
        for line in (f"created {folder}/x\\xe2\\x81\\xa0 +1 -0 — has invisible characters, shown as \\xNN", "+safe\\xf3\\xa0\\x81\\xa5"):
            assert line in shown.splitlines(), shown
        assert review(client, action="apply", paths=["x\\xe2\\x81\\xa0"]) == "1 change applied"
        assert (folder / "x\u2060").exists()


def test_what_a_model_does_not_see_it_does_not_apply_by_accident(who, folder):
    token = "ghp_" + "8vOC7YM4bOnLHZ3APWI1" + "z1pMALuxQH0IQSnE"
    with mcp.Client(who, "--tools", "all", "--profile", "open", "--allow", f"{folder}:cow") as client:
        client.initialize()
        client.call("execute_bash_code", {"code": f"cd '{folder}'; echo 'password=k9Zx81Qm;{{touch,x}} {token}' > new; seq 20000 > long"})
        shown = review(client, paths=["new"])
        assert f"created {folder}/new +1 -0 — 40 bytes hidden" in shown and "+password=k9Zx81Qm;{touch,x} [40 bytes hidden]" in shown, shown
        failed = client.call("review_changes", {"action": "apply", "paths": ["new"]})
        assert failed["isError"] and "40 bytes of these changes are hidden" in mcp.text_of(failed) and not (folder / "new").exists(), failed
        assert review(client, action="apply", paths=["new"], accept_hidden=40) == "1 change applied"
        shown = review(client)
        assert f"created {folder}/long" in shown and "NOT SHOWN: no_room" in shown, shown
        assert client.call("review_changes", {"action": "apply"})["isError"] and not (folder / "long").exists()
        hidden = int(shown.split("pass accept_hidden ")[1].split()[0])
        assert review(client, action="apply", accept_hidden=hidden) == "1 change applied"


def test_without_such_a_directory_there_is_no_such_tool(who, folder):
    with mcp.Client(who, "--tools", "all", "--allow", f"{folder}:ro") as client:
        client.initialize()
        assert "review_changes" not in names(client)
    with mcp.Client(who, "--tools", "all", "--allow", f"{folder}:rw") as client:
        client.initialize()
        assert "review_changes" in names(client), "forks have one"
        client.call("execute_python_code", {"code": "1"})
        failed = client.call("review_changes", {})
        assert failed["isError"] and "no copy-on-write directory" in mcp.text_of(failed), failed
