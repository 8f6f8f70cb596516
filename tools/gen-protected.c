/* gen-protected [--check FILE]: the table of protected names as Markdown, by reason; or whether
 * FILE has exactly that between its two marks. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "sandbox/protected.h"

#define BEGIN "<!-- begin: protected names -->\n"
#define END   "<!-- end: protected names -->\n"
#define LIMIT ((size_t)1 << 20)

static int by_reason(const void *a, const void *b)
{
    const struct protected_name *left = a, *right = b;
    int order = strcmp(left->reason, right->reason);

    return order ? order : strcmp(left->pattern, right->pattern);
}

/* "tools/bazel" reads like a path from here. */
static bool is_plain(const char *pattern)
{
    return pattern[0] != '.' && pattern[0] != '/' && strchr(pattern, '/');
}

static int write_table(struct buf *out)
{
    size_t count;
    const struct protected_name *rows = protected_names(&count);
    cleanup_free struct protected_name *sorted = malloc(count * sizeof(*sorted));

    if (!sorted)
        return -1;
    memcpy(sorted, rows, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_reason);
    if (buf_add_str(out, "| because | names |\n| --- | --- |\n", NULL) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        bool is_first = i == 0 || strcmp(sorted[i].reason, sorted[i - 1].reason) != 0;
        bool is_last = i + 1 == count || strcmp(sorted[i].reason, sorted[i + 1].reason) != 0;

        if ((is_first && buf_printf(out, NULL, "| %s |", sorted[i].reason) < 0) ||
            buf_printf(out, NULL, " `%s%s`", is_plain(sorted[i].pattern) ? "…/" : "",
                       sorted[i].pattern) < 0 ||
            (is_last && buf_add_str(out, " |\n", NULL) < 0))
            return -1;
    }
    return 0;
}

static int check(const char *path, const struct buf *table)
{
    cleanup(buf_done) struct buf text = {0};
    cleanup_fclose FILE *file = fopen(path, "re");
    const char *begin, *end;

    buf_init(&text, LIMIT);
    if (!file || buf_read_fd(&text, fileno(file), NULL) < 0) {
        (void)fprintf(stderr, "gen-protected: cannot read %s\n", path);
        return 1;
    }
    begin = strstr(buf_str(&text), BEGIN);
    end = begin ? strstr(begin, END) : NULL;
    if (end && (size_t)(end - begin) - strlen(BEGIN) == table->len &&
        memcmp(begin + strlen(BEGIN), table->data, table->len) == 0)
        return 0;
    (void)fprintf(stderr,
                  "gen-protected: %s does not have the names of the table; run this without "
                  "--check and put its output between the marks\n",
                  path);
    return 1;
}

int main(int argc, char **argv)
{
    cleanup(buf_done) struct buf table = {0};

    buf_init(&table, LIMIT);
    if (write_table(&table) < 0)
        return 1;
    if (argc == 3 && strcmp(argv[1], "--check") == 0)
        return check(argv[2], &table);
    return fputs(buf_str(&table), stdout) < 0;
}
