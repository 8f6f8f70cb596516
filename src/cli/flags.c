#include "cli/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/suggest.h"

void flags_options(const char *command, const struct option *own, size_t n_own, int setting,
                   struct option *options)
{
    size_t count, n = n_own;
    const struct config_option *settings = config_options(&count);

    memcpy(options, own, n_own * sizeof(*own));
    for (size_t i = 0; i < count && n < FLAGS_OPTIONS_MAX - 1; i++)
        if (config_has_flag(&settings[i], command))
            options[n++] = (struct option){settings[i].flag, required_argument, NULL, setting};
    options[n] = (struct option){0};
}

void flags_print(const char *command)
{
    config_print_flags(stdout, command, cmd_help_is_whole);
    if (!cmd_help_is_whole)
        (void)printf("more options: `belljar %s --help=all`, or `man belljar-%s`\n", command,
                     command);
}

int flags_read(const struct flags *flags, struct config *config, int argc, char **argv)
{
    enum { SETTING = 4096 };
    struct option options[FLAGS_OPTIONS_MAX];
    struct error err = {0};
    int answer, index;

    flags_options(argv[0], flags->own, flags->n_own, SETTING, options);
    opterr = 0;
    while ((answer = cmd_getopt(argc, argv, ":h", options, &index)) >= 0) {
        if (answer == 'h')
            return flags->help() + 1;
        if (cmd_put(flags->places, flags->n_places, answer))
            continue;
        if (answer != SETTING)
            return cmd_bad_option(argv[0], answer, argv, options) + 1;
        if (config_set_flag(config, options[index].name, optarg, &err) < 0)
            return cmd_fail(&err) + 1;
    }
    return optind < argc ? cmd_bad_argument(argv[0], argv[optind]) + 1 : 0;
}

/* Whether a grant of the command line names the directory. */
static bool is_allowed(const struct config *config, const char *dir)
{
    bool is_found = false;

    for (size_t i = 0; i < config->allow.count && !is_found; i++) {
        cleanup_free char *path = NULL, *real = NULL;
        enum run_grant_mode mode;

        if (config_parse_grant(config->allow.items[i], &path, &mode, NULL) < 0)
            continue;
        real = realpath(path, NULL);
        is_found = real && strcmp(real, dir) == 0;
    }
    return is_found && config_origin(config, "allow") == CONFIG_FLAG;
}

int flags_grant_here(struct config *config, struct error *err)
{
    cleanup_free char *here = getcwd(NULL, 0), *grant = NULL;

    if (!here)
        return error_errno(err, "--here: the current directory");
    if (asprintf(&grant, "%s:ro", here) < 0) {
        grant = NULL;
        return error_memory(err);
    }
    if (!is_allowed(config, here) && config_set_flag(config, "allow", grant, err) < 0)
        return -1;
    if (config_origin(config, "workdir") != CONFIG_FLAG)
        return config_set_flag(config, "workdir", here, err);
    return 0;
}

int flags_add_env(struct run_request *asked, const char *text, struct error *err)
{
    const char *equals = strchr(text, '=');

    if (!equals || equals == text) {
        error_set(err, E_INVALID, "--env `%s` is not NAME=VALUE", text);
        return error_hint(err, "write --env NAME=VALUE");
    }
    if (asked->n_env == LIMIT_ENV_COUNT || strlen(text) > LIMIT_ENV_BYTES)
        return error_set(err, E_TOO_LARGE, "--env: at most %d variables of %zu bytes each",
                         LIMIT_ENV_COUNT, LIMIT_ENV_BYTES);
    return run_request_add_variable(asked, (struct span){text, (size_t)(equals - text)}, equals + 1,
                                    err);
}
