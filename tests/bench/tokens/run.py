#!/usr/bin/python3
"""run.py [--build DIR] [--seed N] [--draws N] [--estimate] [--again] [--update]: how many tokens a task costs, in six ways to do it.

Six arms do the same tasks on a copy of Debian's standard library: `naive` reads every file it touches, `careful` searches
first and reads little, `shell` has bash, `notebook` a kernel, `code` typed functions to call, `belljar` has `belljar mcp`. Every call is really made, every message is counted as
it was sent, and every result is checked. docs/TOKENS.md has the method. --estimate counts bytes instead of tokens and
needs no npm; --update writes the tables into docs/TOKENS.md. README.md quotes two of the figures.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import arms  # noqa: E402
import counter  # noqa: E402
import oracle  # noqa: E402
import report  # noqa: E402
import tasks  # noqa: E402
from transcript import Transcript  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PACKAGES = ("libpython3.11-minimal", "libpython3.11-stdlib")
PREFIX = "/usr/lib/python3.11/"
SKIPPED = 77


def corpus():
    """Python files of the packages that are UTF-8 and parse, whatever else is installed; and what identifies them."""
    listed = subprocess.run(["dpkg", "-L", *PACKAGES], capture_output=True, text=True)
    if listed.returncode != 0:
        raise counter.Unavailable(f"{' and '.join(PACKAGES)} are not installed")
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", PACKAGES[1]], capture_output=True, text=True, check=True).stdout
    files, digest = [], hashlib.sha256()
    for path in sorted(set(listed.stdout.split())):
        if path.startswith(PREFIX) and path.endswith(".py") and os.path.isfile(path) and not os.path.islink(path):
            file = oracle.File(PREFIX, path.removeprefix(PREFIX))
            if file.parse() and file.encoding == "utf-8":
                files.append(file)
                digest.update(f"{file.path} {hashlib.sha256(file.data).hexdigest()}\n".encode())
    return files, {"package": f"{PACKAGES[1]} {version}", "files": len(files), "sha256": digest.hexdigest()}


def lay_out(files, root):
    """The tree as it was; what is so already is left alone."""
    wanted = {file.path: file.data for file in files}
    for path in arms.tree(root):
        if path not in wanted:
            os.unlink(os.path.join(root, path))
        elif tasks.load(root, path) == wanted[path]:
            del wanted[path]
    for path, data in wanted.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        tasks.write(root, path, data)


def perform(task, arm, files, root, program, env, prepare=lambda: None):
    """One task by one arm: its transcript and whether the result is right."""
    lay_out(files, root)
    if hasattr(task, "prepare"):
        task.prepare(root)
    prepare()
    if arm == "belljar":
        agent = arms.Belljar(root, program, env)
        try:
            answer = task.belljar(agent, arms.SHOWN)
        finally:
            agent.close()
    else:
        agent = {"shell": arms.Shell, "notebook": arms.Notebook, "code": arms.CodeMode}.get(arm, arms.Files)(root)
        answer = getattr(task, arm)(agent)
    return agent.transcript, task.check(root, answer), task.wrong(root) if hasattr(task, "wrong") else None


def environment(place):
    """Nothing of the caller's: no settings, no state."""
    # Nothing is imported in advance: what is counted does not depend on it, how long this takes does.
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": place, "BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "1", "BELLJAR_POOL_HOT": "0"}
    for name in ("RUNTIME_DIR", "STATE_HOME", "CONFIG_HOME", "DATA_HOME", "CACHE_HOME"):
        env[f"XDG_{name}"] = os.path.join(place, name.lower())
        os.makedirs(env[f"XDG_{name}"], mode=0o700, exist_ok=True)
    return env


def work(build, seed, draws, say=lambda text: None):
    """All tasks by all arms: [{task, draw, arm, transcript, correct, wrong}], and what the tree was."""
    files, identity = corpus()
    results, numbers = [], {}
    # Not /tmp: a directory for programs that lies there may be an overlay, which cannot be granted by root.
    with tempfile.TemporaryDirectory(prefix="belljar-tokens-", dir="/var/tmp") as place:
        root = os.path.join(place, "tree")
        os.mkdir(root)
        env = environment(place)
        for task in tasks.pick(files, seed, draws):
            numbers[task.name] = numbers.get(task.name, 0) + 1
            for arm in report.ARMS:
                transcript, correct, wrong = perform(task, arm, files, root, [os.path.join(build, "belljar")], env)
                results.append({"task": task.name, "draw": numbers[task.name], "arm": arm, "transcript": transcript, "correct": correct, "wrong": wrong})
            say(f"{task.name} {numbers[task.name]}")
    return results, identity


def save(place, results, identity):
    """Transcripts outlive a count that was interrupted."""
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "transcripts.json"), "w", encoding="utf-8") as out:
        json.dump([identity, [{**r, "transcript": [r["transcript"].fixed, r["transcript"].turns]} for r in results]], out)


def restore(place):
    with open(os.path.join(place, "transcripts.json"), encoding="utf-8") as file:
        identity, results = json.load(file)
    for r in results:
        fixed, turns = r["transcript"]
        r["transcript"] = Transcript(fixed)
        r["transcript"].turns = turns
    return results, identity


def count(results, tokens):
    tokens.learn([text for r in results for text in r["transcript"].texts()])
    small = sorted({text for r in results for text in r["transcript"].texts() if len(text) < 5000})
    tokens.check(small[:: max(1, len(small) // 200)])
    rows = []
    for r in results:
        totals = {name: r["transcript"].totals(tokens.of(name)) for name in counter.NAMES}
        rows.append({**{k: r[k] for k in ("task", "draw", "arm", "correct", "wrong")}, "turns": len(r["transcript"].turns), "tokens": totals})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=12, help="of each task, as far as there are so many (12)")
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--again", action="store_true", help="count the transcripts of the last run, and do nothing else")
    options = parser.parse_args()
    place = os.path.join(options.build, "bench-tokens")
    try:
        tokens = counter.Estimate() if options.estimate else counter.Counter(place)
        if not options.again:
            save(place, *work(os.path.abspath(options.build), options.seed, options.draws, lambda text: print(text, file=sys.stderr)))
        results, identity = restore(place)
    except counter.Unavailable as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    rows = count(results, tokens)
    with open(os.path.join(place, "results.jsonl"), "w", encoding="utf-8") as out:
        for row in [{"seed": options.seed, **identity}, *rows]:
            out.write(json.dumps(row) + "\n")
    print(report.whole(rows, identity, options.seed))
    if options.update:
        page = os.path.join(ROOT, "docs/TOKENS.md")
        report.put(page, report.short(rows), report.OVERVIEW)
        report.put(page, report.whole(rows, identity, options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
