#include "base/hint.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

#define HINT_MAX (16 * KIB)

#define FOR_OPERATOR "only the operator can change this; do without it, or ask the user"

#define FOR_NETWORK                                                                                \
    "code reaches only hosts that the operator granted; do without it, or ask the user"

static bool has(struct span clause, const char *word)
{
    return memmem(clause.data, clause.len, word, strlen(word)) != NULL;
}

static bool has_any(struct span clause, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has(clause, words[i]))
            return true;
    return false;
}

static bool begins(struct span clause, const char *word)
{
    return clause.len >= strlen(word) && memcmp(clause.data, word, strlen(word)) == 0;
}

/* --- kinds of clauses --- */

static hint_tool_fn is_tool;

void hint_know_tools(hint_tool_fn fn)
{
    is_tool = fn;
}

/* A whole word: `api.filesystem.read_file` is a function, `/srv/read_file` a directory. */
static bool names_tool(struct span clause)
{
    for (size_t at = 0; is_tool && at < clause.len;) {
        size_t len = 0;

        while (at + len < clause.len && (isalnum((unsigned char)clause.data[at + len]) ||
                                         strchr("_./-", clause.data[at + len])))
            len++;
        if (len && is_tool(clause.data + at, len))
            return true;
        at += len ? len : 1;
    }
    return false;
}

static bool names_option(struct span clause)
{
    static const char *const words[] = {"`--", " --", "(--"};

    return has_any(clause, words, ARRAY_SIZE(words)) || begins(clause, "--");
}

static bool names_command(struct span clause)
{
    static const char *const words[] = {"`belljar", "run belljar", "belljar token", "belljar undo"};

    return has_any(clause, words, ARRAY_SIZE(words));
}

static bool names_request(struct span clause)
{
    static const char *const words[] = {"of the request", "in the request", "GET /", "POST /"};

    return has_any(clause, words, ARRAY_SIZE(words));
}

/* A line of a notebook's. `belljar run FILE` understands it, too, but Python's own tools do not. */
static bool names_cell(struct span clause)
{
    return has(clause, "in the cell");
}

/* Only whoever started Belljar can do this. */
static bool is_operators(struct span clause)
{
    static const char *const words[] = {"in the settings",
                                        "configuration",
                                        "XDG_",
                                        "the operator",
                                        "[grants]",
                                        "[servers",
                                        "[functions",
                                        "[environments",
                                        "use the profile",
                                        "profile `",
                                        "choose a profile",
                                        "do it yourself",
                                        "grant the directory",
                                        "grant it",
                                        "grant a ",
                                        "grant fewer",
                                        "have `max_",
                                        "have the right",
                                        "`session_evict`",
                                        "`preload`",
                                        "`undo_",
                                        "`trail"};

    return has_any(clause, words, ARRAY_SIZE(words));
}

/* "raise `timeout_s`", "pass `stdin`": for those who have that field. */
static bool lacks_field(const struct hint_view *view, struct span clause)
{
    const char *open, *close;

    if (!begins(clause, "raise `") && !begins(clause, "pass `"))
        return false;
    open = (const char *)memchr(clause.data, '`', clause.len) + 1;
    close = memchr(open, '`', clause.len - (size_t)(open - clause.data));
    /* Hosts are chosen when a session is opened, among those that are granted. */
    return !close || begins((struct span){open, (size_t)(close - open)}, "net") ||
           !view->has_field || !view->has_field(view->user, open, (size_t)(close - open));
}

/* "pass `language`": a field of a request that no option stands for. */
static bool is_only_field(struct span clause)
{
    return begins(clause, "pass `") && !names_option(clause);
}

static bool is_for(const struct hint_view *view, struct span clause)
{
    bool asks_user = begins(clause, "ask the user");

    switch (view->reader) {
    case HINT_FOR_ALL:
        return true;
    case HINT_FOR_CLI:
        return !asks_user && !names_tool(clause) && !names_cell(clause) && !is_only_field(clause) &&
               (names_option(clause) || !names_request(clause));
    case HINT_FOR_HTTP:
        return !asks_user && !names_tool(clause) && !names_option(clause) && !names_command(clause);
    case HINT_FOR_MODEL:
        break;
    }
    return !names_option(clause) && !names_command(clause) && !names_request(clause) &&
           !is_operators(clause) && !lacks_field(view, clause);
}

/* --- the text --- */

/* "`timeout_s` (`--timeout`)" becomes one of the two. */
static int add_pair(const struct hint_view *view, struct span clause, struct buf *out)
{
    static const char middle[] = "` (`--";
    const char *at = memmem(clause.data, clause.len, middle, sizeof(middle) - 1);
    const char *open = at, *option = at ? at + 3 : NULL;
    const char *close =
        at ? memmem(option, clause.len - (size_t)(option - clause.data), "`)", 2) : NULL;

    while (open && open > clause.data && open[-1] != '`')
        open--;
    if (!close || open == clause.data)
        return buf_add(out, clause.data, clause.len, NULL);
    open--; /* its quotation mark */
    if (buf_add(out, clause.data, (size_t)(open - clause.data), NULL) < 0 ||
        (view->reader == HINT_FOR_CLI ? buf_add(out, option, (size_t)(close + 1 - option), NULL)
                                      : buf_add(out, open, (size_t)(at + 1 - open), NULL)) < 0)
        return -1;
    return buf_add(out, close + 2, clause.len - (size_t)(close + 2 - clause.data), NULL);
}

/* Returns the beginning of the next clause, or NULL; also the length of this one, and what is
 * between them. Between quotation marks nothing ends: that may be anybody's file name. */
static const char *next_clause(const char *text, size_t *ret_len, const char **ret_joint)
{
    static const char *const joints[] = {"; ", ", or "};
    bool is_quoted = false;
    const char *at = text;

    for (; *at; at++) {
        is_quoted ^= *at == '`';
        for (size_t i = 0; !is_quoted && i < ARRAY_SIZE(joints); i++)
            if (strncmp(at, joints[i], strlen(joints[i])) == 0) {
                *ret_joint = joints[i];
                *ret_len = (size_t)(at - text);
                return at + strlen(joints[i]);
            }
    }
    *ret_len = (size_t)(at - text);
    return NULL;
}

/* Names of settings, fields and options; everything else between quotation marks is a name that
 * somebody chose. */
static bool is_ours(struct span quoted)
{
    size_t len = 0;

    if (begins(quoted, "--") || begins(quoted, "belljar"))
        return true;
    while (len < quoted.len &&
           (islower((unsigned char)quoted.data[len]) || isdigit((unsigned char)quoted.data[len]) ||
            quoted.data[len] == '_'))
        len++;
    return len == quoted.len && !(is_tool && is_tool(quoted.data, quoted.len));
}

/* Blanks out names that somebody chose, so that they do not decide whom a clause is for. */
static void blank_names(struct buf *clause)
{
    char *end = clause->data + clause->len;

    for (char *open = memchr(clause->data, '`', clause->len); open;) {
        char *close = memchr(open + 1, '`', (size_t)(end - open - 1));

        if (!close)
            return;
        if (!is_ours((struct span){open + 1, (size_t)(close - open - 1)}))
            memset(open + 1, '.', (size_t)(close - open - 1));
        open = memchr(close + 1, '`', (size_t)(end - close - 1));
    }
}

static int add_clause(const struct hint_view *view, struct span clause, const char *joint,
                      struct buf *out)
{
    cleanup(buf_done) struct buf own = BUF_OF(HINT_MAX), bare = BUF_OF(HINT_MAX);

    if (add_pair(view, clause, &own) < 0 || buf_add(&bare, buf_str(&own), own.len, NULL) < 0)
        return -1;
    if (bare.len)
        blank_names(&bare);
    if (!is_for(view, (struct span){buf_str(&bare), bare.len}))
        return 0;
    if (out->len && buf_add_str(out, joint, NULL) < 0)
        return -1;
    return buf_add(out, buf_str(&own), own.len, NULL);
}

int hint_add(const struct hint_view *view, const char *hint, struct buf *out)
{
    cleanup(buf_done) struct buf kept = BUF_OF(HINT_MAX);
    const char *at = hint, *joint = "", *next_joint = "";

    if (view->reader == HINT_FOR_ALL)
        return buf_add_str(out, hint, NULL);
    while (at) {
        size_t len = 0;
        const char *next = next_clause(at, &len, &next_joint);

        if (add_clause(view, (struct span){at, len}, joint, &kept) < 0)
            return -1;
        joint = next_joint;
        at = next;
    }
    if (kept.len)
        return buf_add(out, kept.data, kept.len, NULL);
    if (view->reader == HINT_FOR_HTTP) /* whoever writes a client may have a terminal */
        return hint_add(&(struct hint_view){.reader = HINT_FOR_CLI}, hint, out);
    if (view->reader == HINT_FOR_CLI)
        return buf_add_str(out, hint, NULL);
    return buf_add_str(out, strstr(hint, "--net ") ? FOR_NETWORK : FOR_OPERATOR, NULL);
}

char *hint_text(enum hint_reader reader, const char *hint)
{
    cleanup(buf_done) struct buf text = BUF_OF(HINT_MAX);

    if (!hint)
        return NULL;
    if (hint_add(&(struct hint_view){.reader = reader}, hint, &text) < 0)
        return strdup(hint);
    return strdup(buf_str(&text));
}
