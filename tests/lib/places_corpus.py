"""Texts of many kinds with secrets in them, for measuring: seven sets of templates in tests/data/mask_places.jsonl, and
clean texts near them in tests/data/mask_clean.jsonl.

Each of the first six was measured once before the masker was changed with it; the guide has the figures. The seventh is
what was missed in other texts and is found now. A template has «kinds» in
place of values: a function of Values each. Those of SECRETS must not come out, unless a ! stands before the name. A kind
with a number behind it («pws_1») has the same value wherever it stands. «b24» is 24 characters of base 62; h, l, u and k
are hexadecimal, small letters, the alphabet of URLs and capitals.
"""
import base64
import json
import re
import uuid
from pathlib import Path

from secrets_corpus import B62, Maker, row

TEMPLATES = Path(__file__).resolve().parents[1] / "data" / "mask_places.jsonl"
CLEAN = TEMPLATES.with_name("mask_clean.jsonl")
SETS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
SECRETS = "pws pw tok hex hex32 hex40 hex64 b64 b64x b64pw b64up aws jwt crypt apr bcrypt pin b62 b62x b64l b8x b32u p8".split()
ALPHABETS = {"h": "0123456789abcdef", "l": "abcdefghijklmnopqrstuvwxyz0123456789", "k": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
SIZED = re.compile("([bhluk])([0-9]+)")
USERS = "alice ben chen dana elif farid gina hugo jonas kira m.schmidt svc_backup deploy root".split()
HOSTS = "db01.example.com web-2 mail.example.org cache3 10.0.4.17 ldap.corp.example build7".split()


class Values(Maker):
    def number(self, low, high):
        return self.random.randrange(low, high)

    def b62(self, count):
        """With digits and letters, if there is room for both."""
        while True:
            text = super().b62(count)
            if count < 6 or (any(c.isdigit() for c in text) and any(c.isalpha() for c in text)):
                return text

    def pws(self):
        """A password without signs that mean something anywhere."""
        word = self.word()
        return self.pick(f"{word}{self.number(10, 99999)}", f"{word.title()}{self.number(1950, 2030)}", f"{word}_{self.b62(8)}", self.b62(self.number(10, 24)),
                         f"{self.b62(5)}-{self.b62(5)}-{self.b62(5)}", self.hex(32), f"{word.title()}-{self.word()}-{self.number(10, 999)}", self.b62(12), self.b62(16))

    def pw(self):
        word = self.word()
        return self.pick(self.pws(), f"{word}_{self.b62(8)}!", f"{word.title()}{self.number(10, 9999)}#{self.b62(3)}", f"{self.b62(4)}@{self.b62(4)}${self.b62(4)}",
                         f"{word.title()}{self.number(10, 999)}!", f"{self.b62(6)}%{self.b62(5)}^x", f"{word.title()}*{self.b62(5)}+{self.number(1, 99)}")

    def tok(self):
        return self.pick(self.b62(self.number(20, 48)), self.hex(40), self.url(34), self.hex(32), self.b62(32))

    def sized(self, letter, count):
        """Letters and digits of an alphabet."""
        if letter == "b":
            return super().b62(count) if count < 6 else self.b62(count)
        if letter == "u":
            return self.url(count)
        while True:
            text = self.text(ALPHABETS[letter], count)
            if count < 6 or (any(c.isdigit() for c in text) and any(c.isalpha() for c in text)):
                return text

    def value(self, kind):
        sized = SIZED.fullmatch(kind)
        if sized and kind not in ("b64", "b62"):
            return self.sized(sized[1], int(sized[2]))
        make = {
            "hex": lambda: self.hex(self.pick(32, 40, 64)),
            "hex32": lambda: self.hex(32),
            "hex40": lambda: self.hex(40),
            "hex64": lambda: self.hex(64),
            "b64": lambda: base64.b64encode(self.random.randbytes(self.pick(16, 20, 32, 48))).decode(),
            "b64x": lambda: base64.b64encode(self.random.randbytes(64)).decode(),
            "b64pw": lambda: base64.b64encode(self.pw().encode()).decode(),
            "b64up": lambda: base64.b64encode(f"{self.pick(*USERS)}:{self.pw()}".encode()).decode(),
            "aws": lambda: self.text(B62 + "/+", 38) + self.b62(2),
            "jwt": self.web_token,
            "crypt": lambda: f"$6${self.b62(8)}${self.text(B62 + './', 86)}",
            "apr": lambda: f"$apr1${self.b62(8)}${self.text(B62 + './', 22)}",
            "bcrypt": lambda: f"$2y$10${self.text(B62 + './', 53)}",
            "b62": lambda: self.b62(24),
            "b62x": lambda: self.b62(24),
            "b64l": lambda: Maker.b64(self, 64),
            "b8x": lambda: self.b62(8),
            "b32u": lambda: self.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32),
            "p8": lambda: self.text("0123456789", 8),
            "pin": lambda: self.text("0123456789", 6),
            "user": lambda: self.pick(*USERS),
            "host": lambda: self.pick(*HOSTS),
            "num": lambda: str(self.number(1, 99999)),
            "email": lambda: self.word() + "@example.com",
            "date": lambda: f"202{self.number(0, 7)}-{self.number(1, 13):02}-{self.number(1, 29):02}",
            "time": lambda: f"{self.number(0, 24):02}:{self.number(0, 60):02}:{self.number(0, 60):02}",
            "akid": lambda: "AKIA" + self.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
            "uuid": lambda: str(uuid.UUID(int=self.random.getrandbits(128), version=4)),
        }
        return make[kind]() if kind in make else getattr(self, kind)()

    def web_token(self):
        parts = b'{"alg":"HS256","typ":"JWT"}', json.dumps({"sub": self.hex(8), "iat": self.number(1, 1 << 31)}).encode(), self.random.randbytes(32)
        return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def fill(make, template):
    """The text, and the secrets in it."""
    secrets, known = [], {}

    def one(match):
        name = match[1].lstrip("!")
        kind = name.split("_")[0]
        value = known.get(name) if "_" in name else None
        value = known[name] = value or make.value(kind)
        if (kind in SECRETS or SIZED.fullmatch(kind)) and not match[1].startswith("!"):
            secrets.append(value)
        return value

    return re.sub("«([a-z0-9_!]+)»", one, template), secrets


def rows(seed, name):
    make = Values(seed)
    for line in TEMPLATES.read_text().splitlines():
        template = json.loads(line)
        if template["set"] == name:
            text, secrets = fill(make, template["text"])
            yield row(template["kind"], "secrets", text, secrets)


def clean_rows(seed):
    make = Values(seed)
    for line in CLEAN.read_text().splitlines():
        template = json.loads(line)
        text, _ = fill(make, template["text"])
        yield row(template["kind"], "secrets", text, [], [text])
