"""More texts with secrets that only their position gives away, and clean texts near them, for measuring.

FIRST was looked at while the masker was mended. SECOND was written afterwards and measured before anything was changed:
it says how well the masker does on what nobody had in mind. `python3 tests/lib/fresh_corpus.py` measures both.
Everything is made up from a seed. A row is one of secrets_corpus.row().
"""
import html
import json
import shlex
import urllib.parse

from secrets_corpus import Maker, row

PEOPLE = "alice ben chen dana elif farid gina hugo ines jonas kira liam".split()
HOSTS = "db01 web-2 mail cache3 gw ldap1 nas build7".split()
PASSWORD_NAMES = "password passwd pwd db_password user_password Password PASSWORD admin_pass login_password".split()
TOKEN_NAMES = "token api_key access_token auth_token secret client_secret apikey refresh_token API_TOKEN".split()


def weak(make):
    """As people choose passwords: words, numbers, a sign."""
    number = make.random.randrange
    return make.pick(f"{make.word()}{number(10, 99999)}", f"{make.word().title()}{number(1950, 2030)}", f"{make.word().title()}{make.pick('!', '_', '.', '-')}{number(100, 9999)}", f"{make.word()[:3]}{number(10, 99)}{make.word()[:4].title()}",
                     make.word().replace("e", "3").replace("a", "4").replace("o", "0") + str(number(10, 999)), f"{make.word().title()}{make.word().title()}{number(1, 99)}")


def good(make):
    return make.pick("k" + make.b62(9) + "4Q", make.b62(14) + "8w", f"{make.b62(5)}-{make.b62(5)}-{make.b62(4)}7", f"{make.b62(6)}_{make.b62(6)}3x", make.b62(8) + "5kR")


def token(make):
    return make.pick("e8" + make.b62(30), make.hex(38) + "7a", "t" + make.b62(22) + "_" + make.b62(8) + "2", make.url(42) + "6")


def password(make):
    return weak(make) if make.random.random() < 0.5 else good(make)


def named(make):
    """A name, and a maker of values for it."""
    return (make.pick(*PASSWORD_NAMES), password) if make.random.random() < 0.5 else (make.pick(*TOKEN_NAMES), token)


# --- tables, and what is made of them ---

def people(make, name, value, count=3):
    people = make.random.sample(PEOPLE, count)
    head, body = make.pick(
        (["user", name], lambda i, p, v: [p, v]),
        (["id", "username", name], lambda i, p, v: [str(i + 1), p, v]),
        (["host", "login", name, "port"], lambda i, p, v: [make.random.choice(HOSTS), p, v, "5432"]),
        ([name, "email", "role"], lambda i, p, v: [v, p + "@example.net", "editor"]),
    )
    values = [value(make) for _ in people]
    return [head] + [body(i, p, v) for i, (p, v) in enumerate(zip(people, values))], values


def columns(rows, pad=str.ljust, gap="  "):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return "\n".join(gap.join(pad(c, w) for c, w in zip(r, widths)).rstrip() for r in rows) + "\n"


def frame(rows):
    table = [["", *rows[0]]] + [[str(i), *r] for i, r in enumerate(rows[1:])]
    widths = [max(len(r[i]) for r in table) for i in range(len(table[0]))]
    return "\n".join("  ".join([r[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(r[1:], widths[1:])]) for r in table) + "\n"


def series(values, name, index=None):
    index = index or [str(i) for i in range(len(values))]
    wide, most = max(map(len, index)), max(map(len, values))
    return "\n".join(f"{i:<{wide}}    {v:>{most}}" for i, v in zip(index, values)) + f"\nName: {name}, dtype: object\n"


def boxes(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    rule = "+" + "+".join("-" * (w + 2) for w in widths) + "+"
    lines = ["|" + "|".join(f" {c:<{w}} " for c, w in zip(r, widths)) + "|" for r in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def markdown(rows):
    return "\n".join("| " + " | ".join(r) + " |" for r in [rows[0], ["---"] * len(rows[0]), *rows[1:]]) + "\n"


def web(rows, tag="th"):
    cells = lambda r, t: "".join(f"<{t}>{html.escape(c)}</{t}>" for c in r)
    return "<table>\n" + "".join(f"<tr>{cells(r, 'td' if i else tag)}</tr>\n" for i, r in enumerate(rows)) + "</table>\n"


FORMATS = {
    "csv": lambda r: "\n".join(",".join(c) for c in r) + "\n",
    "csv_blank": lambda r: "\n".join(", ".join(c) for c in r) + "\n",
    "semicolon": lambda r: "\n".join(";".join(c) for c in r) + "\n",
    "tsv": lambda r: "\n".join("\t".join(c) for c in r) + "\n",
    "pipe": lambda r: "\n".join("|".join(c) for c in r) + "\n",
    "markdown": markdown, "boxes": boxes, "frame": frame, "columns": columns,
    "columns_right": lambda r: columns(r, str.rjust), "columns_wide": lambda r: columns(r, gap="     "), "html": web,
}

# (kind, the text, a value in it)
QUOTINGS = {
    "plain": (lambda t: t, lambda v: v),
    "url": (lambda t: urllib.parse.quote(t, safe=""), lambda v: urllib.parse.quote(v, safe="")),
    "form": (urllib.parse.quote_plus, urllib.parse.quote_plus),
    "json": (json.dumps, lambda v: v),
    "json_in_json": (lambda t: json.dumps({"result": json.dumps({"output": t})}), lambda v: v),
    "html": (lambda t: html.escape(t), html.escape),
    "pre": (lambda t: f"<pre>{html.escape(t)}</pre>", html.escape),
    "repr": (repr, lambda v: v),
    "bytes": (lambda t: repr(t.encode()), lambda v: v),
    "quote": (lambda t: "".join(f"> {line}\n" for line in t.splitlines()), lambda v: v),
    "indent": (lambda t: "".join(f"    {line}\n" for line in t.splitlines()), lambda v: v),
    "crlf": (lambda t: t.replace("\n", "\r\n"), lambda v: v),
    "numbered": (lambda t: "".join(f"{i:>6}\t{line}\n" for i, line in enumerate(t.splitlines(), 1)), lambda v: v),
}


def table_rows(make):
    for kind, write in FORMATS.items():
        for quoting, (quote, value_in) in QUOTINGS.items():
            name, value = named(make)
            rows, values = people(make, name, value)
            text = quote(write(rows))
            before, after = make.pick(("", ""), ("Output:\n", ""), ("", "\n(3 rows)\n"), ("Accounts:\n\n", "\nend\n"))
            if quoting not in ("plain", "quote", "indent", "crlf", "numbered"):
                before, after = make.pick(("", ""), ("body=", "&x=1"), ('{"data": "', '"}'), ("", " done")) if quoting in ("url", "form") else make.pick(("", ""), ("", "\n")) if quoting in ("html", "pre") else make.pick(("", ""), ("text = ", "\n"))
            yield row(f"table_{kind}_{quoting}", "whole", before + text + after, [value_in(v) for v in values])


def series_rows(make):
    for _ in range(6):
        name, value = named(make)
        values = [value(make) for _ in range(make.random.randrange(2, 6))]
        shown = series(values, name, make.pick(None, make.random.sample(PEOPLE, len(values))))
        yield row("series", "whole", make.pick("", f">>> df['{name}']\n", f">>> print(df.{name})\n", f"In [4]: df[\"{name}\"]\nOut[4]: \n") + shown, values, ["dtype: object"])
        yield row("series_json", "whole", json.dumps({"stdout": shown}), values, ["dtype: object"])
        yield row("series_row", "whole", series([make.random.choice(PEOPLE), values[0], "editor"], "0", ["user", name, "role"]), [values[0]], ["editor", "dtype: object"])
        yield row("series_list", "whole", f">>> df['{name}'].tolist()\n{values}\n", values, [name])
        yield row("series_array", "whole", f"{name}: array({values}, dtype=object)\n", values)
        yield row("series_dict", "whole", repr({name: dict(enumerate(values))}), values, [name])
        yield row("series_index", "whole", f"{make.random.choice(PEOPLE)}: " + json.dumps({"columns": ["user", name], "index": [0], "data": [["ann", values[0]]]}), [values[0]], ["columns"])


def list_rows(make):
    for _ in range(5):
        name, value = named(make)
        v = value(make)
        person, host = make.random.choice(PEOPLE), make.random.choice(HOSTS)
        label = name.replace("_", " ").title()
        for kind, text in (
            ("colon", f"Host     : {host}\nUser     : {person}\n{label:<9}: {v}\nPort     : 22\n"),
            ("equals", f"host      = {host}\nuser      = {person}\n{name:<9} = {v}\n"),
            ("dots", f"Host......: {host}\n{label:.<10}: {v}\n"),
            ("tabs", f"host\t{host}\nuser\t{person}\n{name}\t{v}\n"),
            ("bullets", f"* Host: {host}\n* User: {person}\n* {label}: {v}\n"),
            ("dashes", f"- user - {person}\n- {name} - {v}\n"),
            ("arrow", f"user -> {person}\n{name} -> {v}\n"),
            ("definition", f"<dl><dt>{label}</dt><dd>{v}</dd></dl>"),
            ("org", f"| user | {person} |\n| {name} | {v} |\n"),
            ("ini", f"[{host}]\nuser={person}\n{name}={v}\n"),
            ("properties", f"app.user={person}\napp.{name}={v}\n"),
            ("toml", f"[db]\nuser = \"{person}\"\n{name} = \"{v}\"\n"),
            ("hcl", f"db {{\n  user = \"{person}\"\n  {name} = \"{v}\"\n}}\n"),
            ("ldif", f"dn: uid={person},dc=example\nuserPassword: {v}\n"),
            ("record", f"-[ RECORD 1 ]-+--------\nuser          | {person}\n{name:<13} | {v}\n"),
            ("ascii", f"user{' ' * 16}{person}\n{name}{' ' * (20 - len(name))}{v}\n"),
            ("latex", f"user & {person} \\\\\n{name.replace('_', chr(92) + '_')} & {v} \\\\\n"),
            ("plist", f"<key>{name}</key>\n  <string>{v}</string>\n"),
            ("rst", f":user: {person}\n:{name}: {v}\n"),
            ("env_json", json.dumps([{"name": "USER", "value": person}, {"name": name.upper(), "value": v}])),
            ("go", f"{{User:{person} {label.replace(' ', '')}:{v} Port:22}}"),
            ("java", f"Account[user={person}, {name}={v}, port=22]"),
            ("rust", f"Account {{ user: \"{person}\", {name}: \"{v}\" }}"),
            ("namespace", f"Namespace(user='{person}', {name}='{v}', port=22)"),
            ("sql_line", f"    user = {person}\n{name:>8} = {v}\n"),
        ):
            yield row("list_" + kind, "whole", text, [v])


# --- sentences ---

SAID = (
    "{} is the password", "{} is the password.", "{} is my password for the mail server", "{} is the new password", "{} is your temporary password", "{} is the admin password", "{} was the old password", "{} is now the password", "'{}' is the password", "`{}` is the password for root", "\"{}\" is our database password",
    "{} is the root password on db01", "I think {} is the wifi password", "and {} is the password", "{} ist das Passwort", "{} est le mot de passe", "{} (the password)", "{} <- password", "{} as the password", "we use {} as our password", "try {} as password", "enter {} when asked for the password", "type {} at the password prompt", "{} should be the password", "{} will be your password",
    "My login is ann and my password is {}", "Login with ann / {}", "log in as ann using {} as password", "The password? It's {}", "Password reset. New one: {}", "the new password: {}", "your password has been reset to {}", "Please change your password from {} after the first login", "the password you need is {}", "the password that works is {}", "passwords: {}", "the pass for the vpn is {}", "the pwd of ann is {}",
    "I set it up with password {}", "password equals {}", "The database password ({}) is in the vault", "the password is \u201c{}\u201d", "the password is **{}**", "the password is <code>{}</code>", "the password is: `{}`", "the password, {}, is easy", "its password is {}", "Their password was {} last year", "use password {}", "using the password {} for ann", "root password {} is set", "initial password {}", "default login is admin and default password is {}",
)
SAID_TOKEN = (
    "{} is the token", "{} is the API key", "{} is your api key", "{} is the access token for prod", "{} is the client secret", "'{}' is the secret", "`{}` is the api token", "{} is my personal access token", "{} as the bearer token", "use {} as the API key", "the key to use is {}", "the API key for staging is {}", "API key: {}", "an access token was issued: {}", "your new token is {}", "token={} was rejected", "rejected token {}", "the token you asked for: {}",
    "Here's the token: {}", "the token is `{}`", "the secret is \"{}\"", "API key {} has been revoked", "please store the secret {} safely", "the refresh token is {}", "copy this token now, you will not see it again: {}", "access token {} expires in 3600 seconds", "the api key (which is {}) leaked", "session token {} created for ben", "with api key '{}'", "my key is {}", "webhook signing secret is {}",
)


def sentence_rows(make):
    for templates, value in ((SAID, password), (SAID_TOKEN, token)):
        for template in templates:
            v = value(make)
            text = make.pick("", "", "Hello,\n", "- ", "# ", "[ben] ", "2024-05-01 12:00 ", "> ", "note: ") + template.format(v)
            yield row("sentence", "whole", text + make.pick("", "\n", "\nbye\n"), [v])
            quoting = make.pick("json", "url", "form", "html", "repr", "quote", "json_in_json")
            quote, value_in = QUOTINGS[quoting]
            v = value(make)
            yield row("sentence_" + quoting, "whole", quote(template.format(v)), [value_in(v)])


# --- commands and headers ---

CALLS = (
    "mysql -h db01 -u app -p{} -e 'select 1'", "mysql --host=db01 --user=app --password='{}'", "psql \"postgresql://app:{}@db01/app\"", "PGPASSWORD={} pg_dump app", "redis-cli -a {} info", "redis-cli -u redis://:{}@cache3:6379", "curl -u 'ben:{}' https://example.net", "curl --user ben:{} -O https://example.net/f", "curl -H 'X-Auth-Token: {}' https://example.net", "curl https://example.net -H \"apikey: {}\"",
    "wget --password={} --user=ben https://example.net/f", "sshpass -p '{}' ssh ben@gw", "docker login -u ben -p {}", "docker run -e DB_PASSWORD={} app", "docker run --env API_KEY={} app", "kubectl create secret generic s --from-literal=token={}", "kubectl config set-credentials ben --password={}", "helm install app --set db.password={}", "helm upgrade app ./c --set-string auth.token={}", "ansible all -m ping -e ansible_ssh_pass={}",
    "openssl pkcs12 -in a.p12 -passin pass:{}", "openssl enc -aes-256-cbc -k {} -in a", "gpg --passphrase {} -c a", "zip -P {} a.zip a", "7z a -p{} a.7z a", "ldapsearch -D cn=admin -w {} -b dc=x", "smbclient //nas/s -U ben%{}", "mount -t cifs //nas/s /mnt -o user=ben,pass={}", "htpasswd -b f ben {}", "echo \"ben:{}\" | chpasswd", "echo {} | sudo -S ls", "vault login {}", "vault kv put secret/app token={}", "aws configure set aws_secret_access_key {}", "az login -u ben -p {}", "gcloud auth login --password {}",
    "git clone https://ben:{}@git.example.net/r", "npm config set //r.example.net/:_authToken={}", "pip install --index-url https://ben:{}@pypi.example.net/simple x", "twine upload -u ben -p {} d/*", "rabbitmqctl add_user ben {}", "mongosh 'mongodb://app:{}@db01/app'", "mongo -u app -p {}", "sqlcmd -U sa -P {} -S db01", "sqlplus app/{}@XE", "keytool -storepass {} -list", "lftp -u ben,{} ftp.example.net", "ncftpput -u ben -p {} h d f", "http -a ben:{} example.net", "nmcli device wifi connect net password {}", "wpa_passphrase net {}",
    "export API_TOKEN={}", "set DB_PASSWORD={}", "$env:DB_PASSWORD = '{}'", "setx API_KEY {}", "heroku config:set API_KEY={}", "fly secrets set API_TOKEN={}", "gh auth login --with-token <<< {}", "echo {} | gh auth login --with-token", "terraform apply -var=\"db_password={}\"", "java -Djavax.net.ssl.keyStorePassword={} -jar a.jar", "java -Ddb.password={} -jar a.jar", "flyway -password={} migrate", "liquibase --password={} update", "cqlsh -u ben -p {}", "influx -password {} -username ben", "clickhouse-client --password {}", "snowsql -p {}", "restic -r r --password {} ls",
    "borg init --passphrase={}", "rclone config create r webdav pass={}", "ffmpeg -i rtsp://ben:{}@cam/1 a.mp4", "xfreerdp /v:gw /u:ben /p:{}", "vncpasswd {}", "net use \\\\nas\\s {} /user:ben", "schtasks /create /ru ben /rp {}", "cmdkey /add:gw /user:ben /pass:{}", "New-LocalUser ben -Password {}", "ConvertTo-SecureString '{}' -AsPlainText -Force", "ssh-keygen -p -P {} -f k", "cryptsetup open d n <<< {}", "echo -n {} | cryptsetup luksFormat d -", "mc alias set s3 http://nas ben {}", "s3cmd --secret_key={} ls", "kinit ben <<< {}", "ipmitool -U ben -P {} -H h chassis status", "snmpget -v3 -u ben -A {} h o",
)


def command_rows(make):
    for template in CALLS:
        wants_token = any(word in template.lower() for word in ("token", "api_key", "apikey", "secret"))
        v = (token if wants_token else good)(make) if make.random.random() < 0.5 or wants_token else weak(make).replace("!", "7")
        text = template.format(v)
        prompt = make.pick("", "$ ", "# ", "ben@gw:~$ ", "+ ", "RUN ", "  - ", "sudo ")
        yield row("command", "whole", f"{prompt}{text}\n", [v])
        if not any(c in text for c in "'\"|<>$\\"):
            yield row("command_list", "whole", f"subprocess.run({shlex.split(text)!r})\n", [v])
            yield row("command_json", "whole", json.dumps({"cmd": text, "rc": 0}), [v], ["rc"])
            yield row("command_url", "whole", "cmd=" + urllib.parse.quote(text, safe=""), [urllib.parse.quote(v, safe="")])
            yield row("command_ps", "whole", f"ben       4711  0.0  0.1  12345  6789 ?  Ss  10:00  0:00 {text}\n", [v])
            yield row("command_history", "whole", f"  512  {text}\n  513  ls\n", [v], ["ls"])


def header_rows(make):
    for _ in range(4):
        t, h = token(make), make.hex(64)
        for text, secret in (
            (f"Authorization: Bearer {t}", t), (f"authorization: bearer {t}", t), (f"'authorization': 'Bearer {t}'", t), (f"Authorization: Token {t}", t), (f"Authorization: ApiKey {t}", t), (f"Authorization: {t}", t), (f"X-Api-Key: {t}", t), (f"x-auth-token: {t}", t), (f"Api-Key: {t}", t), (f"X-Access-Token: {t}", t), (f"X-Csrf-Token: {t}", t), (f"X-Gitlab-Token: {t}", t), (f"X-Amz-Security-Token: {t}", t), (f"Sec-WebSocket-Protocol: bearer, {t}", t),
            (f"Cookie: a=1; session={t}; b=2", t), (f"Set-Cookie: auth_token={t}; Path=/; Secure", t), (f"Cookie: JSESSIONID={t}", t), (f"set-cookie: refresh_token={t}; Max-Age=3600", t), (f"X-Hub-Signature-256: sha256={h}", h), (f"X-Slack-Signature: v0={h}", h), (f"X-Signature: {h}", h), (f"Stripe-Signature: t=1700000000,v1={h}", h), (f"Authorization: HMAC-SHA256 Credential=ben, Signature={h}", h),
            (f"Authorization: Signature keyId=\"k\",signature=\"{t}\"", t), (f"Authorization: Digest username=\"ben\", response=\"{h[:32]}\"", h[:32]), (f"Authorization: GoogleLogin auth={t}", t), (f"Authorization: AWS ben:{t}", t), (f"Proxy-Authorization: Basic {t}", t), (f"headers={{'X-API-KEY': '{t}'}}", t), (f"-H 'Authorization: Bearer {t}'", t), (f"> authorization: Bearer {t}\r\n> accept: */*", t), (f'"headers": [["authorization", "Bearer {t}"]]', t),
        ):
            yield row("header", "whole", text + make.pick("", "\n"), [secret])
            if make.random.random() < 0.3:
                yield row("header_json", "whole", json.dumps({"log": text}), [secret], ["log"])
                quoted = urllib.parse.quote(text, safe="")
                yield row("header_url", "whole", f"h={quoted}", [urllib.parse.quote(secret, safe="")])


# --- escaped and split ---

NOTATIONS = ('{n}="{v}"', "{n}='{v}'", "{n}={v}", '{{"{n}": "{v}"}}', "{{'{n}': '{v}'}}", "user=ben&{n}={v}&x=1", "<{n}>{v}</{n}>", "{n}: {v}", "{n} = {v}", "--{n} {v}", "{n} => '{v}'", "<add key=\"{n}\" value=\"{v}\"/>", "- {n}: {v}", "set {n} {v}", "{n} := \"{v}\"", "export {n}=\"{v}\"", "('{n}', '{v}')")


def xml_numeric(text):
    return "".join(f"&#x{ord(c):x};" if c in "<>&\"'" else c for c in text)


ESCAPES = {
    **{name: QUOTINGS[name] for name in ("url", "form", "json", "json_in_json", "html", "repr", "bytes")},
    "html_twice": (lambda t: html.escape(html.escape(t)), lambda v: html.escape(html.escape(v))),
    "url_twice": (lambda t: urllib.parse.quote(urllib.parse.quote(t, safe=""), safe=""), lambda v: urllib.parse.quote(urllib.parse.quote(v, safe=""), safe="")),
    "json_unicode": (lambda t: t.replace('"', "\\u0022").replace("<", "\\u003c").replace(">", "\\u003e").replace("=", "\\u003d").replace("&", "\\u0026").replace("'", "\\u0027"), lambda v: v),
    "xml_numeric": (xml_numeric, lambda v: v),
    "shell": (lambda t: "bash -c " + shlex.quote(t), lambda v: v),
    "ansi_c": (lambda t: "$'" + t.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'", lambda v: v),
    "yaml_double": (lambda t: 'text: "' + t.replace("\\", "\\\\").replace('"', '\\"') + '"', lambda v: v),
    "yaml_single": (lambda t: "text: '" + t.replace("'", "''") + "'", lambda v: v),
    "cdata": (lambda t: f"<x><![CDATA[{t}]]></x>", lambda v: v),
    "csv_cell": (lambda t: '1,"' + t.replace('"', '""') + '",ok', lambda v: v),
    "url_lower": (lambda t: "".join(c if c.isalnum() or c in "-_." else "%%%02x" % ord(c) for c in t), lambda v: "".join(c if c.isalnum() or c in "-_." else "%%%02x" % ord(c) for c in v)),
    "query": (lambda t: "GET /log?m=" + urllib.parse.quote_plus(t) + "&n=1 HTTP/1.1", urllib.parse.quote_plus),
    "powershell": (lambda t: "\"" + t.replace('"', '`"') + "\"", lambda v: v),
    "sql": (lambda t: "INSERT INTO log VALUES (1, '" + t.replace("'", "''") + "')", lambda v: v),
}


def escaped_rows(make):
    for notation in NOTATIONS:
        for kind, (quote, value_in) in ESCAPES.items():
            name, value = named(make)
            v = value(make).replace("!", "5")
            yield row("escaped_" + kind, "whole", quote(notation.format(n=name, v=v)), [value_in(v)])


def split_rows(make):
    for _ in range(6):
        name, value = named(make)
        v, t = value(make), token(make) + token(make)
        half = len(t) // 2
        for text, secrets in (
            (f"{name}:\n    {v}\n", [v]), (f"{name} =\n  '{v}'\n", [v]), (f"{name}=\\\n{v}\n", [v]), (f"--{name.replace('_', '-')} \\\n  {v} \\\n  --x\n", [v]), (f'"{name}":\n  "{v}"\n', [v]), (f"{name}: >\n  {v}\nx: 1\n", [v]), (f"{name}: |-\n  {v}\nx: 1\n", [v]),
            (f'{name} = ("{t[:half]}"\n    "{t[half:]}")\n', [t[:half], t[half:]]), (f'{name} = "{t[:half]}" \\\n    "{t[half:]}"\n', [t[:half], t[half:]]), (f"{name} = '{t[:half]}' . \n   '{t[half:]}';\n", [t[:half], t[half:]]), (f'{name} = "{t[:half]}" + "{t[half:]}"\n', [t[:half], t[half:]]), (f'"{name}": "{t[:half]}\\\n{t[half:]}"\n', [t[:half], t[half:]]),
            (f"{name} = '''{v}'''\n", [v]), (f'{name} = """\n{v}\n"""\n', [v]), (f"Password for ben:\n{v}\n", [v]), (f"Enter password: {v}\nWelcome\n", [v]), (f"Your {name} is\n\n    {v}\n\nKeep it safe.\n", [v]), (f"{name.title()}\n--------\n{v}\n", [v]), (f"## {name}\n\n`{v}`\n", [v]), (f"## {name}\n\n```\n{v}\n```\n", [v]), (f"<dt>{name}</dt>\n<dd>{v}</dd>\n", [v]),
            (f"$ cat {name}.txt\n{v}\n", [v]), (f"$ echo ${name.upper()}\n{v}\n", [v]), (f"===== {name} =====\n{v}\n", [v]), (f"cat <<EOF > /run/secrets/{name}\n{v}\nEOF\n", [v]), (f"{name}:\r\n  {v}\r\n", [v]),
        ):
            yield row("split", "whole", text, secrets)


FIRST = (table_rows, series_rows, list_rows, sentence_rows, command_rows, header_rows, escaped_rows, split_rows)


def rows(seed, parts=FIRST):
    make = Maker(seed)
    for part in parts:
        yield from part(make)


# --- written after the masker was mended ---

def second_tables(make):
    for _ in range(4):
        name, value = named(make)
        rows, values = people(make, name, value, 4)
        yield row("second_excel", "whole", "\n".join("\t".join(f'"{c}"' for c in r) for r in rows) + "\n", values)
        yield row("second_csv_bom", "whole", "\ufeff" + "\r\n".join(",".join(r) for r in rows) + "\r\n", values)
        yield row("second_jira", "whole", "||" + "||".join(rows[0]) + "||\n" + "".join("|" + "|".join(r) + "|\n" for r in rows[1:]), values)
        yield row("second_asciidoc", "whole", "|===\n|" + " |".join(rows[0]) + "\n\n" + "".join("|" + " |".join(r) + "\n" for r in rows[1:]) + "|===\n", values)
        yield row("second_records", "whole", json.dumps([dict(zip(rows[0], r)) for r in rows[1:]], indent=make.pick(None, 2)), values)
        yield row("second_split", "whole", json.dumps({"columns": rows[0], "index": [0, 1, 2, 3], "data": rows[1:]}), values)
        yield row("second_ndjson", "whole", "".join(json.dumps(dict(zip(rows[0], r))) + "\n" for r in rows[1:]), values)
        yield row("second_tuples", "whole", "\n".join(repr(tuple(zip(rows[0], r))) for r in rows[1:]) + "\n", values)
        yield row("second_html_class", "whole", "<table class=\"dataframe\"><thead><tr style=\"text-align: right;\"><th></th>" + "".join(f"<th>{c}</th>" for c in rows[0]) + "</tr></thead><tbody>" + "".join(f"<tr><th>{i}</th>" + "".join(f"<td>{html.escape(c)}</td>" for c in r) + "</tr>" for i, r in enumerate(rows[1:])) + "</tbody></table>", [html.escape(v) for v in values])
        yield row("second_diff", "whole", "--- a/users.csv\n+++ b/users.csv\n@@ -0,0 +1,5 @@\n" + "".join("+" + ",".join(r) + "\n" for r in rows), values)
        yield row("second_log", "whole", "".join(f"2024-05-01 10:00:0{i} INFO {dict(zip(rows[0], r))}\n" for i, r in enumerate(rows[1:])), values)
        yield row("second_grep", "whole", "".join(f"{i}:{','.join(r)}\n" for i, r in enumerate(rows, 1)), values)
        yield row("second_mail", "whole", "".join(f"> > {','.join(r)}\n" for r in rows), values)
        yield row("second_series", "whole", series(values, name), values)
        yield row("second_url_json", "whole", "d=" + urllib.parse.quote(json.dumps([dict(zip(rows[0], r)) for r in rows[1:]])), [urllib.parse.quote(v) for v in values])
        yield row("second_html_frame", "whole", "<textarea>" + html.escape(frame(rows)) + "</textarea>", [html.escape(v) for v in values])


SECOND_SENTENCES = ("Our wifi password is {}.", "FYI the password for the {} account was changed", "I use {} as my password everywhere", "{} is the password you need", "{} was my password before", "the password to the vault is {}", "ok so the password is {} right?", "password is {}!", "Here is the password: {}", "new password -> {}", "Password: {} (change it)", "temporary password: {}", "The user's password is {}", "with the password {} you can log in",
                    "{} is your new password", "set your password to {} for now", "please use the password {}", "ssh ben@gw (password: {})", "user: ben pass: {}", "u: ben / p: {}", "ben:{} (password)", "pw = {}", "root pw is {}", "login ben, pw {}", "the old password {} no longer works", "The password of ben has been set to {}.", "\u2022 Password: {}", "[password] {}", "<password> {}", "password\t{}", "Password \u2014 {}")
SECOND_TOKENS = ("My token is {}", "the api key is: {}", "{} is our API token", "Token: {}", "Bearer token: {}", "apiKey {}", "api-key: {}", "the token {} was leaked", "token ({})", "key={}", "X-Token: {}", "access key {}", "client_secret -> {}", "your secret key is {}", "auth token set to {}", "the signing secret: {}", "export TOKEN={}", "token:{}", "{{token: '{}'}}", "webhook secret: {}", "refresh_token is {}")


def second_sentences(make):
    for templates, value in ((SECOND_SENTENCES, password), (SECOND_TOKENS, token)):
        for template in templates:
            if "{} account" in template:
                continue
            v = value(make)
            yield row("second_sentence", "whole", template.replace("{{", "{").replace("}}", "}").replace("{}", v) + make.pick("", "\n"), [v])
            name, (quote, value_in) = make.random.choice([(k, q) for k, q in QUOTINGS.items() if k in ("url", "json", "html", "repr", "json_in_json")])
            v = value(make)
            yield row("second_sentence_" + name, "whole", quote(template.replace("{{", "{").replace("}}", "}").replace("{}", v)), [value_in(v)])


SECOND_CODE = ('{n} = "{v}"', "{n}: '{v}',", 'os.environ["{n}"] = "{v}"', 'config.set("{n}", "{v}")', "self.{n} = '{v}'", "const {n} = `{v}`;", 'var {n} string = "{v}"', "{n} = %q{{{v}}}", "'{n}' => '{v}',", 'setenv("{n}", "{v}", 1);', 'env.put("{n}", "{v}");', "{n}={v} ./run.sh", "ENV {n}={v}", "ARG {n}={v}", "  {n}: \"{v}\"", "{n}: !!str {v}", "- {n}={v}", "--{n}={v}", "-{n} {v}", "Set-Item env:{n} '{v}'",
               "<{n}>{v}</{n}>", "<x {n}='{v}'/>", '{{"name": "{n}", "value": "{v}"}}', '{{"key":"{n}","value":"{v}"}}', "{n} {v}", "[{n}={v}]", "({n}={v})", "?{n}={v}&a=1", "&{n}={v}", "{n}%3D{v}", "Assertion failed: {n} == '{v}'", "got {n} '{v}'", "KeyError: {{'{n}': '{v}'}}", "  File \"a.py\", line 3\n    {n} = '{v}'\n", "$ export {n}='{v}'", "{n}='{v}' python a.py", "# {n}: {v}", "// {n} = \"{v}\"", "-- {n} = '{v}'", "/* {n}={v} */")


def second_code(make):
    for template in SECOND_CODE:
        for _ in range(3):
            name, value = named(make)
            v = value(make).replace("!", "5")
            yield row("second_code", "whole", template.format(n=name, v=v) + make.pick("", "\n"), [v])


SECOND = (second_tables, second_sentences, second_code)


if __name__ == "__main__":
    import sys
    from pathlib import Path

    sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "integration")]
    from test_mask import mask_lines

    for title, parts in (("first", FIRST), ("second", SECOND)):
        for seed in (11, 12, 13):
            made = list(rows(seed, parts))
            missed = [r["kind"] for r, text in zip(made, mask_lines(made)) if any(secret in text for secret in r["secrets"])]
            print(f"{title} {seed}: {len(made)} texts, recall {1 - len(missed) / len(made):.4f}; missed: {' '.join(sorted(set(missed)))}")
