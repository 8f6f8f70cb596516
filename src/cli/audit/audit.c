/* belljar audit: what has been, and whether the record of it is whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/paths.h"
#include "base/suggest.h"
#include "cli/audit/audit.h"
#include "cli/cmd.h"

/* Rows of a list, unless somebody wants more. */
#define LIST_DEFAULT 50

enum {
    OPT_HELP = 'h',
    OPT_CONFIG = 256,
    OPT_DIR,
    OPT_JSON,
    OPT_SINCE,
    OPT_UNTIL,
    OPT_KIND,
    OPT_STATUS,
    OPT_OWNER,
    OPT_SESSION,
    OPT_TEXT,
    OPT_LIMIT,
    OPT_ALL,
    OPT_KEY,
    OPT_AGAINST,
    OPT_CLUSTER,
    OPT_CLUSTER_CONFIG
};

static const struct option options[] = {
    {"help", no_argument, NULL, OPT_HELP},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"dir", required_argument, NULL, OPT_DIR},
    {"json", no_argument, NULL, OPT_JSON},
    {"since", required_argument, NULL, OPT_SINCE},
    {"until", required_argument, NULL, OPT_UNTIL},
    {"kind", required_argument, NULL, OPT_KIND},
    {"status", required_argument, NULL, OPT_STATUS},
    {"owner", required_argument, NULL, OPT_OWNER},
    {"session", required_argument, NULL, OPT_SESSION},
    {"text", required_argument, NULL, OPT_TEXT},
    {"limit", required_argument, NULL, OPT_LIMIT},
    {"all", no_argument, NULL, OPT_ALL},
    {"key", required_argument, NULL, OPT_KEY},
    {"against", required_argument, NULL, OPT_AGAINST},
    {"cluster", no_argument, NULL, OPT_CLUSTER},
    {"cluster-config", required_argument, NULL, OPT_CLUSTER_CONFIG},
    SERVER_OPTIONS,
    {NULL, 0, NULL, 0},
};

static int help(void)
{
    (void)printf(
        "usage: belljar audit list|export|follow [FILTER]…\n"
        "       belljar audit show ID\n"
        "       belljar audit replay ID | [FILTER]…\n"
        "       belljar audit verify [--against FILE]\n"
        "       belljar audit verify --cluster [--server URL] [--token-file FILE]\n"
        "       belljar audit check-receipt FILE [--key FILE]\n"
        "       belljar audit key|head\n\n"
        "Show and verify the audit trail: the record of everything that was run.\n\n"
        "  --since, --until TIME     2h, 7d, 2026-01-31, 2026-01-31T12:00 (UTC)\n"
        "  --kind KIND               run, call, session, file, token, refusal, …\n"
        "  --status STATUS           success, error, timeout, refused, unfinished, …\n"
        "  --owner NAME              records of this owner: the name of a token, or local\n"
        "  --session ID              records of this session\n"
        "  --text TEXT               records that contain this text\n"
        "  --limit N                 only the newest N (list: %d)\n"
        "  --all                     all records\n"
        "  --json                    print JSON\n"
        "  --key FILE                check with this public key (PEM) instead of your own\n"
        "  --against FILE            also check a receipt or head that you kept elsewhere\n"
        "  --cluster                 verify the trails of all machines of a cluster\n"
        "  --cluster-config FILE     with it: the settings of this machine in the cluster\n"
        "  --server URL              with it: a gateway (default http://127.0.0.1:8322)\n"
        "  --token-file FILE         with it: the token of an operator (BELLJAR_TOKEN)\n"
        "  --dir DIR                 read the trail in DIR\n"
        "  --config FILE             read this file instead of the usual ones\n\n"
        "exit: verify, check-receipt: 0 valid, 1 not; replay: 0 identical, 1 different\n"
        "example: belljar audit list --since 1d --status error\n",
        LIST_DEFAULT);
    return 0;
}

static int read_limit(const char *text, size_t *ret_limit, struct error *err)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) {
        error_set(err, E_INVALID, "--limit: expected a whole number, got `%s`", text);
        return error_hint(err, "for example --limit 20");
    }
    *ret_limit = number;
    return 0;
}

/* A word that no record has would find nothing, and look like good news. */
static int take_word(const char *flag, const char *word, const char *const *known, size_t count,
                     const char **ret_word, struct error *err)
{
    const char *nearest = suggest_nearest(word, known, count);
    char all[256];

    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, known[i]) == 0) {
            *ret_word = word;
            return 0;
        }
    }
    cmd_list_words(known, count, all, sizeof(all));
    error_set(err, E_INVALID, "unknown %s `%s`", flag + strlen("--"), word);
    return nearest ? error_hint(err, "did you mean `%s`?", nearest)
                   : error_hint(err, "%s takes %s", flag, all);
}

static int take_kind(struct audit *audit, struct error *err)
{
    static const char *const kinds[] = {"start",  "run",    "session", "file", "token",  "refusal",
                                        "server", "begin",  "key",     "seal", "repair", "gap",
                                        "call",   "pruned", "undo",    "net",  "input"};

    return take_word("--kind", optarg, kinds, ARRAY_SIZE(kinds), &audit->filter.kind, err);
}

static int take_status(struct audit *audit, struct error *err)
{
    static const char *const statuses[] = {"success", "error",     "timeout", "memory_exceeded",
                                           "refused", "cancelled", "failed",  "unfinished"};

    return take_word("--status", optarg, statuses, ARRAY_SIZE(statuses), &audit->filter.status,
                     err);
}

/* False: it is none of those that are only written down. */
static bool put_option(struct audit *audit, int answer)
{
    const struct cmd_place places[] = {
        {OPT_CONFIG, .word = &audit->config_path},
        {OPT_OWNER, .word = &audit->filter.owner},
        {OPT_SESSION, .word = &audit->filter.session},
        {OPT_TEXT, .word = &audit->filter.text},
        {OPT_KEY, .word = &audit->key_path},
        {OPT_AGAINST, .word = &audit->against},
        {OPT_JSON, .flag = &audit->is_json},
        {OPT_CLUSTER, .flag = &audit->cluster.is_asked},
        {OPT_CLUSTER_CONFIG, .word = &audit->cluster.config},
        SERVER_PLACES(&audit->cluster.place),
    };

    return cmd_put(places, ARRAY_SIZE(places), answer);
}

static int take_option(struct audit *audit, int answer, struct error *err)
{
    struct index_filter *filter = &audit->filter;

    switch (answer) {
    case OPT_DIR:
        free(audit->dir);
        audit->dir = strdup(optarg);
        return 0;
    case OPT_SINCE:
        filter->since = audit->since;
        return audit_time(optarg, audit->since, err);
    case OPT_UNTIL:
        filter->until = audit->until;
        return audit_time(optarg, audit->until, err);
    case OPT_KIND:
        return take_kind(audit, err);
    case OPT_STATUS:
        return take_status(audit, err);
    case OPT_LIMIT:
        audit->has_limit = true;
        return read_limit(optarg, &filter->limit, err);
    default: /* OPT_ALL */
        audit->has_limit = true;
        filter->limit = 0;
        return 0;
    }
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct audit *audit, int argc, char **argv)
{
    struct error err = {0};
    int answer;

    opterr = 0;
    while ((answer = cmd_getopt(argc, argv, ":h", options, NULL)) >= 0) {
        if (answer == OPT_HELP)
            return help() + 1;
        if (answer == '?' || answer == ':')
            return cmd_bad_option("audit", answer, argv, options) + 1;
        if (!put_option(audit, answer) && take_option(audit, answer, &err) < 0)
            return cmd_fail(&err) + 1;
    }
    if (!audit->has_limit)
        audit->filter.limit = LIST_DEFAULT;
    return 0;
}

int audit_print(const struct buf *text, struct error *err)
{
    if (file_write_all(STDOUT_FILENO, buf_str(text), text->len) < 0)
        return error_errno(err, "write");
    return 0;
}

static const struct action {
    const char *name;
    int (*run)(struct audit *audit, char **words, struct error *err);
    bool takes_words;
} actions[] = {
    {"list", audit_list, false},
    {"show", audit_show, true},
    {"follow", audit_follow, false},
    {"replay", audit_replay, true},
    {"verify", audit_verify, false},
    {"export", audit_export, false},
    {"check-receipt", audit_check_receipt, true},
    {"key", audit_key, false},
    {"head", audit_head, false},
};

static int find_dir(struct audit *audit, struct error *err)
{
    if (config_load(audit->config, audit->config_path, err) < 0)
        return -1;
    if (!audit->dir)
        audit->dir = *audit->config->trail_dir ? strdup(audit->config->trail_dir)
                                               : paths_state("trail", err);
    if (audit->dir)
        return 0;
    return err->code == E_NONE ? error_memory(err) : -1;
}

static int act(struct audit *audit, char **words, struct error *err)
{
    const struct action *action = CMD_FIND_ACTION("audit", words[0], actions, err);

    if (!action)
        return -1;
    if (words[1] && !action->takes_words)
        return error_set(err, E_INVALID, "`belljar audit %s` takes no argument `%s`", words[0],
                         words[1]);
    return find_dir(audit, err) < 0 ? -1 : action->run(audit, words + 1, err);
}

static void audit_done(struct audit *audit)
{
    config_free(audit->config);
    free(audit->dir);
}

int cmd_audit(int argc, char **argv)
{
    cleanup(audit_done) struct audit audit = {.config = config_new()};
    struct error err = {0};
    int r;

    if (!audit.config) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    r = parse(&audit, argc, argv);
    if (r > 0)
        return r - 1;
    r = act(&audit, argv + optind, &err);
    return r < 0 ? cmd_fail(&err) : r;
}
