"""Texts with secrets in them, and texts that only look like it.

Every secret is made up on the spot from a seed, checksums and all, so that no file of this project holds one. A row has
the kind, the mode ("secrets", or "pii" where personal data is masked, too), the text, the strings that must not come
out and those that must.
"""
import base64
import hashlib
import json
import random
import string
import urllib.parse
import uuid
import zlib

B62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
URL = B62 + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
WORDS = "comet meadow violet falcon ember lantern pepper harbor willow copper saddle glacier orchid timber".split()


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self, alphabet, count):
        return "".join(self.random.choice(alphabet) for _ in range(count))

    def b62(self, count):
        return self.text(B62, count)

    def url(self, count):
        """Not with a sign at either end, where it could be taken for punctuation."""
        return self.b62(1) + self.text(URL, count - 2) + self.b62(1)

    def hex(self, count):
        return self.text(HEX, count)

    def b64(self, count):
        return base64.b64encode(self.random.randbytes(count * 3 // 4 + 3)).decode()[:count]

    def word(self):
        return self.random.choice(WORDS)

    def pick(self, *choices):
        return self.random.choice(choices)

    def password(self):
        return self.pick(
            f"{self.word()}_{self.b62(8)}!",
            f"{self.word().title()}{self.random.randrange(10, 9999)}#{self.b62(3)}",
            self.b62(self.random.randrange(10, 24)),
            f"{self.b62(5)}-{self.b62(5)}-{self.b62(5)}",
            f"{self.b62(4)}@{self.b62(4)}${self.b62(4)}",
            self.hex(32),
        )


def base62(number, width):
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits = B62[digit] + digits
    return digits


def with_crc(make, prefix):
    body = make.b62(30)
    return prefix + body + base62(zlib.crc32(body.encode()), 6)


def bech32(make):
    alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    prefix = "age-secret-key-"
    data = [make.random.randrange(32) for _ in range(52)]

    def polymod(values):
        check = 1
        for value in values:
            top = check >> 25
            check = (check & 0x1FFFFFF) << 5 ^ value
            for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
                check ^= generator if top >> bit & 1 else 0
        return check

    expanded = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    check = polymod(expanded + data + [0] * 6) ^ 1
    data += [check >> 5 * (5 - i) & 31 for i in range(6)]
    return (prefix + "1" + "".join(alphabet[d] for d in data)).upper()


def b64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def jwt(make):
    header = {"alg": make.pick("HS256", "RS256", "ES256"), "typ": "JWT"}
    claims = {"sub": make.hex(8), "name": make.word(), "iat": make.random.randrange(1 << 31)}
    return ".".join((b64url(json.dumps(header).encode()), b64url(json.dumps(claims).encode()), make.url(43)))


def discord(make):
    number = str(make.random.randrange(10**17, 10**19))
    return f"{b64url(number.encode())}.{make.url(6)}.{make.url(38)}"


def luhn(make, prefix, length):
    digits = prefix + make.text(string.digits, length - len(prefix) - 1)
    total = sum(sum(divmod(2 * int(d), 10)) if i % 2 == 0 else int(d) for i, d in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def iban(make, country, length):
    body = make.text(string.digits, length - 4)
    number = int("".join(str(int(c, 36)) for c in body + country + "00"))
    return f"{country}{98 - number % 97:02}{body}"


def pem(make, kind, lines=6):
    body = "\n".join(make.b64(64) for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n{make.b64(30)}==\n-----END {kind}-----"


# A token of each kind that is known by its own shape.
TOKENS = {
    "aws_key": lambda m: m.pick("AKIA", "ASIA") + m.text(string.ascii_uppercase + "234567", 16),
    "google_api_key": lambda m: "AIza" + m.url(35),
    "google_oauth_secret": lambda m: "GOCSPX-" + m.url(28),
    "google_oauth_token": lambda m: "ya29." + m.url(60),
    "azure_client_secret": lambda m: m.b62(3) + "8Q~" + m.text(B62 + "_~.-", 33) + m.b62(1),
    "alibaba_key": lambda m: "LTAI" + "5t" + m.b62(18),
    "digitalocean_token": lambda m: m.pick("dop_v1_", "doo_v1_", "dor_v1_") + m.hex(64),
    "heroku_key": lambda m: "HRKU-" + str(uuid.UUID(int=m.random.getrandbits(128))),
    "netlify_token": lambda m: "nfp_" + m.b62(36),
    "tailscale_key": lambda m: "tskey-auth-" + m.b62(11) + "CNTRL-" + m.b62(32),
    "openshift_token": lambda m: "sha256~" + m.url(43),
    "github_token": lambda m: with_crc(m, m.pick("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    "github_wrong_crc": lambda m: m.pick("ghp_", "gho_", "ghu_", "ghs_", "ghr_") + m.b62(36),
    "github_fine": lambda m: "github_pat_" + m.b62(22) + "_" + m.b62(59),
    "npm_token": lambda m: with_crc(m, "npm_"),
    "gitlab_token": lambda m: m.pick("glpat-", "gldt-", "glptt-", "glrt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-") + m.url(20),
    "bitbucket_token": lambda m: "ATBB" + m.b62(32),
    "pypi_token": lambda m: "pypi-AgEIcHlwaS5vcmc" + m.url(80),
    "rubygems_token": lambda m: "rubygems_" + m.hex(48),
    "dockerhub_token": lambda m: "dckr_pat_" + m.url(27),
    "sonarqube_token": lambda m: m.pick("sqp_", "squ_", "sqa_") + m.hex(40),
    "openai_legacy": lambda m: "sk-" + m.b62(20) + "T3BlbkFJ" + m.b62(20),
    "openai_project": lambda m: "sk-proj-" + m.url(74) + "T3BlbkFJ" + m.url(74),
    "anthropic_key": lambda m: "sk-ant-api03-" + m.url(93) + "AA",
    "openrouter_key": lambda m: "sk-or-v1-" + m.hex(64),
    "deepseek_key": lambda m: "sk-" + m.hex(32),
    "huggingface_token": lambda m: "hf_" + m.text(string.ascii_letters, 34),
    "groq_key": lambda m: "gsk_" + m.b62(52),
    "replicate_token": lambda m: "r8_" + m.b62(37),
    "xai_key": lambda m: "xai-" + m.b62(80),
    "perplexity_key": lambda m: "pplx-" + m.b62(48),
    "slack_bot": lambda m: f"xoxb-{m.text(string.digits, 12)}-{m.text(string.digits, 13)}-{m.b62(24)}",
    "slack_user": lambda m: f"xoxp-{m.text(string.digits, 12)}-{m.text(string.digits, 12)}-{m.text(string.digits, 13)}-{m.hex(32)}",
    "slack_app": lambda m: f"xapp-1-A{m.text(UPPER, 10)}-{m.text(string.digits, 13)}-{m.hex(64)}",
    "discord_token": discord,
    "telegram_token": lambda m: m.pick("", "1") + m.text("123456789", 1) + m.text(string.digits, 8) + ":AA" + m.url(33),
    "twilio_key": lambda m: "SK" + m.hex(32),
    "sendgrid_key": lambda m: f"SG.{m.url(22)}.{m.url(43)}",
    "mailgun_key": lambda m: "key-" + m.hex(32),
    "mailchimp_key": lambda m: m.hex(32) + "-us" + str(m.random.randrange(1, 22)),
    "brevo_key": lambda m: f"xkeysib-{m.hex(64)}-{m.b62(16)}",
    "resend_key": lambda m: f"re_{m.b62(8)}_{m.b62(24)}",
    "stripe_key": lambda m: m.pick("sk_live_", "rk_live_", "sk_test_") + m.b62(m.random.randrange(24, 99)),
    "stripe_webhook": lambda m: "whsec_" + m.b62(32),
    "square_token": lambda m: m.pick("sq0atp-", "sq0csp-") + m.url(22),
    "shopify_token": lambda m: m.pick("shpat_", "shpca_", "shppa_", "shpss_") + m.hex(32),
    "databricks_token": lambda m: "dapi" + m.hex(32),
    "vault_token": lambda m: m.pick("hvs.", "hvb.") + m.url(90),
    "terraform_token": lambda m: m.b62(14) + ".atlasv1." + m.url(67),
    "pulumi_token": lambda m: "pul-" + m.hex(40),
    "doppler_token": lambda m: "dp.pt." + m.b62(43),
    "grafana_token": lambda m: f"glsa_{m.b62(32)}_{m.hex(8)}",
    "newrelic_key": lambda m: "NRAK-" + m.text(UPPER, 27),
    "dynatrace_token": lambda m: f"dt0c01.{m.text(UPPER, 24)}.{m.text(UPPER, 64)}",
    "sentry_token": lambda m: "sntryu_" + m.hex(64),
    "linear_key": lambda m: "lin_api_" + m.b62(40),
    "atlassian_token": lambda m: "ATATT3xFfGF0" + m.url(180) + "=" + m.text("0123456789ABCDEF", 8),
    "notion_token": lambda m: m.pick("secret_" + m.b62(43), "ntn_" + m.b62(46)),
    "airtable_token": lambda m: f"pat{m.b62(14)}.{m.hex(64)}",
    "figma_token": lambda m: "figd_" + m.url(40),
    "postman_key": lambda m: f"PMAK-{m.hex(24)}-{m.hex(34)}",
    "supabase_key": lambda m: "sbp_" + m.hex(40),
    "planetscale_key": lambda m: m.pick("pscale_tkn_", "pscale_pw_") + m.url(43),
    "age_key": bech32,
    "jwt_token": jwt,
}

TEMPLATES = (
    "{}",
    "set key {} in vault",
    "auth|{}|end",
    "print('{}')",
    "b'{}'",
    "header X-Auth: {};",
    "(found {} in config.ini)",
    "- name: TOKEN\n  value: {}",
    '{{"result": "{}", "ok": true}}',
    "<td>{}</td>",
    "https://host.example/cb?x={}&y=1",
    "a,{},b",
    "line one\\n{}\\nline three",
    "[INFO] 2024-05-01 12:00:00 using {}",
    "\x1b[32m{}\x1b[0m done",
    "KEY={}",
    "{}\n{}",
    "`{}`",
    "['{}', None]",
    "=> {}.",
)


def token_rows(make, per_kind):
    for kind, maker in TOKENS.items():
        for i in range(per_kind):
            secret = maker(make)
            template = TEMPLATES[(i + make.random.randrange(len(TEMPLATES))) % len(TEMPLATES)]
            yield row(kind, "secrets", template.replace("{}", secret).replace("{{", "{").replace("}}", "}"), [secret])
            if i == 0:  # colours and invisible characters inside
                middle = len(secret) // 2
                sign = make.pick("\x1b[1m", "\u200b", "\u2060", "\x1b[0;31m", "\u00ad", "\x1b]0;title\a", "\x1b]8;;http://a.example/\x1b\\", "\x1bPq\x1b\\", "\x1b_x\x1b\\")
                hidden = secret[:middle] + sign + secret[middle:]
                yield row(kind + "_hidden", "secrets", f"see {hidden} here", [hidden, secret[middle:]], ["see ", " here"])


def row(kind, mode, text, secrets=(), keep=()):
    return {"kind": kind, "mode": mode, "text": text, "secrets": list(secrets), "keep": list(keep)}


ASSIGNMENTS = (
    "{k} = '{v}'",
    '{k} = "{v}"',
    '{k}="{v}"',
    "{k}={v}",
    "{k}: {v}",
    "{k}: '{v}'",
    '"{k}": "{v}"',
    "'{k}': '{v}'",
    "{k} => '{v}'  # prod",
    "{k} -> {v}",
    "<{k}>{v}</{k}>",
    "--{k} {v}",
    "--{k}={v}",
    "export {k}={v}",
    "{{'user': 'ann', '{k}': '{v}', 'n': 1}}",
    '{{\\"{k}\\": \\"{v}\\"}}',
    '"{{\\\\\\"{k}\\\\\\": \\\\\\"{v}\\\\\\"}}"',
    "  {k}: {v}\n  port: 80",
    "set {k} := {v}",
    "os.environ['{k}'] = '{v}'",
    "{k}: str = '{v}'",
    "Server=db;User Id=sa;{k}={v};Timeout=30",
    "- name: {k}\n  value: {v}",
    'name="{k}" value="{v}"',
    "DEBUG=0\n{k}={v}\nPORT=8080",
)
NAMES = (
    "password passwd pwd secret token api_key apikey access_key client_secret private_key db_password DB_PASSWORD "
    "SECRET_KEY API_TOKEN JWT_SECRET ENCRYPTION_KEY apiKey accessToken clientSecret auth_token refresh_token "
    "SMTP_PASS MYSQL_PWD REDIS_PASSWORD secret_key SIGNING_KEY GITHUB_TOKEN password_prod x-api-key user.password "
    "bot_token AUTH_SECRET SESSION_SECRET MASTER_KEY AWS_SECRET_ACCESS_KEY aws_session_token consumer_secret PGPASSWORD "
    "webhook_secret admin_password root_password deploy_key STRIPE_KEY private_token"
).split()


def assignment_rows(make, count):
    for i in range(count):
        name, value = make.pick(*NAMES), make.password()
        shape = ASSIGNMENTS[i % len(ASSIGNMENTS)]
        if "<" in shape:
            value = make.b62(20)
        yield row("assignment", "secrets", shape.format(k=name, v=value), [value], [name])


def place_rows(make, count):
    for _ in range(count):
        password, token, word = make.password(), make.b62(32), make.word()
        quoted = urllib.parse.quote(password + "/@", safe="")
        basic = base64.b64encode(f"{word}:{password}".encode()).decode()
        scheme = make.pick("postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "redis", "amqp", "https", "ftp", "mysql+pymysql")
        simple = make.b62(14)
        host = f"{make.word()}.example.net"
        yield row("url", "secrets", f"url: {scheme}://{word}:{simple}@{host}:5432/app", [simple], [f"{scheme}://", word, host])
        yield row("url", "secrets", f"{scheme}://{word}:{quoted}@{host}/x?y=1", [quoted], [f"{scheme}://", host])
        yield row("url", "secrets", f"redis://:{simple}@{host}:6379/0", [simple], [host])
        name = make.pick("api_key", "access_token", "token", "apikey", "key", "sig", "client_secret", "signature", "auth_token")
        yield row("query", "secrets", f"GET /v1/items?a=1&{name}={token}&limit=10 HTTP/1.1", [token], ["/v1/items", "limit=10"])
        yield row("query", "secrets", f"https://{host}/p?{name}={token}", [token], [host])
        signature = urllib.parse.quote(make.b64(43) + "=", safe="")
        yield row("sas", "secrets", f"https://{word}.blob.core.windows.net/c?sv=2022-11-02&se=2024-01-01&sig={signature}", [signature], ["sv=2022-11-02"])
        for template in ("Authorization: Bearer {}", '-H "Authorization: Bearer {}"', "authorization: token {}", "{{'Authorization': 'Bearer {}'}}", '"Authorization": "Bearer {}"', "got Bearer {} from", "Proxy-Authorization: Bearer {}"):
            secret = make.url(48)
            yield row("header", "secrets", template.format(secret).replace("{{", "{").replace("}}", "}"), [secret])
        yield row("basic", "secrets", f"Authorization: Basic {basic}", [basic], ["Basic"])
        header = make.pick("X-Api-Key", "X-Auth-Token", "x-vault-token", "PRIVATE-TOKEN", "Ocp-Apim-Subscription-Key", "apikey")
        yield row("header", "secrets", f"{header}: {token}", [token], [header])
        cookie = make.pick("sessionid", "PHPSESSID", "connect.sid", "csrftoken", "auth_token", "JSESSIONID")
        yield row("cookie", "secrets", f"Set-Cookie: {cookie}={token}; HttpOnly; Path=/", [token], ["HttpOnly", "Path=/"])
        yield row("cookie", "secrets", f"Cookie: theme=dark; {cookie}={token}; lang=en", [token], ["theme=dark", "lang=en"])
        account = make.b64(86) + "=="
        yield row("azure_storage", "secrets", f"DefaultEndpointsProtocol=https;AccountName=demo;AccountKey={account};EndpointSuffix=core.windows.net", [account], ["AccountName=demo", "EndpointSuffix"])
        bus = make.b64(43) + "="
        yield row("azure_bus", "secrets", f"Endpoint=sb://x.example.net/;SharedAccessKeyName=Root;SharedAccessKey={bus}", [bus], ["SharedAccessKeyName=Root"])
        aws_id, aws_secret = "AKIA" + make.text(string.ascii_uppercase + "234567", 16), make.b64(40)
        yield row("aws_pair", "secrets", f"[default]\naws_access_key_id = {aws_id}\naws_secret_access_key = {aws_secret}\nregion = us-east-1", [aws_id, aws_secret], ["region = us-east-1"])
        yield row("aws_bare", "secrets", f"{aws_id}\n{aws_secret}\n", [aws_id, aws_secret])
        yield row("aws_bare", "secrets", f"creds: {aws_id} / {aws_secret} (prod)", [aws_id, aws_secret], ["(prod)"])
        sid, auth = "AC" + make.hex(32), make.hex(32)
        yield row("twilio_pair", "secrets", f"TWILIO_ACCOUNT_SID={sid}\nTWILIO_AUTH_TOKEN={auth}", [auth], ["TWILIO_AUTH_TOKEN", sid])
        heroku = str(uuid.UUID(int=make.random.getrandbits(128)))
        yield row("heroku", "secrets", make.pick(f"HEROKU_API_KEY={heroku}", f"heroku key {heroku}", f"heroku_api_key: {heroku}"), [heroku])
        value = base64.b64encode(make.b62(24).encode()).decode()
        yield row("k8s", "secrets", f"apiVersion: v1\nkind: Secret\ndata:\n  {make.pick('password', 'username', 'config', 'tls.key')}: {value}\nmetadata:\n  name: db", [value], ["kind: Secret", "name: db"])
        yield row("k8s", "secrets", f"apiVersion: v1\ndata:\n  user: {value}\nkind: Secret\nmetadata:\n  name: db", [value], ["kind: Secret", "name: db"])
        yield row("k8s_json", "secrets", json.dumps({"apiVersion": "v1", "kind": "Secret", "data": {"conf": value}}), [value], ["apiVersion"])
        hook = f"T{make.text(UPPER, 9)}/B{make.text(UPPER, 10)}/{make.b62(24)}"
        yield row("slack_webhook", "secrets", f"https://hooks.slack.com/services/{hook}", [hook], ["hooks.slack.com"])
        hook = make.url(68)
        yield row("discord_webhook", "secrets", f"https://discord.com/api/webhooks/{make.text(string.digits, 18)}/{hook}", [hook], ["discord.com"])
        yield row("curl", "secrets", f"curl -u admin:{simple} https://{host}/", [simple], ["admin", host])
        yield row("netrc", "secrets", f"machine {host} login ann password {simple}", [simple], [host, "ann"])
        yield row("pgpass", "secrets", f"{host}:5432:app:ann:{simple}", [simple], [host])
        yield row("docker_auth", "secrets", json.dumps({"auths": {"r.example": {"auth": basic}}}), [basic] if len(basic) >= 20 else [], ["auths"])
        yield row("npmrc", "secrets", f"//registry.example/:_authToken={heroku}", [heroku], ["registry.example"])
        kind = make.pick("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "DSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK")
        block = pem(make, kind)
        lines = block.split("\n")[1:-1]
        yield row("pem", "secrets", f"before\n{block}\nafter", lines, ["before\n", "\nafter"])
        yield row("pem", "secrets", f"before\r\n{block}\r\nafter".replace("\n", "\r\n").replace("\r\r", "\r"), lines, ["before", "after"])
        yield row("pem_json", "secrets", json.dumps({"type": "service_account", "private_key_id": make.hex(40), "private_key": block + "\n", "client_email": "x"}), lines, ["service_account", "client_email"])
        yield row("pem_cut", "secrets", f"{block[:200]}\nerror: the rest is missing", [block.split("\n")[1]], ["error: the rest is missing"])
        yield row("pem_cut", "secrets", block[:150], [block.split("\n")[1]])
        key_id = make.hex(40)
        yield row("gcp_json", "secrets", json.dumps({"project_id": "demo", "private_key_id": key_id}, indent=2), [key_id], ["demo"])
        yield row("multi", "secrets", f"gh={with_crc(make, 'ghp_')} aws={aws_id} db=postgres://u:{simple}@h1/db done", [aws_id, simple], ["done", "h1/db"])


def personal_rows(make, count):
    for _ in range(count):
        name, surname = make.word(), make.word()
        mail = make.pick(f"{name}.{surname}@{make.word()}.com", f"{name}+tag@mail.{surname}.co.uk", f"{name}_{make.random.randrange(99)}@{surname}.io")
        yield row("email", "pii", make.pick("contact {} now", "<{}>", "{}", "mail={};", '"email": "{}"', "to {}, cc").format(mail), [mail])
        phone = make.pick(
            f"+1 {make.random.randrange(201, 989)} 555 {make.random.randrange(1000, 9999)}",
            f"+44 20 7946 {make.random.randrange(1000, 9999)}",
            f"+49151{make.text(string.digits, 8)}",
            f"({make.random.randrange(201, 989)}) 555-{make.random.randrange(1000, 9999)}",
            f"+1-{make.random.randrange(201, 989)}-555-{make.random.randrange(1000, 9999)}",
            f"{make.random.randrange(201, 989)}-555-{make.random.randrange(1000, 9999)}",
            f"{make.random.randrange(201, 989)}.{make.random.randrange(200, 999)}.{make.random.randrange(1000, 9999)}",
            f"+33 6 {make.random.randrange(10, 99)} {make.random.randrange(10, 99)} {make.random.randrange(10, 99)} {make.random.randrange(10, 99)}",
        )
        yield row("phone", "pii", make.pick("call {} today", "{}", "tel: {}", "phone={}", "Ann, {}").format(phone), [phone])
        local = f"{make.random.randrange(201, 989)}-555-{make.random.randrange(1000, 9999)}"
        yield row("phone_context", "pii", make.pick("phone: {}", "call me at {}", "tel {}").format(local), [local])
        ssn = f"{make.random.choice([n for n in range(1, 899) if n != 666]):03}-{make.random.randrange(1, 99):02}-{make.random.randrange(1, 9999):04}"
        yield row("ssn", "pii", make.pick("{} | Ann", "SSN: {}", "{}", "ssn={},").format(ssn), [ssn])
        card = make.pick(luhn(make, "4", 16), luhn(make, "52", 16), luhn(make, "37", 15), luhn(make, "6011", 16), luhn(make, "2221", 16))
        if len(card) == 16:
            card = make.pick(card, " ".join(card[i:i + 4] for i in range(0, 16, 4)), "-".join(card[i:i + 4] for i in range(0, 16, 4)))
        else:
            card = make.pick(card, f"{card[:4]} {card[4:10]} {card[10:]}")
        yield row("card", "pii", make.pick("card {} ok", "{}", "pan={};", '"{}"').format(card), [card])
        country, length = make.pick(("DE", 22), ("GB", 22), ("FR", 27), ("NL", 18), ("ES", 24), ("CH", 21))
        account = iban(make, country, length) if country not in ("GB", "NL") else iban(make, "DE", 22)
        spaced = " ".join(account[i:i + 4] for i in range(0, len(account), 4))
        account = make.pick(account, spaced)
        yield row("iban", "pii", make.pick("IBAN {}", "{}", "to {} today").format(account), [account])
        ip = f"{make.pick(10, 192, 172, 8, 203)}.{make.random.randrange(1, 255)}.{make.random.randrange(1, 255)}.{make.random.randrange(1, 254)}"
        yield row("ipv4", "pii", make.pick("peer {} up", "{}", "from {}:8080", "http://{}/x", "ip={}", "[{}]", "{}/24", "client {}, ok").format(ip), [ip])
        ip6 = make.pick(":".join(make.hex(4) for _ in range(8)), f"2001:db8::{make.hex(4)}", f"fe80::{make.hex(3)}1:{make.hex(4)}")
        yield row("ipv6", "pii", make.pick("peer {} up", "{}", "[{}]:80", "addr={}").format(ip6), [ip6])


def clean_texts(make):
    """(kind, mode, text) that must come out as they are."""
    digest = hashlib.sha256(make.random.randbytes(8)).hexdigest()
    ident = str(uuid.UUID(int=make.random.getrandbits(128)))
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + make.random.randbytes(600)).decode()
    n = make.random.randrange
    for text in (
        f"commit {digest[:40]}\nAuthor: Ann <ann@host>\n\n    fix tokens",
        f"{digest[:7]} update the token parser\n{digest[7:14]} password field: clear on blur",
        f"{ident}\n{ident}", f"id={ident}", f'"request_id": "{ident}"', f"trace_id: {digest[:32]}",
        f"sha256:{digest}", f"{digest}  file.tar.gz", f"md5={digest[:32]}", f"etag: \"{digest[:32]}\"",
        f"data:image/png;base64,{picture}", f"<img src=\"data:image/png;base64,{picture}\"/>", picture,
        f"max_tokens={n(1, 9999)}", f'"max_tokens": {n(1, 9999)}, "temperature": 0.7', f"prompt_tokens: {n(9999999)}",
        f'{{"usage": {{"prompt_tokens": {n(999)}, "completion_tokens": {n(999)}, "total_tokens": {n(9999)}}}}}',
        f"tokens: {n(100000, 9999999)}", f"token_count = {n(100000, 999999)}", "tokenizer = AutoTokenizer.from_pretrained(name)",
        "Traceback (most recent call last):\n  File \"run.py\", line 61, in <module>\n    main()\nKeyError: 'secret'",
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    password = config['password']\nValueError: bad token",
        "password = os.environ['DB_PASSWORD']", "token = get_token(user)", "api_key = settings.API_KEY", "password=None",
        "password: ${DB_PASSWORD}", "password: {{ vault_password }}", "password = getpass.getpass()", "secret: null", "token: <your token>",
        "PASSWORD=********", "api_key='xxxxxxxxxxxx'", "api_key = 'your_api_key_here'", "password: changeme", "token=$TOKEN",
        "def check(password: str, token: str = None) -> bool:", "if password == other_password:", "self.token = token",
        "password must be at least 8 characters", '{"password": "This field is required."}', "Enter password: ", "Invalid password",
        "secretary: Mary Johnson", "author: Ann Lee", "authors = ['Ann', 'Bob']", "authentication: enabled", "passed: 120, failed: 0",
        "12 passed in 0.34s", "tests pass: 123456", "token_type: bearer", "Bearer of bad news", "basic usage information",
        "primary_key=True", "foreign_key: users.id", "sort_key: created_at", f"cache_key: {digest}", "public_key: id_rsa.pub", "key: value",
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{make.b62(43)} ann@laptop", f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC{make.b62(60)} x",
        "-----BEGIN CERTIFICATE-----\n" + make.b64(64) + "\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + make.b64(64) + "\n-----END PUBLIC KEY-----",
        f"<Foo object at 0x{make.hex(12)}>", f"\"integrity\": \"sha512-{make.b64(86)}==\"", " ".join(make.word() for _ in range(12)),
        f"count    {n(999)}.000000\nmean      5.697540\nstd       0.296766", f"ts=17000{n(10**8):08} latency=42ms", f"{n(10**12, 10**13)}",
        "00000000  5d f9 b9 25 43 7f 3d 08 a7 4a 6a ab d1 a3 38 fe  |................|", "listening on 0.0.0.0:8088",
        f"pk_test_{make.b62(24)}", "https://example.net/a/b?page=2&limit=10", "http://localhost:8000/token", "postgres://localhost/db", "ftp://ann@host/file",
        f"docker.io/library/python@sha256:{digest}", f"user_id={n(10**9)}", "import secrets\nprint(secrets.token_hex)", "see ~/.aws/credentials",
        f"pip install torch==2.{n(9)}.1+cu118", f"version 1.{n(20)}.3", "SELECT password FROM users", "cookie: none", "Set-Cookie: theme=dark; Path=/",
        "kind: ConfigMap\ndata:\n  mode: production", "a = b'hello world, this is bytes'", "x" * 200, "=" * 80, "-" * 80, "." * 60, "# " + "-" * 60,
        f"array([{', '.join(str(make.random.random()) for _ in range(6))}])", "The secret of success: work", "Secret: keep calm", "key=value",
        "pwd\n/home/ann", "PWD=/home/ann/work", "OLDPWD=/tmp", f"session: {ident}", f"0x{digest}", f"Digest: {digest}", "sk-learn-contrib and sklearn",
        "hf_model_name_or_path", "npm_config_registry=https://registry.example/", "ghp_ is a prefix", "AKIA is a prefix", "xoxb- begins bot tokens",
        "glpat-your-token-here", "the task_key and risk_key", "sk-" + "-".join(make.word() for _ in range(4)), "whsec_ and sk_live_ are prefixes",
        f"checksum: {make.b64(43)}=", f"Content-MD5: {make.b64(22)}==", f"ETag: W/\"{make.hex(16)}\"", f"build {make.hex(12)} deployed",
        f"nonce: {make.hex(24)}", "KEY_LENGTH = 32", "TOKEN_TTL=3600", "PASSWORD_MIN_LENGTH=12", "token_url: https://auth.example.net/oauth/token",
        "secret_name: my-app-db", "SECRET_FILE=/run/secrets/db", "secretName: web-tls", "password_file: /etc/app/pw.txt", "tokens per second: 123456.7",
    ):
        yield "clean", "secrets", text
    for text in (
        "ISBN 978-3-16-148410-7", "part 666-45-1234", "000-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "2024-02-09T10:00:00Z done", "version 1.2.3.4", "v10.4.2.1",
        "Chrome/120.0.0.0 Safari/537.36", "127.0.0.1", "0.0.0.0:80", "numpy==1.26.4.1", "std::vector<int>", "a::b", "x[::2]", "12:34:56", "00:1a:2b:3c:4d:5e",
        f"4{n(10**14):014}{'0' if int(luhn(make, '4', 16)[-1]) else '1'}"[:12], f"1700{n(10**9):09}", f"order {n(10**15, 10**16 - 1)}"[:14], "DE00 1234 5678 9012 3456 78",
        "@property\ndef x(self)", "foo@localhost", "react@18.2.0", "user@host", "icon@2x.png", "2024-01-02 03:04:05", "1,234,567.89", "3.14159265358979",
        "10/12/2024", "1.2.3.4.5", f"{n(100, 999)}-{n(100, 999)}-{n(10, 99)}", "git@github.com:org/repo.git", "255.255.255.0", "+00:00", "1e+10", "(123) items", "x = (200) + 1",
        "lat +40.7128 -74.0060", f"id {n(10**9, 10**10)}", "range 100-200-300", "2001 a space odyssey", "::", "fe80", "C::D::E", "ab:cd", f"sum: {n(10**11)}",
    ):
        yield "clean_personal", "pii", text


def rows(seed=1, per_kind=20):
    make = Maker(seed)
    yield from token_rows(make, per_kind)
    yield from assignment_rows(make, per_kind * 25)
    yield from place_rows(make, per_kind)
    yield from personal_rows(make, per_kind * 4)
    for _ in range(max(1, per_kind // 4)):
        for kind, mode, text in clean_texts(make):
            yield row(kind, mode, text, (), (text,))
