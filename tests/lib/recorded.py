"""Runs that are recorded for undo, written by hand: what the journal of such a run looks like on the disk (src/undo/store.h)."""
import json
import os
import secrets
import time


class Recorded:
    """Makes changes in a directory, and a record of them in the state directory of a caller."""

    def __init__(self, who, folder, owner="default"):
        self.who = who
        self.folder = str(folder)
        self.id = "run_" + "".join(secrets.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(26))
        self.place = who.home / "state" / "belljar" / "undo" / self.id
        self.lines = []
        self.changes = 0
        self.saved = 0
        self.written = []
        for path in (self.place.parent.parent, self.place.parent, self.place, self.place / "changes", self.place / "changes" / "saved"):
            if not path.exists():
                path.mkdir(mode=0o700)
                who.own(path)
        st = os.stat(self.folder)
        meta = {"version": 1, "run": self.id, "owner": owner, "session": "", "undoes": "", "began_ns": time.time_ns(),
                "grants": [{"path": self.folder, "dev": st.st_dev, "ino": st.st_ino}]}  # fmt: skip
        self.put("meta.json", json.dumps(meta))
        self.line("B", None, ".", size=1, number=0)

    def put(self, name, text):
        path = self.place / name
        path.write_text(text, encoding="utf-8")
        self.who.own(path)

    def line(self, kind, st, path, size=None, saved=0, number=None):
        numbers = [self.changes if number is None else number, 0, time.time_ns()]
        numbers += [st.st_dev, st.st_ino, st.st_mode, st.st_nlink, st.st_size, st.st_mtime_ns, st.st_atime_ns, st.st_ctime_ns] if st else [0, 0, 0, 0, size or 0, 0, 0, 0]
        escaped = "".join(c if c > " " and c not in "%\x7f" else f"%{ord(c):02x}" for c in path)
        self.lines.append(" ".join([kind, *(f"{n:x}" for n in numbers), f"{saved:x}", escaped]) + "\n")

    def full(self, path):
        return os.path.join(self.folder, path)

    def create(self, path, text):
        self.changes += 1
        self.line("C", None, path)
        with open(self.full(path), "x", encoding="utf-8") as file:
            file.write(text)
        self.who.own(self.full(path))
        self.line("c", os.stat(self.full(path)), path)
        self.written.append(path)

    def save(self, path):
        self.saved += 1
        with open(self.full(path), encoding="utf-8") as file:
            self.put(f"changes/saved/{self.saved}", file.read())
        return self.saved

    def change(self, path, text):
        self.changes += 1
        self.line("W", os.stat(self.full(path)), path, saved=self.save(path))
        with open(self.full(path), "w", encoding="utf-8") as file:
            file.write(text)
        self.written.append(path)

    def remove(self, path):
        self.changes += 1
        self.line("R", os.stat(self.full(path)), path, saved=self.save(path))
        os.unlink(self.full(path))

    def end(self):
        for path in self.written:
            self.line("F", os.stat(self.full(path)), path, number=0)
        self.line("Z", None, ".", number=self.changes)
        self.put("changes/journal", "".join(self.lines))
        self.put("end.json", json.dumps({"ended_ns": time.time_ns(), "created": 1, "changed": 1, "removed": 1, "renamed": 0}))
        return self.id
