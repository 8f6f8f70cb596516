/* Arguments of well-known commands that are secret by their position: mysql -pX, sshpass -p X,
 * htpasswd -b file user X, echo X | sudo -S. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* So much of a command is read. */
#define COMMAND_MAX ((size_t)192)

#define WORDS_MAX 40

/* And of its name. */
#define COMMAND_NAME_MAX 48

/* Forms of an argument, in `rules`, separated by blanks:
 *
 *   -p      the next word, or the rest of this one
 *   -p_     the rest of this word only
 *   -u:     the next word or the rest, behind the colon in it (any of : , % /)
 *   --uri@  the same up to the last @, behind the colon in it
 *   =pass:  the rest of a word that begins so
 *   >AUTH   the word behind that word
 *   #3      the third word that is no option
 *   #l      the last one, where an option has the letter b
 *   @       the word behind one that names a secret
 *   !       the first word that is no option ends it
 *   ?       as the first of them: the word of the command is a common one, so that values must not
 *           look like words
 *   ~       the same, anywhere in a line: with ?, the command begins one
 */
static const struct command {
    const char *name, *rules;
} commands[] = {
    /* Those that begin as another one does stand before it. */
    {"mosquitto_passwd", "#l"},
    {"ldappasswd", "-s -w -a"},
    {"slappasswd", "-s"},
    {"beeline", "-p"},
    {"doctl auth init", "-t"},
    {"codecov", "-t"},
    {"jenkins-cli.jar", "-auth:"},
    {"jenkins-cli", "-auth:"},
    {"poetry config", "@ #3"},
    {"chamber write", "@"},
    {"cmdkey", "=/pass:"},
    {"refresh-token", "#2"},
    {"hash-password", "#1"},
    {"sonar-scanner", "=-Dsonar.login="},
    {"rclone obscure", "#1"},
    {"bcp", "-P"},
    {"expdp", "#1/"},
    {"impdp", "#1/"},
    {"neo4j-admin", ">set-initial-password"},
    {"rabbitmqadmin", "-p"},
    {"message-digest-key", "~ #3"},
    {"com2sec", "~ #3"},
    {"valkey-cli", "-a >AUTH"},
    {"xh", "-a: --auth:"},
    {"oras login", "-p"},
    {"poetry publish", "-p"},
    {"bundle config", "#2: #3:"},
    {"ccrypt", "-K"},
    {"set-user-password", "~ #3"},
    {"freerdp", "=/p:"},
    {"smbmap", "-p"},
    {"netexec", "-p"},
    {"nxc", "-p"},
    {"samba-tool", "~ #4"},
    {"curlftpfs", "#1:"},
    {"reset-admin-password", "#1"},
    {"ctl admins add", "#2"},
    {"certutil", "-p"},
    {"net user", "#2"},
    {"net use", "#2 #3 #4"},
    {"snowsql", "-p"},
    {"schtasks", ">/rp >/RP"},
    {"ConvertTo-SecureString", "#1"},
    {"psexec", "-p"},
    {"rdesktop", "-p"},
    {"plink", "-pw"},
    {"pscp", "-pw"},
    {"psftp", "-pw"},
    {"putty", "-pw"},
    {"ncftp", "-p"},
    {"rar", "-p_ -hp_"},
    {"pdftk", ">input_pw >owner_pw >user_pw"},
    {"qpdf", ">--encrypt"},
    {"signtool", ">/p"},
    {"security unlock", "-p"},
    {"security import", "-P"},
    {"security add-", "-w"},
    {"ssh-keygen", "-N -P"},
    {"usermod", "-p"},
    {"useradd", "-p"},
    {"operator unseal", "#1"},
    {"consul kv put", "@"},
    {"gh secret set", "-b --body"},
    {"keyvault secret", "--value"},
    {"put-parameter", "--value"},
    {"az sql", "-p"},
    {"vercel env add", "@"},
    {"cargo login", "#1"},
    {"gem push", "-k --key"},
    {"nuget push", "-k -ApiKey"},
    {"user-secrets set", "#2"},
    {"encrypt_string", "#1"},
    {"pulumi config", "@"},
    {"buildah login", "-p"},
    {"skopeo login", "-p"},
    {"auth login", "-p"},
    {"setx", "@"},
    {"setenv", "@"},
    {"ENV", "@"},
    {"set -gx", "@"},
    {"set -x", "@"},
    {"iwconfig", ">key"},
    {"fetchmail", "-p"},
    {"swaks", "-ap"},
    {"sendemail", "-xp"},
    {"hydra", "-p"},
    {"crackmapexec", "-p"},
    {"evil-winrm", "-p"},
    {"tailscale up", "--authkey --auth-key"},
    {"bw unlock", "#1"},
    {"bw login", "#2"},
    {"wandb login", "#1"},
    {"mc alias set", "#4"},
    {"cloudflared", "#3"},
    {"kaggle config", "-v"},
    {"http-basic", "#2"},
    {"AUTH", "? #1 #2"}, /* of Redis, SMTP */
    {"requirepass", "~ #1"},
    {"LOGIN", "? #2"}, /* of IMAP */
    {"CURLOPT_USERPWD", "#1: #2:"},
    {"impacket-", "#1:"},
    {"secretsdump", "#1:"},
    {"wmiexec", "#1:"},
    {"smbexec", "#1:"},
    {"snmp-server", "? >community >sha >md5 >128 >192 >256 >des"}, /* of a router */
    {"acr login", "-p"},
    {"tsql", "-P"},
    {"wmic", "=/password:"},
    {"radius-server", "? >key"},
    {"tacacs-server", "? >key"},
    {"PASS", "? #1"}, /* of FTP */
    {"pycurl.USERPWD", "#1: #2:"},
    {"PRAGMA key", "#2"},
    {"ATTACH DATABASE", ">KEY >key"},
    {"activate-refresh-token", "#2"},
    {"rocommunity", "#1"},
    {"rwcommunity", "#1"},
    {"ansible-vault", "--vault-password"},
    {"create-login-profile", "--password"},
    {"adduser", "-p"},
    {"grpcurl", "-H:"},
    {"wscat", "--auth:"},
    {"mysql", "-p_ >password --uri@"},
    {"mycli", "-p"},
    {"CONNECT TO", "~ >USING >using"},
    {"CONNECT", "? #1/"},
    {"mkpasswd", "? #1 #2"},
    {"nuget add", "-p"},
    {"nuget sources", "-p"},
    {"altool", "-p"},
    {"cf login", "-p"},
    {"ascii-text", "#1"},
    {"psksecret", "#1"},
    {"option key", "~ #1"},
    {"authpriv", ">sha >SHA >aes >AES >md5 >MD5 >des >DES"},
    {"createUser", ">sha >SHA >aes >AES >md5 >MD5 >des >DES"},
    {"isakmp key", "~ #1"},
    {"IDENTIFY", "~ #1 #2"},
    {"fastlane", ">--git_basic_authorization"},
    {"knife", "-P"},
    {"winrs", "=-p: =-password:"},
    {"networksetup", "~ #3"},
    {"isql", "#3"},
    {"db2 connect", "~ >using"},
    {"yt-dlp", "-p"},
    {"youtube-dl", "-p"},
    {"open -u", "#1,"},
    {"mariadb", "-p_"},
    {"sshpass", "-p !"},
    {"curl", "-u: -su: -sSu: -ku: -sku: -U: --user: --proxy-user: -b= --cookie="},
    {"docker login", "-p"},
    {"podman login", "-p"},
    {"registry login", "-p"},
    {"oc login", "-p"},
    {"az login", "-p"},
    {"vault login", "#1"},
    {"redis-cli", "-a >AUTH >auth >default >requirepass"},
    {"openssl", "=pass: -k -K -hmac >-1 >-5 >-6 >-apr1"},
    {"ldap", "-w"},
    {"htpasswd", "#l"},
    {"aws configure", "@"},
    {"npm config", "@"},
    {"rclone config", "@"},
    {"nmcli", "@"},
    {"mongo", "-p"},
    {"smbclient", "-U% --user%"},
    {"rpcclient", "-U%"},
    {"sqlcmd", "-P"},
    {"sqlplus", "#1/"},
    {"keytool", "-storepass -keypass -srcstorepass -deststorepass"},
    {"jarsigner", "-storepass -keypass"},
    {"zip", "-P"},
    {"7z", "-p_"},
    {"lftp", "-u,"},
    {"rabbitmqctl", "#3"},
    {"cypher-shell", "-p"},
    {"cqlsh", "-p"},
    {"mosquitto_", "-P"},
    {"twine", "-p"},
    {"xfreerdp", "=/p:"},
    {"ipmitool", "-P"},
    {"snmp", "-A -X -c"},
    {"wpa_passphrase", "#2"},
    {"etcdctl", "--user:"},
    {"ncat", "--proxy-auth:"},
    {"skopeo", "--creds: --src-creds: --dest-creds:"},
    {"http", "-a: --auth:"},
    {"vault\", \"login\"", "#1"},
    {"vault', 'login'", "#1"},
    {"net\", \"user\"", "#2"},
    {"\"login\"", "-p"},
    {"'login'", "-p"},
    {"\"configure\"", "@"},
    {"\"config\"", "@"},
};

struct words {
    size_t at; /* where the next one is looked for */
    size_t limit;
    bool is_list;        /* ["mysql", "-u", "root"] */
    bool is_url;         /* mysql%20-u%20root */
    bool is_more;        /* the text ends in a word */
    unsigned char outer; /* the quote of the string in which the command stands */
    size_t start, end;
};

/* Blanks, and ends of lines behind a backslash; between the words of a list, quotes and commas. */
static size_t skip_between(const struct masker *s, const struct words *w)
{
    size_t at = w->at;

    if (w->is_url)
        return masker_skip_percent(s, at);
    while (at < s->view.len && at < w->limit) {
        unsigned char c = masker_at(s, at);

        if (masker_is_in(w->is_list ? " \t\"',\r\n" : " \t", c))
            at++;
        else if (c == '\\' && at + 1 < s->view.len && masker_at(s, at + 1) == '\n')
            at += 2;
        else if (c == '\\' && at + 2 < s->view.len && masker_at(s, at + 1) == '\r' &&
                 masker_at(s, at + 2) == '\n')
            at += 3;
        else
            break;
    }
    return at;
}

/* The next word of the command. False: there is none, or it is not whole (is_more). */
static bool next_word(const struct masker *s, struct words *w)
{
    size_t at = skip_between(s, w);
    unsigned char quote = 0;

    w->start = w->end = at;
    w->is_more = masker_is_open(s, at + 2);
    if (w->is_more || at >= s->view.len || at >= w->limit ||
        masker_is_in(w->is_list ? "])\n" : "|;&<>()\r\n`", masker_at(s, at)) ||
        (!w->is_list && masker_at(s, at) == w->outer))
        return false;
    if (!w->is_list && masker_is_in("\"'", masker_at(s, at)))
        quote = masker_at(s, at++);
    w->start = at;
    while (at < s->view.len && at < w->limit + MASKER_JUDGE_MAX) {
        unsigned char c = masker_at(s, at);

        if (!w->is_list && w->outer && c == w->outer)
            break;
        if (w->is_url && (c == '+' || masker_ends_percent(s, at)))
            break;
        /* /p:"X" */
        if (!quote && !w->is_list && c == '"' && at > w->start &&
            masker_is_in(":=", masker_at(s, at - 1))) {
            quote = c;
            at++;
            continue;
        }
        if (quote ? c == quote || c == '\n'
                  : masker_is_space(c) || masker_is_in(w->is_list ? "\"'" : "|;<>()`\"", c))
            break;
        /* of a string around the command */
        if (!quote && c == '\'' &&
            (at + 1 >= s->view.len || masker_is_in(" ,)]\r\n", masker_at(s, at + 1))))
            break;
        if (!quote && c == '\\' && at + 1 < s->view.len &&
            masker_is_in("\r\n", masker_at(s, at + 1)))
            break;
        at++;
    }
    w->end = at;
    w->is_more = masker_is_open(s, at + (w->is_url ? 6 : 1));
    w->at = quote && at < s->view.len && masker_at(s, at) == quote ? at + 1 : at;
    return !w->is_more && at > w->start;
}

/* ---- what is secret ---- */

static bool is_secret(const struct masker *s, size_t start, size_t end)
{
    const char *text = masker_view(s, start);
    size_t len = end - start, digits = 0;

    masker_charge(s, 2 * (len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX));
    if (len < 4 || masker_is_in("-$<[{/~.%", (unsigned char)text[0]) ||
        masker_is_placeholder(text, len) || memmem(text, len, "://", 3))
        return false;
    while (digits < len && masker_is_digit((unsigned char)text[digits]))
        digits++;
    return digits < len || len >= 6;
}

/* Takes quotes around the rest of a word away: -p'x'. */
static void unquote(const struct masker *s, size_t *start, size_t *end)
{
    if (*start < *end && masker_is_in("\"'", masker_at(s, *start)))
        ++*start;
    while (*end > *start && masker_is_in("\"'`,", masker_at(s, *end - 1)))
        --*end;
}

struct reading {
    struct masker *s;
    unsigned kind;
    size_t from;
    const char *rules;
    unsigned others; /* words that are no options */
    bool is_next;    /* the next word is the value, */
    char sign;       /* behind this sign in it */
    bool has_b;      /* an option has the letter b */
    bool is_strict;  /* what looks like a word is none */
    bool has_ended;
    size_t last_start, last_end; /* the last word that is no option */
};

static void found(struct reading *r, size_t start, size_t end, char sign)
{
    unquote(r->s, &start, &end);
    /* Of an entity, which the decoded reading knows as a quote. */
    if (start < end && masker_at(r->s, start) == '&')
        return;
    if (sign == '@' && end > start) {
        const char *host = memrchr(masker_view(r->s, start), '@', end - start);

        end = host ? (size_t)(host - r->s->view.data) : start;
        sign = ':';
    }
    if (sign && end > start) {
        const char *at = memchr(masker_view(r->s, start), sign, end - start);

        if (!at && sign == ':')
            at = memmem(masker_view(r->s, start), end - start, "%3A", 3);
        if (!at)
            return;
        start = (size_t)(at - r->s->view.data) + (*at == '%' && sign == ':' ? 3 : 1);
    }
    if (sign == '=' && (end - start < 8 || !masker_is_mixed(masker_view(r->s, start), end - start)))
        return;
    if (sign == '/' && end > start) {
        const char *at = memrchr(masker_view(r->s, start), '@', end - start);

        end = at ? (size_t)(at - r->s->view.data) : end;
    }
    if (end > start && is_secret(r->s, start, end) &&
        (!r->is_strict || (end - start >= 6 && masker_is_unlike_words(r->s, start, end))))
        masker_found(r->s, r->kind, r->from, start, end);
}

/* -keyout begins as -k does. */
static bool is_option_word(const char *text, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (text[i] != '-' && (text[i] < 'a' || text[i] > 'z'))
            return false;
    return true;
}

/* pypi-token.name */
static bool names_first(const char *text, size_t len)
{
    const char *dot = memchr(text, '.', len);

    return dot && masker_name_of(text, (size_t)(dot - text)) != NAME_NONE;
}

/* One rule and one word. */
static void apply(struct reading *r, const char *rule, size_t len, size_t start, size_t end)
{
    const char *text = masker_view(r->s, start);
    char last = rule[len - 1],
         sign = masker_is_in(":,%=@", (unsigned char)last) && rule[0] == '-' ? last : 0;
    size_t n;

    switch (rule[0]) {
    case '-':
        n = len - (sign || last == '_');
        if (end - start < n || memcmp(text, rule, n) != 0)
            return;
        if (end - start > n && text[n] != '=' && last != '_' && is_option_word(text, end - start))
            return;
        if (end - start > n && (n == 2 || last == '_' || text[n] == '='))
            found(r, start + n + (text[n] == '='), end, sign);
        else if (end - start == n && last != '_') {
            r->is_next = true;
            r->sign = sign;
        }
        return;
    case '=':
        if (end - start > len - 1 && memcmp(text, rule + 1, len - 1) == 0)
            found(r, start + len - 1, end, 0);
        return;
    case '>':
        r->is_next = r->is_next || (end - start == len - 1 && memcmp(text, rule + 1, len - 1) == 0);
        return;
    case '#':
        if (text[0] == '-' || rule[1] == 'l' || r->others != (unsigned)(rule[1] - '0'))
            return;
        /* user:password@host */
        if (len > 2 && rule[2] == ':' && memrchr(text, '@', end - start))
            end = (size_t)((const char *)memrchr(text, '@', end - start) - r->s->view.data);
        found(r, start, end, len > 2 ? rule[2] : 0);
        return;
    case '@':
        masker_charge(r->s, end - start);
        r->is_next =
            text[0] != '-' && end - start < 64 && !memchr(text, '=', end - start) &&
            (masker_name_of(text, end - start) != NAME_NONE || names_first(text, end - start));
        return;
    case '?':
    case '~':
        r->is_strict = true;
        return;
    case '!':
        r->has_ended = text[0] != '-';
        return;
    default:
        return;
    }
}

static void take_word(struct reading *r, size_t start, size_t end)
{
    const char *text = masker_view(r->s, start);

    masker_charge(r->s, 2);
    /* key 7 X: the digit says how it is written. */
    if (r->is_next && r->is_strict && end == start + 1 && masker_is_digit((unsigned char)*text))
        return;
    if (r->is_next) {
        found(r, start, end, r->sign);
        r->is_next = false;
        r->sign = 0;
        return;
    }
    if (text[0] == '-') {
        r->has_b = r->has_b || (end - start < 6 && memchr(text, 'b', end - start));
    } else {
        r->others++;
        r->last_start = start;
        r->last_end = end;
    }
    for (const char *rule = r->rules; *rule && !r->has_ended;) {
        size_t len = strcspn(rule, " ");

        apply(r, rule, len, start, end);
        rule += len + (rule[len] == ' ');
    }
}

/* The command that ends at `to`; NULL: none. */
static const struct command *command_at(const struct masker *s, size_t from, size_t to)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        size_t n = strlen(commands[i].name);

        if (from + n <= to + 16 && from + n <= s->view.len &&
            memcmp(masker_view(s, from), commands[i].name, n) == 0)
            return &commands[i];
    }
    return NULL;
}

void masker_match_command(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct reading r = {.s = s, .kind = kind, .from = from};
    struct words w = {.limit = from + COMMAND_MAX};
    const struct command *command = command_at(s, from, to);
    struct masker_line line;
    size_t end, before;

    if (!command ||
        (from &&
         (masker_is_alnum(masker_at(s, from - 1)) || masker_is_in("_-.", masker_at(s, from - 1))) &&
         strcmp(command->name, "zip") != 0 && strcmp(command->name, "rar") != 0 &&
         strcmp(command->name, "freerdp") != 0))
        return;
    /* Words of protocols begin a line, or stand behind a prompt or tag. */
    if (command->rules[0] == '?' && from &&
        !(masker_at(s, from - 1) == '\n' ||
          (from > 1 && masker_at(s, from - 1) == ' ' &&
           masker_is_in(">:0123456789", masker_at(s, from - 2))) ||
          (from > 1 && masker_at(s, from - 1) == '\t' && masker_is_digit(masker_at(s, from - 2))) ||
          /* write(3, "AUTH X\r\n", 9) */
          (masker_at(s, from - 1) == '"' && masker_near(s, from, "write send recv read")) ||
          (masker_at(s, from - 1) == '+' && (from == 1 || masker_at(s, from - 2) == '\n'))))
        return;
    if (strcmp(command->name, "PASS") == 0 && !masker_near(s, from, "user write send"))
        return;
    /* A line of a Dockerfile; the word is a common one. */
    if (strcmp(command->name, "ENV") == 0 && from && masker_at(s, from - 1) != '\n')
        return;
    /* The rest of its name: mysqldump, mongosh, secretsdump.py. */
    end = from + strlen(command->name);
    while (end < s->view.len && end - from < COMMAND_NAME_MAX &&
           (masker_is_alnum(masker_at(s, end)) || masker_is_in("_-.", masker_at(s, end))))
        end++;
    if (masker_is_open(s, end + 1)) {
        masker_wait(s, kind, from, s->view.len);
        return;
    }
    if (end + 1 >= s->view.len || !masker_is_in(" \t\"'\\,%+", masker_at(s, end)))
        return;
    w.is_url = masker_is_in("%+", masker_at(s, end));
    before = from;
    if (before >= 2 && memcmp(masker_view(s, before - 2), "un", 2) == 0)
        before -= 2; /* unzip */
    w.is_list = strchr(command->name, '"') || (masker_is_in("\"'", masker_at(s, end)) && before &&
                                               masker_at(s, before - 1) == masker_at(s, end));
    if (!w.is_list && masker_is_in("\"'", masker_at(s, end)))
        return;
    line = masker_line_at(s, from);
    w.outer = line.is_known ? line.quote : 0;
    w.at = end;
    r.rules = command->rules;
    for (unsigned n = 0; n < WORDS_MAX && !r.has_ended && next_word(s, &w); n++)
        take_word(&r, w.start, w.end);
    masker_charge(s, w.at - end);
    if (w.is_more && !r.has_ended) {
        size_t hold = strstr(r.rules, "#l") && r.last_end ? r.last_start : w.start;

        masker_wait(s, kind, from, hold < s->view.len ? hold : s->view.len);
        return;
    }
    if (strstr(r.rules, "#l") && r.has_b && r.others >= 2)
        found(&r, r.last_start, r.last_end, 0);
}

/* ---- echo X | command ---- */

static bool reads_secret(const struct masker *s, size_t at, size_t end)
{
    static const char *const readers[] = {
        "sudo -S",        "passwd --stdin", "chpasswd", "docker login",  "podman login",
        "helm registry",  "gh auth",        "su ",      "sudo chpasswd", "sudo passwd",
        "gcloud secrets", "kubectl create", "kinit",    "oc login",      "cryptsetup",
        "openssl",        "vault login",    "passwd ",  "gpg ",          "sudo -k -S",
        "smbpasswd",      "wrangler secret"};

    for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
        size_t n = strlen(readers[i]);

        if (at + n <= end && memcmp(masker_view(s, at), readers[i], n) == 0)
            return true;
    }
    return false;
}

/* Another word, and no operator. */
static bool another_follows(const struct masker *s, size_t at)
{
    at = masker_skip_blanks(s, at);
    return at < s->view.len && !masker_is_in("|;&<>)\"'`\r\n", masker_at(s, at));
}

void masker_match_echo(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct words w = {.at = to, .limit = to + COMMAND_MAX};
    bool is_printf = masker_at(s, from) == 'p', has_format = is_printf, is_passed_over;
    unsigned more = 0;
    size_t at;
    const char *colon;

    if (from && masker_is_alnum(masker_at(s, from - 1)))
        return;
    do {
        if (!next_word(s, &w)) {
            if (w.is_more)
                masker_wait(s, kind, from, w.start < s->view.len ? w.start : s->view.len);
            return;
        }
        is_passed_over = masker_at(s, w.start) == '-' && w.end - w.start == 2;
        if (has_format && !is_passed_over) {
            is_passed_over = memchr(masker_view(s, w.start), '%', w.end - w.start);
            has_format = false;
        }
        /* printf '%s:%s' ann X: the last one */
        is_passed_over = is_passed_over || (is_printf && more < 3 && another_follows(s, w.at));
        more += !has_format;
    } while (is_passed_over);
    for (at = w.at; at < s->view.len && at - w.at < 16 && masker_at(s, at) == ' ';)
        at++;
    masker_charge(s, at - to + 24);
    /* --password-command "echo X", <(echo X) */
    if (at < s->view.len && at == w.at && masker_is_in(")\"'", masker_at(s, at)) &&
        masker_near(s, from,
                    "password-command passwordeval password_cmd password-file secret sshpass")) {
        if (is_secret(s, w.start, w.end))
            masker_found(s, kind, from, w.start, w.end);
        return;
    }
    if (at < s->view.len && masker_at(s, at) != '|')
        return;
    if (masker_is_open(s, at + 20) &&
        !(at < s->view.len && memchr(masker_view(s, at), '\n', s->view.len - at))) {
        masker_wait(s, kind, from, w.start);
        return;
    }
    if (at >= s->view.len)
        return;
    for (at++; at < s->view.len && masker_at(s, at) == ' ';)
        at++;
    if (!reads_secret(s, at, s->view.len))
        return;
    colon = memchr(masker_view(s, w.start), ':', w.end - w.start);
    if (colon)
        w.start = (size_t)(colon - s->view.data) + 1;
    if (w.end > w.start && is_secret(s, w.start, w.end))
        masker_found(s, kind, from, w.start, w.end);
}

/* ---- command <<< X ---- */

void masker_match_here(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct words w = {.at = to, .limit = to + COMMAND_MAX};

    if (!masker_near(s, from,
                     "password passwd login secret token luks signin insert auth kinit sudo "
                     "load-key"))
        return;
    if (!next_word(s, &w)) {
        if (w.is_more)
            masker_wait(s, kind, from, w.start < s->view.len ? w.start : s->view.len);
        return;
    }
    masker_charge(s, w.end - to);
    if (is_secret(s, w.start, w.end))
        masker_found(s, kind, from, w.start, w.end);
}
