/* Secrets that are known by where they stand: in a URL, in a manifest, near the name of a service.
 */
#include "mask/internal.h"

#define AUTHORITY_MAX 512
#define MANIFEST_MAX  4096

/* ---- scheme://user:password@host ---- */

static bool is_database_scheme(const struct masker *s, size_t from)
{
    static const char *const schemes[] = {
        "postgres",  "postgresql", "mysql",     "mariadb", "mongodb",     "srv",
        "redis",     "rediss",     "amqp",      "amqps",   "mssql",       "sqlserver",
        "oracle",    "psycopg2",   "asyncpg",   "pymysql", "cockroachdb", "clickhouse",
        "snowflake", "couchdb",    "cassandra", "neo4j",   "bolt"};
    size_t start = from;

    /* Most are http and https, and are not compared with all the others. */
    if ((from >= 4 && memcmp(masker_view(s, from - 4), "http", 4) == 0) ||
        (from >= 5 && memcmp(masker_view(s, from - 5), "https", 5) == 0))
        return false;
    while (start && from - start < 16 && masker_is_alnum(masker_at(s, start - 1)))
        start--;
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (strlen(schemes[i]) == from - start &&
            strncasecmp(schemes[i], masker_view(s, start), from - start) == 0)
            return true;
    return false;
}

/* Ends of a host, and of what stands before it. */
static bool ends_authority(unsigned char c)
{
    switch (c) {
    case '\0':
    case '/':
    case '?':
    case '#':
    case '"':
    case '\'':
    case '<':
    case '>':
    case '`':
    case '\\':
        return true;
    default:
        return masker_is_space(c);
    }
}

/* The password of the authority at `to`, or of what there is of it. */
static enum masker_read find_password(const struct masker *s, size_t to, bool is_escaped,
                                      struct masker_value *value)
{
    size_t at = to, colon = 0, sign = 0;

    /* ann%3AX%40host */
    for (; is_escaped && at < s->view.len && at - to < AUTHORITY_MAX; at++) {
        if (masker_is_at(s, at, "%3A") && !colon)
            colon = at + 3;
        else if (masker_is_at(s, at, "%40"))
            sign = at;
        if (masker_is_space(masker_at(s, at)) || masker_is_in("/?#\"'<>`\\&+", masker_at(s, at)) ||
            masker_is_at(s, at, "%2F") || masker_is_at(s, at, "%20") || masker_is_at(s, at, "%22"))
            break;
    }
    if (is_escaped && masker_is_open(s, at + 2)) {
        value->start = colon ? colon : to;
        return READ_MORE;
    }
    if (is_escaped) {
        masker_charge(s, 2 * (at - to));
        value->start = colon;
        value->end = sign;
        value->is_quoted = true;
        return colon && colon < sign ? READ_VALUE : READ_NONE;
    }
    while (at < s->view.len && at - to < AUTHORITY_MAX && !ends_authority(masker_at(s, at))) {
        if (masker_at(s, at) == ':' && !colon)
            colon = at + 1;
        if (masker_at(s, at) == '@')
            sign = at;
        at++;
    }
    masker_charge(s, at - to);
    value->start = colon ? colon : to;
    value->end = sign;
    if (masker_is_open(s, at))
        return READ_MORE;
    value->is_quoted = colon && colon <= sign;
    return sign && value->end > value->start ? READ_VALUE : READ_NONE;
}

/* [:password], &lt;password&gt;: how a URL is made up. */
static bool is_syntax(const char *text, size_t len)
{
    if (len < 4 || (text[len - 1] != ']' && text[0] != ']' && memcmp(text, "&lt;", 4) != 0))
        return false;
    for (size_t i = 0; i < len; i++)
        if (masker_is_digit((unsigned char)text[i]))
            return false;
    return true;
}

void masker_match_url(struct masker *s, unsigned kind, size_t from, size_t to)
{
    bool is_database = strcmp(masker_kinds[kind].name, "database_url") == 0;
    struct masker_value value;
    const char *text;
    size_t len;

    if (is_database_scheme(s, from) != is_database)
        return;
    switch (find_password(s, to, masker_at(s, from) == '%', &value)) {
    case READ_MORE:
        masker_wait(s, kind, from, value.start);
        return;
    case READ_NONE:
        return;
    case READ_VALUE:
        break;
    }
    text = masker_view(s, value.start);
    len = value.end - value.start;
    /* Without a colon it is a name, or a token that stands for one. */
    if (value.is_quoted ? len >= 3 && !masker_is_placeholder(text, len) && !is_syntax(text, len)
                        : len >= 20 && (masker_is_mixed(text, len) || masker_is_basic(text, len)))
        masker_found(s, kind, from, value.start, value.end);
}

/* ---- near the name of a service ---- */

static bool is_uuid(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
                                                    : !masker_is_hex((unsigned char)text[i]))
            return false;
    return len == 36;
}

void masker_match_near(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t at = to, run = to;

    for (; at < s->view.len && at - to < 160 && masker_at(s, at) != '\n'; at++) {
        if (masker_is_alnum(masker_at(s, at)) || masker_at(s, at) == '-')
            continue;
        if (is_uuid(masker_view(s, run), at - run))
            masker_found(s, kind, from, run, at);
        run = at + 1;
    }
    masker_charge(s, at - to);
    if (masker_is_open(s, at))
        masker_wait(s, kind, from, run);
    else if (is_uuid(masker_view(s, run), at - run))
        masker_found(s, kind, from, run, at);
}

/* ---- data: of a Kubernetes Secret ---- */

/* Base64 of text, which hardly any word is by chance. */
static bool is_encoded_text(const char *text, size_t len)
{
    unsigned char plain[64];
    size_t n = masker_base64_decode(text, len, plain, sizeof(plain));

    for (size_t i = 0; i < n; i++)
        if (plain[i] != '\n' && (plain[i] < 0x20 || plain[i] > 0x7e))
            return len >= 24 &&
                   masker_is_mixed(text, len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX);
    return n > 0;
}

/* One "key: value" of a mapping, in YAML or in JSON. Returns where it ends, 0 when there is none,
 * SIZE_MAX when more must come. */
static size_t match_pair(struct masker *s, unsigned kind, size_t from, size_t at, bool is_plain,
                         bool is_json, bool is_sure)
{
    struct masker_value value = {0};
    size_t line = at;

    while (at < s->view.len && at - line < 128 && strchr(" \t\r\n,{", masker_at(s, at)))
        at++;
    if (at == line && at < s->view.len)
        return 0;
    while (at < s->view.len && at - line < 512 &&
           (masker_is_alnum(masker_at(s, at)) || strchr("\"'._-/", masker_at(s, at))))
        at++;
    masker_charge(s, at - line);
    if (masker_is_open(s, at + 1))
        return SIZE_MAX;
    if (at + 1 >= s->view.len || masker_at(s, at) != ':' || !strchr(" \"'", masker_at(s, at + 1)))
        return 0;
    while (at + 1 < s->view.len && masker_at(s, at + 1) == ' ')
        at++;
    switch (masker_read_value(s, at + 1, is_json ? RUN_LIST : RUN_SCALAR, &value)) {
    case READ_MORE:
        masker_wait(s, kind, from, value.start);
        return SIZE_MAX;
    case READ_NONE:
        return 0;
    case READ_VALUE:
        break;
    }
    size_t len = value.end - value.start, n = 0;

    while (n < len && (masker_base64_value(masker_at(s, value.start + n)) >= 0 ||
                       masker_at(s, value.start + n) == '='))
        n++;
    masker_charge(s, n);
    if (len >= 6 && (is_plain || (n == len && len >= 8 && len % 4 == 0 &&
                                  (is_sure || is_encoded_text(masker_view(s, value.start), len)))))
        masker_found_value(s, kind, from, &value);
    return value.end + (value.is_quoted ? 1 : 0);
}

static bool begins_secret(const struct masker *s, size_t at, size_t end)
{
    static const char *const kinds[] = {"kind: Secret", "kind\": \"Secret\"", "kind\":\"Secret\""};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t len = strlen(kinds[i]);

        if (at + len <= end && memcmp(masker_view(s, at), kinds[i], len) == 0)
            return true;
    }
    return false;
}

/* The last beginning of "kind: Secret" before `to`, + 1; 0: there is none. The examined part is
 * remembered: callers ask for places in order. */
static size_t last_secret(const struct masker *s, size_t low, size_t to)
{
    struct masker_memory *memory = s->memory;
    size_t at = memory->secret_to > low ? memory->secret_to : low;

    while (at < to) {
        const char *found = memmem(masker_view(s, at), to - at, "kind", 4);
        size_t next = found ? (size_t)(found - s->view.data) : to;

        masker_charge(s, next - at + 1);
        at = next;
        if (found && begins_secret(s, at, to))
            memory->secret_last = at + 1;
        /* It may still be cut off here, and whole for who asks from farther on. */
        if (found && at + 20 > to)
            break;
        at += found ? 1 : 0;
    }
    memory->secret_to = at < to ? at : to > 3 ? to - 3 : 0;
    return memory->secret_last > low ? memory->secret_last : 0;
}

/* The lines before say that this is a Secret, or can be nothing better: kubectl sorts its fields,
 * and then the kind stands behind the data. */
static bool is_of_secret(const struct masker *s, size_t from, bool *ret_is_sure)
{
    size_t low = from > MASKER_LOOK_BACK ? from - MASKER_LOOK_BACK : 0;

    *ret_is_sure = last_secret(s, low, from) != 0;
    if (*ret_is_sure)
        return true;
    low = from > 40 ? from - 40 : 0;
    return memmem(masker_view(s, low), from - low, "apiVersion: v1\n", 15) ||
           memmem(masker_view(s, low), from - low, "\"apiVersion\": \"v1\",", 19) ||
           memmem(masker_view(s, low), from - low, "\"apiVersion\":\"v1\",", 18);
}

void masker_match_manifest(struct masker *s, unsigned kind, size_t from, size_t to)
{
    bool is_plain = from >= 6 && strncasecmp(masker_view(s, from - 6), "string", 6) == 0;
    size_t name = is_plain ? from - 6 : from, at = to;
    bool is_json = masker_at(s, to - 1) != ':', is_sure = false;

    if (from < s->tried[kind] || (name && masker_is_alnum(masker_at(s, name - 1))) ||
        !is_of_secret(s, from, &is_sure))
        return;    /* or in a mapping that was read from its beginning */
    if (is_json) { /* "data": { */
        if (masker_is_open(s, to))
            goto wait;
        if (to >= s->view.len || masker_at(s, to) != ':')
            return;
        at = to + 1;
    }
    while (at - to < MANIFEST_MAX) {
        size_t next = match_pair(s, kind, from, at, is_plain, is_json, is_sure);

        if (next == SIZE_MAX)
            goto wait;
        if (!next)
            return;
        at = next;
        s->tried[kind] = at;
        if (masker_is_open(s, at + 1))
            goto wait;
        if (!is_json && at + 1 < s->view.len && !masker_is_space(masker_at(s, at + 1)))
            return; /* the mapping has ended */
    }
    return;
wait:
    masker_wait(s, kind, from, s->view.len);
}
