/* Settings and requests for the engine inside. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "vm/inside.h"
#include "wire/machine.h"

/* --- settings --- */

static int add_text(struct buf *out, const char *name, const char *value, struct error *err)
{
    cleanup_json json_t *text = json_string(value);

    if (!text)
        return error_set(err, E_INVALID, "`%s` is not UTF-8", name);
    if (buf_printf(out, err, "%s = ", name) < 0 ||
        json_text_dump(text, JSON_TEXT_COMPACT, out, err) < 0)
        return -1;
    return buf_add_str(out, "\n", err);
}

static int add_list(struct buf *out, const char *name, const struct config_list *list,
                    struct error *err)
{
    if (buf_printf(out, err, "%s = [", name) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        cleanup_json json_t *text = json_string(list->items[i]);

        if (!text || (i && buf_add_str(out, ", ", err) < 0) ||
            json_text_dump(text, JSON_TEXT_COMPACT, out, err) < 0)
            return error_set(err, E_INVALID, "`%s` is not UTF-8", name);
    }
    return buf_add_str(out, "]\n", err);
}

/* The server outside has applied the ceilings of its settings and tokens. Inside everything in the
 * range of a limit is allowed. */
static int add_limits(const struct config *config, struct buf *out, struct error *err)
{
    static const char *const ceilings[] = {
#define X(name, kind, fallback) #name,
        RUN_LIMIT_CEILINGS(X)
#undef X
    };

    for (size_t i = 0; i < ARRAY_SIZE(ceilings); i++) {
        const struct run_limit *limit = run_limit_find(ceilings[i]);

        if (buf_printf(out, err, "max_%s = %.15g\n", ceilings[i], limit->max) < 0)
            return -1;
    }
    return buf_printf(out, err,
                      "descriptors = %lld\ninodes = %lld\nfile_mb = %lld\nqueue_max = 65536\n"
                      "jobs_max = 0\nsessions_max = %d\nsession_idle_s = 0\n"
                      "session_lifetime_s = 0\nruns_max = %d\n",
                      (long long)config->descriptors, (long long)config->inodes,
                      (long long)config->file_mb, LIMIT_SANDBOXES, LIMIT_SANDBOXES);
}

int inside_settings(const struct config *config, struct buf *out, struct error *err)
{
    static const char fixed[] =
        "trail = \"off\"\nundo = \"off\"\nconsole = \"off\"\nauth = \"none\"\n"
        "listen = \"127.0.0.1:8222\"\n"
        "socket = \"" MACHINE_SOCKET "\"\nlog_level = \"error\"\n";
    const struct config_list *preload;
    const char *python;

    if (config_environment(config, config->environment, &python, &preload, err) < 0)
        return -1;
    if (python) {
        error_set(err, E_UNSUPPORTED, "a virtual machine has the environment `system` only");
        return error_hint(err, "leave out `environment`, or `machine`");
    }
    if (buf_add_str(out, fixed, err) < 0 || add_text(out, "masking", config->masking, err) < 0 ||
        add_text(out, "aggressive_masking", config->aggressive_masking, err) < 0 ||
        add_list(out, "preload", preload, err) < 0 || add_limits(config, out, err) < 0)
        return -1;
    return *config->policies_dir ? add_text(out, "policies_dir", config->policies_dir, err) : 0;
}

/* --- what a machine cannot give --- */

/* Each change to them would have to be judged outside, by the write broker: the guest's own is not
 * believed. */
static bool has_writable_grant(const struct run_terms *terms)
{
    for (size_t i = 0; i < terms->n_grants; i++)
        if (terms->grants[i].mode != RUN_GRANT_RO)
            return true;
    return false;
}

struct wanted {
    bool is_wanted;
    const char *what;
};

static int refuse(const struct wanted *table, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].is_wanted) {
            error_set(err, E_UNSUPPORTED, "%s: not supported in a virtual machine yet",
                      table[i].what);
            return error_hint(err, "leave it out, or use a server without `machine`");
        }
    return 0;
}

int inside_check(const struct run_terms *terms, struct error *err)
{
    const struct wanted table[] = {
        {has_writable_grant(terms), "directories that programs may change (`:rw`, `:cow`)"},
        {terms->net != NULL, "hosts (`net`)"},
        {terms->environment != NULL, "environments other than `system`"},
        {terms->n_ports > 0, "ports (`ports`)"},
        {terms->has_terminal, "terminals"},
        {terms->is_on_host, "isolation `process`"},
    };

    return refuse(table, ARRAY_SIZE(table), err);
}

static int check_program(const struct run_program *program, struct error *err)
{
    const struct wanted table[] = {
        {program->language == RUN_COMMAND, "commands without a shell"},
        {program->is_check || program->only_checks, "checks of programs"},
        {program->is_input_passed || program->is_input_open || program->is_typed,
         "input that comes while it runs"},
        {program->script != NULL, "programs in granted directories"},
        {*program->context != '\0' || program->directory != NULL, "contexts"},
        {program->is_notebook || program->auto_print_str, "cells of notebooks"},
    };

    return refuse(table, ARRAY_SIZE(table), err);
}

/* --- requests --- */

static int add(json_t *object, const char *key, json_t *value, const char *what, struct error *err)
{
    if (json_object_set_new(object, key, value) == 0)
        return 0;
    error_set(err, E_UNSUPPORTED, "%s must be UTF-8 in a virtual machine", what);
    return error_hint(err, "put other bytes into a file");
}

/* Later ones count more than earlier ones of the same name. */
static int add_variables(char **list, json_t *env, struct error *err)
{
    for (; list && *list; list++) {
        const char *equals = strchr(*list, '=');
        cleanup_free char *name = equals ? strndup(*list, (size_t)(equals - *list)) : NULL;

        if (!name)
            return error_memory(err);
        if (add(env, name, json_string(equals + 1), "a variable", err) < 0)
            return -1;
    }
    return 0;
}

static int add_env(const struct run_terms *terms, json_t *body, struct error *err)
{
    json_t *env = json_object();

    if (!env || json_object_set_new(body, "env", env) < 0)
        return error_memory(err);
    return add_variables(terms->identity, env, err) < 0 ? -1 : add_variables(terms->env, env, err);
}

static int add_args(char **args, json_t *body, struct error *err)
{
    json_t *list = json_array();

    if (!list || json_object_set_new(body, "args", list) < 0)
        return error_memory(err);
    if (add(body, "filename", json_string(args[0]), "the name of the program", err) < 0)
        return -1;
    for (char **arg = args + 1; *arg; arg++)
        if (json_array_append_new(list, json_string(*arg)) < 0)
            return error_set(err, E_UNSUPPORTED, "arguments must be UTF-8 in a virtual machine");
    return 0;
}

static int add_file(const struct run_given *file, json_t *list, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(file->len * 2 + KIB);
    json_t *object;

    if (base64_add(&text, file->data, file->len, err) < 0)
        return -1;
    object = json_pack("{s:s, s:s, s:s, s:b}", "path", file->path, "content", buf_str(&text),
                       "encoding", "base64", "executable", (int)file->is_executable);
    return json_array_append_new(list, object) < 0
               ? error_set(err, E_UNSUPPORTED, "paths must be UTF-8 in a virtual machine")
               : 0;
}

static int add_files(const struct run_program *program, json_t *body, struct error *err)
{
    json_t *files = json_array(), *patterns = program->collect ? json_array() : NULL;

    if (!files || json_object_set_new(body, "files", files) < 0 ||
        (program->collect && json_object_set_new(body, "collect", patterns) < 0))
        return error_memory(err);
    for (size_t i = 0; i < program->n_given; i++)
        if (add_file(&program->given[i], files, err) < 0)
            return -1;
    for (char **pattern = program->collect; pattern && *pattern; pattern++)
        if (json_array_append_new(patterns, json_string(*pattern)) < 0)
            return error_set(err, E_UNSUPPORTED, "patterns must be UTF-8 in a virtual machine");
    return 0;
}

static int add_grants(const struct run_terms *terms, json_t *body, struct error *err)
{
    json_t *list = json_array();

    if (!list || json_object_set_new(body, "allow", list) < 0)
        return error_memory(err);
    for (size_t i = 0; i < terms->n_grants; i++) {
        cleanup_free char *word = NULL;

        if (asprintf(&word, "%s:ro", terms->grants[i].path) < 0) {
            word = NULL;
            return error_memory(err);
        }
        if (json_array_append_new(list, json_string(word)) < 0)
            return error_set(err, E_UNSUPPORTED, "paths must be UTF-8 in a virtual machine");
    }
    if (!terms->n_grants)
        return 0;
    /* Decided here: without a word, the engine inside would choose a granted directory. */
    return add(body, "workdir", json_string(terms->workdir ? terms->workdir : "/workspace"),
               "`workdir`", err);
}

static int add_limit_rows(const struct run_limits *limits, bool is_cell, json_t *body,
                          struct error *err)
{
    for (size_t i = 0; i < RUN_LIMIT_REQUEST_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];
        double value = run_limit_get(limits, limit);
        json_t *number =
            run_limit_is_whole(limit) ? json_integer((json_int_t)value) : json_real(value);

        if (is_cell && limit->scope != RUN_LIMIT_OF_CELL)
            json_decref(number);
        else if (json_object_set_new(body, limit->name, number) < 0)
            return error_memory(err);
    }
    return 0;
}

/* --- three bodies --- */

static int add_program(const struct run_program *program, json_t *body, struct error *err)
{
    if (add(body, "code", json_stringn(buf_str(&program->code), program->code.len), "the program",
            err) < 0 ||
        add(body, "language", json_string(languages[program->language].name), "", err) < 0 ||
        add_files(program, body, err) < 0)
        return -1;
    if (program->has_input &&
        add(body, "stdin", json_stringn(buf_str(&program->input), program->input.len),
            "standard input", err) < 0)
        return -1;
    if (program->auto_print)
        (void)json_object_set_new(body, "auto_print", json_true());
    return 0;
}

static int add_terms(const struct run_terms *terms, json_t *body, struct error *err)
{
    if (add(body, "profile", json_string(terms->profile), "the profile", err) < 0 ||
        add_limit_rows(&terms->limits, false, body, err) < 0 || add_env(terms, body, err) < 0)
        return -1;
    return add_grants(terms, body, err);
}

int inside_request(const struct run *run, struct buf *out, struct error *err)
{
    cleanup_json json_t *body = json_object();

    if (!body)
        return error_memory(err);
    if (inside_check(&run->terms, err) < 0 || check_program(&run->program, err) < 0 ||
        add_program(&run->program, body, err) < 0 || add_terms(&run->terms, body, err) < 0 ||
        (run->program.args && add_args(run->program.args, body, err) < 0))
        return -1;
    if (run->terms.has_seed)
        (void)json_object_set_new(body, "seed", json_integer((json_int_t)run->terms.seed));
    return json_text_dump(body, JSON_TEXT_COMPACT, out, err);
}

/* A machine that is still there when its host has forgotten the session: longer than that host
 * waits. */
#define CLOCK_GRACE_MS ((uint64_t)600000)

/* The longest clock that a session may be given. */
#define CLOCK_MAX_MS ((uint64_t)LIMIT_SESSION_CLOCK_S * 1000)

static int add_clock(const char *name, uint64_t ms, json_t *body, struct error *err)
{
    bool is_long = ms >= CLOCK_MAX_MS - CLOCK_GRACE_MS;
    json_t *seconds = json_real((double)(is_long ? CLOCK_MAX_MS : ms + CLOCK_GRACE_MS) / 1000);

    if (ms && json_object_set(body, name, seconds) < 0)
        error_memory(err);
    json_decref(seconds);
    return err->code == E_NONE ? 0 : -1;
}

int inside_opening(const char *name, const struct run_terms *terms, uint64_t idle_ms,
                   uint64_t lifetime_ms, struct buf *out, struct error *err)
{
    cleanup_json json_t *body = json_object();

    if (!body)
        return error_memory(err);
    if (inside_check(terms, err) < 0 || add(body, "name", json_string(name), "", err) < 0 ||
        add_clock("idle_s", idle_ms, body, err) < 0 ||
        add_clock("lifetime_s", lifetime_ms, body, err) < 0 || add_terms(terms, body, err) < 0)
        return -1;
    return json_text_dump(body, JSON_TEXT_COMPACT, out, err);
}

int inside_cell(const struct run *cell, struct buf *out, struct error *err)
{
    cleanup_json json_t *body = json_object();

    if (!body)
        return error_memory(err);
    if (check_program(&cell->program, err) < 0 || add_program(&cell->program, body, err) < 0 ||
        add_limit_rows(&cell->terms.limits, true, body, err) < 0)
        return -1;
    return json_text_dump(body, JSON_TEXT_COMPACT, out, err);
}
