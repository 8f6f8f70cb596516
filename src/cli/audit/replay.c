/* belljar audit replay: runs that were recorded, once more, and whether they gave the same.
 *
 * A replay is a run like any other and is recorded; what is compared are the two records: status,
 * exit code, and the hashes of everything that was answered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "admit/admit.h"
#include "admit/own_places.h"
#include "admit/profiles.h"
#include "audit/record.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/language.h"
#include "base/sha256.h"
#include "base/stream.h"
#include "base/terminal_text.h"
#include "cli/audit/audit.h"
#include "cli/cmd.h"
#include "engine/engine.h"
#include "sandbox/grant.h"

#define REPLAY_OF "replay-of-"
#define NOT_KEPT  "which the trail does not keep"

struct replay {
    struct audit *audit;
    struct index *index;
    struct engine engine;
    struct profiles *profiles;
    char **ids;
    size_t n_ids, ids_size;
    bool is_done; /* the present run */
    size_t same, different, impossible;
};

struct records {
    const struct recorder *recorder;
    struct index *index;
    json_t *start, *end;
};

static void records_done(struct records *records)
{
    json_decref(records->start);
    json_decref(records->end);
}

/* ---- what was recorded ---- */

static int remember_id(void *user, const struct index_row *row, const struct buf *line,
                       const struct buf *start, struct error *err)
{
    struct replay *replay = user;
    char **grown;

    (void)line;
    (void)start;
    if (strcmp(row->kind, "run") != 0 || !row->id)
        return 0;
    grown = array_grow(replay->ids, replay->n_ids, &replay->ids_size, sizeof(*grown));
    if (!grown)
        return error_memory(err);
    replay->ids = grown;
    replay->ids[replay->n_ids] = strdup(row->id);
    return replay->ids[replay->n_ids++] ? 0 : error_memory(err);
}

static int keep_record(void *user, const struct index_row *row, const struct buf *line,
                       const struct buf *start, struct error *err)
{
    struct records *records = user;
    json_t **place = strcmp(row->kind, "start") == 0 ? &records->start
                     : strcmp(row->kind, "run") == 0 ? &records->end
                                                     : NULL;

    (void)start;
    if (!place || *place)
        return 0;
    /* A text that somebody else put there is not run. */
    if (!recorder_wrote(records->recorder, line->data, line->len))
        return error_set(err, E_DENIED,
                         "its record was changed; `belljar audit verify` shows the details");
    *place = index_load(records->index, line);
    return *place ? 0 : error_set(err, E_INVALID, "a record cannot be read");
}

/* The index is brought up to date when it is opened: a replay has just been added. */
static int find_records(struct replay *replay, const char *id, struct records *ret_records,
                        struct error *err)
{
    struct index_filter filter = {.id = id, .has_starts = true};

    ret_records->recorder = replay->engine.recorder;
    index_close(take_ptr(replay->index));
    if (index_open(replay->audit->dir, &replay->index, err) < 0)
        return -1;
    ret_records->index = replay->index;
    return index_find(replay->index, &filter, keep_record, ret_records, err);
}

/* ---- the run, as it was asked for ---- */

/* The kept text, if it is the original: with labels instead of secrets it is another text. */
static const json_t *kept_text(const json_t *object, const char *what, struct error *err)
{
    const json_t *text = json_object_get(object, "text");
    const char *recorded = json_string_value(json_object_get(object, "sha256"));
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    if (!json_is_string(text) || !recorded) {
        error_set(err, E_NOT_FOUND, "%s was not kept", what);
        error_hint(err, "`trail_keep = \"all\"` keeps everything a run needs");
        return NULL;
    }
    sha256(json_string_value(text), json_string_length(text), digest);
    sha256_to_hex(digest, hex);
    if (strcmp(hex, recorded) == 0)
        return text;
    error_set(err, E_NOT_FOUND, "%s held secrets, " NOT_KEPT, what);
    return NULL;
}

static int copy_list(const json_t *list, char ***ret_items, struct error *err)
{
    char **items = calloc(json_array_size(list) + 1, sizeof(*items));

    *ret_items = items;
    for (size_t i = 0; items && i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        items[i] = strdup(text ? text : "");
        if (!items[i])
            items = NULL;
    }
    return items ? 0 : error_memory(err);
}

static int take_env(const json_t *start, struct run *run, struct error *err)
{
    const json_t *env = json_object_get(start, "env");

    if (json_object_get(start, "env_masked"))
        return error_set(err, E_NOT_FOUND, "its variables held secrets, " NOT_KEPT);
    for (size_t i = 0; i < json_array_size(env); i++) {
        const char *text = json_string_value(json_array_get(env, i));

        if (!text || !strchr(text, '='))
            return error_set(err, E_NOT_FOUND, "the values of its variables were not kept");
    }
    return env ? copy_list(env, &run->terms.env, err) : 0;
}

static int take_files(const json_t *start, struct run *run, struct error *err)
{
    const json_t *files = json_object_get(start, "files");

    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        const json_t *text = kept_text(json_object_get(file, "content"), "a file of it", err);
        struct run_given given = {.path = (char *)json_string_value(json_object_get(file, "path"))};

        if (!text || !given.path)
            return -1;
        given.data = (char *)json_string_value(text);
        given.len = json_string_length(text);
        if (run_give_file(run, &given, err) < 0)
            return -1;
    }
    return 0;
}

/* Directories granted for writing are not written again. */
static int take_grants(const json_t *start, struct run *run, struct error *err)
{
    const json_t *allow = json_object_get(start, "allow");
    const char *workdir = json_string_value(json_object_get(start, "workdir"));

    if (own_places_add(NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(allow) && run->terms.n_grants < LIMIT_GRANTS; i++) {
        const json_t *grant = json_array_get(allow, i);
        const char *path = json_string_value(json_object_get(grant, "path"));
        const char *mode = json_string_value(json_object_get(grant, "mode"));

        if (!path || !mode || strcmp(mode, "ro") != 0)
            return error_set(err, E_DENIED, "it could write to a directory of the host");
        if (grant_open(path, RUN_GRANT_RO, &run->terms.grants[run->terms.n_grants], err) < 0)
            return -1;
        run->terms.n_grants++;
    }
    if (workdir && !(run->terms.workdir = strdup(workdir)))
        return error_memory(err);
    return 0;
}

static void take_limits(const json_t *start, struct run_limits *limits)
{
    const json_t *recorded = json_object_get(start, "limits");

    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++)
        run_limit_set_raw(
            limits, &run_limit_table[i],
            (uint64_t)json_integer_value(json_object_get(recorded, run_limit_table[i].member)));
}

static int take_program(const json_t *start, struct run *run, struct error *err)
{
    const json_t *code = kept_text(json_object_get(start, "code"), "the program", err);
    const json_t *input = json_object_get(start, "stdin"), *seed = json_object_get(start, "seed");
    const json_t *args = json_object_get(start, "args");
    const char *language = json_string_value(json_object_get(start, "language"));

    if (json_is_true(json_object_get(start, "terminal")))
        return error_set(err, E_UNSUPPORTED, "it ran on a terminal, and keys are not recorded");
    if (json_object_get(start, "args_masked"))
        return error_set(err, E_NOT_FOUND, "its arguments held secrets, " NOT_KEPT);
    if (!code ||
        buf_add(&run->program.code, json_string_value(code), json_string_length(code), err) < 0)
        return -1;
    if (input) {
        const json_t *text = kept_text(input, "its standard input", err);

        buf_init(&run->program.input, LIMIT_STDIN_BYTES);
        if (!text || buf_add(&run->program.input, json_string_value(text), json_string_length(text),
                             err) < 0)
            return -1;
        run->program.has_input = true;
    }
    /* The text of a command is a line of a shell. */
    run->program.language =
        language && strcmp(language, "command") == 0 ? RUN_BASH : language_of_json(start);
    run->program.auto_print = json_is_true(json_object_get(start, "auto_print"));
    run->program.only_checks = json_is_true(json_object_get(start, "only_checks"));
    run->program.is_check = json_is_true(json_object_get(start, "check"));
    run->terms.has_one_stream = json_is_true(json_object_get(start, "one_stream"));
    run->terms.has_seed = seed != NULL;
    run->terms.seed = (uint64_t)json_integer_value(seed);
    return args ? copy_list(args, &run->program.args, err) : 0;
}

static int rebuild(struct replay *replay, const json_t *start, struct run *run, struct error *err)
{
    const char *name = json_string_value(json_object_get(start, "profile"));
    const struct profile *profile;

    if (json_object_get(start, "session"))
        return error_set(err, E_UNSUPPORTED, "a cell depends on the cells before it");
    if (take_program(start, run, err) < 0 || take_env(start, run, err) < 0 ||
        take_files(start, run, err) < 0 || take_grants(start, run, err) < 0 ||
        profiles_get(replay->profiles, name, &profile, err) < 0 ||
        admit_run(run, replay->audit->config, profile, err) < 0)
        return -1;
    take_limits(start, &run->terms.limits);
    run_stream_done(&run->result.out);
    run_stream_done(&run->result.err);
    run_stream_init(&run->result.out, run->terms.limits.output_bytes);
    run_stream_init(&run->result.err, run->terms.limits.output_bytes);
    return 0;
}

/* ---- both, side by side ---- */

/* The first line, from 1, in which two texts differ. */
static size_t line_of_difference(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t line = 1;

    for (size_t i = 0; i < a_len && i < b_len && a[i] == b[i]; i++)
        line += a[i] == '\n';
    return line;
}

static int say_stream(const json_t *then, const struct run_stream *stream, const char *name,
                      struct buf *out, struct error *err)
{
    const json_t *text = json_object_get(then, "text");
    cleanup(buf_done) struct buf now = BUF_OF(SIZE_MAX / 2);

    if (!json_is_string(text) || run_stream_render(stream, &now, NULL) < 0)
        return buf_printf(out, err, "%s differs", name);
    return buf_printf(out, err, "%s differs from line %zu on", name,
                      line_of_difference(json_string_value(text), json_string_length(text),
                                         buf_str(&now), now.len));
}

static bool is_same(const json_t *then, const json_t *now, const char *key)
{
    const json_t *a = json_object_get(then, key), *b = json_object_get(now, key);

    if (json_is_object(a) && json_is_object(b))
        return json_equal(json_object_get(a, "sha256"), json_object_get(b, "sha256"));
    return (!a && !b) || json_equal(a, b);
}

/* The first difference, in words; nothing: there is none. */
static int compare(const json_t *then, const json_t *now, const struct run *run, struct buf *out,
                   struct error *err)
{
    static const char *const values[] = {"status", "exit_code", "exception", "result", "displays"};

    if (!is_same(then, now, "status"))
        return buf_printf(out, err, "ended with `%s`, then `%s`",
                          json_string_value(json_object_get(now, "status")),
                          json_string_value(json_object_get(then, "status")));
    if (!is_same(then, now, "stdout"))
        return say_stream(json_object_get(then, "stdout"), &run->result.out, "stdout", out, err);
    if (!is_same(then, now, "stderr"))
        return say_stream(json_object_get(then, "stderr"), &run->result.err, "stderr", out, err);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        if (!is_same(then, now, values[i]))
            return buf_printf(out, err, "%s differs", values[i]);
    return 0;
}

static int explain(const struct records *then, const struct records *now, struct buf *out,
                   struct error *err)
{
    if (!is_same(then->end, now->end, "fingerprint"))
        return buf_add_str(out, " (another environment: the fingerprint differs)", err);
    return json_object_get(then->start, "seed") ? 0 : buf_add_str(out, " (it had no seed)", err);
}

/* ---- one after the other ---- */

static void on_done(struct run *run)
{
    struct replay *replay = run->user;

    replay->is_done = true;
    loop_stop(replay->engine.loop);
}

static int run_again(struct replay *replay, struct run *run, const char *id, struct error *err)
{
    char of[64];

    (void)snprintf(of, sizeof(of), REPLAY_OF "%s", id);
    run->origin.correlation_id = of;
    run->user = replay;
    run->on_done = on_done;
    replay->is_done = false;
    if (pool_submit(replay->engine.pool, run) < 0)
        pool_refuse(replay->engine.pool, run);
    if (!replay->is_done && loop_run(replay->engine.loop, err) < 0)
        return -1;
    run->origin.correlation_id = NULL;
    if (!replay->is_done)
        return error_set(err, E_BUSY, "interrupted");
    if (run->result.error.code == E_NONE)
        return 0;
    error_move(err, &run->result.error);
    return -1;
}

static int print_line(struct replay *replay, const char *id, const char *verdict, const char *why)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    struct error err = {0};
    int r;

    if (replay->audit->is_json) {
        json_t *object = json_pack("{s:s, s:s, s:s?}", "id", id, "verdict", verdict, "why", why);
        char *line = json_dumps(object, JSON_COMPACT);

        r = line ? buf_printf(&text, &err, "%s\n", line) : -1;
        free(line);
        json_decref(object);
    } else {
        r = buf_printf(&text, &err, "%s  %s%s", id, verdict, why ? ": " : "");
        if (r == 0 && why)
            r = terminal_line(why, strlen(why), &text, &err);
        if (r == 0)
            r = buf_add_str(&text, "\n", &err);
    }
    if (r == 0)
        r = audit_print(&text, &err);
    error_done(&err);
    return r;
}

static void free_list(char **list)
{
    for (char **at = list; at && *at; at++)
        free(*at);
    free(list);
}

static void run_done(struct run *run)
{
    free_list(take_ptr(run->terms.env));
    free_list(take_ptr(run->program.args));
    while (run->terms.n_grants)
        grant_done(&run->terms.grants[--run->terms.n_grants]);
    run_free(run);
}

static int judge(struct replay *replay, const char *id, const struct records *then, struct run *run,
                 struct buf *words, struct error *err)
{
    cleanup(records_done) struct records now = {0};

    if (!then->start || !then->end)
        return error_set(err, E_NOT_FOUND, "the trail lacks its beginning or its end");
    if (rebuild(replay, then->start, run, err) < 0 || run_again(replay, run, id, err) < 0 ||
        find_records(replay, run->id, &now, err) < 0)
        return -1;
    if (!now.end)
        return error_set(err, E_INTERNAL, "the replay was not recorded");
    if (compare(then->end, now.end, run, words, err) < 0)
        return -1;
    return words->len ? explain(then, &now, words, err) : 0;
}

static bool is_replay(const json_t *start)
{
    const char *correlation = json_string_value(json_object_get(start, "correlation_id"));

    return correlation && strncmp(correlation, REPLAY_OF, strlen(REPLAY_OF)) == 0;
}

/* A run that cannot be repeated is told, and ends nothing. */
static int replay_one(struct replay *replay, const char *id, struct error *err)
{
    cleanup(records_done) struct records then = {0};
    cleanup(buf_done) struct buf words = BUF_OF(64 * KIB);
    cleanup_error struct error why = {0};
    struct run *run;
    int r;

    r = find_records(replay, id, &then, &why);
    if (r == 0 && is_replay(then.start) && !replay->audit->filter.id)
        return 0; /* of another one, which is in the list itself */
    run = run_new();
    if (!run)
        return error_memory(err);
    if (r == 0)
        r = judge(replay, id, &then, run, &words, &why);
    run_done(run);
    if (r < 0) {
        replay->impossible++;
        return print_line(replay, id, "cannot be repeated", why.message);
    }
    replay->same += words.len == 0;
    replay->different += words.len > 0;
    return print_line(replay, id, words.len ? "different" : "identical",
                      words.len ? buf_str(&words) : NULL);
}

static int open_all(struct replay *replay, struct error *err)
{
    struct audit *audit = replay->audit;
    struct run_limits limits;

    if (strcmp(audit->config->trail, "off") == 0) {
        error_set(err, E_UNSUPPORTED, "a replay is compared by its record, and the trail is off");
        return error_hint(err, "`trail = \"on\"` in the settings");
    }
    if (index_open(audit->dir, &replay->index, err) < 0 ||
        index_find(replay->index, &audit->filter, remember_id, replay, err) < 0)
        return -1;
    if (!replay->n_ids) {
        error_set(err, E_NOT_FOUND, "no such run in the trail");
        return error_hint(err, "`belljar audit list` shows the recorded runs");
    }
    config_limits(audit->config, CONFIG_DEFAULT, &limits);
    if (profiles_open(audit->config, &replay->profiles, err) < 0 ||
        engine_open(&replay->engine, audit->config, &(struct engine_stock){0}, &limits, err) < 0)
        return -1;
    return engine_open_trail(&replay->engine, audit->config,
                             &(struct recorder_options){.on_note = cmd_note}, err);
}

static void close_all(struct replay *replay)
{
    engine_close(&replay->engine);
    profiles_free(replay->profiles);
    index_close(replay->index);
    for (size_t i = 0; i < replay->n_ids; i++)
        free(replay->ids[i]);
    free(replay->ids);
}

int audit_replay(struct audit *audit, char **words, struct error *err)
{
    struct replay replay = {.audit = audit};
    int r;

    if (words[0] && words[1])
        return error_set(err, E_INVALID, "`belljar audit replay` takes one id, or filters");
    audit->filter.id = words[0];
    audit->filter.kind = "run";
    if (words[0])
        audit->filter.limit = 0;
    r = open_all(&replay, err);
    for (size_t i = 0; r == 0 && i < replay.n_ids; i++)
        r = replay_one(&replay, replay.ids[i], err);
    if (r == 0 && replay.n_ids > 1)
        (void)fprintf(stderr, "%zu identical, %zu different, %zu cannot be repeated\n", replay.same,
                      replay.different, replay.impossible);
    r = r < 0 ? -1 : replay.different || (words[0] && replay.impossible) ? 1 : 0;
    close_all(&replay);
    return r;
}
