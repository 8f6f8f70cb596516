/* belljar environment: packages for programs, made outside of any run. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "cli/cmd.h"
#include "cli/environment_make.h"
#include "engine/environment_manifest.h"

enum {
    OPT_HELP = 'h',
    OPT_REQUIREMENTS = 'r',
    OPT_WITH = 256,
    OPT_PYTHON,
    OPT_PRELOAD,
    OPT_INDEX,
    OPT_WHEELS,
    OPT_LOCK,
    OPT_BARE,
    OPT_JSON
};

/* clang-format off */
static const struct option options[] = {
    {"help",    no_argument,       NULL, OPT_HELP},
    {"with",    required_argument, NULL, OPT_WITH},
    {"requirements", required_argument, NULL, OPT_REQUIREMENTS},
    {"python",  required_argument, NULL, OPT_PYTHON},
    {"preload", required_argument, NULL, OPT_PRELOAD},
    {"index",   required_argument, NULL, OPT_INDEX},
    {"wheels",  required_argument, NULL, OPT_WHEELS},
    {"lock",    required_argument, NULL, OPT_LOCK},
    {"bare",    no_argument,       NULL, OPT_BARE},
    {"json",    no_argument,       NULL, OPT_JSON},
    {0},
};
/* clang-format on */

static int help(void)
{
    (void)printf(
        "usage: belljar environment create NAME {--with NAME,… | -r FILE | --lock FILE}\n"
        "       belljar environment add NAME {PACKAGE… | -r FILE} [OPTION]…\n"
        "       belljar environment update NAME… [OPTION]…\n"
        "       belljar environment list [--json]\n"
        "       belljar environment show NAME\n"
        "       belljar environment rm NAME…\n\n"
        "Manage environments: packages that programs use with `--environment NAME`.\n"
        "pip installs them as wheels, outside of any run, and checks each by its hash.\n\n"
        "  --with PACKAGE,…   packages to install, as `polars` or `duckdb==1.1.3`\n"
        "  -r FILE            packages of a requirements.txt\n"
        "  --lock FILE        exactly what it lists: `name==version --hash=sha256:…`\n"
        "  --preload MODULE,… modules to import in advance (those of the packages)\n"
        "  --index URL        the package index (from pip's settings)\n"
        "  --wheels DIR       install only from this directory, without network\n"
        "  --python VERSION   the Python it is for, such as 3.13; see `belljar doctor`\n"
        "  --bare             leave out the system's packages\n"
        "  --json             print JSON\n\n"
        "example:\n"
        "  belljar environment create lake --with polars,duckdb\n"
        "  belljar run --environment lake -c 'import polars; print(polars.__version__)'\n");
    return 0;
}

struct arguments {
    struct environment_wish wish;
    const char *requirements;
    bool is_json;
};

static int split(struct config_list *list, const char *text, struct error *err)
{
    for (size_t len; *text; text += len + (text[len] == ',')) {
        len = strcspn(text, ",");
        if (len && config_list_add(list, text, len, err) < 0)
            return -1;
    }
    return 0;
}

static int create(struct arguments *request, char **names, struct error *err)
{
    struct environment_wish *wish = &request->wish;

    if (names[1]) {
        error_set(err, E_INVALID, "only one environment at a time; unexpected `%s`", names[1]);
        return error_hint(err, "list packages after --with, separated by commas");
    }
    wish->name = names[0];
    if (request->requirements &&
        environment_read_requirements(wish, request->requirements, err) < 0)
        return -1;
    if (!wish->packages.count && !wish->lock) {
        error_set(err, E_INVALID, "no packages were given");
        return error_hint(err, "name them with --with PACKAGE,…, -r FILE or --lock FILE");
    }
    if (wish->packages.count && wish->lock) {
        error_set(err, E_INVALID, "--lock cannot be combined with --with and -r");
        return error_hint(err, "a lock lists every package; leave one of them out");
    }
    if (environment_make(wish, err) < 0)
        return -1;
    (void)printf("%s: ready; use it with `belljar run --environment %s`\n", wish->name, wish->name);
    return 0;
}

static int remade(struct environment_wish *wish, struct error *err)
{
    if (environment_remake(wish, err) < 0)
        return -1;
    (void)printf("%s: ready; use it with `belljar run --environment %s`\n", wish->name, wish->name);
    return 0;
}

static int no_lock(const struct arguments *request, struct error *err)
{
    return request->wish.lock ? error_set(err, E_INVALID, "--lock is for `create`") : 0;
}

static int add(struct arguments *request, char **names, struct error *err)
{
    struct environment_wish *wish = &request->wish;

    wish->name = *names++;
    if (no_lock(request, err) < 0)
        return -1;
    for (; *names; names++)
        if (config_list_add(&wish->packages, *names, strlen(*names), err) < 0)
            return -1;
    if (request->requirements &&
        environment_read_requirements(wish, request->requirements, err) < 0)
        return -1;
    if (wish->packages.count == 0) {
        error_set(err, E_INVALID, "no package to add to `%s`", wish->name);
        return error_hint(err, "`belljar environment add %s PACKAGE…`, or -r FILE", wish->name);
    }
    return remade(wish, err);
}

static int update(struct arguments *request, char **names, struct error *err)
{
    if (request->wish.packages.count || request->requirements) {
        error_set(err, E_INVALID, "`belljar environment update` takes no packages");
        return error_hint(err, "`belljar environment add NAME PACKAGE` adds one");
    }
    if (no_lock(request, err) < 0)
        return -1;
    for (; *names; names++) {
        struct environment_wish wish = {
            .name = *names, .index = request->wish.index, .wheels = request->wish.wheels};
        int r = remade(&wish, err);

        config_list_done(&wish.packages);
        config_list_done(&wish.preload);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* "lake  polars, duckdb (Python 3.13, 5 installed)" */
static void print_line(const json_t *manifest)
{
    const json_t *requested = json_object_get(manifest, "requested"), *item;
    size_t i;

    (void)printf("%-16s", json_string_value(json_object_get(manifest, "name")));
    json_array_foreach(requested, i, item)
    {
        (void)printf("%s%s", i ? ", " : " ", json_string_value(item));
    }
    (void)printf(" (Python %s, %zu installed)\n",
                 json_string_value(json_object_get(manifest, "python")),
                 json_array_size(json_object_get(manifest, "packages")));
}

static int list(struct arguments *request, char **names, struct error *err)
{
    cleanup_json json_t *all = manifest_list(err);
    const json_t *manifest;
    size_t i;

    (void)names;
    if (!all)
        return -1;
    if (request->is_json)
        return cmd_print_json(all, err);
    json_array_foreach(all, i, manifest)
    {
        print_line(manifest);
    }
    if (json_array_size(all) == 0)
        (void)fprintf(stderr,
                      "no environments; `belljar environment create NAME --with …` creates one\n");
    return 0;
}

static int show(struct arguments *request, char **names, struct error *err)
{
    (void)request;
    for (; *names; names++) {
        cleanup_json json_t *manifest = manifest_load(*names, err);

        if (!manifest || cmd_print_json(manifest, err) < 0)
            return -1;
    }
    return 0;
}

static int rm(struct arguments *request, char **names, struct error *err)
{
    (void)request;
    for (; *names; names++) {
        if (environment_remove(*names, err) < 0)
            return -1;
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct arguments *request, char **names, struct error *err);
    bool takes_names;
} actions[] = {
    {"create", create, true}, {"add", add, true},   {"update", update, true},
    {"list", list, false},    {"show", show, true}, {"rm", rm, true},
};

static int act(struct arguments *request, char **words, struct error *err)
{
    const char *known[ARRAY_SIZE(actions)], *nearest;
    const char *word = *words ? *words : "";

    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        known[i] = actions[i].name;
        if (strcmp(word, known[i]) != 0)
            continue;
        if ((words[1] != NULL) == actions[i].takes_names)
            return actions[i].run(request, words + 1, err);
        error_set(err, E_INVALID, "`belljar environment %s` takes %s", word,
                  actions[i].takes_names ? "a name" : "no names");
        return error_hint(err, "`belljar environment --help` shows the usage");
    }
    if (!*word) {
        error_set(err, E_INVALID,
                  "`belljar environment` needs an action: create, add, update, list, show or rm");
        return error_hint(err, "`belljar environment --help` shows the usage");
    }
    nearest = suggest_nearest(word, known, ARRAY_SIZE(known));
    error_set(err, E_INVALID, "unknown action `%s` of `belljar environment`", word);
    return error_hint(err, nearest ? "did you mean `%s`?" : "`belljar environment --help` lists %s",
                      nearest ? nearest : "them");
}

int cmd_environment(int argc, char **argv)
{
    struct arguments request = {0};
    struct error err = {0};
    int answer, r = 0;

    opterr = 0;
    while (r == 0 && (answer = cmd_getopt(argc, argv, ":hr:", options, NULL)) >= 0) {
        switch (answer) {
        case OPT_HELP:
            return help();
        case OPT_WITH:
            r = split(&request.wish.packages, optarg, &err);
            break;
        case OPT_REQUIREMENTS:
            request.requirements = optarg;
            break;
        case OPT_PYTHON:
            request.wish.python = optarg;
            break;
        case OPT_PRELOAD:
            r = split(&request.wish.preload, optarg, &err);
            break;
        case OPT_INDEX:
            request.wish.index = optarg;
            break;
        case OPT_WHEELS:
            request.wish.wheels = optarg;
            break;
        case OPT_LOCK:
            request.wish.lock = optarg;
            break;
        case OPT_BARE:
            request.wish.is_bare = true;
            break;
        case OPT_JSON:
            request.is_json = true;
            break;
        default:
            return cmd_bad_option("environment", answer, argv, options);
        }
    }
    if (r == 0)
        r = act(&request, argv + optind, &err);
    config_list_done(&request.wish.packages);
    config_list_done(&request.wish.preload);
    return r < 0 ? cmd_fail(&err) : 0;
}
