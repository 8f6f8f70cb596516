"""Counts tokens with three tokenizers from npm; what was counted once is remembered by its digest."""
import hashlib
import json
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ("o200k", "cl100k", "claude_legacy")
OFFLINE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|network|E50\d|E403")
AT_ONCE = 64


class Unavailable(Exception):
    """Why nothing can be counted here."""


def install(place):
    """The packages of the lock file, none of whose scripts is run."""
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        raise Unavailable("npm is not installed")
    os.makedirs(place, exist_ok=True)
    for name in ("package.json", "package-lock.json", "count.mjs"):
        shutil.copyfile(os.path.join(HERE, name), os.path.join(place, name))
    with open(os.path.join(HERE, "package-lock.json"), "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    marker = os.path.join(place, "installed")
    if os.path.exists(marker) and open(marker, encoding="ascii").read() == wanted:
        return
    done = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"], cwd=place, capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        if OFFLINE.search(done.stderr):
            raise Unavailable("npm cannot fetch the tokenizers")
        raise RuntimeError(f"npm ci:\n{done.stderr}")
    with open(marker, "w", encoding="ascii") as file:
        file.write(wanted)


class Counter:
    def __init__(self, place):
        install(place)
        self.place = place
        self.path = os.path.join(place, "counts.json")
        self.known = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.known = json.load(file)

    @staticmethod
    def key(text):
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def run(self, texts, *options):
        """The tokenizers' own answers."""
        lines = [json.dumps(texts[at : at + AT_ONCE]) for at in range(0, len(texts), AT_ONCE)]
        done = subprocess.run(["node", "count.mjs", *options], cwd=self.place, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
        return [counts for line in done.stdout.splitlines() for counts in json.loads(line)]

    def learn(self, texts):
        new = list({self.key(t): t for t in texts if self.key(t) not in self.known}.values())
        for at in range(0, len(new), AT_ONCE):
            part = new[at : at + AT_ONCE]
            self.known.update(zip(map(self.key, part), self.run(part)))
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump(self.known, file)
            os.replace(self.path + ".new", self.path)

    def check(self, texts):
        """A second implementation of o200k must agree."""
        for text, counts in zip(texts, self.run(texts, "--check")):
            if counts[0] != self.known[self.key(text)][0]:
                raise RuntimeError(f"two tokenizers disagree about {text[:200]!r}")

    def of(self, name):
        number = NAMES.index(name)
        return lambda text: self.known[self.key(text)][number]


class Estimate:
    """In the place of the tokenizers where there are none: four bytes a token. For tests of the rest."""

    def learn(self, texts):
        pass

    def check(self, texts):
        pass

    def of(self, name):
        return lambda text: (len(text.encode("utf-8", "surrogatepass")) + 3) // 4
