"""Protected names in directories granted for writing: in every spelling and depth, and what links, hard links and git's settings lead to."""
import os
import secrets
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("watch")

NAMES = [
    ".hg/hgrc", ".pdbrc", ".Rprofile", ".bazelrc", ".mvn/extensions.xml", "bunfig.toml", "ansible.cfg", ".luarc.json", ".venv/bin/python", "venv/bin/python",
    ".cshrc", ".kshrc", ".gnupg/gpg-agent.conf", ".kube/config", ".docker/config.json", ".aws/config", ".psqlrc", ".lessfilter", ".k5login",
    ".local/share/systemd/user/x.service", ".local/lib/python3.11/site-packages/usercustomize.py", ".config/i3/config", ".config/kitty/kitty.conf",
    ".jj/repo/config.toml", ".sl/config", ".gradle/init.d/x.gradle", "site_scons/x.py", ".ghci", ".irbrc", ".iex.exs", ".sqliterc", ".my.cnf", ".gdbinit", ".lldbinit", ".helix/config.toml",
    ".zed/settings.json", "x.code-workspace", ".pnpmfile.cjs", ".yarnrc.yml", "sitecustomize.py", "env/pyvenv.cfg", ".python-version", "rust-toolchain.toml", ".env", ".envrc",
    "tailwind.config.ts", "svelte.config.js", ".graphqlrc.cjs", "cspell.config.mjs", "mypy.ini", ".ropeproject/config.py", "hie.yaml", ".merlin", ".envrc.private", "flake.nix", "bin/activate-hermit",
    "env/bin/python", "myenv/bin/activate", ".tox/py/bin/python3.11", ".jj/repo", "codebuff.json", ".cmake-format.py", ".joyride/scripts/workspace_activate.cljs", "nx.json", ".lazygit.yml",
    "Node_Modules/.eslintrc.js", "NODE_MODULES/eslint.config.js", "node_modules\u200b/.eslintrc.js", "node_modules./.prettierrc.js", "p/node\uff3fmodules/.babelrc",
    ".rubocop", ".rubocop_todo.yml", "phpstan.neon", "psalm.xml", ".sqlfluff", ".spectral.js", "pyrefly.toml", ".trunk/trunk.yaml", ".clang_complete", ".syntastic_c_config", ".crossnote/parser.js",
    "lib/ruby_lsp/x/addon.rb", "x.nims", ".cursor-server/x", ".cache/p10k-instant-prompt-u.zsh", ".cache/pre-commit/repo/x", ".local/share/direnv/allow/x", "gptme.toml", ".letta/settings.json", "hooks/hooks.json",
    ".gitlab/duo/chat-rules.md", "HEARTBEAT.md", "_opam/bin/ocamllsp", "lean-toolchain", "devshell.toml", ".ona/automations.yaml",
    "CLAUDE.md", "claude.md", "AGENTS.md", ".mcp.json", ".cursor/mcp.json", ".config/belljar/config.toml", ".local/state/belljar/token",
    ".GIT/config", ".Git/hooks/pre-commit", ".g\u200cit/config", ".g\u0131t/config", "\uff0egit/config", ".envrc.", ".envrc ", ".ENVRC", ".envrc::$DATA", "GIT~1/config", ".con\ufb01g/git/config", ".\u00dfh/authorized_keys",
]  # fmt: skip


@pytest.fixture
def folder(who):
    path = who.directory("names-" + secrets.token_hex(4))
    who.own(path)
    return path


def own_all(who, folder):
    for p in [folder, *folder.rglob("*")]:
        if not p.is_symlink():
            who.own(p)


def write_all(who, folder, paths, **more):
    """Tries to write each path in the ways that there are; says which there were of which it was told that they worked."""
    code = (
        "import os\n"
        f"top = {str(folder)!r}\n"
        f"for name in {paths!r}:\n"
        "    path = os.path.join(top, name)\n"
        "    def plain():\n        os.makedirs(os.path.dirname(path), exist_ok=True)\n        open(path, 'w').write('evil')\n"
        "    def moved():\n        open(top + '/new', 'w').write('evil')\n        os.rename(top + '/new', path)\n"
        "    def linked():\n        open(top + '/new2', 'w').write('evil')\n        os.link(top + '/new2', path)\n"
        "    def pointed():\n        os.symlink(top + '/new2', path)\n"
        "    def appended():\n        open(path, 'a').write('evil')\n"
        "    def removed():\n        os.unlink(path)\n"
        "    for way in (plain, moved, linked, pointed, appended, removed):\n"
        "        try:\n            way()\n            print('DONE', way.__name__, name)\n        except OSError:\n            pass\n"
    )
    answer = who.run(code, "--allow", f"{folder}:rw", **more)
    assert answer.status == "success", answer
    return [line for line in answer.json["stdout"].splitlines() if line.startswith("DONE")]


@pytest.mark.parametrize("where", ["", "a/b/c/d/e/f/g/h/"])
def test_no_name_of_the_table_comes_into_being(who, folder, where):
    assert write_all(who, folder, [where + name for name in NAMES]) == []
    left = [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()]
    assert set(left) <= {"new", "new2"}, left


def test_what_links_lead_to_stays_as_it_is(who, folder):
    (folder / "local").mkdir()
    (folder / "local/envrc").write_text("mine")
    (folder / ".envrc").symlink_to("local/envrc")
    (folder / ".bashrc").symlink_to("later/rc")
    (folder / ".zshrc").symlink_to("hop")
    (folder / "hop").symlink_to("local/zsh")
    (folder / ".config").symlink_to("dotfiles")
    (folder / "dotfiles/git").mkdir(parents=True)
    (folder / "dotfiles/git/config").write_text("mine")
    own_all(who, folder)
    paths = ["local/envrc", "later/rc", "hop", "local/zsh", "dotfiles/git/config", "dotfiles/fish/config.fish", ".config/fish/config.fish"]
    assert write_all(who, folder, paths) == []
    assert (folder / "local/envrc").read_text() == "mine" and (folder / "dotfiles/git/config").read_text() == "mine"
    assert os.readlink(folder / "hop") == "local/zsh" and not (folder / "later/rc").exists() and not (folder / "dotfiles/fish/config.fish").exists()


def test_directories_on_the_way_to_them_stay_where_they_are(who, folder):
    (folder / "local").mkdir()
    (folder / "local/envrc").write_text("mine")
    (folder / ".envrc").symlink_to("local/envrc")
    (folder / "deep/er/.vscode").mkdir(parents=True)
    (folder / "deep/er/.vscode/tasks.json").write_text("mine")
    own_all(who, folder)
    code = (
        f"import os; os.chdir({str(folder)!r})\n"
        "os.makedirs('evil/er/.x'); open('evil/envrc', 'w').write('evil')\n"
        "for a, b in (('local', 'l2'), ('deep', 'd2'), ('deep/er', 'deep/e2'), ('evil', 'local'), ('evil', 'deep')):\n"
        "    try:\n        os.rename(a, b); print('DONE', a, b)\n    except OSError:\n        pass\n"
    )
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert answer.json["stdout"] == "", answer
    assert (folder / "local/envrc").read_text() == "mine" and (folder / "deep/er/.vscode/tasks.json").exists()


def test_a_directory_that_brings_protected_names_along_is_not_moved(who, folder):
    code = (
        f"import os; os.chdir({str(folder)!r})\n"
        "os.makedirs('c/git'); open('c/git/config', 'w').write('evil')\n"
        "os.makedirs('g/objects'); os.makedirs('g/refs'); open('g/config', 'w').write('evil'); open('h', 'w').write('ref: refs/heads/x')\n"
        "os.makedirs('l/share/systemd/user')\n"
        "for f in (lambda: os.rename('c', '.config'), lambda: os.rename('l', '.local'), lambda: os.rename('g', '.git'), lambda: os.rename('h', 'g/HEAD'),\n"
        "          lambda: os.symlink('c', '.config'), lambda: os.symlink('../h', 'g/HEAD'), lambda: os.link('h', 'g/HEAD'), lambda: os.symlink('g', '.git'), lambda: open('g/commondir', 'w').close() or os.rename('h', 'g/HEAD')):\n"
        "    try:\n        f(); print('DONE')\n    except OSError:\n        pass\n"
    )
    answer = who.run(code, "--allow", f"{folder}:rw")
    assert answer.json["stdout"] == "", answer
    assert not (folder / ".config").exists() and not (folder / ".git").exists() and not (folder / "g/HEAD").exists()


def git(who, folder, *args):
    env = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *args], cwd=folder, env=env, capture_output=True, text=True, check=True, **who.identity()).stdout


def test_git_obeys_nothing_that_a_program_wrote(who, folder):
    """Hooks and settings that are not there, that are elsewhere, in worktrees, submodules and bare repositories."""
    (folder / "r").mkdir()
    own_all(who, folder)
    git(who, folder / "r", "init", "-q")
    git(who, folder / "r", "commit", "-q", "--allow-empty", "-m", "one")
    git(who, folder / "r", "config", "core.hooksPath", "tools/hooks")
    git(who, folder / "r", "config", "include.path", "../shared.conf")
    git(who, folder / "r", "worktree", "add", "-q", "../w")
    git(who, folder, "init", "-q", "--bare", "deep/er/store")
    git(who, folder, "init", "-q", "--separate-git-dir", "apart", "s")
    names = [
        "r/tools/hooks/pre-commit", "w/tools/hooks/pre-commit", "r/shared.conf", "r/.git/commondir", "r/.git/config.worktree", "r/.git/hooks/post-checkout", "r/.git/info/attributes",
        "r/.git/rebase-merge/git-rebase-todo", "r/.git/sequencer/todo", "r/.git/worktrees/w/commondir", "r/.git/worktrees/w/gitdir", "r/.git/modules/x/config", "r/.git/objects/info/alternates",
        "w/.git", "deep/er/store/config", "deep/er/store/hooks/post-receive", "deep/er/store/commondir", "apart/config", "apart/hooks/post-checkout", "apart/commondir", "s/.git",
    ]  # fmt: skip
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert write_all(who, folder, names) == []
    after = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name not in ("new", "new2")}
    assert after == before


def test_git_goes_on_working_there(who, folder):
    (folder / "r").mkdir()
    own_all(who, folder)
    git(who, folder / "r", "init", "-q")
    git(who, folder / "r", "commit", "-q", "--allow-empty", "-m", "one")
    git(who, folder / "r", "worktree", "add", "-q", "../w")
    code = (
        "export HOME=/tmp GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=a GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@b GIT_CONFIG_KEY_2=safe.directory GIT_CONFIG_VALUE_2='*'\n"
        f"set -e; for d in r w; do cd {folder}/$d; echo x > $d.txt; git add $d.txt; git commit -qm two-$d; git checkout -q -b config-$d; git tag t-$d; git stash list; done; git log --oneline | wc -l"
    )
    answer = who.run(code, "-l", "bash", "--allow", f"{folder}:rw")
    assert answer.status == "success", (answer.json.get("stdout"), answer.json.get("stderr"))
    assert git(who, folder / "r", "log", "--format=%s", "config-r").split() == ["two-r", "one"]
    assert git(who, folder / "w", "log", "--format=%s", "config-w").split() == ["two-w", "one"]


def test_links_in_a_home_outside_of_the_grant(who, folder):
    home = folder / "home"
    dotfiles = folder / "dotfiles"
    for p in (home, dotfiles, dotfiles / "config"):
        p.mkdir()
    (dotfiles / "bashrc").write_text("mine")
    (dotfiles / "free").write_text("mine")
    (home / ".bashrc").symlink_to("../dotfiles/bashrc")
    (home / ".config").symlink_to("../dotfiles/config")
    (home / ".gitconfig").write_text("[include]\n\tpath = ../dotfiles/gitconfig\n")
    own_all(who, folder)
    env = {"HOME": str(home), "XDG_CONFIG_HOME": None}
    assert write_all(who, dotfiles, ["bashrc", "config/fish/config.fish", "config/autostart/x.desktop", "gitconfig"], env=env) == []
    assert (dotfiles / "bashrc").read_text() == "mine" and not (dotfiles / "gitconfig").exists()
    assert "DONE plain free" in write_all(who, dotfiles, ["free"], env=env)


def test_a_tree_that_cannot_be_surveyed_is_not_granted(who, folder):
    (folder / "r/.git").mkdir(parents=True)
    (folder / "r/.git/config").write_text("x" * (2 << 20))
    own_all(who, folder)
    answer = who.run("print(1)", "--allow", f"{folder}:rw")
    assert answer.code != 0 and "too large" in answer.text + answer.errors and ":cow" in answer.text + answer.errors, answer


def test_a_deep_and_wide_tree_is_protected_to_its_end(who, folder):
    deep = folder.joinpath(*["d"] * 60, "repo", ".git")
    deep.mkdir(parents=True)
    (deep / "config").write_text("mine")
    for i in range(3000):
        (folder / f"w{i}").mkdir()
    own_all(who, folder)
    name = str(deep.relative_to(folder))
    assert write_all(who, folder, [name + "/config", name + "/hooks/pre-commit", name + "/commondir"]) == []
    assert (deep / "config").read_text() == "mine"
