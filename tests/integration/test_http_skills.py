"""Skills and refactoring states over HTTP."""
import io
import uuid
import zipfile

import pytest
import serving

HEAD = "---\nname: {}\ndescription: {}\n---\nRead /mnt/user-data/x\n"
SECRET = "ghp_" + "a1B2" * 9


def packed(name="csv-clean", description="Cleans tables.", **more):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        content = {"SKILL.md": HEAD.format(name, description), "__init__.py": "def double(x):\n    return 2 * x\n", **more}
        for path, text in content.items():
            archive.writestr(f"{name}/{path}", text)
    return data.getvalue()


@pytest.fixture(scope="module")
def server(callers):
    who = callers["user"]
    home = {"XDG_STATE_HOME": str(who.home / f"state-{uuid.uuid4().hex}")}
    with serving.Server(who, env=home) as server:
        server.other = {"Authorization": "Bearer " + who.call("token", "add", "other", env=home).text.strip()}
        yield server


def put(server, name, body, **more):
    return server.call("PUT", f"/v1/skills/{name}", body, more)


def test_a_folder_is_put_listed_read_used_and_deleted(server):
    saved = put(server, "csv-clean", packed(**{"data/x.bin": b"\xff\0\xfe", "scripts/t.py": "raise SystemExit(1)\n"}))
    assert saved.json == {"name": "csv-clean", "module": "skills.csv_clean", "version": 1}
    listed = {s["name"]: s for s in server.get("/v1/skills").json["skills"]}
    assert listed["csv-clean"]["kind"] == "user" and listed["csv-clean"]["description"] == "Cleans tables."
    shown = server.get("/v1/skills/csv_clean").json
    assert [f["path"] for f in shown["files"]] == ["SKILL.md", "__init__.py", "data/x.bin", "scripts/t.py"]
    assert server.get("/v1/skills/csv-clean/files/data/x.bin").body == b"\xff\0\xfe"
    assert b"/mnt/user-data/x" in server.get("/v1/skills/csv-clean/files/SKILL.md").body  # as it was stored
    for path in ("no", "../x", "data", "%2e%2e/x"):
        assert server.get(f"/v1/skills/csv-clean/files/{path}").status in (400, 404)
    assert server.run("from skills.csv_clean import double\nprint(double(4))")["stdout"] == "8\n"
    assert server.call("DELETE", "/v1/skills/csv-clean").status == 204
    assert server.get("/v1/skills/csv-clean").status == 404


def test_a_module_is_run_before_it_is_saved(server):
    assert put(server, "doubling", b"def double(x):\n    return 2 * x\n").json["version"] == 1
    assert server.run("from skills.doubling import double\nprint(double(8))")["stdout"] == "16\n"
    for code, status in ((b"def f(:\n", 400), (b"1 / 0\n", 400), (b"import subprocess\n", 403), (b"", 400)):
        refused = put(server, "doubling", code)
        assert refused.status == status, refused
    assert put(server, "doubling", b"y = 1\n").json["version"] == 2
    assert server.post("/v1/skills/doubling/undo", {}).json == {"name": "doubling", "version": 1}
    assert "2 * x" in server.get("/v1/skills/doubling").json["code"]


def test_a_folder_is_checked_and_not_run(server):
    refused = put(server, "csv-clean", packed(**{"scripts/bad.py": "import subprocess\n"}))
    assert refused.status == 403 and "scripts/bad.py" in refused.error["message"] and "subprocess" in refused.error["message"]
    refused = put(server, "csv-clean", packed(**{"scripts/bad.py": "x = (\n"}))
    assert refused.status == 400 and "never closed" in refused.error["message"]
    assert put(server, "csv-clean?profile=open", packed(**{"scripts/bad.py": "import subprocess\n"})).status == 200
    assert put(server, "other-name", packed()).status == 400  # it says that it is csv-clean
    assert put(server, "csv-clean", packed()[:-3]).status == 400
    assert put(server, "csv-clean", packed(zeros="\0" * (3 << 20))).status == 413
    assert put(server, "Bad", packed()).status == 400


def test_each_token_has_its_own(server):
    assert put(server, "mine", b"x = 1\n").status == 200
    assert server.get("/v1/skills/mine", headers=server.other).status == 404
    assert "mine" not in [s["name"] for s in server.get("/v1/skills", headers=server.other).json["skills"]]
    assert server.call("DELETE", "/v1/skills/mine", None, server.other).status == 404
    assert server.get("/v1/skills/mine", headers={"Authorization": "Bearer wrong"}).status == 401
    assert server.post("/v1/states", {"name": "mine"}).status == 200
    assert server.get("/v1/states/mine", headers=server.other).status == 404
    assert server.get("/v1/states", headers=server.other).json == {"states": []}


def test_what_is_answered_is_masked(server):
    assert put(server, "masked", packed("masked", f"With {SECRET}", **{"notes.txt": f"token {SECRET}\n"})).status == 200
    server.post("/v1/states", {"name": "masked", "description": f"With {SECRET}"})
    assert server.post("/v1/states/masked/versions", {"state": {"token": SECRET}}).status == 200
    for path in ("/v1/skills", "/v1/skills/masked", "/v1/skills/masked/files/notes.txt", "/v1/states", "/v1/states/masked"):
        reply = server.get(path)
        assert reply.status == 200 and SECRET.encode() not in reply.body and b"REDACTED" in reply.body, path


def test_states_are_saved_loaded_and_deleted(server):
    assert server.post("/v1/states/rename/versions", {"state": {}}).status == 404
    assert server.post("/v1/states", {"name": "rename", "description": "all"}).json == {"name": "rename", "is_new": True}
    assert server.post("/v1/states", {"name": "rename"}).json == {"name": "rename", "is_new": False}
    assert server.post("/v1/states/rename/versions", {"state": {"done": ["a.py"]}}).json == {"name": "rename", "version": 1}
    assert server.post("/v1/states/rename/versions", {"state": {"done": []}, "version": 1}).json["version"] == 2
    stale = server.post("/v1/states/rename/versions", {"state": {}, "version": 1})
    assert stale.status == 409 and "its version is 2" in stale.error["message"]
    loaded = server.get("/v1/states/rename").json
    assert loaded["state"] == {"done": []} and [h["version"] for h in loaded["history"]] == [2, 1]
    assert server.get("/v1/states/rename?version=1").json["state"] == {"done": ["a.py"]}
    assert server.post("/v1/states/rename/versions", {"state": {"x": "y" * (1 << 20)}}).status == 413
    assert server.call("DELETE", "/v1/states/rename").status == 204
    assert server.get("/v1/states/rename").status == 404
