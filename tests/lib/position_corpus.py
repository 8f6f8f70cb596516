"""Texts in which a secret is known by its position alone, and clean texts that come close to them.

Columns of tables, arguments of commands, fields of headers, values in sentences; then the same escaped, and split over
lines. Everything is made up from a seed. A row is one of secrets_corpus.row().
"""
import base64
import hashlib
import html
import json
import shlex
import urllib.parse
import uuid

from secrets_corpus import HEX, Maker, row

USERS = "ann bob carol dave erin frank grace heidi".split()
PASSWORD_COLUMNS = ("password", "Password", "PASSWORD", "passwd", "pwd", "db_password", "user_password", "pass", "admin_password")
TOKEN_COLUMNS = ("token", "api_key", "API_KEY", "api_token", "secret", "access_token", "client_secret", "auth_token", "secret_key", "Token")


def simple(make):
    """A password without signs that a table or a shell reads."""
    return make.pick(f"{make.word()}{make.random.randrange(10, 9999)}", f"{make.word().title()}_{make.b62(5)}{make.random.randrange(10)}", "x" + make.b62(11) + "7q",
                     f"{make.word()}-{make.b62(4)}8k!", f"hunter{make.random.randrange(2, 99)}")


def token(make):
    return make.pick("a7" + make.b62(30), "0f9c" + make.hex(36), make.b62(12) + "4x_" + make.b62(20))


# --- tables ---

def aligned(rows, left=True, gap=2):
    widths = [max(len(str(r[i])) for r in rows) for i in range(len(rows[0]))]
    pad = str.ljust if left else str.rjust
    return "\n".join((" " * gap).join(pad(str(c), w) for c, w in zip(r, widths)).rstrip() for r in rows)


def rule(widths, cross, dash, ends=("", "")):
    return ends[0] + cross.join(dash * (w + 2) for w in widths) + ends[1]


def boxed(rows, border, top, middle, bottom, extra=()):
    widths = [max(len(str(r[i])) for r in (*rows, *extra)) for i in range(len(rows[0]))]
    line = lambda r, b: b[0] + b[1].join(f" {str(c):<{w}} " for c, w in zip(r, widths)) + b[2]
    mark = lambda m: [] if not m else [rule(widths, m[1], m[3], (m[0], m[2]))]
    return "\n".join(mark(top) + [line(rows[0], border)] + [line(r, border) for r in extra] + mark(middle) + [line(r, border) for r in rows[1:]] + mark(bottom))


def frame(rows, index=True):
    """As pandas prints strings: columns end where their names end."""
    table = [[""] + list(rows[0])] + [[i] + list(r) for i, r in enumerate(rows[1:])] if index else rows
    widths = [max(len(str(r[i])) for r in table) for i in range(len(table[0]))]
    cells = lambda r: [str(c).ljust(widths[0]) if index and i == 0 else str(c).rjust(widths[i] + (1 if i else 0) - (0 if i else 0)) for i, c in enumerate(r)]
    return "\n".join("".join(cells(r)) if i == 0 else "".join(cells(r)) for i, r in enumerate([[c if j == 0 else c for j, c in enumerate(r)] for r in table])) if index else "\n".join(" ".join(str(c).rjust(widths[i]) for i, c in enumerate(r)) for r in table)


def tables(rows):
    yield "csv", "\n".join(",".join(map(str, r)) for r in rows)
    yield "csv_crlf", "\r\n".join(",".join(map(str, r)) for r in rows) + "\r\n"
    yield "csv_quoted", "\n".join(",".join(f'"{c}"' for c in r) for r in rows)
    yield "csv_semicolon", "\n".join(";".join(map(str, r)) for r in rows)
    yield "tsv", "\n".join("\t".join(map(str, r)) for r in rows)
    yield "markdown", boxed(rows, "|||", None, "|||-", None)
    yield "markdown_bare", "\n".join([" | ".join(map(str, rows[0])), " | ".join("---" for _ in rows[0])] + [" | ".join(map(str, r)) for r in rows[1:]])
    yield "mysql", boxed(rows, "|||", "+++-", "+++-", "+++-")
    yield "psql", boxed(rows, ["", "|", ""], None, ["", "+", "", "-"], None) + "\n(2 rows)\n"
    yield "sqlite_box", boxed(rows, "│││", "┌┬┐─", "├┼┤─", "└┴┘─")
    yield "duckdb", boxed(rows, "│││", "┌┬┐─", "├┼┤─", "└┴┘─", [["varchar"] * len(rows[0])])
    yield "rich", boxed(rows, "│││", "┏┳┓━", "┡╇┩━", "└┴┘─").replace("│", "┃", len(rows[0]) + 1)
    yield "grid", boxed(rows, "|||", "+++-", "+++=", "+++-")
    yield "polars", boxed(rows, "│┆│", "┌┬┐─", "╞╪╡═", "└┴┘─", [["---"] * len(rows[0]), ["str"] * len(rows[0])])
    yield "aligned", aligned(rows, gap=3)
    widths = [max(len(str(r[i])) for r in rows) for i in range(len(rows[0]))]
    lines = aligned(rows).split("\n")
    yield "sqlite_column", "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
    yield "frame", frame(rows)
    yield "frame_no_index", frame(rows, False)


def table_rows(make):
    for names in (PASSWORD_COLUMNS, TOKEN_COLUMNS):
        name = make.pick(*names)
        secret = simple if names is PASSWORD_COLUMNS else token
        values = [secret(make) for _ in range(make.random.randrange(2, 5))]
        users = [make.random.choice(USERS) for _ in values]
        width = make.random.randrange(4)
        header = (["user", name], ["id", "username", name, "role"], [name, "email"], ["host", "login", name])[width]
        body = [([u, v], [i, u, v, "admin"], [v, f"{u}@example.net"], ["db1", u, v])[width] for i, (u, v) in enumerate(zip(users, values))]
        for kind, text in tables([header] + body):
            yield row("table_" + kind, "whole", text, values, [header[0], name])
            yield row("table_" + kind, "whole", f"Users:\n\n{text}\n\n{len(values)} rows\n", values, ["Users:", "rows"])
        value = values[0]
        yield row("table_expanded", "whole", f"-[ RECORD 1 ]------\nid       | 7\nuser     | ann\n{name:<8} | {value}\n", [value], ["RECORD 1"])
        yield row("table_pairs", "whole", f"| user | ann |\n| {name} | {value} |\n", [value], ["ann"])
        yield row("table_mysql_g", "whole", f"*** 1. row ***\n      id: 7\n{name:>8}: {value}\n", [value], ["1. row"])
        yield row("table_sqlite_line", "whole", f"      id = 7\n{name:>8} = {value}\n", [value], ["id = 7"])
        yield row("table_colors", "whole", "\n".join(",".join(map(str, r)) for r in [header] + body).replace(name, f"\033[1m{name}\033[0m").replace(value, f"\033[32m{value[:2]}\u200b{value[2:]}\033[0m"), values[1:] + [value[2:]])


# --- commands ---

COMMANDS = (
    "mysql -u root -p{} shop", "mysql -h db1 -uroot -p'{}' shop", "mysqldump -u root -p{} --all-databases > all.sql", "mysqladmin -u root -p{} status", "mariadb -u root -p{}",
    "mysql --user=root --password={} shop", "MYSQL_PWD={} mysql -u root", "sshpass -p {} ssh root@db1", "sshpass -p '{}' scp a.txt root@db1:", "sshpass -p{} ssh root@db1", "SSHPASS={} sshpass -e ssh db1",
    "curl -u ann:{} https://api.example.net/v1", "curl --user ann:{} https://api.example.net/v1", "curl -uann:{} https://api.example.net/v1", "curl -H 'X-Api-Key: {}' https://api.example.net/v1", 'curl -H "Authorization: Bearer {}" https://api.example.net/',
    "curl -H 'PRIVATE-TOKEN: {}' https://git.example.net/api", "curl -d 'user=ann&password={}' https://example.net/login", "curl --data-urlencode password={} https://example.net/login", "curl -b 'session={}' https://example.net/", "wget --user=ann --password={} https://example.net/f", "wget --http-password={} https://example.net/f",
    "docker login -u ann -p {} registry.example.net", "docker login --username ann --password {}", "echo {} | docker login -u ann --password-stdin", "podman login -u ann -p {} quay.example.net", "helm registry login -u ann -p {} registry.example.net",
    "PGPASSWORD={} psql -h db1 -U app shop", "export PGPASSWORD='{}'", "psql postgresql://app:{}@db1/shop", "psql 'host=db1 user=app password={} dbname=shop'", "redis-cli -a {} ping", "redis-cli -h db1 -a '{}' get x", "redis-cli AUTH {}", "redis-cli --pass {} ping",
    "openssl rsa -in key.pem -passin pass:{}", "openssl pkcs12 -export -passout pass:{} -in a.pem", "openssl enc -aes-256-cbc -k {} -in a.txt", "openssl enc -aes-256-cbc -pass pass:{} -in a.txt",
    "ldapsearch -x -D cn=admin,dc=example -w {} -b dc=example", "ldapadd -x -D cn=admin -w {} -f a.ldif", "ldapmodify -w '{}' -D cn=admin", "htpasswd -b .htpasswd ann {}", "htpasswd -bc .htpasswd ann {}", "htpasswd -nb ann {}",
    "kubectl --token={} get pods", "kubectl --token {} get pods", "kubectl config set-credentials ann --token={}", "kubectl create secret generic db --from-literal=password={}", "kubectl create secret docker-registry r --docker-password={}", "oc login --token={} https://oc.example.net", "oc login -u ann -p {} https://oc.example.net",
    "aws configure set aws_secret_access_key {}", "aws configure set aws_session_token {} --profile p", "git clone https://ann:{}@git.example.net/a.git", "git clone https://oauth2:{}@git.example.net/a.git", "git remote set-url origin https://oauth2token:{}@git.example.net/a.git",
    "mongosh -u root -p {} --authenticationDatabase admin", "mongo --username root --password {}", "mongodump -u root -p {} -d shop", "smbclient //srv/share -U ann%{}", "mount -t cifs -o username=ann,password={} //srv/s /mnt", "sqlcmd -S db1 -U sa -P {}", "sqlplus app/{}@db1", "az login -u ann -p {}", "az login --service-principal -u a -p {} --tenant t",
    "keytool -list -keystore a.jks -storepass {}", "keytool -genkey -keypass {} -alias a", "zip -P {} a.zip a.txt", "unzip -P {} a.zip", "7z x -p{} a.7z", "gpg --batch --passphrase {} -d a.gpg", "vault login {}", "vault kv put secret/db password={}", "VAULT_TOKEN={} vault kv list secret",
    "echo '{}' | sudo -S apt update", "echo {} | passwd --stdin ann", "echo 'ann:{}' | chpasswd", "lftp -u ann,{} ftp.example.net", "rabbitmqctl add_user ann {}", "rabbitmqctl change_password ann {}", "cypher-shell -u neo4j -p {}", "cqlsh -u ann -p {} db1", "influx -username a -password {}", "mosquitto_pub -u a -P {} -t x -m y",
    "twine upload -u ann -p {} dist/*", "npm config set //registry.example.net/:_authToken {}", "npm config set //registry.example.net/:_authToken={}", "xfreerdp /u:ann /p:{} /v:srv", "ipmitool -H bmc -U root -P {} power status", "snmpwalk -v3 -u a -A {} host", "net user ann {} /add", "nmcli dev wifi connect home password {}", "wpa_passphrase home {}",
    "heroku config:set SECRET_KEY={}", "svn co --username ann --password {} https://svn.example.net/a", "ansible-playbook a.yml -e 'ansible_password={}'", "terraform apply -var 'db_password={}'", "terraform apply -var=db_password={}", "etcdctl --user root:{} get a", "http -a ann:{} https://api.example.net/", "ncat --proxy-auth ann:{} h 1", "rclone config create r s3 secret_access_key {}", "skopeo copy --src-creds ann:{} docker://a docker://b",
)
PROMPTS = ("", "$ ", "# ", "root@db1:~# ", "+ ", "  $ ", "ann@host:~$ sudo ", "> ", "`", "RUN ", "        run: ", "%", "subprocess.run('", ">>> os.system(\"")


def command_rows(make):
    for command in COMMANDS:
        secret = simple(make) if "aws_" not in command and "oken" not in command else token(make)
        text = command.format(secret)
        prompt = make.pick(*PROMPTS)
        after = {"`": "`", "subprocess.run('": "', shell=True)", ">>> os.system(\"": "\")"}.get(prompt, "")
        if "'" in text and "'" in prompt or '"' in text and '"' in prompt:
            prompt = after = ""
        yield row("command", "whole", f"{prompt}{text}{after}\nok\n", [secret], ["ok"])
        words = text.split(" ")
        if len(words) > 3 and "'" not in text and '"' not in text and "|" not in text:
            cut = make.random.randrange(2 if words[1][0] != '-' else 1, len(words))
            yield row("command_lines", "whole", " ".join(words[:cut]) + " \\\n    " + " ".join(words[cut:]) + "\n", [secret])
        if not any(c in text for c in "'\"|<>$!"):
            yield row("command_list", "whole", "subprocess.run(" + json.dumps(shlex.split(text)) + ", check=True)", [secret], ["check=True"])
            yield row("command_log", "whole", f"2024-05-01T10:00:00Z INFO running command: {text}\n", [secret], ["INFO running command"])


# --- headers ---

def header_rows(make):
    h64, h32, b = make.hex(64), make.hex(32), make.b64(43) + "="
    ident = "AKIA" + make.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)
    scope = f"{ident}/20240501/us-east-1/s3/aws4_request"
    for before in ("Authorization: ", "authorization: ", "> Authorization: ", '"Authorization": "', "  'Authorization': '", "-H 'Authorization: ", "Authorization=", "HTTP_AUTHORIZATION: ", "Proxy-Authorization: "):
        after = {'"': '"', "'": "'"}.get(before.rstrip()[-1] if before.rstrip()[-1] in "\"'" else before[3] if before.startswith("-H") else "", "")
        quote = '\\"' if after == '"' else '"'
        fields = {
            "sigv4": (f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature={h64}", [h64, ident]),
            "digest": (f"Digest username=~ann~, realm=~r~, nonce=~{make.hex(16)}~, uri=~/a~, response=~{h32}~", [h32]),
            "oauth": (f"OAuth oauth_consumer_key=~{make.b62(20)}~, oauth_nonce=~{make.hex(8)}~, oauth_signature=~{urllib.parse.quote(b, safe='')}~", [urllib.parse.quote(b, safe="")]),
            "hawk": (f"Hawk id=~dh37~, ts=~1353832234~, nonce=~j4h3g2~, mac=~{b}~", [b]),
            "sharedkey": (f"SharedKey demo:{b}", [b]),
            "signature": (f"Signature keyId=~k1~,algorithm=~hmac-sha256~,headers=~date~,signature=~{b}~", [b]),
            "token": (f"Token token=~{make.b62(30)}~", []),
            "custom": (f"MyScheme {make.b62(40)}", []),
            "hmac": (f"HMAC-SHA256 {h64}", [h64]),
            "apikey": (f"ApiKey {b}", [b]),
            "snowflake": (f"Snowflake Token=~{make.b62(40)}~", []),
            "negotiate": (f"Negotiate {make.b64(80)}", []),
            "zoho": (f"Zoho-oauthtoken 1000.{make.hex(32)}.{h32}", [h32]),
        }
        name, (value, secrets) = make.random.choice(list(fields.items()))
        secrets = secrets or [value.replace("~", "").split("oken=")[-1].split(" ")[-1]]
        yield row("header_" + name, "whole", before + value.replace("~", quote) + after + "\n", secrets, [before.strip(" -\"'").split(":")[0][:5]])
    yield row("signature", "whole", f"POST /hook\nX-Hub-Signature-256: sha256={h64}\nX-Slack-Signature: v0={h64}\nStripe-Signature: t=1492774577,v1={h64}\n", [h64], ["POST /hook"])
    yield row("signature", "whole", f"oauth_signature=\"{urllib.parse.quote(b, safe='')}\", oauth_version=\"1.0\"", [urllib.parse.quote(b, safe="")], ["oauth_version"])
    yield row("signature", "whole", f"SignedHeaders=host;range, Signature={h64}", [h64], ["SignedHeaders=host;range"])
    yield row("signature", "whole", f"GET /o?oauth_signature={urllib.parse.quote(b, safe='')}&x=1 HTTP/1.1", [urllib.parse.quote(b, safe="")], ["HTTP/1.1"])
    yield row("signature", "whole", f"https://s3.example/b?X-Amz-Credential={urllib.parse.quote(scope, safe='')}&X-Amz-Signature={h64}", [h64], ["s3.example"])
    sid = make.b62(32)
    for cookie in ("sessionid={}", "PHPSESSID={}", "JSESSIONID={}", "connect.sid=s%3A{}", "_session={}", "laravel_session={}", "auth={}", "remember_token={}", "sid={}", "XSRF-TOKEN={}", "ASP.NET_SessionId={}", "_gh_sess={}", "access_token={}"):
        yield row("cookie", "whole", make.pick("Cookie: theme=dark; {}; lang=en", "Set-Cookie: {}; Path=/; HttpOnly", "cookie: {}", "-b '{}'" if False else "Cookie: {}", "document.cookie = '{}'", '{{"Cookie": "{}"}}'.replace("{{", "{").replace("}}", "}")).replace("{}", cookie.format(sid)), [sid])


# --- sentences ---

SENTENCES = (
    "the password is {}", "The password is {}.", "My password is {} and I use it everywhere", "your temporary password is {}", "Your new password is: {}", "The admin password was {} until May", "password is now {}", "the password has been set to {}", "I changed the password to {}", "set the password to {}",
    "Password changed to {}", "the root password for db1 is {}", "the password for user ann is {}", "Use the password {} to log in", "log in with password {}", "log in as ann with the password {}", "login: ann, password {}", "user ann password {}", "username ann and password {}", "with user ann and pass {}", "connect using password {}",
    "the default password of the router is {}", "The passphrase is {}", "password = {}", "password - {}", "password -> {}", "password → {}", "password: {}", "the password (it is {}) was shared", "the password ({}) was shared", "the password '{}' works", "the password \"{}\" works", "password `{}` accepted", "pwd is {}",
    "Password for ann: {}", "Password for the database: {}", "Your password will be {}", "my pass is {}", "Das Passwort ist {}", "Das Passwort lautet {}", "le mot de passe est {}", "la contraseña es {}", "the wifi password is {}", "PASSWORD IS {}", "password's {}", "the password should be {}",
)
TOKEN_SENTENCES = (
    "use token {} to log in", "Use the token {} to log in.", "the token is {}", "the API key is {}", "your api key is {}", "my api key: {}", "here is the token: {}", "here is my api key {} please use it", "the secret is {}", "the access token for prod is {}", "authenticate with token {}", "with the secret key {}", "call it with api key {}", "generated token {} for ann", "Created API key {}", "token {} has expired",
    "new token: {}", "the client secret is {}", "client secret {} was rotated", "set the api key to {}", "the token should be {}", "invalid token {}", "the bearer token is {}", "your access key is {}", "the webhook secret is '{}'", "the token \"{}\" was revoked", "token `{}` accepted", "API token ({}) created", "your session token is {}", "The encryption key is {}", "the private key is {}", "the signing key is {}",
)


def sentence_rows(make):
    for templates, secret in ((SENTENCES, simple), (TOKEN_SENTENCES, token)):
        for template in templates:
            value = secret(make)
            before = make.pick("", "", "Hi Ann, ", "- ", "# ", "INFO: ", "Note: ", "> ", "  ")
            text = before + template.format(value)
            yield row("sentence", "whole", text + make.pick("", "\n", "\nThanks, Bob\n"), [value])
            if make.random.random() < 0.3:
                yield row("sentence_json", "whole", json.dumps({"message": text}), [value], ["message"])


# --- escaped ---

def escapes(text):
    """(kind, text, how a value is written in it)"""
    twice = json.dumps(json.dumps(text))
    yield "json", json.dumps(text), lambda v: v
    yield "json_twice", twice, lambda v: v
    yield "json_unicode", text.replace('"', "\\u0022").replace("'", "\\u0027").replace("=", "\\u003d").replace("&", "\\u0026"), lambda v: v
    yield "html", html.escape(text), html.escape
    yield "html_numeric", text.replace("&", "&amp;").replace('"', "&#34;").replace("'", "&#39;").replace("<", "&lt;").replace(">", "&gt;"), lambda v: v
    yield "html_twice", html.escape(html.escape(text)), lambda v: html.escape(html.escape(v))
    yield "url", urllib.parse.quote(text, safe=""), lambda v: urllib.parse.quote(v, safe="")
    yield "url_form", urllib.parse.quote_plus(text), urllib.parse.quote_plus
    yield "url_twice", urllib.parse.quote(urllib.parse.quote(text, safe=""), safe=""), lambda v: urllib.parse.quote(urllib.parse.quote(v, safe=""), safe="")
    yield "xml", f"<m>{html.escape(text, quote=False)}</m>", lambda v: html.escape(v, quote=False)
    yield "shell", f"echo {shlex.quote(text)}", lambda v: v
    yield "shell_twice", f"sh -c {shlex.quote('echo ' + shlex.quote(text))}", lambda v: v
    yield "repr", repr(text), lambda v: v
    yield "bytes", repr(text.encode()), lambda v: v
    yield "hex_quotes", text.replace('"', "\\x22").replace("'", "\\x27"), lambda v: v


ESCAPED = ('password="{}"', "password='{}'", "password={}", '{{"password": "{}"}}', '{{"user":"ann","api_key":"{}","n":1}}', "user=ann&password={}&x=1", "<password>{}</password>", '<user name="ann" password="{}"/>', "api_key: {}", "token = '{}'", "--password {}", 'secret => "{}"', "x-api-key: {}", '"token":"{}"')


def escaped_rows(make):
    for template in ESCAPED:
        value = make.pick("x7" + make.b62(16), make.b62(10) + "9" + make.b62(10), simple(make).replace("!", "1"))
        text = template.format(value)
        for kind, escaped, write in escapes(text):
            yield row("escaped_" + kind, "whole", make.pick("{}", "got {}\n", "log: {} done").replace("{}", escaped), [write(value)])


# --- over lines ---

def wrap(text, width, between="\n"):
    return between.join(text[i:i + width] for i in range(0, len(text), width))


def line_rows(make):
    jwt = ".".join((base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("="), base64.urlsafe_b64encode(json.dumps({"sub": make.hex(12), "name": make.word(), "iat": 1516239022, "scope": [make.word() for _ in range(6)]}).encode()).decode().rstrip("="), make.url(43)))
    for width in (40, 60, 64, 76):
        for between in ("\n", "\\\n", "\n  ", "\r\n", '"\n  "', "\n> "):
            parts = [p for p in wrap(jwt, width, between).replace(between, "\0").split("\0") if len(p) >= 12]
            yield row("jwt_lines", "whole", make.pick("token: {}", "{}", "Authorization: Bearer {}", "here:\n{}").replace("{}", wrap(jwt, width, between)) + make.pick("", "\n", "\n\nand more words here\n"), parts)
    key = make.b64(300)
    for name in ("secret", "api_key", "token", "private_key", "client_secret"):
        parts = wrap(key, 64).split("\n")
        yield row("base64_lines", "whole", f"{name}: {wrap(key, 64)}\nother: 1\n", parts, ["other: 1"])
        yield row("base64_lines", "whole", f"{name}=\n{wrap(key, 64)}\n\nother words follow\n", parts, ["other words follow"])
        yield row("folded", "whole", f"{name}: >-\n  {wrap(key, 64, chr(10) + '  ')}\nother: 1\n", parts, ["other: 1"])
        yield row("block", "whole", f"{name}: |\n  {wrap(key, 64, chr(10) + '  ')}\nother: 1\n", parts, ["other: 1"])
        yield row("string_lines", "whole", f'{name} = (\n    "' + wrap(key, 64, '"\n    "') + '"\n)\n', parts)
        yield row("string_plus", "whole", f'{name} = "' + wrap(key, 64, '" +\n    "') + '"\n', parts)
        value = simple(make) + make.b62(6) + "5"
        yield row("continued", "whole", f"export {name.upper()}={value[:6]}\\\n{value[6:]}\n", [value[6:]])
        yield row("next_line", "whole", f"{name}:\n  {value}\nother: 1\n", [value], ["other: 1"])
        yield row("next_line", "whole", f'  "{name}":\n    "{value}",\n', [value])
        yield row("next_line", "whole", f"{name} = \\\n    '{value}'\n", [value])
        yield row("next_line", "whole", f"run --{name.replace('_', '-')} \\\n  {value} \\\n  --other 1\n", [value], ["--other 1"])
        yield row("next_line", "whole", f"{name} = (\n    '{value}'\n)\n", [value])


# --- SQL ---

def sql_rows(make):
    value = simple(make)
    for text in ("INSERT INTO users (name, password) VALUES ('ann', '{}');", "insert into users(id,email,password) values (1,'a@example.net','{}')", "INSERT INTO `users` (`id`, `password`, `x`) VALUES (1, '{}', 2), (2, '{}', 3);", "CREATE USER ann WITH PASSWORD '{}'", "ALTER USER ann IDENTIFIED BY '{}';", "CREATE USER 'ann'@'%' IDENTIFIED BY '{}'", "UPDATE users SET password = '{}' WHERE id = 1", "GRANT ALL ON *.* TO 'a'@'%' IDENTIFIED BY '{}'", "SET PASSWORD FOR 'ann' = PASSWORD('{}')", "ALTER ROLE app PASSWORD '{}'"):
        yield row("sql", "whole", text.replace("{}", value), [value])


# --- other places ---

def strong(make):
    """A password that shows by itself that it is one."""
    return make.pick(f"{make.word().title()}@{make.random.randrange(100, 9999)}", f"{make.word()}_{make.b62(6)}4k{make.hex(2)}", "P4s" + make.b62(8) + "x9", f"{make.b62(4)}7#{make.b62(5)}8")


FORMS = {
    "table_other": ("region|{n}|role\neu|{v}|admin\nus|{v}|user\n", ",id,{n},role\n0,7,{v},admin\n1,8,{v},user\n", "\tid\t{n}\n0\t7\t{v}\n", "{e}\n{n:<40}  role \n{e}\n{v:<40}  admin\n{e}\n".replace("{e}", "=" * 40 + "  ====="), "{n:<40}  id  \n{e}\n{v:<40}  1234\n{v:<40}    56\n".replace("{e}", "-" * 40 + "  ----"),
                    "   id {n:>40}  \\\n0   7 {v:>40}   \n1  88 {v:>40}   \n\n    role  \n0  admin  \n1   user  \n", "     {n:>40}   role\nhost {b}\ndb1  {v:>40}  admin\n".replace("{b}", " " * 47), "login   id {n:>40}  name\nheidi  753 {v:>40}  Judy\nfrank 3934 {v:>40}  Ivan\n", "  id ... {n:>40}\n0  7 ... {v:>40}\n"),
    "element": ('<property name="app.{n}">{v}</property>', '<entry key="{n}">{v}</entry>', "<key>{n}</key>\n<string>{v}</string>", "<property>\n  <name>{n}</name>\n  <value>{v}</value>\n</property>", "<ns:{n}>{v}</ns:{n}>", '<{n} type="text">{v}</{n}>', "<{n}>\n    {v}\n</{n}>", '<meta name="{n}" content="{v}">', "<tr><td>{n}</td><td>{v}</td></tr>"),
    "nested": ('{{"{n}": ["{v}", "{v}"]}}', '{{"{n}": {{"value": "{v}"}}}}', '{{"{n}":{{"0":"{v}","1":"{v}"}}}}', "{{'{n}': {{'S': '{v}'}}}}", '{{"{n}": {{"sensitive": true, "type": "string", "value": "{v}"}}}}', 'variable "{n}" {{\n  type    = string\n  default = "{v}"\n}}\n'),
    "source": ('{n} <- "{v}"', 'const {n} string = "{v}"', 'const {n}: &str = "{v}";', 'Dim {n} As String = "{v}"', 'public string {n} {{ get; set; }} = "{v}";', 'static const char {n}[] = "{v}";', 'let {n} = String::from("{v}");', '{n}: Some("{v}"),', "{n}: SecretStr = Field(default='{v}')", "parser.add_argument('--{n}', default='{v}')", "x = process.env.{n} || '{v}';", "x = os.environ['{n}'] ?? '{v}';", "x = os.getenv('{n}', '{v}')", "localStorage.setItem('{n}', '{v}');", "{n} ==> {v}"),
    "below": ("{n}\n{v}\n", ">>> {n}\n'{v}'\n", ">>> print({n})\n{v}\n", "In [3]: {n}\nOut[3]: '{v}'\n", "(Pdb) p {n}\n'{v}'\n", "$ echo ${n}\n{v}\n", "$ printenv {n}\n{v}\n"),
    "marked": ("**{n}:** {v}", "**{n}**: `{v}`", "<b>{n}:</b> {v}", "{n} ........ {v}", "- **{n}**: {v}"),
}
SHORT_FORMS = {
    "sentence_other": ("use {v} as the password", "use {v} as password", "Use {v} for the password.", "A temporary password is generated for root@localhost: {v}", "the generated password for the built-in super user is : {v}", "admin password (randomly generated): {v}", "password set: {v}", "the pw is {v}", "pw: {v}", "username ann password 0 {v}", "requirepass {v}", "Kennwort: {v}", "het wachtwoord is {v}", "a senha \u00e9 {v}", "has\u0142o: {v}", "l\u00f6senord: {v}", "\u043f\u0430\u0440\u043e\u043b\u044c: {v}", "\u5bc6\u7801: {v}", "\u5bc6\u7801\uff1a{v}", "\u30d1\u30b9\u30ef\u30fc\u30c9: {v}", "\ube44\ubc00\ubc88\ud638: {v}"),
    "command_other": ("printf '%s' '{v}' | docker login -u ann --password-stdin", "docker login -u ann --password-stdin <<< {v}", "curl -su ann:{v} https://api.example.net/", "openssl passwd -6 {v}", "ldappasswd -s {v} -D cn=admin uid=ann", "mysqladmin -u root password {v}", "ssh-keygen -t ed25519 -N {v} -f key", "plink -ssh ann@db1 -pw {v} ls", "net user ann {v} /add", "net use Z: //db1/share {v} /user:ann", "gh secret set DB_PASSWORD -b {v}", "aws ssm put-parameter --name /db --type SecureString --value {v}", "consul kv put db/password {v}", "setx DB_PASSWORD {v}", "ENV DB_PASSWORD {v}", "set -gx DB_PASSWORD {v}", "security unlock-keychain -p {v} login.keychain", "useradd -m -p {v} ann", "unrar x -p{v} a.rar", "psexec //db1 -u ann -p {v} cmd"),
}


def other_rows(make):
    for kind, templates in FORMS.items():
        for template in templates:
            is_password = make.random.random() < 0.5
            name = make.pick("db_password", "DB_PASSWORD", "admin_password") if is_password else make.pick("api_key", "client_secret", "AUTH_TOKEN", "secret_key")
            value = strong(make) if is_password else token(make)
            yield row(kind, "whole", template.format(n=name, v=value), [value], [name])
    for kind, templates in SHORT_FORMS.items():
        for template in templates:
            value = strong(make).replace("#", "_").replace("@", "_") + "5"
            yield row(kind, "whole", template.format(v=value) + make.pick("", "\n"), [value])
    lines = [make.b64(64) for _ in range(5)]
    begin, end = ("-----%s PRIVATE KEY-----" % word for word in ("BEGIN", "END"))
    for prefix, after in (("2024-05-01 10:00:00 INFO ", ""), ("   12\t", ""), ("> ", ""), ("", "<br>")):
        yield row("pem_lines", "whole", "".join(f"{prefix}{line}{after}\n" for line in (begin, *lines, end)) + "after\n", lines, ["after"])
    yield row("pem_url", "whole", urllib.parse.quote("\n".join((begin, *lines, end)), safe="") + " after", [urllib.parse.quote(line, safe="") for line in lines], [" after"])
    value = base64.b64encode(strong(make).encode()).decode()
    yield row("kubernetes", "whole", json.dumps({"apiVersion": "v1", "data": {"user": value}, "kind": "Secret"}, indent=4), [value], ["apiVersion"])


# --- rows that are no lines, and values without a name of their own ---

def html_table(rows, between=""):
    cells = lambda r, tag: between.join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in r)
    return f"<table>{between}" + between.join(f"<tr>{between}{cells(r, 'td' if i else 'th')}{between}</tr>" for i, r in enumerate(rows)) + f"{between}</table>\n"


def rows_rows(make):
    for name in ("password", "db_password", "token", "api_key"):
        values = [simple(make) if "password" in name else token(make) for _ in range(3)]
        table = [["user", name, "role"]] + [[make.random.choice(USERS), value, "admin"] for value in values]
        text = "\n".join(",".join(r) for r in table) + "\n"
        yield row("rows_string", "whole", json.dumps({"stdout": text, "code": 0}), values, ["code"])
        yield row("rows_string", "whole", json.dumps({"reply": json.dumps({"stdout": text})}), values, ["stdout"])
        yield row("rows_string", "whole", repr(aligned(table) + "\n"), values, ["role"])
        yield row("rows_string", "whole", repr(text.replace(",", "\t").encode()), values, ["role"])
        yield row("rows_html", "whole", html_table(table), [html.escape(value) for value in values], ["admin"])
        yield row("rows_html", "whole", html_table(table, "\n    "), [html.escape(value) for value in values], ["admin"])
        yield row("rows_prefix", "whole", "".join(f"> {' | '.join(['', *r, '']).strip()}\n" for r in [table[0], ["---"] * 3, *table[1:]]), values, ["admin"])
        yield row("rows_prefix", "whole", "".join(f"+{','.join(r)}\n" for r in table), values, ["admin"])
        yield row("rows_copy", "whole", f"COPY public.users (user, {name}, role) FROM stdin;\n" + "".join("\t".join(r) + "\n" for r in table[1:]) + "\\.\n", values, ["admin"])
        values = [make.b62(14) + "3f" + make.b62(4) for _ in range(3)]
        table = [["user", name]] + [[make.random.choice(USERS), value] for value in values]
        yield row("rows_lists", "whole", json.dumps(table), values, ["user"])
        yield row("rows_lists", "whole", json.dumps({"columns": table[0], "data": table[1:]}, indent=1), values, ["columns"])


LOGINS = ('requests.get(url, auth=("ann", "{}"))', "HTTPBasicAuth('ann', '{}')", 'smtp.login("ann", "{}")', 'new PDO("mysql:host=h", "ann", "{}")', "credentials: ann / {}", "Mail login: ann / {}",
          "jdbc:oracle:thin:ann/{}@db1:1521:XE", 'dsn := "ann:{}@tcp(db1:3306)/app"', '{{"value": "{}", "name": "DB_PASSWORD"}}', '<input value="{}" name="password" type="hidden">', "db1:6432:app:ann:{}",
          "define('DB_PASSWORD', '{}');", "password    {}", "ALTER USER ann WITH PASSWORD '{}';", ':password "{}"', "password changed from {} to", "Save this password, it will not be shown again: {}",
          "body=the%20password%20is%20{}", "body=mysql%20-u%20root%20-p{}%20shop", "$ cat /run/secrets/db_password\n{}\n", "Password:\n{}\n", "restic backup --password-command 'echo {}'")


def login_rows(make):
    for template in LOGINS:
        value = make.word() + make.word().title() + str(make.random.randrange(100, 9999))
        yield row("login", "whole", template.replace("{{", "{").replace("}}", "}").replace("{}", value), [value])
    for template in ('password = "{}"', "DB_PASSWORD={}", "password: {}", "mysql --password={} -h db1", "Server=db1;User Id=sa;Password={};"):
        sign = make.pick("-", "_", ".")
        value = sign.join(make.random.sample("river stone maple tiger winter summer dragon silver".split(), 3))
        yield row("phrase", "whole", template.format(value), [value])
    yield row("phrase", "whole", 'password: "river stone maple tiger"', ["river stone maple tiger"])


def rows(seed=1, rounds=1):
    make = Maker(seed)
    for _ in range(rounds):
        yield from other_rows(make)
        yield from table_rows(make)
        yield from command_rows(make)
        yield from header_rows(make)
        yield from sentence_rows(make)
        yield from escaped_rows(make)
        yield from line_rows(make)
        yield from sql_rows(make)
        yield from rows_rows(make)
        yield from login_rows(make)


# --- clean texts ---

CLEAN = (
    '"password": "Passwort",', "password: required|min:8|confirmed", "password: !secret wifi_password", "password: deprecated", "Error: password: mismatched", "tests pass: 123456", "token = 1*tchar",
    'fields = ["user", "password"]\nlabels = ["Benutzer", "Kennwort"]\n', '[["user", "password"], ["text", "hidden"]]', '{"columns": ["name", "token"], "data": [["a", "b"], ["running", "stopped"]]}',
    "<table><tr><th>Field</th><th>Password</th></tr><tr><td>Type</td><td>string</td></tr></table>", "COPY users (id, name, password) FROM stdin;\n\\.\n", '{"msg": "enter user, password\\nand press return\\n"}',
    "password     required       pam_unix.so", "password  no    no      varchar2", "#define umac64_set_key  nettle_umac64_set_key", 'client.login("username", "password")', "auth=(user, password)",
    'DriverManager.getConnection("jdbc:h2:mem:test", "sa", "")', "define('DB_PASSWORD', 'password_here');", '{"d": "M10 10 H 90 V 90 H 10 Z"}', '{"value": "x86_64", "name": "arch"}', "login: ann / see wiki",
    "username:password@tcp(localhost:3306)/test", '"password": "leave blank to keep the current one"', 'errors = {"password": "must contain letters and digits"}', "fe80:6432:5678:abcd:ef01",
    "Password:\nlogin incorrect\n", "the password is case-sensitive", "last_token = self.handle_brackets(node, last_token, '(')", "'Set-Cookie: fig=newton\\r\\nSet-Cookie: sugar=wafer'",
    "the password is required", "The password is incorrect.", "password is too short", "the password is case-sensitive", "The token is expired", "use token authentication to log in", "Use the token endpoint to log in", "the token is 32 bytes long", "the password is hashed with sha256", "the password is base64-encoded",
    "passwords are stored with bcrypt", "the secret is out", "your password will expire in 30 days", "the password for user ann is wrong", "the password must contain 8-16 characters", "password has been changed", "Password changed successfully", "set the password to something else", "the API key is missing", "your api key is invalid", "set the api key to use it", "the key is pressed", "the password is stored in /etc/shadow",
    "the token is read from config.yaml", "log in with password and OTP", "with password authentication disabled", "invalid token near line 42", "unexpected token '}' at position 17", "token count is 4096", "the token is at index 12", "the secret is named db-credentials", "pass it to numpy1", "pass the fortran77 flag", "tests pass on python3.11", "the password is read from $DB_PASSWORD", "the password is ${DB_PASSWORD}", "the password is ********",
    "mysql -u root -p", "mysql -u root -p shop", "mysql -p$MYSQL_PASSWORD shop", "mysqldump -u root -p shop > shop.sql", "ssh -p 2222 root@db1", "docker run -p 8080:80 nginx", "docker login registry.example.net", "docker login -u ann --password-stdin", "curl -u ann https://api.example.net/", "curl -u $USER:$PASS https://api.example.net/", "curl -k https://localhost:8443/", "redis-cli ping", "redis-cli -h db1 -p 6379 ping", "openssl req -x509 -newkey rsa:4096 -keyout key.pem -out cert.pem -nodes",
    "openssl x509 -in cert.pem -noout -text", "ldapsearch -x -b dc=example -W", "htpasswd -c .htpasswd ann", "kubectl get secrets", "kubectl describe secret db", "aws configure list", "aws configure set region us-east-1", "git clone https://git.example.net/a.git", "git clone git@git.example.net:a.git", "zip -r a.zip src", "unzip a.zip -d out", "echo hello | sudo tee /etc/motd", "echo done | cat", "vault status", "npm config set registry https://registry.example.net/", "mongo --port 27017", "keytool -list -keystore a.jks", "psql -h db1 -U app shop",
    "user,password", "user,password\n", "name,age\nann,34\nbob,56", "id,token_count\n1,4096\n2,8192", "word,token,count\nhello,hello,3\nworld,world,5", "token,frequency\nthe,1042\nunbelievable,3\ninternationalization,1", "col1,col2,col3\na,b,c", "field,type\npassword,varchar(255)\ntoken,text\ncreated_at,timestamp", "error,password,failed\nerror,username,missing",
    " Column   | Type                   | Nullable\n----------+------------------------+----------\n id       | integer                | not null\n password | character varying(128) | not null\n token    | uuid                   |\n created_at | timestamp            |\n", "+----------+--------------+------+\n| Field    | Type         | Null |\n+----------+--------------+------+\n| password | varchar(255) | NO   |\n| api_key  | varchar(64)  | YES  |\n| updated_at | datetime   | YES  |\n+----------+--------------+------+\n",
    "| Option | Default | Meaning |\n|---|---|---|\n| password | none | the password to use |\n| token | none | the token to use |\n| timeout | 30 | seconds |\n", "| Method | Password | Token |\n|---|---|---|\n| basic | required | no |\n| bearer | no | required |\n", "NAME        TYPE     DATA   AGE\ndb-secret   Opaque   2      10d\nweb-token   Opaque   1      3d\n", "NAME      SECRETS   AGE\ndefault   1         10d\n",
    "   token  count\n0    the   1042\n1  hello      3\n", "  word  pos\n0 token NOUN\n1 pass VERB\n", "the password field\nis shown below the name", "user   password   role\n", "Usage:\n  --user NAME      the user\n  --password PW    the password\n  --token TOKEN    the token\n",
    "CREATE TABLE users (id INT PRIMARY KEY, name TEXT, password VARCHAR(255) NOT NULL, token TEXT);", "SELECT id, name, password FROM users WHERE token IS NOT NULL", "INSERT INTO users (name, password) VALUES (?, ?)", "INSERT INTO users (name, password) VALUES (%s, %s)", "INSERT INTO words (word, token) VALUES ('hello', 'hello')", "UPDATE users SET password = ? WHERE id = 1", "ALTER TABLE users ADD COLUMN password text", "the problem was identified by 'ann'",
    "def login(user, password, token=None):\n    \"\"\"Logs in.\n\n    password: the password\n    \"\"\"\n    return check(user, password)", "class Token:\n    pass\n\nclass Password:\n    pass", "for token in tokens:\n    yield token, match.group(1)", "user, password = parse(line)", "from auth import login, password\nfrom names import signup, username", "password = input(\n    'Password: '\n)", "parser.add_argument('--password', help='the password')", "parser.add_argument('--token', default=None, type=str)", "if (token.type == 'string') return token.value1;", "const token = await getToken(user1);",
    "Authorization: required", "Authorization is required for this page", "authorization = request.headers.get('Authorization')", "Authorization: please contact the administrator", "WWW-Authenticate: Digest realm=\"r\", nonce=\"5f3a\", qop=\"auth\"", "Cookie: theme=dark; lang=en", "signature = inspect.signature(function)", "def f(x, signature=None):", "the signature of the function is unchanged",
    "&lt;CryptoKey&gt;</a>", "<password></password>", "password=&quot;&quot;", "%22password%22%3A%22%22", "?next=%2Flogin%3Ftoken", "eyJhbGciOiJub25lIn0 is a header", "secret:\n  name: db\n  namespace: web\n", "password:\n  min_length: 8\n  max_length: 64\n", "token:\n  type: string\n  description: the token\n", "\"password\": {\n  \"type\": \"string\"\n}", "password: >\n  The password of the user.\n  It is required.\n",
    "struct EarlyPass : PassInfoMixin<EarlyPass> {", "using CacheKey = std::pair<uint16_t, uint16_t>;", "    IMAGE_REL_AMD64_TOKEN = 0x000D,", "## Basic Optimizations", "/* Basic Operators */", "- Bearer https://tools.example/html/rfc6750", "    authorization = authorization[1].encode('ascii')", "authorization = base64.decodebytes(authorization)", "    Pass :meth:`peek` a default value", "    private_key: \"_RSAPrivateKey\",", "token = next(t for t in tokens\n             if t)", "curr_token = consume(curr_token, Pattern.START,\n    x)", "Token=::1a:2b:3c:4d", "hostname:port:username:password:base_dn:flags", "def visit_Pass(self, n: ast.Pass) -> PassStmt:", "REFRESH_TOKEN_KEY = 'refresh_token'", "API_CACHE_KEY = \"com.example.tools.varLib.featureTag\"", "redis://[[USERNAME:]PASSWORD@]HOST[:PORT]", "const UNEXPECTED_TOKEN = /^Unexpected token/i", "-password sufficient pam_systemd_home.so", "{ psk: <Buffer|TypedArray|DataView>, identity: <string> }",
    "use numpy1 as the backend", "Use python3.11 for the token service", "use it as the password", "because 16 bytes as token are enough", "'password': ['required', 'confirmed', 'min:8|max:64']", "\"token\": {\"type\": \"string\", \"default\": \"none\"}", "variable \"db_password\" {\n  type      = string\n  sensitive = true\n}", "password: Optional[str] = None", "<input name=\"password\" class=\"form-control\" id=\"f1\">", "<td>password</td><td>varchar(255)</td>", "<label name=\"token\">Tokenizer</label>", "print(token)\nparse(line1)", "password\nusername\nlogin1", "token || 'none'", "token string = \"abc\"", "wc -l <<< hello", "printf '%s\\n' done | cat", "set -x\nmake", "name|token|count\nthe|the|1042\nhello|hello|3", "region|role\neu|admin", ",token,count\n0,the,1042\n1,hello,3",
    "diff --git a/auth.py b/auth.py\nindex 3f2a1bc..9d8e7f6 100644\n--- a/auth.py\n+++ b/auth.py\n@@ -1,4 +1,4 @@\n-    token = old_token\n+    token = new_token\n", "* a1b2c3d fix password prompt\n* d4e5f6a rename token to ticket", "lodash@^4.17.21:\n  version \"4.17.21\"\n  resolved \"https://registry.example.net/lodash.tgz#679591c564c3bffaae8454cf0b3df370c3d6911c\"\n  integrity sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
)


def clean_rows(make):
    for text in CLEAN:
        yield row("clean", "whole", make.pick("", "", "$ ", "- ", "INFO ") * (not text.startswith((" ", "|", "+")) and "\n" not in text) + text + make.pick("", "\n"), (), (text,))
    for _ in range(40):
        digest, ident = hashlib.sha256(make.random.randbytes(8)).hexdigest(), str(uuid.UUID(int=make.random.getrandbits(128)))
        picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + make.random.randbytes(300)).decode()
        n = make.random.randrange
        for text in (
            f"id,name,sha256\n1,a.txt,{digest}\n2,b.txt,{digest[::-1]}", f"id\tuuid\n1\t{ident}\n", f"commit,author\n{digest[:7]},ann\n", f"| file | digest |\n|---|---|\n| a | {digest} |", f"    name  checksum\n0  a.txt  {digest[:8]}\n1  b.txt  {digest[8:16]}\n",
            f"data:image/png;base64,{picture}", wrap(picture, 76), f"image: {wrap(picture, 64)}\nother: 1", f"checksum:\n  {digest}\n", f"commit {digest[:40]}\n\n    the token is renewed", f"{ident} the password was changed", f"request {ident}: the token is valid until 17000{n(10 ** 5):05}",
            f"ts,host,latency_ms,status\n17000{n(10 ** 5):05},db{n(9)},{n(99)},200", f"user,score\n{make.random.choice(USERS)},{n(999)}\n{make.random.choice(USERS)},{n(999)}", f"{make.word()} {make.word()} {make.word()} password {make.word()} {make.word()}", f"the token {make.word()} follows {make.word()}", f"10.0.0.{n(255)} - - \"GET /login?next=/{make.word()} HTTP/1.1\" 200 {n(9999)}",
        ):
            yield row("clean", "whole", text, (), (text,))
