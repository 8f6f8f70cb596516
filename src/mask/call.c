/* Secrets without a name of their own: arguments of calls that log in, a user and a password behind
 * one word, and a value that stands before its name. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* So much of a call is read. */
#define CALL_MAX ((size_t)256)

/* So far behind a value its name is looked for. */
#define BEHIND_MAX ((size_t)80)

#define USER_MAX ((size_t)64)

bool masker_is_unlike_words(const struct masker *s, size_t start, size_t end)
{
    size_t digits = 0, letters = 0, marks = 0;

    end = end - start < MASKER_JUDGE_MAX ? end : start + MASKER_JUDGE_MAX;
    masker_charge(s, end - start);
    for (size_t i = start; i < end; i++) {
        unsigned char c = masker_at(s, i);

        digits += masker_is_digit(c);
        letters += !masker_is_digit(c) && masker_is_alnum(c);
        marks += masker_is_in("!@#$%^&*+=?~", c);
    }
    return ((digits && letters) || marks) &&
           !masker_is_technical(masker_view(s, start), end - start);
}

static bool is_secret(const struct masker *s, enum masker_name what, size_t start, size_t end)
{
    struct masker_value value = {.start = start, .end = end, .is_quoted = true};

    if (what == NAME_TOKEN)
        return masker_is_strong(s, what, start, end);
    return masker_is_unlike_words(s, start, end) && masker_is_secret_value(s, NAME_SECRET, &value);
}

/* ---- calls ---- */

static const struct call {
    const char *name;
    unsigned index; /* of the argument that is secret */
    enum masker_name what;
} calls[] = {
    {"auth=(", 2, NAME_SECRET},           {"auth = (", 2, NAME_SECRET},
    {"BasicAuth(", 2, NAME_SECRET},       {"basic_auth(", 2, NAME_SECRET},
    {"basicAuth(", 2, NAME_SECRET},       {".login(", 2, NAME_SECRET},
    {".auth(", 2, NAME_SECRET},           {"Credential(", 2, NAME_SECRET},
    {"Credentials(", 2, NAME_SECRET},     {"mysqli(", 3, NAME_SECRET},
    {"sqli_connect(", 3, NAME_SECRET},    {"sql_connect(", 3, NAME_SECRET},
    {"new PDO(", 3, NAME_SECRET},         {"getConnection(", 3, NAME_SECRET},
    {"= FTP(", 3, NAME_SECRET},           {"jwt.encode(", 2, NAME_SECRET},
    {"jwt.sign(", 2, NAME_SECRET},        {"jwt.decode(", 2, NAME_SECRET},
    {"jwt.verify(", 2, NAME_SECRET},      {"hmac.new(", 1, NAME_TOKEN},
    {"createHmac(", 2, NAME_TOKEN},       {"Fernet(", 1, NAME_TOKEN},
    {"sp_addlogin ", 2, NAME_SECRET},     {"SQLdb.connect(", 3, NAME_SECRET},
    {"mysql.connect(", 3, NAME_SECRET},   {"WiFi.begin(", 2, NAME_SECRET},
    {"Authentication(", 2, NAME_SECRET},  {"AES.new(", 1, NAME_TOKEN},
    {".connect(", 4, NAME_SECRET},        {"pgp_sym_encrypt(", 2, NAME_SECRET},
    {"pgp_sym_decrypt(", 2, NAME_SECRET}, {"set_password(", 3, NAME_SECRET},
    {"linkedsrvlogin ", 5, NAME_SECRET},  {"Oracle.connect(", 2, NAME_SECRET},
    {"Github(", 1, NAME_TOKEN},           {"TOTP(", 1, NAME_TOKEN},
    {"Serializer(", 1, NAME_SECRET},      {"OAuthHandler(", 2, NAME_TOKEN},
    {"bearer_auth(", 1, NAME_TOKEN},      {"Telegraf(", 1, NAME_TOKEN},
    {"rest.Client(", 2, NAME_TOKEN},      {"lib.FTP(", 3, NAME_SECRET},
    {"FTP_TLS(", 3, NAME_SECRET},         {"login(key=", 1, NAME_TOKEN},
    {" login(", 2, NAME_SECRET},          {"__construct(", 3, NAME_SECRET},
    {"ple_bind_s(", 2, NAME_SECRET},      {"simple_bind(", 2, NAME_SECRET},
    {"DigestAuth(", 2, NAME_SECRET},      {"AuthProvider(", 2, NAME_SECRET},
    {"SMBConnection(", 2, NAME_SECRET},   {"signIn(", 2, NAME_SECRET},
    {"bot.run(", 1, NAME_TOKEN},          {"WebClient(", 1, NAME_TOKEN},
    {"TelegramClient(", 3, NAME_TOKEN},   {"APIClient(", 1, NAME_TOKEN},
    {"Stripe(", 1, NAME_TOKEN},           {"createCipheriv(", 2, NAME_TOKEN},
    {"SecretKeySpec(", 1, NAME_TOKEN},    {"CookieStore(", 1, NAME_SECRET},
    {"CookieStore.new(", 1, NAME_SECRET}, {"cookieParser(", 1, NAME_SECRET},
    {".bind(", 2, NAME_SECRET},           {"withPassword(", 1, NAME_SECRET},
    {"hashpw(", 1, NAME_SECRET},          {"bcrypt.hash(", 1, NAME_SECRET},
    {"password_hash(", 1, NAME_SECRET},   {"make_password(", 1, NAME_SECRET},
    {"AES_ENCRYPT(", 2, NAME_SECRET},     {"AES_DECRYPT(", 2, NAME_SECRET},
    {"hmac.New(", 2, NAME_TOKEN},         {"Encoder.encode(", 1, NAME_SECRET},
    {"etCredential(", 3, NAME_TOKEN},     {"HeaderValue(", 2, NAME_TOKEN},
    {"create_user(", 3, NAME_SECRET},     {"name_pw_set(", 2, NAME_SECRET},
    {"AES.encrypt(", 2, NAME_SECRET},     {"AES.decrypt(", 2, NAME_SECRET},
};

static const struct call *call_at(const struct masker *s, size_t from, size_t to)
{
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        size_t n = strlen(calls[i].name);

        if (n == to - from && memcmp(masker_view(s, from), calls[i].name, n) == 0)
            return &calls[i];
    }
    return NULL;
}

/* Behind the argument at `at`: at the comma or bracket that ends it. */
static size_t argument_end(const struct masker *s, size_t at, size_t limit)
{
    unsigned depth = 0;

    for (; at < s->view.len && at < limit; at++) {
        unsigned char c = masker_at(s, at);

        if (masker_is_in("\"'", c)) {
            for (at++; at < s->view.len && at < limit && masker_at(s, at) != c; at++)
                at += masker_at(s, at) == '\\';
        } else if (masker_is_in("([{", c)) {
            depth++;
        } else if (masker_is_in(")]}", c)) {
            if (!depth--)
                break;
        } else if ((c == ',' && !depth) || c == ';') {
            break;
        }
    }
    return at < s->view.len ? at : s->view.len;
}

/* The string in [start, end), without what is around it. False: it is none. */
static bool find_string(const struct masker *s, size_t *start, size_t *end)
{
    while (*start < *end && masker_is_space(masker_at(s, *start)))
        ++*start;
    while (*end > *start &&
           (masker_is_space(masker_at(s, *end - 1)) || masker_at(s, *end - 1) == ')'))
        --*end;
    if (*end - *start > 8 && memcmp(masker_view(s, *end - 8), ".encode(", 8) == 0)
        *end -= 8;
    if (*end - *start > 13 && memcmp(masker_view(s, *end - 13), ".toCharArray(", 13) == 0)
        *end -= 13;
    if (*end - *start > 10 && memcmp(masker_view(s, *end - 10), ".getBytes(", 10) == 0)
        *end -= 10;
    if (masker_is_at(s, *start, "key="))
        *start += 4;
    for (unsigned n = 0; n < 2 && *start < *end; n++) {
        if (*start + 7 < *end && memcmp(masker_view(s, *start), "[]byte(", 7) == 0)
            *start += 7;
        else if (masker_is_in("bNru", masker_at(s, *start)))
            ++*start;
        else if (*start + 5 < *end && memcmp(masker_view(s, *start), "Some(", 5) == 0)
            *start += 5;
    }
    if (*end - *start < 3 || *start >= *end || !masker_is_in("\"'", masker_at(s, *start)) ||
        masker_at(s, *end - 1) != masker_at(s, *start))
        return false;
    ++*start;
    --*end;
    return !memchr(masker_view(s, *start), masker_at(s, *start - 1), *end - *start);
}

void masker_match_call(struct masker *s, unsigned kind, size_t from, size_t to)
{
    const struct call *call = call_at(s, from, to);
    size_t at = to, limit = to + CALL_MAX;

    for (unsigned n = 1; call && at < limit; n++) {
        size_t start = at, end = argument_end(s, at, limit);

        masker_charge(s, end - at + 1);
        if (masker_is_open(s, end + 1)) {
            masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
            return;
        }
        /* client.login("X"), with a token alone */
        if (n == 1 && call->index == 2 && end < limit && end < s->view.len &&
            masker_at(s, end) == ')' && end - at > 20 && find_string(s, &start, &end) &&
            masker_is_strong(s, NAME_TOKEN, start, end)) {
            masker_found(s, kind, from, start, end);
            return;
        }
        if (n == call->index) {
            if (end < limit && find_string(s, &start, &end) && is_secret(s, call->what, start, end))
                masker_found(s, kind, from, start, end);
            return;
        }
        if (end >= s->view.len || masker_at(s, end) != ',')
            return;
        at = end + 1;
    }
}

/* ---- a user and a password ---- */

/* credentials: ann / X, oracle:thin:ann/X@host, :pserver:ann:X@host */
void masker_match_account(struct masker *s, unsigned kind, size_t from, size_t to)
{
    bool is_url = !masker_is_in(" ", masker_at(s, to - 1));
    bool is_slash = is_url || strchr(masker_kinds[kind].pattern, '/');
    size_t at = to, start, end;

    if (!is_url)
        at = masker_skip_any(s, at, "`'\"", 1);
    while (at < s->view.len && at - to < USER_MAX &&
           (masker_is_alnum(masker_at(s, at)) || masker_is_in("_.@+-", masker_at(s, at))))
        at++;
    if (!is_url)
        at = masker_skip_any(s, at, "`'\"", 1);
    masker_charge(s, at - to + 1);
    start = at;
    if (!masker_is_open(s, at + 2) && at > to && at < s->view.len) {
        if (masker_is_in(is_slash ? "/:" : ":", masker_at(s, at)))
            start = at + 1;
        else if (!is_url && at + 2 < s->view.len && memcmp(masker_view(s, at), " / ", 3) == 0)
            start = at + 3;
        else if (masker_at(s, at) == ' ' && masker_is_at(s, from, "creds"))
            start = at + 1;
    }
    if (masker_is_open(s, at + 3)) {
        masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
        return;
    }
    if (start == at || masker_is_digit(masker_at(s, to)))
        return;
    if (!is_url)
        start = masker_skip_any(s, start, "`'\"", 1);
    for (end = start; end < s->view.len && end - start < MASKER_JUDGE_MAX &&
                      !masker_is_space(masker_at(s, end)) &&
                      !masker_is_in(is_url ? "@\"'<>" : "`\"'<>", masker_at(s, end));)
        end++;
    masker_charge(s, end - start + 1);
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, start);
        return;
    }
    if (is_url) {
        if (end < s->view.len && masker_at(s, end) == '@' && end - start >= 4 &&
            !masker_is_placeholder(masker_view(s, start), end - start))
            masker_found(s, kind, from, start, end);
        return;
    }
    end = masker_trim_bare(s, start, end);
    if (masker_at(s, at) == ' ' && start == at + 1 && !masker_is_strong(s, NAME_SECRET, start, end))
        return;
    if (end > start && masker_at(s, start) != '/' && is_secret(s, NAME_SECRET, start, end))
        masker_found(s, kind, from, start, end);
}

/* ---- a value before its name ---- */

/* , "name": "DB_PASSWORD" or name="token" behind the value. READ_MORE: it may follow. */
static enum masker_read find_name(const struct masker *s, size_t at, enum masker_name *ret_what)
{
    size_t limit = at + BEHIND_MAX, start, end;

    while (at < s->view.len && at < limit && !masker_is_in(">}{<;", masker_at(s, at)) &&
           !(masker_is_in("nNkK", masker_at(s, at)) &&
             (masker_is_at(s, at, "name") || masker_is_at(s, at, "key"))))
        at++;
    masker_charge(s, BEHIND_MAX / 2);
    if (masker_is_open(s, at + 4) && at < limit)
        return READ_MORE;
    if (at >= s->view.len || at >= limit || masker_is_in(">}{<;", masker_at(s, at)))
        return READ_NONE;
    at += masker_is_at(s, at, "name") ? 4 : 3;
    start = masker_skip_any(s, at, "\"' :=\\", 12);
    for (end = start;
         end < s->view.len && end - start < USER_MAX &&
         (masker_is_alnum(masker_at(s, end)) || masker_is_in("_-.", masker_at(s, end)));)
        end++;
    masker_charge(s, end - at);
    if (masker_is_open(s, end))
        return READ_MORE;
    *ret_what = start > at + 1 && end > start ? masker_name_of(masker_view(s, start), end - start)
                                              : NAME_NONE;
    return *ret_what == NAME_NONE ? READ_NONE : READ_VALUE;
}

void masker_match_before(struct masker *s, unsigned kind, size_t from, size_t to)
{
    enum masker_name what = NAME_NONE;
    unsigned char quote = masker_at(s, to - 1);
    size_t end = to;

    while (end < s->view.len && end - to < MASKER_JUDGE_MAX && masker_at(s, end) != quote &&
           !masker_is_in("\n\\ <", masker_at(s, end)))
        end++;
    masker_charge(s, end - to + 1);
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, to);
        return;
    }
    if (end >= s->view.len || masker_at(s, end) != quote || !is_secret(s, NAME_SECRET, to, end))
        return;
    switch (find_name(s, end + 1, &what)) {
    case READ_MORE:
        masker_wait(s, kind, from, to);
        return;
    case READ_NONE:
        /* "id": ".../secrets/db", "keyName": "key1" */
        if (!masker_near(s, from, "/secrets/ keyname"))
            return;
        what = NAME_TOKEN;
        break;
    case READ_VALUE:
        break;
    }
    if (what == NAME_SECRET || masker_is_strong(s, what, to, end))
        masker_found(s, kind, from, to, end);
}
