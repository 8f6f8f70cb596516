#include "base/run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/net.h"
#include "base/shared.h"
#include "base/stream.h"

static const struct {
    const char *name;
    int exit;
} statuses[] = {
#define X(status, name, exit) [status] = {name, exit},
    RUN_STATUSES(X)
#undef X
};

struct run *run_new(void)
{
    struct run *run = calloc(1, sizeof(*run));

    if (!run)
        return NULL;
    if (id_make(run->id, "run_") < 0) {
        free(run);
        return NULL;
    }
    run_terms_init(&run->terms);
    buf_init(&run->program.code, LIMIT_CODE_BYTES);
    buf_init(&run->program.input, LIMIT_STDIN_BYTES);
    buf_init(&run->program.typed, LIMIT_STDIN_BYTES);
    run_stream_init(&run->result.out, run->terms.limits.output_bytes);
    run_stream_init(&run->result.err, run->terms.limits.output_bytes);
    return run;
}

static void free_violations(struct run_result *result)
{
    for (size_t i = 0; i < result->n_violations; i++) {
        struct run_violation *v = &result->violations[i];

        free(v->rule);
        free(v->name);
        free(v->message);
        free(v->hint);
    }
    free(result->violations);
}

static void display_done(struct run_display *display)
{
    for (size_t i = 0; i < display->n_forms; i++) {
        free(display->forms[i].mime);
        free(display->forms[i].data);
    }
    free(display->forms);
    free(display->metadata);
}

static char *copy_bytes(struct span s)
{
    char *copy = malloc(s.len + 1);

    if (copy) {
        if (s.len)
            memcpy(copy, s.data, s.len);
        copy[s.len] = '\0';
    }
    return copy;
}

static int copy_display(struct run_display *display, const struct wire_display *shown)
{
    display->forms = calloc(shown->count ? shown->count : 1, sizeof(*display->forms));
    if (!display->forms)
        return -1;
    for (uint32_t i = 0; i < shown->count; i++) {
        struct run_form *form = &display->forms[display->n_forms++];

        *form = (struct run_form){span_dup(shown->forms[i].mime), copy_bytes(shown->forms[i].data),
                                  shown->forms[i].data.len};
        if (!form->mime || !form->data)
            return -1;
    }
    display->metadata = shown->metadata.len ? span_dup(shown->metadata) : NULL;
    return 0;
}

static size_t bytes_of(const struct wire_display *shown)
{
    size_t bytes = shown->metadata.len;

    for (uint32_t i = 0; i < shown->count; i++)
        bytes += shown->forms[i].mime.len + shown->forms[i].data.len;
    return bytes;
}

const struct run_display *run_add_display(struct run *run, const struct wire_display *shown)
{
    struct run_display display = {0};
    size_t bytes = bytes_of(shown);

    if (!run->result.displays)
        run->result.displays = calloc(LIMIT_DISPLAYS, sizeof(*run->result.displays));
    if (!run->result.displays || run->result.n_displays == LIMIT_DISPLAYS ||
        bytes > LIMIT_DISPLAY_BYTES - run->result.display_bytes ||
        copy_display(&display, shown) < 0) {
        display_done(&display);
        run->result.displays_more++;
        return NULL;
    }
    run->result.display_bytes += bytes;
    run->result.displays[run->result.n_displays] = display;
    return &run->result.displays[run->result.n_displays++];
}

const struct run_form *run_display_form(const struct run_display *display, const char *mime)
{
    for (size_t i = 0; i < display->n_forms; i++)
        if (strcmp(display->forms[i].mime, mime) == 0)
            return &display->forms[i];
    return NULL;
}

static void free_files(struct run_result *result)
{
    for (size_t i = 0; i < result->n_files; i++)
        free(result->files[i].path);
    free(result->files);
}

static int give(struct run *run, const struct run_given *file, struct error *err)
{
    struct run_given *copy;

    if (!run->program.given)
        run->program.given =
            calloc(LIMIT_FILES_GIVEN + LIMIT_SKILLS_GIVEN, sizeof(*run->program.given));
    if (!run->program.given)
        return error_memory(err);
    copy = &run->program.given[run->program.n_given++];
    *copy = *file;
    copy->path = strdup(file->path);
    if (file->owner)
        (void)shared_ref(file->owner);
    else
        copy->data = copy_bytes((struct span){file->data, file->len});
    return copy->path && copy->data ? 0 : error_memory(err);
}

int run_give_file(struct run *run, const struct run_given *file, struct error *err)
{
    if (run->program.n_given >= LIMIT_FILES_GIVEN)
        return error_set(err, E_TOO_LARGE, "the request has more than %d files", LIMIT_FILES_GIVEN);
    return give(run, file, err);
}

int run_give_skill(struct run *run, const struct run_given *file, struct error *err)
{
    if (run->program.n_given >= LIMIT_FILES_GIVEN + LIMIT_SKILLS_GIVEN)
        return error_set(err, E_TOO_LARGE, "the skills of the program have more than %d files",
                         LIMIT_SKILLS_GIVEN);
    return give(run, file, err);
}

void run_drop_given(struct run *run)
{
    for (size_t i = 0; i < run->program.n_given; i++) {
        free(run->program.given[i].path);
        if (run->program.given[i].owner)
            shared_unref(run->program.given[i].owner);
        else
            free(run->program.given[i].data);
    }
    free(run->program.given);
    run->program.given = NULL;
    run->program.n_given = 0;
}

static void free_collected(struct run_result *result)
{
    for (size_t i = 0; i < result->n_collected; i++) {
        free(result->collected[i].path);
        free(result->collected[i].data);
    }
    free(result->collected);
}

static void free_traffic(struct run_traffic *traffic)
{
    for (size_t i = 0; traffic && i < traffic->n_refused; i++) {
        free(traffic->refused[i].host);
        free(traffic->refused[i].why);
        free(traffic->refused[i].grant);
    }
    free(traffic);
}

static void result_done(struct run_result *result)
{
    free_collected(result);
    free_traffic(result->traffic);
    error_done(&result->error);
    run_stream_done(&result->out);
    run_stream_done(&result->err);
    free(result->directory);
    free(result->value_text);
    free(result->value_json);
    free(result->exception.name);
    free(result->exception.message);
    free(result->exception.traceback);
    free(result->exception.hint);
    free(result->hint);
    free_violations(result);
    free_files(result);
    for (size_t i = 0; i < result->n_displays; i++)
        display_done(&result->displays[i]);
    free(result->displays);
    free(result->receipt);
}

void run_free(struct run *run)
{
    if (!run)
        return;
    buf_done(&run->program.code);
    buf_done(&run->program.input);
    buf_done(&run->program.typed);
    run_strings_free(run->program.args);
    free(run->program.script);
    run_strings_free(run->program.collect);
    run_drop_given(run);
    run_terms_done(&run->terms);
    run_free_denials(run);
    result_done(&run->result);
    free(run);
}

const char *run_grant_mode_name(enum run_grant_mode mode)
{
    static const char *const names[] = {
        [RUN_GRANT_RO] = "ro", [RUN_GRANT_RW] = "rw", [RUN_GRANT_COW] = "cow"};

    return names[mode];
}

const char *run_language_name(enum run_language language)
{
    return languages[language].name;
}

const char *run_status_name(enum run_status status)
{
    return statuses[status].name;
}

const char *run_state_name(enum run_state state)
{
    static const char *const names[] = {[RUN_STATE_NONE] = NULL,
                                        [RUN_STATE_KEPT] = "kept",
                                        [RUN_STATE_LOST] = "lost",
                                        [RUN_STATE_FRESH] = "fresh"};

    return names[state];
}

int run_status_exit(const struct run *run)
{
    int code = statuses[run->result.status].exit;

    if (code >= 0)
        return code;
    if (run->result.signal)
        return 128 + run->result.signal;
    /* `error` never looks like success, whatever code came with it. */
    code = run->result.exit_code & 0xff;
    return code ? code : 1;
}

void run_program_name(const char *path, char name[RUN_PROGRAM_NAME_MAX])
{
    const char *slash = strrchr(path, '/');

    (void)snprintf(name, RUN_PROGRAM_NAME_MAX, "%s", slash ? slash + 1 : path);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-+", *c))
            *c = '_';
}

void run_set_keeper(struct run *run, struct store *store, const char *owner)
{
    run->origin.store = store;
    (void)snprintf(run->origin.keeper, sizeof(run->origin.keeper), "%s", owner);
}

const char *run_reach_name(uint32_t reach)
{
    static const char *const names[] = {
#define X(bit, name) name,
        RUN_REACHES(X)
#undef X
    };

    return reach && (unsigned)__builtin_ctz(reach) < RUN_REACH_COUNT ? names[__builtin_ctz(reach)]
                                                                     : "";
}
