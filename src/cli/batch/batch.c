/* belljar batch: many programs, each in a fresh sandbox, and a table of how they ended. */
#include "cli/batch/batch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "cli/flags.h"
#include "cli/run_source.h"
#include "cli/server.h"

/* Programs of one batch. */
#define ITEMS_MAX 100000
#define JOBS_MAX  1000

static int help(void)
{
    (void)printf(
        "usage: belljar batch [OPTION]… {FILE | DIR | -}…\n"
        "Run many programs, each in a fresh sandbox, and print a table of how they ended.\n"
        "DIR stands for the programs in it, - for names on standard input, one per line.\n"
        "Defaults are in parentheses.\n"
        "  --jobs N              programs at a time (one per core)\n"
        "  --into DIR            keep the output of each as NAME.out and NAME.err in DIR\n"
        "  --json                print a line of JSON for each as it ends\n"
        "  -l LANGUAGE           language of all programs (by suffix or #! line)\n"
        "  --stdin FILE          standard input of each program\n"
        "  --env NAME=VALUE      set an environment variable; repeatable\n"
        "  --server URL          run them on a server (http://, https://, unix:PATH)\n"
        "  --token-file FILE     file with the token for the server\n"
        "  --config FILE         read this file instead of the usual ones\n");
    flags_print("batch");
    (void)printf("exit: 0 if all succeeded, 1 if one did not, 130 after Ctrl-C\n"
                 "example: belljar batch --timeout 5 submissions/\n");
    return 0;
}

/* --- options --- */

enum {
    OPT_LANGUAGE = 'l',
    OPT_HELP = 'h',
    OPT_JOBS = 256,
    OPT_INTO,
    OPT_JSON,
    OPT_STDIN,
    OPT_ENV,
    OPT_SERVER,
    OPT_TOKEN_FILE,
    OPT_CONFIG,
    OPT_SETTING
};

static const struct option own_options[] = {
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"into", required_argument, NULL, OPT_INTO},
    {"json", no_argument, NULL, OPT_JSON},
    {"language", required_argument, NULL, OPT_LANGUAGE},
    {"stdin", required_argument, NULL, OPT_STDIN},
    {"env", required_argument, NULL, OPT_ENV},
    {"server", required_argument, NULL, OPT_SERVER},
    {"token-file", required_argument, NULL, OPT_TOKEN_FILE},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"help", no_argument, NULL, OPT_HELP},
};

static int read_jobs(struct batch *batch, const char *text, struct error *err)
{
    char *end;

    batch->jobs = strtol(text, &end, 10);
    if (*text >= '1' && *text <= '9' && !*end && batch->jobs >= 1 && batch->jobs <= JOBS_MAX)
        return 0;
    return error_set(err, E_INVALID, "--jobs: expected a whole number from 1 to %d, got `%s`",
                     JOBS_MAX, text);
}

static int set_flag(struct batch *batch, const char *name, struct error *err)
{
    if (batch->remote.n_flags < REMOTE_FLAGS_MAX)
        batch->remote.flags[batch->remote.n_flags++] = name;
    return config_set_flag(batch->config, name, optarg, err);
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct batch *batch, int argc, char **argv)
{
    const struct cmd_place places[] = {
        {OPT_LANGUAGE, .word = &batch->language},
        {OPT_STDIN, .word = &batch->input},
        {OPT_INTO, .word = &batch->into},
        {OPT_SERVER, .word = &batch->remote.server},
        {OPT_TOKEN_FILE, .word = &batch->remote.token_file},
        {OPT_CONFIG, .word = &batch->config_file},
        {OPT_JSON, .flag = &batch->is_json},
    };
    struct option options[FLAGS_OPTIONS_MAX];
    struct error err = {0};
    int answer, index, r = 0;

    flags_options("batch", own_options, ARRAY_SIZE(own_options), OPT_SETTING, options);
    opterr = 0;
    while (r == 0 && (answer = cmd_getopt(argc, argv, ":l:h", options, &index)) >= 0) {
        if (cmd_put(places, ARRAY_SIZE(places), answer))
            continue;
        if (answer == OPT_HELP)
            return help() + 1;
        if (answer == OPT_JOBS)
            r = read_jobs(batch, optarg, &err);
        else if (answer == OPT_ENV)
            r = flags_add_env(&batch->asked, optarg, &err);
        else if (answer == OPT_SETTING)
            r = set_flag(batch, options[index].name, &err);
        else
            return cmd_bad_option("batch", answer, argv, options) + 1;
    }
    return r < 0 ? cmd_fail(&err) + 1 : 0;
}

/* --- programs --- */

static int add_item(struct batch *batch, const char *path, struct error *err)
{
    if (batch->count == ITEMS_MAX)
        return error_set(err, E_TOO_LARGE, "a batch has at most %d programs", ITEMS_MAX);
    if (batch->count == batch->capacity) {
        size_t capacity = batch->capacity ? 2 * batch->capacity : 64;
        struct batch_item *items = reallocarray(batch->items, capacity, sizeof(*items));

        if (!items)
            return error_memory(err);
        batch->items = items;
        batch->capacity = capacity;
    }
    batch->items[batch->count] = (struct batch_item){.path = strdup(path)};
    return batch->items[batch->count++].path ? 0 : error_memory(err);
}

static int is_program(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && run_source_has_suffix(entry->d_name);
}

/* The files of a directory whose suffix is that of a program, by name. */
static int add_directory(struct batch *batch, const char *dir, struct error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(dir, &entries, is_program, alphasort), r = 0;
    size_t before = batch->count, len = strlen(dir);

    if (count < 0)
        return error_errno(err, "read the directory `%s`", dir);
    for (int i = 0; i < count; i++) {
        cleanup_free char *path = NULL;
        struct stat st;

        if (asprintf(&path, "%s%s%s", dir, len && dir[len - 1] == '/' ? "" : "/",
                     entries[i]->d_name) < 0) {
            path = NULL;
            r = error_memory(err);
        }
        if (r == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
            r = add_item(batch, path, err);
        free(entries[i]);
    }
    free(entries);
    if (r == 0 && batch->count == before) {
        error_set(err, E_NOT_FOUND, "there are no programs in `%s`", dir);
        return error_hint(err, "programs are found by their suffix, such as .py");
    }
    return r;
}

static int add_path(struct batch *batch, const char *path, struct error *err)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        error_set(err, E_NOT_FOUND, "`%s`: %s", path, strerror(errno));
        return error_hint(err, "nothing was run");
    }
    return S_ISDIR(st.st_mode) ? add_directory(batch, path, err) : add_item(batch, path, err);
}

static int add_names(struct batch *batch, struct error *err)
{
    cleanup_free char *line = NULL;
    size_t size = 0;
    ssize_t len;
    int r = 0;

    while (r == 0 && (len = getline(&line, &size, stdin)) > 0) {
        if (line[len - 1] == '\n')
            line[--len] = '\0';
        if (len)
            r = add_path(batch, line, err);
    }
    return r;
}

static int collect(struct batch *batch, char **words, struct error *err)
{
    int r = 0;

    for (; *words && r == 0; words++)
        r = strcmp(*words, "-") == 0 ? add_names(batch, err) : add_path(batch, *words, err);
    if (r == 0 && batch->count == 0) {
        error_set(err, E_INVALID, "no program was given");
        return error_hint(err, "`belljar batch DIR` runs the programs in a directory");
    }
    return r;
}

int batch_read(const struct batch *batch, const struct batch_item *item, struct run_text *text,
               struct run_request *ret_asked, struct error *err)
{
    const struct run_source source = {
        .file = item->path, .language = batch->language, .input = batch->input};

    *ret_asked = (struct run_request){.filename = item->path};
    for (size_t i = 0; i < batch->asked.n_env; i++)
        if (run_request_add_variable(ret_asked, batch->asked.env[i].name, batch->asked.env[i].value,
                                     err) < 0)
            return -1;
    return run_source_read(&source, batch->config, text, ret_asked, err);
}

/* --- where output goes --- */

static int by_name(const void *a, const void *b)
{
    const struct batch_item *const *x = a, *const *y = b;
    int r = strcmp((*x)->kept, (*y)->kept);

    return r ? r : (*x < *y ? -1 : *x > *y);
}

/* Files of the same name in different directories: the second is NAME-2. */
static int name_twins(const struct batch *batch, struct error *err)
{
    cleanup_free struct batch_item **sorted = calloc(batch->count, sizeof(struct batch_item *));
    size_t number = 1;

    if (!sorted)
        return error_memory(err);
    for (size_t i = 0; i < batch->count; i++)
        sorted[i] = &batch->items[i];
    qsort(sorted, batch->count, sizeof(struct batch_item *), by_name);
    for (size_t i = 1; i < batch->count; i++) {
        const char *base = sorted[i - number]->kept;
        char *name = NULL;

        if (strcmp(sorted[i]->kept, base) != 0) {
            number = 1;
            continue;
        }
        if (asprintf(&name, "%s-%zu", base, ++number) < 0)
            return error_memory(err);
        free(sorted[i]->kept);
        sorted[i]->kept = name;
    }
    return 0;
}

static int open_into(struct batch *batch, struct error *err)
{
    if (!batch->into)
        return 0;
    if (mkdir(batch->into, 0777) < 0 && errno != EEXIST)
        return error_errno(err, "--into `%s`", batch->into);
    batch->into_fd = open(batch->into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (batch->into_fd < 0)
        return error_errno(err, "--into `%s`", batch->into);
    for (size_t i = 0; i < batch->count; i++) {
        const char *slash = strrchr(batch->items[i].path, '/');

        batch->items[i].kept = strdup(slash ? slash + 1 : batch->items[i].path);
        if (!batch->items[i].kept)
            return error_memory(err);
    }
    return name_twins(batch, err);
}

/* --- the command --- */

static int check_words(const struct batch *batch, struct error *err)
{
    if (batch->input && strcmp(batch->input, "-") == 0) {
        error_set(err, E_INVALID,
                  "--stdin -: one standard input cannot be that of several programs");
        return error_hint(err, "name a file");
    }
    if (batch->config_file && batch->remote.server) {
        error_set(err, E_INVALID, "--config does not work with a server");
        return error_hint(err, "leave it out, or run without --server");
    }
    return 0;
}

static int prepare(struct batch *batch, char **words, struct error *err)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (!batch->jobs)
        batch->jobs = cores > 0 ? cores : 1;
    if (batch->jobs > JOBS_MAX)
        batch->jobs = JOBS_MAX;
    if (check_words(batch, err) < 0 || config_load(batch->config, batch->config_file, err) < 0 ||
        collect(batch, words, err) < 0)
        return -1;
    return open_into(batch, err);
}

static void batch_done(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        free(batch->items[i].path);
        free(batch->items[i].kept);
        free(batch->items[i].detail);
    }
    free(batch->items);
    close_fd(&batch->into_fd);
    run_request_done(&batch->asked);
    remote_done(&batch->remote);
    config_free(batch->config);
}

int cmd_batch(int argc, char **argv)
{
    cleanup(batch_done) struct batch batch = {.config = config_new(), .into_fd = -1};
    struct error err = {0};
    int r;

    if (!batch.config) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    r = parse(&batch, argc, argv);
    if (r > 0)
        return r - 1;
    remote_init(&batch.remote);
    if (prepare(&batch, argv + optind, &err) < 0)
        return cmd_fail(&err);
    batch.begun_ns = loop_now_ns();
    r = remote_is_wanted(&batch.remote, batch.config) ? batch_run_there(&batch, &err)
                                                      : batch_run_here(&batch, &err);
    batch_print(&batch);
    if (r < 0)
        return server_fail(&err);
    return r ? 130 : batch.failed > 0;
}
