#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/run.h"
#include "base/utf8.h"

/* A path or a host name as it came, before it is masked: a secret that was cut would not be
 * recognised. */
#define RAW_MAX ((size_t)8 * KIB)

/* One line of valid UTF-8 without anything a terminal or the reader of a list could take for
 * something else: whoever shows it does not have to look at it again. Characters that nobody sees
 * are left out when it is masked, not before: the masker knows secrets that have such in them. */
static char *one_line(const char *text, size_t max, bool (*is_shown)(uint32_t c))
{
    cleanup(buf_done) struct buf out = {0};
    size_t len = strlen(text);

    buf_init(&out, max + sizeof("…"));
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        int n = utf8_decode(text + i, len - i, &c);
        bool is_good = n > 0 && is_shown(c);

        if (out.len + (is_good ? (size_t)n : 1) > max) {
            if (buf_add_str(&out, "…", NULL) < 0)
                return NULL;
            break;
        }
        if (buf_add(&out, is_good ? text + i : "?", is_good ? (size_t)n : 1, NULL) < 0)
            return NULL;
        i += n > 0 ? (size_t)n : 1;
    }
    return strdup(buf_str(&out));
}

static bool is_same(const struct run_denial *denial, const char *what, const char *layer)
{
    return strcmp(denial->what, what) == 0 && strcmp(denial->layer, layer) == 0;
}

bool run_denial_is_layer(const char *name)
{
    static const char *const names[] = {
        RUN_LAYER_TIME,  RUN_LAYER_MEMORY,    RUN_LAYER_NETWORK, RUN_LAYER_NETWORK_GATE,
        RUN_LAYER_WRITE, RUN_LAYER_CALL,      RUN_LAYER_FILTER,  RUN_LAYER_PROCESSES,
        RUN_LAYER_DISK,  RUN_LAYER_FILE_SIZE, RUN_LAYER_OUTPUT,  RUN_LAYER_DIRECTORIES,
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void denial_done(struct run_denial *denial)
{
    free(denial->what);
    free(denial->layer);
    free(denial->hint);
    *denial = (struct run_denial){0};
}

int run_deny(struct run *run, const char *what, const char *layer, const char *hint)
{
    cleanup_free char *line = one_line(what, RAW_MAX, utf8_is_harmless);
    struct run_denial *denial;

    for (size_t i = 0; line && i < run->result.n_denials; i++)
        if (!run->result.denials[i].is_clean && is_same(&run->result.denials[i], line, layer)) {
            run->result.denials[i].count++;
            return 0;
        }
    if (run->result.n_denials == LIMIT_DENIALS) {
        run->result.denials_more++;
        return 0;
    }
    if (!run->result.denials)
        run->result.denials = calloc(LIMIT_DENIALS, sizeof(*run->result.denials));
    if (!line || !run->result.denials)
        return -1;
    denial = &run->result.denials[run->result.n_denials];
    *denial = (struct run_denial){.what = take_ptr(line),
                                  .layer = strdup(layer),
                                  .hint = hint ? one_line(hint, RAW_MAX, utf8_is_harmless) : NULL,
                                  .count = 1};
    if (!denial->layer || (hint && !denial->hint)) {
        denial_done(denial);
        return -1;
    }
    run->result.n_denials++;
    return 0;
}

/* Replaces *text by its masked form. Without memory for that it is not kept at all. */
static bool replace(char **text, struct clean_text masked)
{
    cleanup_free char *raw = strndup(clean_data(masked), clean_len(masked));

    free(*text);
    *text = raw ? one_line(raw, LIMIT_DENIAL_BYTES, utf8_is_visible) : NULL;
    return *text != NULL;
}

void run_mask_denials(struct run *run,
                      struct clean_text (*mask)(struct run *run, const char *text, size_t len))
{
    size_t kept = 0;

    for (size_t i = 0; i < run->result.n_denials; i++) {
        struct run_denial denial = run->result.denials[i];

        if (!denial.is_clean &&
            (!replace(&denial.what, mask(run, denial.what, strlen(denial.what))) ||
             (denial.hint &&
              !replace(&denial.hint, mask(run, denial.hint, strlen(denial.hint)))))) {
            denial_done(&denial);
            run->result.denials_more++;
            continue;
        }
        denial.is_clean = true;
        run->result.denials[kept++] = denial;
    }
    run->result.n_denials = kept;
}

const char *run_denial_word(const struct run_denial *denial)
{
    return strcmp(denial->layer, RUN_LAYER_NETWORK) == 0 ? "failed" : "denied";
}

bool run_denial_is_status(const struct run *run, const struct run_denial *denial)
{
    return (run->result.status == RUN_TIMEOUT && strcmp(denial->layer, RUN_LAYER_TIME) == 0) ||
           (run->result.status == RUN_MEMORY_EXCEEDED &&
            strcmp(denial->layer, RUN_LAYER_MEMORY) == 0);
}

void run_free_denials(struct run *run)
{
    for (size_t i = 0; i < run->result.n_denials; i++)
        denial_done(&run->result.denials[i]);
    free(run->result.denials);
    run->result.denials = NULL;
    run->result.n_denials = 0;
}
