/* Secrets in statements of SQL: INSERT INTO users (name, password) VALUES ('ann', 'X'), and
 * IDENTIFIED BY 'X'. */
#include "mask/internal.h"

#define NAMES_MAX   ((size_t)256)  /* the list of columns, in bytes, */
#define VALUES_MAX  ((size_t)1024) /* and the lists of values */
#define COLUMNS_MAX 32

static size_t skip_space(const struct masker *s, size_t at)
{
    size_t end = at + 32;

    while (at < s->view.len && at < end && masker_is_space(masker_at(s, at)))
        at++;
    return at;
}

/* Behind the string or word at `at`. */
static size_t item_end(const struct masker *s, size_t at, size_t limit)
{
    unsigned char quote = masker_at(s, at);
    size_t i = at;

    if (!masker_is_in("'\"", quote)) {
        while (i < s->view.len && i < limit && !masker_is_in(",)\n", masker_at(s, i)))
            i++;
        return i;
    }
    for (i++; i < s->view.len && i < limit; i++) {
        if (masker_at(s, i) == '\\')
            i++;
        else if (masker_at(s, i) == quote)
            return i + 1;
    }
    return i;
}

/* INSERT INTO api_keys: the table is one of secrets. */
static bool keys_in(const struct masker *s, size_t start, size_t end)
{
    size_t word = end;

    while (word > start && end - word < 40 &&
           (masker_is_alnum(masker_at(s, word - 1)) || masker_at(s, word - 1) == '_'))
        word--;
    masker_charge(s, 2 * (end - word));
    return masker_name_of(masker_view(s, word), end - word) != NAME_NONE;
}

/* The blank in "Auth Token". */
static bool is_between_words(const struct masker *s, size_t at)
{
    return masker_at(s, at) == ' ' && at + 1 < s->view.len && masker_is_alnum(masker_at(s, at + 1));
}

/* Reads the names up to the bracket. Returns where it is; 0: there is none; SIZE_MAX: more. */
static size_t read_names(const struct masker *s, size_t at, bool has_keys, enum masker_name *names,
                         unsigned *ret_count)
{
    size_t begin = at, limit = at + NAMES_MAX;
    unsigned n = 0;

    while (n < COLUMNS_MAX && at < limit) {
        size_t start, end;

        while (at < s->view.len && masker_is_in(" \t\r\n`\"[", masker_at(s, at)))
            at++;
        for (start = at; at < s->view.len && at < limit &&
                         (masker_is_alnum(masker_at(s, at)) || masker_at(s, at) == '_' ||
                          masker_at(s, at) >= 0x80 || is_between_words(s, at));)
            at++;
        end = at;
        while (at < s->view.len && masker_is_in(" \t\r\n`\"]", masker_at(s, at)))
            at++;
        masker_charge(s, at - begin);
        begin = at;
        if (masker_is_open(s, at))
            return SIZE_MAX;
        if (end == start || at >= s->view.len || !masker_is_in(",)", masker_at(s, at)))
            return 0;
        names[n] = masker_name_of(masker_view(s, start), end - start);
        if (has_keys && names[n] == NAME_NONE && masker_is_listed(s, start, end, "key value hash"))
            names[n] = NAME_TOKEN;
        n++;
        if (masker_at(s, at++) == ')') {
            *ret_count = n;
            return at;
        }
    }
    return 0;
}

/* Reads the values of one row, behind its bracket. Returns as above. */
static size_t read_values(struct masker *s, unsigned kind, size_t from, size_t at, size_t limit,
                          const enum masker_name *names, unsigned count)
{
    for (unsigned n = 0; n < count && at < limit; n++) {
        size_t start = skip_space(s, at), end;
        struct masker_value value = {.is_quoted = true};

        if (masker_is_open(s, start))
            return SIZE_MAX;
        end = start < s->view.len ? item_end(s, start, limit) : start;
        masker_charge(s, end - at + 1);
        if (masker_is_open(s, end)) {
            masker_wait(s, kind, from, start);
            return SIZE_MAX;
        }
        if (names[n] != NAME_NONE && end > start + 2 && masker_is_in("'\"", masker_at(s, start))) {
            value.start = start + 1;
            value.end = end - 1;
            if (masker_is_secret_value(s, names[n], &value))
                masker_found(s, kind, from, value.start, value.end);
        }
        at = skip_space(s, end);
        if (masker_is_open(s, at))
            return SIZE_MAX;
        if (at >= s->view.len || !masker_is_in(",)", masker_at(s, at)))
            return 0;
        at++;
    }
    return at < limit ? at : 0;
}

static bool is_word(const struct masker *s, size_t at, const char *word)
{
    size_t len = strlen(word);

    return at + len <= s->view.len && strncasecmp(masker_view(s, at), word, len) == 0;
}

static void match_insert(struct masker *s, unsigned kind, size_t from, size_t to)
{
    enum masker_name names[COLUMNS_MAX];
    size_t at = to, limit, table;
    unsigned count = 0;

    while (at < s->view.len && at - to < 80 && !masker_is_in("(;\n", masker_at(s, at)))
        at++;
    masker_charge(s, at - to);
    if (masker_is_open(s, at))
        goto wait;
    if (at >= s->view.len || masker_at(s, at) != '(')
        return;
    for (table = at; table > to && masker_is_in(" `\"", masker_at(s, table - 1));)
        table--;
    at = read_names(s, at + 1, keys_in(s, to, table), names, &count);
    if (at == SIZE_MAX)
        goto wait;
    if (!at)
        return;
    at = skip_space(s, at);
    if (masker_is_open(s, at + 6))
        goto wait;
    if (!is_word(s, at, "values"))
        return;
    for (at += 6, limit = at + VALUES_MAX; at < limit;) {
        while (at < s->view.len && at < limit && masker_is_in(" \t\r\n,", masker_at(s, at)))
            at++;
        if (masker_is_open(s, at))
            goto wait;
        if (at >= s->view.len || masker_at(s, at) != '(')
            return;
        at = read_values(s, kind, from, at + 1, limit, names, count);
        if (at == SIZE_MAX)
            goto wait;
        if (!at)
            return;
    }
    return;
wait:
    masker_wait(s, kind, from, s->view.len);
}

/* IDENTIFIED BY X, as some systems write it. */
static void match_bare(struct masker *s, unsigned kind, size_t from, size_t start)
{
    struct masker_value value = {
        .start = start, .end = start, .is_constant = true, .is_data = true};

    while (value.end < s->view.len && value.end - start < MASKER_JUDGE_MAX &&
           !masker_is_space(masker_at(s, value.end)) &&
           !masker_is_in(";,'\")", masker_at(s, value.end)))
        value.end++;
    masker_charge(s, value.end - start);
    if (masker_is_open(s, value.end))
        masker_wait(s, kind, from, start);
    else if (masker_near(s, from, "user role grant link connect database") &&
             masker_is_unlike_words(s, start, value.end) &&
             masker_is_secret_value(s, NAME_SECRET, &value))
        masker_found(s, kind, from, start, value.end);
}

void masker_match_sql(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct masker_value value = {.is_quoted = true};
    size_t end;

    if (masker_is_at(s, from, "insert") || masker_is_at(s, from, "replace")) {
        match_insert(s, kind, from, to);
        return;
    }
    to = skip_space(s, to);
    if (masker_is_at(s, from, "identified with")) { /* a plugin BY 'X' */
        size_t word = to;

        while (to < s->view.len && to - word < 40 &&
               (masker_is_alnum(masker_at(s, to)) || masker_is_in("_'`\"", masker_at(s, to))))
            to++;
        to = skip_space(s, to);
        masker_charge(s, to - word);
        if (!masker_is_open(s, to + 2) && !masker_is_at(s, to, "by") && !masker_is_at(s, to, "as"))
            return;
        to = skip_space(s, to + 2 < s->view.len ? to + 2 : s->view.len);
    }
    if (masker_is_open(s, to + 1)) {
        masker_wait(s, kind, from, s->view.len);
        return;
    }
    if (to < s->view.len && masker_is_alnum(masker_at(s, to))) {
        match_bare(s, kind, from, to);
        return;
    }
    if (to >= s->view.len || !masker_is_in("'\"", masker_at(s, to)))
        return;
    end = item_end(s, to, to + VALUES_MAX);
    masker_charge(s, end - to);
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, to + 1);
        return;
    }
    value.start = to + 1;
    value.end = end - 1;
    value.is_quoted = masker_near(s, from, "user role grant");
    if (end > to + 2 && masker_is_secret_value(s, NAME_SECRET, &value))
        masker_found(s, kind, from, value.start, value.end);
}
