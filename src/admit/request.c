#include "admit/request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "admit/git_identity.h"
#include "admit/grants.h"
#include "admit/workdir.h"
#include "base/cleanup.h"
#include "base/shared.h"
#include "base/stream.h"
#include "engine/environment.h"
#include "store/skill.h"

/* --- the request --- */

void run_request_done(struct run_request *request)
{
    for (size_t i = 0; i < request->n_files; i++) {
        free(request->files[i].path);
        shared_unref(request->files[i].owner);
    }
    free(request->files);
    free(request->collect.items);
    free(request->args.items);
    free(request->allow.items);
    free(request->net.items);
    free(request->ports.items);
    free(request->env);
    *request = (struct run_request){0};
}

int run_request_add(struct run_request_words *words, const char *text, struct error *err)
{
    const char **grown = realloc(words->items, (words->count + 1) * sizeof(*grown));

    if (!grown)
        return error_memory(err);
    words->items = grown;
    words->items[words->count++] = text;
    return 0;
}

int run_request_add_variable(struct run_request *request, struct span name, const char *value,
                             struct error *err)
{
    struct run_request_variable *grown =
        realloc(request->env, (request->n_env + 1) * sizeof(*grown));

    if (!grown)
        return error_memory(err);
    request->env = grown;
    request->env[request->n_env++] = (struct run_request_variable){name, value};
    return 0;
}

int run_request_add_file(struct run_request *request, const struct run_request_file *file,
                         struct error *err)
{
    struct run_request_file *grown = NULL;

    if (request->n_files >= LIMIT_FILES_GIVEN)
        error_set(err, E_TOO_LARGE, "the request has more than %d files", LIMIT_FILES_GIVEN);
    else if (!(grown = realloc(request->files, (request->n_files + 1) * sizeof(*grown))))
        error_memory(err);
    if (!grown) {
        free(file->path);
        shared_unref(file->owner);
        return -1;
    }
    request->files = grown;
    request->files[request->n_files++] = *file;
    return 0;
}

void run_request_set_limit(struct run_request *request, enum run_limit_row row, double value)
{
    request->limits[row] = value;
    request->limits_set |= 1u << row;
}

/* --- the program --- */

/* The length of a line of three backticks and perhaps a word, at the beginning; 0: it is none. */
static size_t fence_length(const char *text, size_t len)
{
    size_t n = 3;

    if (len < 3 || memcmp(text, "```", 3) != 0)
        return 0;
    while (n < len && (isalnum((unsigned char)text[n]) || strchr(" \t\r-+_", text[n])))
        n++;
    return n == len || text[n] == '\n' ? n : 0;
}

/* A program that was copied from a text, with the fence around it: blanks take the place of the
 * fence, so that lines keep their numbers. Nothing that can be run begins and ends like that. */
static void blank_fence(struct buf *code)
{
    char *text = (char *)code->data;
    size_t begin = strspn(buf_str(code), " \t\r\n"), end = code->len, first;

    while (end > begin && strchr(" \t\r\n", text[end - 1]))
        end--;
    first = fence_length(text + begin, end - begin);
    if (!first || begin + first + 3 >= end || memcmp(text + end - 3, "```", 3) != 0 ||
        text[end - 4] == '`')
        return;
    memset(text + end - 3, ' ', 3);
    memset(text + begin, ' ', first);
}

static int put_code(const struct admission *a, const struct run_request *request, struct run *run,
                    struct error *err)
{
    struct span code = request->code;

    if (!code.data)
        return 0;
    buf_done(&run->program.code);
    buf_init(&run->program.code,
             request->max_code ? request->max_code : (size_t)a->config->code_bytes);
    if (!a->session && strspn(code.data, " \t\r\n\f") >= code.len)
        return error_set(err, E_INVALID, "`code`: the program is empty");
    if (buf_add(&run->program.code, code.data, code.len, err) < 0)
        return error_wrap(err, "`code`");
    blank_fence(&run->program.code);
    return 0;
}

static int put_input(const struct run_request *request, struct run *run, struct error *err)
{
    run->program.has_input = request->input.data != NULL;
    run->program.is_input_open = request->is_input_open;
    if (!run->program.has_input)
        return 0;
    buf_done(&run->program.input);
    buf_init(&run->program.input, LIMIT_STDIN_BYTES);
    return buf_add(&run->program.input, request->input.data, request->input.len, err);
}

static int put_files(const struct run_request *request, struct run *run, struct error *err)
{
    for (size_t i = 0; i < request->n_files; i++) {
        const struct run_request_file *f = &request->files[i];
        struct run_given file = {.path = f->path,
                                 .data = (char *)f->content.data,
                                 .len = f->content.len,
                                 .owner = f->owner,
                                 .is_executable = f->is_executable};

        file.has_digest = f->digest != NULL;
        if (f->digest)
            memcpy(file.digest, f->digest, sizeof(file.digest));
        if (run_give_file(run, &file, err) < 0)
            return -1;
    }
    if (!request->has_collect)
        return 0;
    run->program.collect = calloc(request->collect.count + 1, sizeof(*run->program.collect));
    for (size_t i = 0; run->program.collect && i < request->collect.count; i++)
        if (!(run->program.collect[i] = strdup(request->collect.items[i])))
            return error_memory(err);
    return run->program.collect ? 0 : error_memory(err);
}

/* A program with arguments has a name, as `belljar run FILE` gives it one. A command keeps its own.
 */
static int put_args(const struct run_request *request, struct run *run, struct error *err)
{
    bool is_command = request->language == RUN_COMMAND;
    size_t most = is_command ? LIMIT_COMMAND_BYTES : LIMIT_ARGS_BYTES, bytes = 0;
    char name[RUN_PROGRAM_NAME_MAX];

    if (!request->filename && !request->args.count)
        return 0;
    run_program_name(request->filename ? request->filename : "program", name);
    run->program.args = calloc(request->args.count + 2, sizeof(*run->program.args));
    if (!run->program.args ||
        !(run->program.args[0] = strdup(is_command ? request->filename : name)))
        return error_memory(err);
    for (size_t i = 0; i < request->args.count; i++) {
        bytes += strlen(request->args.items[i]);
        if (bytes > most)
            return error_set(err, E_TOO_LARGE, "`args`: more than %zu bytes together", most);
        run->program.args[i + 1] = strdup(request->args.items[i]);
        if (!run->program.args[i + 1])
            return error_memory(err);
    }
    return 0;
}

static int put_env(const struct run_request *request, struct run *run, struct error *err)
{
    if (!request->n_env)
        return 0;
    run->terms.env = calloc(request->n_env + 1, sizeof(*run->terms.env));
    for (size_t i = 0; run->terms.env && i < request->n_env; i++) {
        const struct run_request_variable *v = &request->env[i];

        if (asprintf(&run->terms.env[i], "%.*s=%s", (int)v->name.len, v->name.data, v->value) < 0) {
            run->terms.env[i] = NULL;
            return error_memory(err);
        }
    }
    return run->terms.env ? 0 : error_memory(err);
}

/* It stays with the run: the variable is the copy. */
static int name_session(const char *name, struct run *run, struct error *err)
{
    size_t last = 0;

    if (!name)
        return 0;
    if (run_terms_add_env(&run->terms, "SESSION_ID", name, err) < 0)
        return -1;
    while (run->terms.env[last + 1])
        last++;
    run->origin.session_name = strchr(run->terms.env[last], '=') + 1;
    return 0;
}

static int put_program(const struct admission *a, const struct run_request *request,
                       struct run *run, struct error *err)
{
    run->program.language = request->language;
    run->program.auto_print = request->auto_print;
    run->program.is_notebook = request->is_notebook;
    run->program.auto_print_str = request->auto_print_str;
    run->program.only_checks = request->only_checks;
    run->program.is_check = request->is_check;
    run->origin.wants_receipt = request->wants_receipt;
    run->terms.has_seed = request->has_seed;
    run->terms.has_terminal = request->has_terminal;
    run->program.columns = request->columns;
    run->program.rows = request->rows;
    run->terms.has_one_stream = request->has_one_stream;
    run->terms.seed = request->seed;
    run->origin.can_ask = request->can_ask;
    run->program.is_typed = request->can_type && (request->language == RUN_PYTHON || a->session);
    run->origin.is_operator = !a->caller || a->caller->is_operator;
    if (put_code(a, request, run, err) < 0)
        return -1;
    return put_input(request, run, err);
}

/* --- limits --- */

double admission_limit_max(const struct config *config, const struct caller *caller,
                           enum run_limit_row row)
{
    const struct run_limit *limit = &run_limit_table[row];
    double most = config_limit_max(config, limit);
    double own = caller ? rights_limit_max(&caller->rights, limit) : -1;

    return own >= 0 && own < most ? own : most;
}

static int above(const char *name, double max, const char *whose, struct error *err)
{
    error_set(err, E_INVALID, "`%s`: %s allows at most %.15g", name, whose, max);
    return error_hint(err, "ask for less, or have `max_%s` raised", name);
}

/* Limits that were asked for, over those that stand. What nobody asked for is lowered to what the
 * token may have; what is asked for beyond it is refused. */
static int put_limits(const struct admission *a, const struct run_request *request,
                      struct run_limits *limits, struct error *err)
{
    if (a->caller)
        rights_lower(&a->caller->rights, limits);
    for (size_t i = 0; i < RUN_LIMIT_REQUEST_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];
        double value = request->limits[i], most = config_limit_max(a->config, limit);
        double own = a->caller ? rights_limit_max(&a->caller->rights, limit) : -1;

        if (!(request->limits_set & (1u << i)))
            continue;
        if (value > most)
            return above(limit->name, most, "the operator", err);
        if (own >= 0 && run_limit_exceeds(limit, value, own))
            return above(limit->name, own, "this token", err);
        if (!run_limit_fits(limit, value)) /* a door has let it pass */
            return error_set(err, E_INVALID, "`%s`: expected a %snumber from %.15g to %.15g",
                             limit->name, run_limit_is_whole(limit) ? "whole " : "", limit->min,
                             most);
        run_limit_set(limits, limit, value);
    }
    if (request->max_output_bytes && limits->output_bytes > request->max_output_bytes)
        limits->output_bytes = request->max_output_bytes;
    return 0;
}

/* A cell that is told to end has a grace. It is no way to more time than anybody may have: with
 * what the cell has taken so far it stays below the largest time limit that could have been asked
 * for. */
static void put_grace(const struct admission *a, struct run_terms *terms)
{
    double most_s = admission_limit_max(a->config, a->caller, RUN_LIMIT_ROW_timeout_s);

    terms->interrupt_grace_ms = (uint32_t)(a->config->interrupt_grace_s * 1000);
    terms->grace_end_ms = terms->limits.timeout_ms ? (uint64_t)(most_s * 1000) : UINT64_MAX;
}

/* --- profile, environment, directories --- */

/* The one asked for, if the token has it; else the settings' own, or the token's first. */
static int pick_profile(const struct admission *a, const char *asked,
                        const struct profile **ret_profile, struct error *err)
{
    const struct rights *own = a->caller ? &a->caller->rights : NULL;

    if (asked && own && !rights_allow_profile(own, asked)) {
        error_set(err, E_DENIED, "this token may not use the profile `%s`", asked);
        return error_hint(err, "it may use `%s`", own->profiles[0]);
    }
    if (profiles_get(a->profiles, asked, ret_profile, err) < 0)
        return -1;
    if (asked || !own || rights_allow_profile(own, profile_name(*ret_profile)))
        return 0;
    return profiles_get(a->profiles, own->profiles[0], ret_profile, err);
}

/* By name alone: which trees of the host a sandbox sees is not the client's to say. */
static int pick_environment(const struct admission *a, const char *asked, struct run *run,
                            struct error *err)
{
    if (!asked || strcmp(asked, a->config->environment) == 0)
        return 0;
    if (environment_check_name(a->config, asked, err) < 0)
        return -1;
    run->terms.environment = strdup(asked);
    return run->terms.environment ? 0 : error_memory(err);
}

static int settle_cow(const struct admission *a, struct run *run, struct error *err)
{
    for (size_t i = 0; i < run->terms.n_grants; i++) {
        if (run->terms.grants[i].mode != RUN_GRANT_COW || a->cow == ADMISSION_COW_KEEPS)
            continue;
        if (a->cow == ADMISSION_COW_IS_DENIED) {
            error_set(err, E_INVALID, "`allow`: copy-on-write directories are for sessions");
            return error_hint(err, "open a session, look at its changes, then apply or discard "
                                   "them");
        }
        run->terms.grants[i].mode = RUN_GRANT_RO;
        run->terms.grants[i].is_for_sessions = true;
    }
    return 0;
}

/* A sandbox of its own. */
static int admit_fresh(const struct admission *a, const struct run_request *request,
                       struct run *run, struct error *err)
{
    const struct profile *profile;

    if (pick_profile(a, request->profile, &profile, err) < 0 ||
        pick_environment(a, request->environment, run, err) < 0 ||
        grants_open(a, request, profile_allows_grants(profile), run, err) < 0 ||
        workdir_choose(a, request, run, err) < 0 || admit_run(run, a->config, profile, err) < 0 ||
        git_identity_give(a->config, run, err) < 0 || put_env(request, run, err) < 0 ||
        name_session(request->session_name, run, err) < 0 ||
        put_limits(a, request, &run->terms.limits, err) < 0)
        return -1;
    return settle_cow(a, run, err);
}

static int check_terms(const struct caller *caller, const char *profile, bool uses_grants,
                       struct error *err)
{
    if (!caller)
        return 0;
    if (!rights_allow_profile(&caller->rights, profile))
        return error_set(err, E_DENIED, "this token may no longer use the profile `%s`", profile);
    if (uses_grants && !caller->rights.has_grants) {
        error_set(err, E_DENIED, "this token may no longer use directories and hosts");
        return error_hint(err, "open a session without them, or have the right given back");
    }
    return 0;
}

int admission_check_run(const struct caller *caller, const struct run *run, struct error *err)
{
    return check_terms(caller, run->terms.profile, run->terms.uses_grants, err);
}

int admission_check_terms(const struct caller *caller, const struct run_terms *terms,
                          struct error *err)
{
    return check_terms(caller, terms->profile, terms->uses_grants, err);
}

int admission_check_session(const struct caller *caller, const struct session *session,
                            struct error *err)
{
    struct session_info info;

    session_info(session, &info);
    return check_terms(caller, info.profile, info.uses_grants, err);
}

/* A terminal lasts as long as its session, unless the token or the request has a time for it. */
static void let_last(const struct admission *a, const struct run_request *request,
                     struct run_limits *limits)
{
    const struct run_limit *limit = &run_limit_table[RUN_LIMIT_ROW_timeout_s];

    if (!(request->limits_set & 1u << RUN_LIMIT_ROW_timeout_s) &&
        (!a->caller || rights_limit_max(&a->caller->rights, limit) < 0))
        limits->timeout_ms = 0;
}

/* Beside the kernels: it has its own directory, and variables besides the session's. */
static int admit_command(const struct admission *a, const struct run_request *request,
                         struct run *command, struct error *err)
{
    if (request->has_terminal) {
        let_last(a, request, &command->terms.limits);
        command->program.has_input = false; /* it is typed */
    }
    if (request->workdir && !(command->terms.workdir = strdup(request->workdir)))
        return error_memory(err);
    return put_env(request, command, err);
}

/* A cell: profile and limits are the session's, and over them what the request says. */
static int admit_cell(const struct admission *a, const struct run_request *request,
                      struct run *cell, struct error *err)
{
    const struct profile *profile;
    struct session_info info;

    session_info(a->session, &info);
    if (admission_check_session(a->caller, a->session, err) < 0 ||
        profiles_get(a->profiles, info.profile, &profile, err) < 0 ||
        admit_run(cell, a->config, profile, err) < 0)
        return -1;
    cell->terms.limits = *info.limits;
    if (put_limits(a, request, &cell->terms.limits, err) < 0)
        return -1;
    put_grace(a, &cell->terms);
    return request->language == RUN_COMMAND ? admit_command(a, request, cell, err) : 0;
}

int admit_request(const struct admission *a, const struct run_request *request,
                  struct run **ret_run, struct error *err)
{
    cleanup(run_free_p) struct run *run = run_new();
    int r;

    if (!run)
        return error_memory(err);
    if (put_program(a, request, run, err) < 0)
        return -1;
    r = a->session ? admit_cell(a, request, run, err) : admit_fresh(a, request, run, err);
    if (r < 0 || put_files(request, run, err) < 0 || put_args(request, run, err) < 0)
        return -1;
    if (request->masks_all)
        run->terms.masking = RUN_MASK_ALL;
    if (a->has_skills && skill_give(a->store, a->keeper, run, err) < 0)
        return -1;
    if (a->may_keep)
        run_set_keeper(run, a->store, a->keeper);
    run_stream_done(&run->result.out);
    run_stream_done(&run->result.err);
    run_stream_init(&run->result.out, run->terms.limits.output_bytes);
    run_stream_init(&run->result.err, run->terms.limits.output_bytes);
    *ret_run = take_ptr(run);
    return 0;
}

/* --- sessions --- */

long admission_max_sessions(const struct caller *caller)
{
    double own = caller ? caller->rights.max_sessions : -1;

    return own < 0 ? 0 : own == 0 ? -1 : (long)own;
}

bool admission_evicts(const struct config *config, bool is_mcp)
{
    return strcmp(config->session_evict, "yes") == 0 ||
           (is_mcp && strcmp(config->session_evict, "mcp") == 0);
}

static bool is_port_allowed(const struct config *config, const char *text)
{
    for (size_t i = 0; i < config->session_ports.count; i++)
        if (strcmp(config->session_ports.items[i], "*") == 0 ||
            strcmp(config->session_ports.items[i], text) == 0)
            return true;
    return false;
}

/* A number as one writes it, so that the same text means the same port to everybody. */
static int read_port(const char *text, uint16_t *ret_port, struct error *err)
{
    unsigned long port = strspn(text, "0123456789") <= 5 ? strtoul(text, NULL, 10) : 0;
    char again[24];

    (void)snprintf(again, sizeof(again), "%lu", port);
    if (port < 1 || port > UINT16_MAX || strcmp(again, text) != 0)
        return error_set(err, E_INVALID, "`ports`: expected numbers from 1 to 65535 as text");
    *ret_port = (uint16_t)port;
    return 0;
}

/* Ports lead into a sandbox with a network of its own; without one they would lead to the host. */
static int admit_ports(const struct admission *a, const struct run_request *request,
                       struct run *run, struct error *err)
{
    struct run_terms *terms = &run->terms;

    if (request->ports.count && terms->is_on_host)
        return error_set(err, E_UNSUPPORTED, "`ports` need the isolation `namespaces`");
    for (size_t i = 0; i < request->ports.count; i++) {
        const char *text = request->ports.items[i];
        uint16_t port = 0;

        if (read_port(text, &port, err) < 0)
            return -1;
        if (!is_port_allowed(a->config, text)) {
            error_set(err, E_DENIED, "the operator does not open port %s of sessions", text);
            return error_hint(err, "the operator lists ports as `session_ports`");
        }
        if (terms->n_ports == LIMIT_PORTS)
            return error_set(err, E_TOO_LARGE, "at most %d ports", LIMIT_PORTS);
        terms->ports[terms->n_ports++] = port;
    }
    return 0;
}

int admit_session(const struct admission *a, const struct run_request *request,
                  struct sessions *sessions, const struct session_options *options,
                  struct session **ret_session, struct error *err)
{
    struct session_options own = *options;
    cleanup(run_free_p) struct run *run = NULL;

    own.max_own = admission_max_sessions(a->caller);
    if (admit_request(a, request, &run, err) < 0 || admit_ports(a, request, run, err) < 0)
        return -1;
    return sessions_open(sessions, &run->terms, &own, ret_session, err);
}
