/* belljar token: who may ask a server, and for how much. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admit/access.h"
#include "admit/admit.h"
#include "admit/tokens.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"
#include "cli/cmd.h"
#include "store/job_record.h"
#include "store/store.h"

#define BOUNDS_MAX 16

struct wish {
    struct config *config;
    const char *config_path;
    struct rights rights;
    bool is_json;
    char *first_path;
    char *path;
};

enum {
    OPT_HELP = 'h',
    OPT_CONFIG = 256,
    OPT_JSON,
    OPT_PROFILE,
    OPT_OPERATOR,
    OPT_GRANTS,
    OPT_BOUND
};

static const struct option own_options[] = {
    {"help", no_argument, NULL, OPT_HELP},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"json", no_argument, NULL, OPT_JSON},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"operator", no_argument, NULL, OPT_OPERATOR},
    {"grants", no_argument, NULL, OPT_GRANTS},
};

/* Flags of the table of bounds: their names with dashes. */
struct flags {
    char names[BOUNDS_MAX][32];
    struct option options[ARRAY_SIZE(own_options) + BOUNDS_MAX + 1];
};

static void make_flags(struct flags *flags)
{
    size_t count;
    const struct rights_bound *bounds = rights_bounds(&count);

    memcpy(flags->options, own_options, sizeof(own_options));
    for (size_t i = 0; i < count && i < BOUNDS_MAX; i++) {
        (void)snprintf(flags->names[i], sizeof(flags->names[i]), "%s", bounds[i].name);
        for (char *c = flags->names[i]; *c; c++)
            if (*c == '_')
                *c = '-';
        flags->options[ARRAY_SIZE(own_options) + i] =
            (struct option){flags->names[i], required_argument, NULL, OPT_BOUND + (int)i};
        flags->options[ARRAY_SIZE(own_options) + i + 1] = (struct option){0};
    }
}

static int help(void)
{
    struct flags flags;
    size_t count;
    const struct rights_bound *bounds = rights_bounds(&count);

    make_flags(&flags);
    (void)printf("usage: belljar token add NAME [OPTION]…\n"
                 "       belljar token list [--json]\n"
                 "       belljar token rm NAME…\n\n"
                 "Add, list and remove tokens of `belljar serve`, which sees changes at once.\n"
                 "A token is shown only once, when it is created.\n\n"
                 "  --profile NAME,…      allow only these profiles\n"
                 "  --operator            may see metrics, settings, tokens and the audit trail\n"
                 "  --grants              may use the directories that the settings allow\n");
    for (size_t i = 0; i < count; i++)
        (void)printf("  --%s N%*s %s\n", flags.names[i], 17 - (int)strlen(flags.names[i]), "",
                     bounds[i].help);
    (void)printf("  --config FILE         read this file instead of the usual ones\n"
                 "  --json                print JSON\n\n"
                 "example: belljar token add ci --profile strict --runs-per-minute 60\n");
    return 0;
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct wish *wish, int argc, char **argv)
{
    size_t count;
    const struct rights_bound *bounds = rights_bounds(&count);
    struct error err = {0};
    struct flags flags;
    int answer, r = 0;

    make_flags(&flags);
    opterr = 0;
    while ((answer = cmd_getopt(argc, argv, ":h", flags.options, NULL)) >= 0) {
        if (answer == OPT_HELP)
            return help() + 1;
        if (answer == '?' || answer == ':')
            return cmd_bad_option("token", answer, argv, flags.options) + 1;
        if (answer == OPT_CONFIG)
            wish->config_path = optarg;
        else if (answer == OPT_JSON)
            wish->is_json = true;
        else if (answer == OPT_OPERATOR)
            wish->rights.is_operator = true;
        else if (answer == OPT_GRANTS)
            wish->rights.has_grants = true;
        else if (answer == OPT_PROFILE)
            r = rights_set_profiles(&wish->rights, optarg, &err);
        else
            r = rights_set_text(&wish->rights, &bounds[answer - OPT_BOUND], optarg, &err);
        if (r < 0)
            return cmd_fail(&err) + 1;
    }
    return 0;
}

static int find_files(struct wish *wish, struct error *err)
{
    const struct config *config = wish->config;

    if (config_load(wish->config, wish->config_path, err) < 0)
        return -1;
    wish->first_path = *config->token_file ? strdup(config->token_file) : paths_state("token", err);
    wish->path =
        *config->tokens_file ? strdup(config->tokens_file) : paths_state("tokens.toml", err);
    if (wish->first_path && wish->path)
        return 0;
    return err->code == E_NONE ? error_memory(err) : -1;
}

/* A change that cannot be made is not recorded as if it had been. */
static int check(const struct wish *wish, bool is_new, const char *name, struct error *err)
{
    cleanup(tokens_done) struct tokens tokens = {0};

    if (tokens_load(wish->path, &tokens, err) < 0)
        return -1;
    if (is_new)
        return tokens_check_new(&tokens, name, err);
    if (strcmp(name, TOKEN_FIRST) == 0 ? access(wish->first_path, F_OK) == 0
                                       : tokens_find(&tokens, name) != NULL)
        return 0;
    error_set(err, E_NOT_FOUND, "there is no token `%.80s`", name);
    return error_hint(err, "`belljar token list` shows their names");
}

/* A change of tokens is recorded before it takes effect, like everything else. */
static int tell(const struct wish *wish, const char *event, const char *name, struct error *err)
{
    const struct recorder_options options = {
        .config = wish->config, .is_brief = true, .on_note = cmd_note};

    return access_token_changes(&options, event, name, err);
}

/* --- add --- */

/* A token for a profile that does not exist could run nothing. */
static int check_profiles(const struct wish *wish, struct error *err)
{
    for (size_t i = 0; i < wish->rights.n_profiles; i++) {
        struct profile *profile = NULL;

        if (admit_load_named(wish->config, wish->rights.profiles[i], &profile, err) < 0)
            return -1;
        profile_free(profile);
    }
    return 0;
}

/* As POST /v1/tokens answers. A name needs no escapes, and a token has none. */
static int print_new(const struct wish *wish, const char *name, const char *token,
                     struct error *err)
{
    int r = wish->is_json ? printf("{\"name\": \"%s\", \"token\": \"%s\"}\n", name, token)
                          : printf("%s\n", token);

    return r < 0 || fflush(stdout) != 0 ? error_errno(err, "print the token") : 0;
}

static int add(struct wish *wish, char **names, struct error *err)
{
    char token[TOKEN_LEN + 1] = "";
    int r;

    if (!names[0] || names[1]) {
        error_set(err, E_INVALID, "`belljar token add` takes one name");
        return error_hint(err, "for example: belljar token add ci");
    }
    r = check_profiles(wish, err) < 0 || check(wish, true, names[0], err) < 0 ||
                tell(wish, "add", names[0], err) < 0
            ? -1
            : tokens_add(wish->path, names[0], &wish->rights, token, err);
    if (r == 0)
        r = print_new(wish, names[0], token, err);
    if (r == 0)
        (void)fprintf(stderr, "belljar: the token is not shown again\n");
    explicit_bzero(token, sizeof(token));
    return r;
}

/* --- list --- */

static json_t *token_json(const struct token *token)
{
    size_t count;
    const struct rights_bound *bounds = rights_bounds(&count);
    json_t *profiles = json_array(), *object;

    for (size_t i = 0; i < token->rights.n_profiles; i++)
        (void)json_array_append_new(profiles, json_string(token->rights.profiles[i]));
    object = json_pack("{s:s, s:s, s:b, s:b, s:o}", "name", token->name, "created", token->created,
                       "operator", (int)token->rights.is_operator, "grants",
                       (int)token->rights.has_grants, "profiles", profiles);
    for (size_t i = 0; i < count; i++) {
        double value = rights_get(&token->rights, &bounds[i]);

        (void)json_object_set_new(object, bounds[i].name,
                                  value < 0            ? json_null()
                                  : bounds[i].is_whole ? json_integer((json_int_t)value)
                                                       : json_real(value));
    }
    return object;
}

static int print_json(const struct tokens *tokens, struct error *err)
{
    cleanup_json json_t *list = json_array();

    for (size_t i = 0; i < tokens->count; i++)
        (void)json_array_append_new(list, token_json(&tokens->items[i]));
    return cmd_print_json(list, err);
}

static void print_row(const struct token *token)
{
    size_t count;
    const struct rights_bound *bounds = rights_bounds(&count);

    (void)printf("%-20s %s", token->name, token->created);
    if (token->rights.is_operator)
        (void)printf(" operator");
    if (token->rights.has_grants)
        (void)printf(" grants");
    for (size_t i = 0; i < token->rights.n_profiles; i++)
        (void)printf("%s%s", i ? "," : " profiles=", token->rights.profiles[i]);
    for (size_t i = 0; i < count; i++)
        if (rights_get(&token->rights, &bounds[i]) >= 0)
            (void)printf(" %s=%.15g", bounds[i].name, rights_get(&token->rights, &bounds[i]));
    (void)printf("\n");
}

static int list(struct wish *wish, char **names, struct error *err)
{
    cleanup(tokens_done) struct tokens tokens = {0};
    bool has_first;

    if (names[0])
        return error_set(err, E_INVALID, "`belljar token list` takes no argument `%s`", names[0]);
    if (tokens_load(wish->path, &tokens, err) < 0)
        return -1;
    if (wish->is_json)
        return print_json(&tokens, err);
    has_first = access(wish->first_path, F_OK) == 0;
    if (has_first)
        (void)printf("%-20s %-20s operator, in %s\n", TOKEN_FIRST, "first start", wish->first_path);
    if (!has_first && !tokens.count)
        (void)fprintf(stderr, "no tokens; `belljar token add NAME` adds one\n");
    for (size_t i = 0; i < tokens.count; i++)
        print_row(&tokens.items[i]);
    return 0;
}

/* --- rm --- */

/* Its file is the token. A server that runs has read it and knows it until it is started again. */
static int remove_first(const struct wish *wish, struct error *err)
{
    if (unlink(wish->first_path) == 0) {
        (void)fprintf(stderr, "belljar: a running server accepts it until it is restarted\n");
        return 0;
    }
    if (errno == ENOENT)
        return error_set(err, E_NOT_FOUND, "there is no token `%s`", TOKEN_FIRST);
    return error_errno(err, "remove `%s`", wish->first_path);
}

/* Its saved data is deleted with it. Its sessions and answers end in the server, which notices. */
/* Deleted at a time: a server that runs waits for no more. */
#define JOBS_AT_ONCE 256

static int remove_other(const struct wish *wish, const char *name, struct error *err)
{
    char keeper[TOKEN_KEEPER_SIZE];
    cleanup_free char *path = NULL;
    struct store *store, *jobs;
    bool has_more = false;
    int r;

    if (tokens_remove(wish->path, name, keeper, err) < 0)
        return -1;
    store = store_open_usual(err);
    r = store ? store_forget(store, keeper, err) : -1;
    store_free(store);
    if (r < 0)
        return error_wrap(err, "the token is removed, its states and skills are not");
    jobs = job_records_open(&path, err);
    do
        r = jobs ? job_record_forget(jobs, keeper, JOBS_AT_ONCE, &has_more, err) : -1;
    while (r == 0 && has_more);
    store_free(jobs);
    return r < 0 ? error_wrap(err, "the token is removed, its jobs are not") : 0;
}

static int rm(struct wish *wish, char **names, struct error *err)
{
    if (!names[0])
        return error_set(err, E_INVALID, "`belljar token rm` takes the names of tokens");
    for (; *names; names++)
        if (check(wish, false, *names, err) < 0 || tell(wish, "remove", *names, err) < 0 ||
            (strcmp(*names, TOKEN_FIRST) == 0 ? remove_first(wish, err)
                                              : remove_other(wish, *names, err)) < 0)
            return -1;
    return 0;
}

static const struct action {
    const char *name;
    int (*run)(struct wish *wish, char **names, struct error *err);
} actions[] = {
    {"add", add},
    {"list", list},
    {"rm", rm},
};

static int act(struct wish *wish, char **words, struct error *err)
{
    const struct action *action = CMD_FIND_ACTION("token", words[0], actions, err);

    if (!action || find_files(wish, err) < 0)
        return -1;
    return action->run(wish, words + 1, err);
}

static void wish_done(struct wish *wish)
{
    config_free(wish->config);
    free(wish->first_path);
    free(wish->path);
}

int cmd_token(int argc, char **argv)
{
    cleanup(wish_done) struct wish wish = {.config = config_new()};
    struct error err = {0};
    int r;

    rights_init(&wish.rights);
    if (!wish.config) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    r = parse(&wish, argc, argv);
    if (r > 0)
        return r - 1;
    return act(&wish, argv + optind, &err) < 0 ? cmd_fail(&err) : 0;
}
