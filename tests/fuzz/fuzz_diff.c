/* Two texts, parted by the first NUL: what their diff says, done to the one, gives the other, and
 * the counts are those of its lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct patch {
    const char *at, *end; /* of the diff */
    const char *old, *old_end;
    struct buf out;
    size_t added, removed;
};

static size_t line_len(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));

    return newline ? (size_t)(newline - at) + 1 : (size_t)(end - at);
}

static void copy_old(struct patch *p)
{
    size_t n = line_len(p->old, p->old_end);

    if (n == 0 || buf_add(&p->out, p->old, n, NULL) < 0)
        abort();
    p->old += n;
}

/* "@@ -FROM,COUNT …": everything before that line is the same. */
static void enter_hunk(struct patch *p, const char *old)
{
    char *end;
    size_t from = strtoull(p->at + 4, &end, 10), count = strtoull(end + 1, NULL, 10), line = 1;

    for (const char *c = old; c < p->old; c++)
        line += *c == '\n';
    for (; line < from + (count == 0); line++)
        copy_old(p);
    p->at += line_len(p->at, p->end);
}

static void one_line(struct patch *p)
{
    char sign = *p->at++;
    size_t n = line_len(p->at, p->end), own = n;
    static const char none[] = "\\ No newline at end of file\n";

    if ((size_t)(p->end - p->at) >= n + sizeof(none) - 1 &&
        memcmp(p->at + n, none, sizeof(none) - 1) == 0)
        own = n - 1;
    if (sign != '+') {
        size_t has = line_len(p->old, p->old_end);

        if (has != own || memcmp(p->old, p->at, own) != 0)
            abort();
        p->old += own;
    }
    if (sign != '-' && buf_add(&p->out, p->at, own, NULL) < 0)
        abort();
    p->added += sign == '+';
    p->removed += sign == '-';
    p->at += n + (own < n ? sizeof(none) - 1 : 0);
}

static void check(struct span old, struct span new)
{
    struct buf text;
    struct diff_count count;
    struct patch p = {0};

    buf_init(&text, SIZE_MAX / 2);
    buf_init(&p.out, SIZE_MAX / 2);
    if (diff_unified(old, new, &text, &count, NULL) < 0 || count.is_cut)
        abort();
    p.at = buf_str(&text);
    p.end = p.at + text.len;
    p.old = old.data;
    p.old_end = old.data + old.len;
    while (p.at < p.end) {
        if (*p.at == '@')
            enter_hunk(&p, old.data);
        else
            one_line(&p);
    }
    while (p.old < p.old_end)
        copy_old(&p);
    if (p.out.len != new.len || (new.len &&memcmp(p.out.data, new.data, new.len) != 0) ||
        p.added != count.added || p.removed != count.removed)
        abort();
    buf_done(&text);
    buf_done(&p.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const char *text = (const char *)data, *nul = len ? memchr(text, '\0', len) : NULL;
    size_t first = nul ? (size_t)(nul - text) : len;

    if (!len)
        return 0;
    check((struct span){text, first},
          (struct span){nul ? nul + 1 : text, nul ? len - first - 1 : 0});
    return 0;
}
