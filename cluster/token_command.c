#include "cluster/token_command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/file.h"
#include "base/json.h"
#include "cluster/operator.h"
#include "cluster/token_list.h"
#include "cluster/token_store.h"

/* Against other operators who change tokens at the same moment. */
#define TRIES 8

#define BOUNDS_MAX 16

enum { OPTION_PROFILE = 256, OPTION_OPERATOR, OPTION_GRANTS, OPTION_ANEW, OPTION_BOUND };

static const struct option own_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"config", required_argument, NULL, 'c'},
    {"profile", required_argument, NULL, OPTION_PROFILE},
    {"operator", no_argument, NULL, OPTION_OPERATOR},
    {"grants", no_argument, NULL, OPTION_GRANTS},
    {"anew", no_argument, NULL, OPTION_ANEW},
};

struct flags {
    char names[BOUNDS_MAX][32];
    struct option options[ARRAY_SIZE(own_options) + BOUNDS_MAX + 1];
};

struct wish {
    const char *config;
    const char *word, *name;
    struct rights rights;
    bool is_anew;
    char token[TOKEN_LEN + 1];
};

/* One command at work. */
struct work {
    struct operator_settings settings;
    struct operator_bus *bus;
    struct token_list list;
    uint64_t revision;
    char *staged;
    uint8_t removed[SHA256_BYTES]; /* the hash of the token that goes */
    int dir;                       /* that of the settings, locked */
};

/* The flags of the bounds, with dashes for `_`. */
static size_t make_flags(struct flags *flags)
{
    size_t count, n = ARRAY_SIZE(own_options);
    const struct rights_bound *bounds = rights_bounds(&count);

    *flags = (struct flags){0};
    memcpy(flags->options, own_options, sizeof(own_options));
    if (count > BOUNDS_MAX)
        count = BOUNDS_MAX;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(flags->names[i], sizeof(flags->names[i]), "%s", bounds[i].name);
        for (char *c = flags->names[i]; *c; c++)
            *c = *c == '_' ? '-' : *c;
        flags->options[n++] =
            (struct option){flags->names[i], required_argument, NULL, OPTION_BOUND + (int)i};
    }
    return count;
}

static int help(void)
{
    struct flags flags;
    size_t unused, count = make_flags(&flags);
    const struct rights_bound *bounds = rights_bounds(&unused);

    (void)printf("usage: belljar cluster token add NAME [OPTION]…\n"
                 "       belljar cluster token list\n"
                 "       belljar cluster token rm NAME\n\n"
                 "Add, list and remove tokens that hold on every machine of the cluster. A token\n"
                 "is shown only once, when it is created. The list is signed with the operator's\n"
                 "key; the first one begins with the tokens of this machine.\n\n"
                 "      --profile NAME,…  allow only these profiles\n"
                 "      --operator        may see metrics, settings, tokens and the audit trail\n"
                 "      --grants          may use the directories that the settings allow\n");
    for (size_t i = 0; i < count; i++)
        (void)printf("      --%-16s N  %s\n", flags.names[i], bounds[i].help);
    (void)printf("      --anew            begin the list again with the tokens of this machine\n"
                 "      --config FILE     settings of this machine (" OPERATOR_DIR
                 "/cluster.toml)\n"
                 "\nexample: belljar cluster token add ci --runs-per-minute 60\n");
    return 0;
}

/* --- the list --- */

static const char *tokens_path(const struct work *w)
{
    return json_get_text(json_object_get(w->settings.tree, "node"), "tokens");
}

/* The serial of the list that this machine's node used last; 0: there is none. */
static int read_copy(const struct work *w, uint64_t *ret_serial, struct error *err)
{
    cleanup(token_list_done) struct token_list copy = TOKEN_LIST;
    cleanup_free char *path = NULL;

    *ret_serial = 0;
    if (!*tokens_path(w))
        return 0;
    if (asprintf(&path, "%s" TOKEN_LIST_COPY, tokens_path(w)) < 0)
        return error_memory(err);
    if (token_list_load(path, w->settings.options.ca, &copy, NULL) == 0)
        *ret_serial = copy.serial;
    return 0;
}

/* The tokens of this machine; none is no mistake. The new list is younger than any that was seen.
 */
static int begin_list(struct work *w, struct error *err)
{
    const char *path = tokens_path(w);
    cleanup_error struct error why = {0};
    uint64_t copy;

    if (read_copy(w, &copy, err) < 0)
        return -1;
    if (w->list.serial < copy)
        w->list.serial = copy;
    buf_clear(&w->list.text);
    if (!*path || token_list_read_file(path, &w->list.text, &why) == 0 || why.code == E_NOT_FOUND)
        return 0;
    error_move(err, &why);
    return -1;
}

/* A server that was taken over could show a list of the past, and have it signed once more. */
static int check_age(const struct work *w, struct error *err)
{
    uint64_t copy;

    if (read_copy(w, &copy, err) < 0)
        return -1;
    if (copy <= w->list.serial)
        return 0;
    error_set(err, E_DENIED, "the bus has an older list of tokens than this machine");
    return error_hint(err, "if the store of the bus was restored or lost, --anew begins the list "
                           "again with the tokens of this machine");
}

static int fetch(struct work *w, struct error *err)
{
    cleanup(buf_done) struct buf value = BUF_OF(TOKEN_LIST_BYTES);

    if (token_store_get(w->bus, &value, &w->revision, err) < 0)
        return -1;
    if (token_list_read(buf_str(&value), value.len, w->settings.options.ca, &w->list, err) < 0) {
        (void)error_wrap(err, "the list of tokens on the bus is invalid");
        return error_hint(err, "--anew begins it again with the tokens of this machine");
    }
    return check_age(w, err);
}

static int fetch_or_begin(struct work *w, bool is_anew, struct error *err)
{
    cleanup_error struct error why = {0};

    if (fetch(w, &why) == 0 && !is_anew)
        return 0;
    if (is_anew ? w->revision == 0 && why.code != E_NONE && why.code != E_NOT_FOUND
                : why.code != E_NOT_FOUND) {
        error_move(err, &why);
        return -1;
    }
    if (begin_list(w, err) < 0)
        return -1;
    (void)fprintf(stderr, "belljar: the list begins with the tokens of this machine\n");
    return 0;
}

/* Notes the hash of a removed token, whose skills and states are then deleted from the bus. */
static int note_removed(struct work *w, const char *name, struct error *err)
{
    cleanup(tokens_done) struct tokens tokens = {0};
    const struct token *token;

    if (tokens_load(w->staged, &tokens, err) < 0)
        return -1;
    token = tokens_find(&tokens, name);
    if (token)
        memcpy(w->removed, token->hash, sizeof(w->removed));
    return 0;
}

/* Does what is wanted to the staged file, with the means of `belljar token`. */
static int change(struct work *w, struct wish *wish, struct error *err)
{
    char keeper[TOKEN_KEEPER_SIZE];
    int r = file_replace(w->staged, buf_str(&w->list.text), w->list.text.len, err);

    if (r == 0)
        r = note_removed(w, wish->name, err);
    if (r == 0)
        r = strcmp(wish->word, "add") == 0
                ? tokens_add(w->staged, wish->name, &wish->rights, wish->token, err)
                : tokens_remove(w->staged, wish->name, keeper, err);
    if (r == 0)
        r = token_list_read_file(w->staged, &w->list.text, err);
    token_list_unstage(w->staged);
    return r;
}

static int publish(struct work *w, struct error *err)
{
    cleanup(buf_done) struct buf value = BUF_OF(TOKEN_LIST_BYTES);
    uint64_t now = (uint64_t)date_now_ms();

    w->list.serial = w->list.serial >= now ? w->list.serial + 1 : now;
    if (token_list_sign(&w->list, &w->settings.pair, &value, err) < 0)
        return -1;
    return token_store_put(w->bus, &value, w->revision,
                           (int)json_integer_value(json_object_get(
                               json_object_get(w->settings.tree, "bus"), "replicas")),
                           err);
}

static int change_list(struct work *w, struct wish *wish, struct error *err)
{
    for (int i = 0; i < TRIES; i++) {
        error_done(err);
        if (fetch_or_begin(w, wish->is_anew, err) < 0 || change(w, wish, err) < 0)
            return -1;
        if (publish(w, err) == 0)
            return 0;
        if (err->code != E_BUSY)
            return -1;
    }
    return -1;
}

/* --- the command --- */

static int list(struct work *w, struct error *err)
{
    cleanup(tokens_done) struct tokens tokens = {0};

    if (fetch(w, err) < 0 || token_list_tokens(&w->list, w->staged, &tokens, err) < 0)
        return -1;
    for (size_t i = 0; i < tokens.count; i++) {
        cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);

        if (rights_write(&tokens.items[i].rights, &text, err) < 0)
            return -1;
        for (char *c = text.data; c && *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        (void)printf("%-20s %s %s\n", tokens.items[i].name, tokens.items[i].created,
                     buf_str(&text));
    }
    return 0;
}

/* The lock is for the staged file: two operators of one machine take turns. */
static int open_work(struct work *w, const char *config, struct error *err)
{
    const char *slash = strrchr(config, '/');
    int len = slash ? (int)(slash - config) : 1;
    cleanup_free char *dir = NULL;

    if (asprintf(&dir, "%.*s", len, slash ? config : ".") < 0 ||
        asprintf(&w->staged, "%s/tokens.staged", *dir ? dir : "/") < 0)
        return error_memory(err);
    if (operator_settings_load(config, &w->settings, err) < 0)
        return -1;
    if (!w->settings.options.ca) {
        error_set(err, E_UNSUPPORTED, "`%s`: a cluster without certificates has no list of tokens",
                  config);
        return error_hint(err, "`belljar cluster join` makes certificates");
    }
    w->dir = open(*dir ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->dir < 0 || flock(w->dir, LOCK_EX) < 0)
        return error_errno(err, "lock `%s`", dir);
    return operator_connect(&w->settings.options, &w->bus, err);
}

static void close_work(struct work *w)
{
    operator_close(w->bus);
    token_list_done(&w->list);
    if (w->dir >= 0)
        (void)close(w->dir);
    free(w->staged);
    operator_settings_done(&w->settings);
}

/* Nobody can read them from now on. They would take room. */
static void purge(struct work *w)
{
    cleanup_error struct error err = {0};

    if (token_store_purge(w->bus, w->removed, &err) < 0)
        (void)fprintf(stderr, "belljar: %s\n", error_message(&err));
}

static int run(struct wish *wish, struct error *err)
{
    struct work w = {.list = TOKEN_LIST, .dir = -1};
    int r = open_work(&w, wish->config, err);

    if (r == 0)
        r = strcmp(wish->word, "list") == 0 ? list(&w, err) : change_list(&w, wish, err);
    if (r == 0 && strcmp(wish->word, "rm") == 0)
        purge(&w);
    close_work(&w);
    if (r < 0)
        return -1;
    if (strcmp(wish->word, "add") == 0) {
        (void)printf("%s\n", wish->token);
        (void)fprintf(stderr, "belljar: the token is not shown again\n");
    }
    explicit_bzero(wish->token, sizeof(wish->token));
    return 0;
}

/* `add NAME`, `rm NAME`, `list`. */
static int read_words(int argc, char **argv, struct wish *wish, struct error *err)
{
    static const char *const words[] = {"add", "list", "rm"};
    bool is_known = false;

    wish->word = optind < argc ? argv[optind++] : "";
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        is_known |= strcmp(wish->word, words[i]) == 0;
    if (!is_known) {
        error_set(err, E_INVALID, "cluster token: expected add, list or rm%s%s%s",
                  *wish->word ? ", got `" : "", wish->word, *wish->word ? "`" : "");
        return error_hint(err, "`belljar cluster token --help` shows the usage");
    }
    if (strcmp(wish->word, "list") == 0)
        return optind == argc
                   ? 0
                   : error_set(err, E_INVALID, "cluster token list takes no argument `%s`",
                               argv[optind]);
    wish->name = operator_argument(argc, argv, "cluster token", "the name of a token", err);
    return wish->name ? 0 : -1;
}

int cluster_token(int argc, char **argv)
{
    struct wish wish = {.config = OPERATOR_DIR "/cluster.toml"};
    cleanup_error struct error err = {0};
    struct flags flags;
    size_t unused;
    const struct rights_bound *bounds = rights_bounds(&unused);
    int answer, r = 0;

    (void)make_flags(&flags);
    rights_init(&wish.rights);
    opterr = 0;
    optind = 1;
    while (r == 0 && (answer = operator_getopt(argc, argv, ":h", flags.options)) != -1) {
        if (answer == 'h')
            return help();
        if (answer == '?' || answer == ':')
            return operator_bad_option("cluster token", answer, argv, flags.options);
        if (answer == 'c')
            wish.config = optarg;
        else if (answer == OPTION_OPERATOR)
            wish.rights.is_operator = true;
        else if (answer == OPTION_GRANTS)
            wish.rights.has_grants = true;
        else if (answer == OPTION_ANEW)
            wish.is_anew = true;
        else if (answer == OPTION_PROFILE)
            r = rights_set_profiles(&wish.rights, optarg, &err);
        else
            r = rights_set_text(&wish.rights, &bounds[answer - OPTION_BOUND], optarg, &err);
    }
    if (r < 0 || read_words(argc, argv, &wish, &err) < 0 || run(&wish, &err) < 0)
        return operator_fail(&err);
    return 0;
}
