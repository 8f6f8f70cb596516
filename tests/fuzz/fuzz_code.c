/* Any bytes as a Python file: tokens, outline, names and scans end, and what they say
 * lies in the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "library/code/lex.h"
#include "library/code/names.h"
#include "library/code/outline.h"
#include "library/code/scan.h"
#include "library/code/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_tokens(const char *text, size_t len)
{
    struct lex lex;
    struct lex_token t;
    uint32_t last = 0;

    lex_init(&lex, text, len);
    do {
        lex_next(&lex, &t);
        if (t.start > t.end || t.end > len || t.start < last)
            abort();
        last = t.start;
    } while (t.kind != LEX_END && t.kind != LEX_BAD);
}

static void read_outline(const char *text, size_t len)
{
    struct outline o = {0};

    outline_read(&o, text, len, OUTLINE_CALLS | OUTLINE_DOCSTRINGS);
    for (size_t i = 0; i < o.n_defs; i++)
        if (o.defs[i].name.at + o.defs[i].name.len > o.n_names ||
            (o.defs[i].parent != OUTLINE_NOWHERE && o.defs[i].parent >= i))
            abort();
    outline_done(&o);
}

/* Statements that are skipped where calls are not wanted change nothing of the rest. */
static void compare_outlines(const char *text, size_t len)
{
    struct outline all = {0}, some = {0};

    outline_read(&all, text, len, OUTLINE_CALLS);
    outline_read(&some, text, len, 0);
    if (all.n_defs != some.n_defs || all.n_imports != some.n_imports ||
        all.n_params != some.n_params || all.code_lines != some.code_lines ||
        all.comment_lines != some.comment_lines || all.branches != some.branches ||
        all.why != some.why || all.why_line != some.why_line)
        abort();
    for (size_t i = 0; i < all.n_defs; i++)
        if (all.defs[i].line != some.defs[i].line || all.defs[i].end_line != some.defs[i].end_line)
            abort();
    outline_done(&all);
    outline_done(&some);
}

static void check_events(const struct names *n, size_t len)
{
    for (size_t i = 0; i < n->n_events; i++) {
        const struct names_event *e = &n->events[i];
        uint32_t owner = names_owner(n, e->scope, e->name);

        if (e->start + e->len > len || e->scope >= n->n_scopes || e->name >= n->n_words ||
            e->order >= n->order || (owner != NAMES_NOWHERE && owner >= n->n_scopes))
            abort();
    }
}

static void read_names(const char *text, size_t len)
{
    struct names n = {0};
    uint32_t *unused;

    names_read(&n, text, len);
    names_resolve(&n);
    check_events(&n, len);
    for (uint32_t i = 0; i < n.n_words && i < 4; i++)
        (void)names_conflict(&n, i, n.n_words > i + 1 ? i + 1 : 0, NAMES_RENAME_ALL);
    unused = calloc(n.n_imports + 1, sizeof(*unused));
    if (!unused || names_unused(&n, unused) > n.n_imports)
        abort();
    free(unused);
    names_done(&n);
}

/* The kept entries of a file agree with the counts. */
static void scan(const char *text, size_t len, enum scan_what what, const char *pattern)
{
    struct scan_query query = {.what = what,
                               .pattern = pattern,
                               .limit = SIZE_MAX,
                               .pattern_len = pattern ? strlen(pattern) : 0};
    struct scan_worker *worker = scan_worker_new();
    struct scan_file kept = {.path = "a.py"}, counted = {.path = "a.py"};

    if (!worker || !scan_text(&query, worker, &kept, text, len))
        abort();
    query.is_counting = true;
    if (!scan_text(&query, worker, &counted, text, len) || counted.state != kept.state)
        abort();
    if (what != SCAN_IMPORTS && counted.count != kept.count)
        abort();
    if (what == SCAN_UNUSED && kept.count && (!kept.unused || kept.unused->count != kept.count))
        abort();
    for (size_t i = 0; kept.found && i < kept.found->n_defs; i++)
        if (kept.found->defs[i].docstring.at + kept.found->defs[i].docstring.len >
            kept.found->n_names)
            abort();
    free(kept.found);
    free(kept.unused);
    free(counted.found);
    scan_worker_free(worker);
}

static void summarize(const char *text, size_t len)
{
    char summary[SUMMARY_BYTES];
    size_t summary_len = 0;

    if (summary_make(text, len, summary, &summary_len) && summary_len > sizeof(summary))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const char *text = (const char *)data;

    read_tokens(text, len);
    read_outline(text, len);
    compare_outlines(text, len);
    read_names(text, len);
    for (int what = SCAN_FUNCTIONS; what <= SCAN_BYTES; what++) {
        scan(text, len, (enum scan_what)what, "a");
        if (what != SCAN_BYTES)
            scan(text, len, (enum scan_what)what, NULL);
    }
    summarize(text, len);
    return 0;
}
