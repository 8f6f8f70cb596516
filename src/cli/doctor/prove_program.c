#include "cli/doctor/prove_program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

void program_done(struct program *p)
{
    free(p->header);
    buf_done(&p->source);
}

static void add_text(const char **texts, const char *value)
{
    for (size_t i = 0; i < PROGRAM_TEXTS_MAX; i++)
        if (!texts[i]) {
            texts[i] = value;
            return;
        }
}

static void set_key(struct program *p, const char *key, const char *value)
{
    const struct {
        const char *name;
        const char **place;
    } places[] = {
        {"id", &p->id},
        {"category", &p->category},
        {"profile", &p->profile},
        {"expect", &p->expect},
        {"limits", &p->limits},
        {"process", &p->process},
        {"uncovered", &p->uncovered},
    };

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strcmp(key, places[i].name) == 0)
            *places[i].place = value;
    if (strcmp(key, "require") == 0)
        add_text(p->require, value);
    else if (strcmp(key, "forbid") == 0)
        add_text(p->forbid, value);
    else if (strcmp(key, "runs") == 0)
        p->runs = strtol(value, NULL, 10);
    else if (strcmp(key, "differ") == 0)
        p->must_differ = true;
    else if (strcmp(key, "grant") == 0)
        p->has_grants = strcmp(value, "ro") == 0;
    else if (strcmp(key, "needs") == 0)
        p->needs_cgroup = strcmp(value, "cgroup") == 0;
}

static bool is_comment(const char *line)
{
    return *line == '#' || strncmp(line, "//", 2) == 0;
}

/* A program that accepts success and something else besides proves nothing by its end alone. */
static bool can_fail(const struct program *p, const char *raw)
{
    bool accepts_all = strchr(p->expect, ' ') && strstr(p->expect, "success");
    const char *body = raw;

    while (is_comment(body) && strchr(body, '\n')) /* the promises themselves show nothing */
        body = strchr(body, '\n') + 1;
    return !accepts_all || p->require[0] || p->forbid[0] || p->must_differ || bait_is_in(body);
}

int program_load(const char *path, const struct bait *bait, struct program *p, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    cleanup(buf_done) struct buf raw = BUF_OF(LIMIT_CODE_BYTES);
    char *rest, *line;

    *p = (struct program){.limits = "", .runs = 1};
    p->language = (enum run_language)language_of_file(path); /* find_corpus() takes no others */
    buf_init(&p->source, 4 * LIMIT_CODE_BYTES);
    if (fd < 0)
        return error_errno(err, "open %s", path);
    if (buf_read_fd(&raw, fd, err) < 0 ||
        bait_fill_in(bait, buf_str(&raw), raw.len, &p->source, err) < 0)
        return error_wrap(err, "%s", path);
    rest = p->header = strdup(buf_str(&p->source));
    while (rest && (line = strsep(&rest, "\n")) && is_comment(line)) {
        char *colon = strstr(line, ": ");

        line += strspn(line, "#/");
        if (!colon || *line++ != ' ')
            continue;
        *colon = '\0';
        if (p->id || strcmp(line, "id") == 0) /* a coding line may stand before it */
            set_key(p, line, colon + 2);
    }
    if (!p->header)
        return error_memory(err);
    if (!p->id || !p->category || !p->profile || !p->expect)
        return error_set(err, E_INVALID, "%s: id, category, profile or expect is missing", path);
    if (!can_fail(p, buf_str(&raw))) {
        error_set(err, E_INVALID, "%s: cannot fail", path);
        return error_hint(
            err, "let it expect one status, or give it a marker, bait, a `require` or a `forbid`");
    }
    return 0;
}
