/* belljar mask: the masker as a filter. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cli/cmd.h"
#include "mask/operator_rules.h"

#define BLOCK 65536

enum { OPT_HELP = 'h', OPT_AGGRESSIVE = 256, OPT_CHECK, OPT_EXPLAIN, OPT_WITH };

static const struct option options[] = {
    {"aggressive", no_argument, NULL, OPT_AGGRESSIVE},
    {"check", no_argument, NULL, OPT_CHECK},
    {"explain", no_argument, NULL, OPT_EXPLAIN},
    {"with", required_argument, NULL, OPT_WITH},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

struct mask_command {
    bool is_aggressive, checks, explains;
    const char *path;
    const char *with;
    struct operator_rules own;
};

static int help(void)
{
    (void)printf(
        "usage: belljar mask [OPTION]… [FILE|-]\n\n"
        "Replace secrets in FILE or standard input with labels, as in programs' output.\n\n"
        "  --aggressive  also mask personal data: addresses, phone and card numbers\n"
        "  --check       print nothing; exit 1 if there is something to mask\n"
        "  --explain     print one line for each secret: place, kind, label, rule\n"
        "  --with FILE   also mask what this `masking_file` lists\n\n"
        "exit: 0; with --check 1 if a secret was found; 64 or more on errors\n"
        "example: kubectl get secrets -o yaml | belljar mask\n");
    return 0;
}

/* The thing itself is not shown. */
static void explain(void *arg, const struct masker_find *find)
{
    const struct mask_command *job = arg;

    if (job->explains)
        (void)printf("line %" PRIu64 ": %s → %s (%zu bytes; %s)\n", find->line, find->kind,
                     find->label, find->len, find->rule);
}

static int put(const struct mask_command *job, struct clean_text text, struct error *err)
{
    if (job->checks || job->explains || !clean_len(text))
        return 0;
    if (file_write_all(STDOUT_FILENO, clean_data(text), clean_len(text)) < 0)
        return error_errno(err, "write");
    return 0;
}

static int pass(const struct mask_command *job, struct masker *masker, int fd, struct error *err)
{
    static char data[BLOCK];
    struct clean_text text;

    for (;;) {
        ssize_t n = read(fd, data, sizeof(data));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "read `%s`", job->path);
        if (n == 0)
            break;
        if (masker_feed(masker, data, (size_t)n, &text, err) < 0 || put(job, text, err) < 0)
            return -1;
    }
    return masker_finish(masker, &text, err) < 0 ? -1 : put(job, text, err);
}

/* -1 in *ret_fd: standard input is read. */
static int open_input(const struct mask_command *job, int *ret_fd, struct error *err)
{
    if (strcmp(job->path, "-") == 0)
        return 0;
    *ret_fd = open(job->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*ret_fd >= 0)
        return 0;
    (void)error_errno(err, "open `%s`", job->path);
    err->code = err->errnum == ENOENT ? E_NOT_FOUND : E_INVALID;
    return -1;
}

static int mask(struct mask_command *job)
{
    cleanup_close int opened = -1;
    struct masker_options wants = {
        .is_aggressive = job->is_aggressive,
        .on_find = job->explains ? explain : NULL, /* who asks for places pays for them */
        .arg = job};
    struct masker *masker;
    struct error err = {0};
    uint64_t count;
    int r;

    if (open_input(job, &opened, &err) < 0)
        return cmd_fail(&err);
    if (job->with && operator_rules_load(&job->own, job->with, &err) < 0)
        return cmd_fail(&err);
    wants.rules = job->own.rules;
    wants.values = job->own.values;
    masker = masker_new(&wants);
    if (!masker) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    r = pass(job, masker, opened >= 0 ? opened : STDIN_FILENO, &err);
    count = masker_count(masker);
    masker_free(masker);
    if (r < 0)
        return cmd_fail(&err);
    if (fflush(stdout) != 0)
        return EXIT_FAILURE;
    return job->checks && count ? 1 : 0;
}

int cmd_mask(int argc, char **argv)
{
    struct mask_command job = {.path = "-"};
    const struct cmd_place places[] = {
        {OPT_AGGRESSIVE, .flag = &job.is_aggressive},
        {OPT_CHECK, .flag = &job.checks},
        {OPT_EXPLAIN, .flag = &job.explains},
        {OPT_WITH, .word = &job.with},
    };
    int r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    if (optind < argc)
        job.path = argv[optind++];
    if (optind < argc)
        return cmd_bad_argument("mask", argv[optind]);
    r = mask(&job);
    operator_rules_done(&job.own);
    return r;
}
