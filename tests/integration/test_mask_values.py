"""The end of a labelled value, in every notation: nothing of the secret comes out, and the text after it does.

Every secret is put into every notation that can hold it. Of a secret no four bytes in a row may come out. The two tables
below say what a notation cannot hold, and where the masker is known to stop early.
"""
import random
import re
import string

import pytest

from test_mask import mask_lines

PUNCTUATION = string.punctuation
LETTERS = string.ascii_letters + string.digits

# The notation, its text (@ is the secret), what has to stay, and the bytes that cannot stand in it as they are.
NOTATIONS = {
    "yaml": ("db:\n  host: h1\n  password: @\n  port: 5432\n", ["host: h1", "\n  port: 5432"], ""),
    "yaml comment": ("password: @ # rotate it\nnext: 1\n", [" # rotate it\nnext: 1"], ""),
    "yaml list": ("- password: @\n- user: ann\n", ["\n- user: ann"], ""),
    "yaml flow": ("db: {user: ann, password: @, port: 5432}\n", ["user: ann", ", port: 5432}"], ",[]{}"),
    "yaml quoted": ("password: '@'\nport: 5432\n", ["'\nport: 5432"], "'\\"),
    "dotenv": ("DEBUG=0\nDB_PASSWORD=@\nPORT=8080\n", ["DEBUG=0\n", "\nPORT=8080"], ""),
    "dotenv export": ("export DB_PASSWORD=@\nexport PORT=8080\n", ["\nexport PORT=8080"], ""),
    "dotenv quoted": ('DB_PASSWORD="@"\nPORT=8080\n', ['"\nPORT=8080'], '"\\'),
    "ini": ("[db]\nuser = ann\npassword = @\nhost = h1\n", ["user = ann\n", "\nhost = h1"], ""),
    "ini comment": ("password=@ ; rotate it\nhost=h1\n", [" ; rotate it\nhost=h1"], ""),
    "properties": ("spring.datasource.password=@\nserver.port=80\n", ["\nserver.port=80"], ""),
    "last line": ("password: @", [], ""),
    "json": ('{"user": "ann", "password": "@", "port": 5432}\n', ['"user": "ann"', '", "port": 5432}'], '"\\'),
    "json in json": ('{"a": "{\\"password\\": \\"@\\", \\"b\\": 1}"}\n', ['\\", \\"b\\": 1}"}'], '"\\'),
    "json bare": ('{"password": @, "port": 5432}\n', [', "port": 5432}'], ',[]{}"'),
    "python dict": ("{'user': 'ann', 'password': '@', 'n': 1}\n", ["'user': 'ann'", "', 'n': 1}"], "'\\"),
    "python call": ("connect(user='ann', password='@', timeout=3)\n", ["', timeout=3)"], "'\\"),
    "python call bare": ("Config(user=ann, password=@, timeout=3)\n", [", timeout=3)"], ",()[]{}"),
    "python name": ('password = "@"; start()\n', ['"; start()'], '"\\'),
    "triple quotes": ('password = """@"""\nstart()\n', ['"""\nstart()'], '"\\'),
    "element": ("<db><password>@</password><port>1</port></db>\n", ["</password><port>1</port>"], "<"),
    "cdata": ("<password><![CDATA[@]]></password>\n", ["]]></password>"], "]"),
    "attribute": ('<db password="@" port="1"/>\n', ['" port="1"/>'], '"<\\'),
    "entities": ("&lt;db password=&quot;@&quot; port=&quot;1&quot;\n", ["&quot; port=&quot;1"], "&\""),
    "userinfo": ("url postgres://ann:@@h1.example:5432/app ok\n", ["@h1.example:5432/app ok"], "/?#\"'<>`\\"),
    "userinfo http": ("clone https://ann:@@h1.example/r.git done\n", ["@h1.example/r.git done"], "/?#\"'<>`\\"),
    "query": ("GET /p?user=ann&password=@&page=2 HTTP/1.1\n", ["user=ann&", "&page=2 HTTP/1.1"], "&#\"'<>`"),
    "query at the end": ("see https://h1.example/p?access_token=@ now\n", [" now"], "&#\"'<>`"),
    "header": ("GET / HTTP/1.1\nX-Api-Key: @\nHost: h1\n", ["\nHost: h1"], ""),
    "bearer": ("Authorization: Bearer @\nHost: h1\n", ["Authorization: Bearer ", "\nHost: h1"], ""),
    "bearer in quotes": ('curl -H "Authorization: Bearer @" https://h1.example\n', ['" https://h1.example'], '"\\'),
    "cookie": ("Set-Cookie: sessionid=@; Path=/; HttpOnly\n", ["; Path=/; HttpOnly"], "\"'`;,"),
    "log": ("2026-01-01 INFO login user=ann password=@ from 10.0.0.1\n", ["user=ann", " from 10.0.0.1"], ""),
    "log pair": ("ts=1 password=@ host=h1\n", ["ts=1", " host=h1"], ""),
    "log colon": ("cannot log in with password: @ (3 tries)\n", [" (3 tries)"], ""),
    "log in quotes": ('level=info msg="login password=@ failed" n=1\n', [' failed" n=1'], '"\\'),
    "log in brackets": ("WARN [password=@] retry\n", ["] retry"], ",()[]{}"),
    "arrow": ("password -> @\nnext\n", ["\nnext"], ""),
    "connection string": ("Server=db;User Id=sa;Password=@;Timeout=30\n", ["Server=db;User Id=sa;", ";Timeout=30"], ""),
    "option": ("mysql --host h1 --password @ --port 3306\n", ["--host h1", " --port 3306"], ""),
    "option with =": ("mysql --host h1 --password=@ --port 3306\n", ["--host h1", " --port 3306"], ""),
    "shell, single quotes": ("DB_PASSWORD='@' make run\n", ["' make run"], "'\\"),
    "shell, double quotes": ('export DB_PASSWORD="@"; make run\n', ['"; make run'], '"\\'),
    "curl": ("curl -u ann:@ https://h1.example/\n", ["ann:", " https://h1.example/"], ""),
    "pgpass": ("h1.example:5432:app:ann:@\nh2\n", ["\nh2"], ""),
    "netrc": ("machine h1.example login ann password @\n", ["login ann"], ""),
    "diff": ("-password: @\n+password: none\n", ["\n+password: none"], ""),
    "kubernetes": ("apiVersion: v1\nkind: Secret\nstringData:\n  password: @\nmetadata:\n  name: db\n", ["\nmetadata:\n  name: db"], ""),
    "yaml block": ("db:\n  password: |\n    @\n  host: h1\n", ["\n  host: h1"], ""),
    "triple quotes, lines": ("password = '''\n@\n'''\nstart()\n", ["'''\nstart()"], "'\\"),
    "shell, lines": ("DB_PASSWORD='\n@\n' make run\n", ["' make run"], "'\\"),
    "field": ("- name: DB_PASSWORD\n  value: @\n- name: PORT\n", ["\n- name: PORT"], ""),
}
QUOTED = ("yaml quoted|dotenv quoted|json|json in json|python dict|python call|python name|triple quotes.*|yaml block|cdata|attribute|entities|"
          "bearer.*|shell,.*|userinfo.*|cookie|pgpass|kubernetes")
BARE = f"(?!(?:{QUOTED})$).*"

# Secrets that are not recognized, or not to their end: the notation, the secret, the reason, and an example.
EXCEPTIONS = [
    (".*", r"^%.*%$|^%[({%]", "a variable of a command line", ("json", "%k9Zx81Qm%")),
    (".*", r"^~/", "a path", ("json", "~/k9/Zx81Qm")),
    (".*", r"[$%]\(\w|\$\{\w|\{\{\w", "a variable in a text", ("json", "ab${falcon}cd")),
    (".*", r"^[<\[{]", "a list, an object or a placeholder", ("json", "<hunter2>")),
    (f"{BARE}|kubernetes", r"^=?[\"'`]", "begins as a string does", ("dotenv", "'k9'Zx81Qm'4")),
    (BARE, r"^\$?[A-Za-z0-9]+([.:/\\_>-]+\w+)*[^\w\s]{0,3}$", "a name, or a name in a name: code that says where the secret is", ("dotenv", "hunter2.falcon")),
    (BARE, r"^=?\w*[^\w\s]*[(\[]|^\w*>\w+\(|^\(|^[$&@*]\w+[^\w\s]?[\[({.-]", "a call or an index", ("dotenv", "ab(cd)")),
    (f"{BARE}|bearer in quotes", r"[,;&][A-Za-z]{2}[\w.-]*=", "the next pair", ("dotenv", "k9Zx;word=1Qm4")),
    (f"{BARE}|bearer.*|kubernetes", r"</", "the end of an element", ("dotenv", "k9Zx81</Qm")),
    ("dotenv quoted|python name|triple quotes|attribute|shell, double.*", r"`[a-z]{4,}`|\$\(|\$\{|#\{", "code in a string of a shell", ("dotenv quoted", "pa`word`1Qm4")),
    ("yaml flow|json bare|log in.*|query.*", r"\)[\"'`<>,;&|:.]|\\[nrt\"']", "a bracket or an escape that may end what is around it", ("query", "k9Zx\\n81Qm")),
    ("bearer.*", r"^[A-Za-z]+([^A-Za-z0-9][A-Za-z]+)*$", "words behind a scheme, as documents have them", ("bearer", "ab-cd-ef")),
    ("dotenv export|option.*|curl", r"[;&|<>][\"'\\]*[a-z./~_+-]{4,}", "a command behind an operator, where a shell may be", ("option", "hunter2;falcon")),
]


def excused(notation, secret):
    return any(re.fullmatch(where, notation) and re.search(what, secret, re.DOTALL) for where, what, *_ in EXCEPTIONS)


def secrets_of(seed):
    make = random.Random(seed)
    for sign in PUNCTUATION:
        yield from (f"k9Zx{sign}81Qm", f"k9Zx81Qm{sign}", f"{sign}k9Zx81Qm", f"k9{sign}{sign}Zx81Qm", f"ab{sign}cd{sign}ef", f"hunter2{sign}falcon")
    for _ in range(150):
        first, second = make.choices(PUNCTUATION, k=2)
        yield f"{make.choice(('k9', 'pa'))}{first}{make.choice(('Zx8w', 'word'))}{second}{make.choice(('1Qm4', 'horse'))}"
    for _ in range(100):
        yield "".join(make.choices(LETTERS + PUNCTUATION, k=make.randrange(10, 24)))


def pieces(secret):
    return {secret[i:i + 4] for i in range(len(secret) - 3)}


def put(template, secret):
    before, _, after = template.partition("@")
    return before + secret + after


def leaks(template, keep, secret, text):
    rest = put(template, "")
    return any(piece in text and piece not in rest for piece in pieces(secret)) or not all(part in text for part in keep)


def test_no_piece_of_a_secret_comes_out_and_what_follows_does():
    cases = [(notation, secret) for seed, notation in enumerate(NOTATIONS) for secret in secrets_of(seed)
             if not set(NOTATIONS[notation][2]) & set(secret) and not excused(notation, secret)]
    assert len(cases) > 15000
    rows = [{"text": put(NOTATIONS[notation][0], secret), "mode": "whole"} for notation, secret in cases]
    bad = [(notation, secret, text) for (notation, secret), text in zip(cases, mask_lines(rows)) if leaks(*NOTATIONS[notation][:2], secret, text)]
    assert not bad, (len(bad), bad[:12])


def test_the_way_it_is_cut_does_not_matter():
    make = random.Random(3)
    rows = [{"text": put(template, secret), "mode": "secrets"} for template, _, _ in NOTATIONS.values() for secret in make.sample(list(secrets_of(5)), 12)]
    mask_lines(rows)  # which fails where it does


@pytest.mark.parametrize("where, what, why, example", EXCEPTIONS, ids=[why for _, _, why, _ in EXCEPTIONS])
def test_an_exception_is_needed(where, what, why, example):
    """A row of the table that is masked after all must be removed."""
    notation, secret = example
    assert re.fullmatch(where, notation) and re.search(what, secret)
    text, = mask_lines([{"text": put(NOTATIONS[notation][0], secret), "mode": "secrets"}])
    assert leaks(*NOTATIONS[notation][:2], secret, text), text
