#!/usr/bin/python3
"""write_grants.py [--build DIR] [--files N] [--at DIR]: what writing through the broker costs, next to a plain bind mount.

The same programs run in bubblewrap with the directory bound, and in Belljar with it granted `:rw`, with and without undo, in
turns. Printed are the best times of each and the ratio to the bind mount; of calls on small files also the microseconds that
one takes more. Nothing fails by time: the machine decides what the figures are worth.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PROGRAM = """
import os, subprocess, sys, time, sqlite3
os.chdir(sys.argv[1] if len(sys.argv) > 1 else {folder!r})
N = {files}
env = dict(os.environ, HOME='/tmp', GIT_CONFIG_COUNT='1', GIT_CONFIG_KEY_0='safe.directory', GIT_CONFIG_VALUE_0='*', GIT_CONFIG_NOSYSTEM='1',
           GIT_AUTHOR_NAME='a', GIT_AUTHOR_EMAIL='a@b', GIT_COMMITTER_NAME='a', GIT_COMMITTER_EMAIL='a@b')
def each(f):
    def loop():
        for i in range(N): f(i)
    return loop, N
def git(*words):
    return (lambda: subprocess.run(['git', '-C', 'repo', *words], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)), 1
def write_large():
    with open('large', 'wb', buffering=0) as f:
        for _ in range(128): f.write(bytes(1 << 20))
def read_large():
    with open('large', 'rb', buffering=0) as f:
        while f.read(1 << 20): pass
def transactions():
    db = sqlite3.connect('base.db'); db.execute('pragma synchronous=off'); db.execute('create table if not exists t(x)')
    for i in range(200): db.execute('insert into t values(?)', (i,)); db.commit()
    db.close()
def commit():
    with open('repo/f0', 'a') as f: f.write('x\\n')
    git('add', 'f0')[0](); git('commit', '-qm', 'x')[0]()
def find():
    for _ in os.walk('.'): pass
os.makedirs('small', exist_ok=True)
jobs = [
    ('create', each(lambda i: os.close(os.open(f'small/{{i}}', os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)))),
    ('open for writing', each(lambda i: os.close(os.open(f'small/{{i}}', os.O_WRONLY)))),
    ('open for reading', each(lambda i: os.close(os.open(f'small/{{i}}', os.O_RDONLY)))),
    ('rename', each(lambda i: os.rename(f'small/{{i}}', f'small/r{{i}}'))),
    ('remove', each(lambda i: os.unlink(f'small/r{{i}}'))),
    ('write 128 MB', (write_large, 1)), ('read 128 MB', (read_large, 1)), ('sqlite, 200 transactions', (transactions, 1)),
    ('walk the tree', (find, 1)), ('git status', git('status', '--short')), ('git commit', (commit, 1)),
]
for name, (job, count) in jobs:
    start = time.perf_counter(); job(); print(name, count, time.perf_counter() - start, sep='\\t')
os.unlink('large')
"""


def make_folder(at, files):
    folder = tempfile.mkdtemp(prefix="belljar-bench-", dir=at)
    repo = os.path.join(folder, "repo")
    os.mkdir(repo)
    for i in range(files):
        with open(os.path.join(repo, f"f{i}"), "w") as f:
            f.write(f"{i}\n")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", repo, *words], check=True)
    return folder


def run(command, environment=None):
    process = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **(environment or {})))
    if process.returncode != 0:
        sys.exit(f"{' '.join(command[:6])} …: {process.stderr or process.stdout}")
    rows = [line.split("\t") for line in process.stdout.splitlines() if line.count("\t") == 2]
    return {name: (int(count), float(seconds)) for name, count, seconds in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--files", type=int, default=1000, help="small files, and files in the repository")
    parser.add_argument("--at", default="/var/tmp", help="where the directory is made")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if not shutil.which("bwrap"):
        sys.exit("write_grants.py: bubblewrap is not installed; `make bench` installs it")

    folder = make_folder(args.at, args.files)
    program = os.path.join(tempfile.mkdtemp(prefix="belljar-bench-"), "program.py")
    with open(program, "w") as f:
        f.write(PROGRAM.format(folder=folder, files=args.files))
    belljar = [os.path.join(args.build, "belljar"), "run", "--profile", "open", "--timeout", "300", "--allow", f"{folder}:rw"]
    peers = {
        "bind": lambda: run(["bwrap", "--dev-bind", "/", "/", "--bind", folder, folder, "--unshare-pid", "/usr/bin/python3", program]),
        "broker": lambda: run([*belljar, program], {"BELLJAR_UNDO": "off"}),
        "with undo": lambda: run([*belljar, program], {"BELLJAR_UNDO": "on"}),
    }
    best = {}
    try:
        for number in range(args.rounds):
            print(f"\rround {number + 1} of {args.rounds}", end="", file=sys.stderr, flush=True)
            for name, peer in peers.items():
                for job, (count, seconds) in peer().items():
                    best[job, name] = min(best.get((job, name), (count, 1e9)), (count, seconds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(os.path.dirname(program), ignore_errors=True)
    print("\r", end="", file=sys.stderr)
    print(f"{'':26}{'bind':>12}{'broker':>12}{'':>8}{'more':>10}{'with undo':>12}{'':>8}{'more':>10}")
    for job in dict.fromkeys(job for job, _ in best):
        count, bind = best[job, "bind"]
        line = f"{job:26}{bind / count * 1e6:9.1f} us"
        for name in ("broker", "with undo"):
            seconds = best[job, name][1]
            line += f"{seconds / count * 1e6:9.1f} us{seconds / bind:7.2f}x{(seconds - bind) / count * 1e6:7.1f} us"
        print(line)


if __name__ == "__main__":
    main()
