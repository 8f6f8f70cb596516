/* belljar config: the settings in force, and where each comes from. */
#include "base/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "base/cleanup.h"
#include "base/config_function.h"
#include "base/json.h"
#include "base/suggest.h"
#include "cli/cmd.h"

static int help(void)
{
    (void)printf("usage: belljar config [NAME] [--json] [--config FILE]\n"
                 "       belljar config --defaults\n\n"
                 "Show the settings in force and where each comes from: the default, a line of a\n"
                 "file, an environment variable. With NAME, show only that setting's value.\n\n"
                 "  --config FILE  read this file instead of /etc/belljar/config.toml and\n"
                 "                 $XDG_CONFIG_HOME/belljar/config.toml\n"
                 "  --defaults     print a settings file with every option and its default\n"
                 "  --json         print JSON\n\n"
                 "example:\n"
                 "  mkdir -p ~/.config/belljar\n"
                 "  belljar config --defaults > ~/.config/belljar/config.toml\n");
    return 0;
}

/* TOML and JSON write our kinds of values alike. */
static int add_value(const struct config *config, const struct config_option *option,
                     struct buf *out, struct error *err)
{
    json_t *value = config_value(config, option);
    int r = value ? json_text_dump(value, JSON_TEXT_COMPACT, out, err) : error_memory(err);

    json_decref(value);
    return r;
}

static int add_settings(const struct config *config, struct buf *out, struct error *err)
{
    size_t count;
    const struct config_option *options = config_options(&count);

    for (size_t i = 0; i < count; i++) {
        cleanup_free char *source = config_source_text(config, &options[i]);
        cleanup(buf_done) struct buf value = {0};

        buf_init(&value, MIB);
        if (add_value(config, &options[i], &value, err) < 0 ||
            buf_printf(out, err, "%-19s %-24s  # %s\n", options[i].name, buf_str(&value),
                       source ? source : "") < 0)
            return -1;
    }
    return 0;
}

static int add_environments(const struct config *config, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < config->n_environments; i++) {
        const struct config_environment *e = &config->environments[i];

        if (buf_printf(out, err, "environments.%s  %s\n", e->name,
                       e->python ? e->python : "system") < 0)
            return -1;
    }
    return 0;
}

/* The server `host` is Belljar itself: it has functions, and neither a command nor a URL. */
static int add_functions(const struct config_server *server, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < server->n_functions; i++) {
        const struct config_function *f = &server->functions[i];

        if (buf_printf(out, err, "functions.%s  %s\n", f->name, f->argv ? f->argv[0] : f->request) <
            0)
            return -1;
    }
    return 0;
}

/* Their variables and headers hold secrets and are not shown. */
static int add_servers(const struct config *config, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < config->n_servers; i++) {
        const struct config_server *server = &config->servers[i];

        if (add_functions(server, out, err) < 0)
            return -1;
        if (!server->url && !server->argv)
            continue;
        if (buf_printf(out, err, "servers.%s  %s\n", server->name,
                       server->url ? server->url : server->argv[0]) < 0)
            return -1;
    }
    return 0;
}

static int add_json(const struct config *config, struct buf *out, struct error *err)
{
    size_t count;
    const struct config_option *options = config_options(&count);
    json_t *object = json_object();
    int r = object ? 0 : -1;

    for (size_t i = 0; r == 0 && i < count; i++) {
        cleanup_free char *source = config_source_text(config, &options[i]);
        json_t *value = config_value(config, &options[i]);

        r = json_object_set_new(object, options[i].name,
                                json_pack("{s:o, s:s, s:b}", "value", value, "from",
                                          source ? source : "", "reloadable",
                                          options[i].is_reloadable));
    }
    r = r < 0 ? error_memory(err) : json_text_dump(object, JSON_TEXT_PRETTY, out, err);
    json_decref(object);
    return r;
}

/* One value, bare: for a shell. A list has one item a line. */
static int add_one(const struct config *config, const char *name, struct buf *out,
                   struct error *err)
{
    size_t count;
    const struct config_option *options = config_options(&count);
    const struct config_option *option = config_find(name);
    const char *known[CONFIG_OPTIONS_MAX];
    const char *nearest;
    json_t *value;
    int r = 0;

    if (!option) {
        for (size_t i = 0; i < count; i++)
            known[i] = options[i].name;
        nearest = suggest_nearest(name, known, count);
        error_set(err, E_NOT_FOUND, "there is no option `%s`", name);
        return nearest ? error_hint(err, "did you mean `%s`?", nearest)
                       : error_hint(err, "`belljar config` lists them");
    }
    value = config_value(config, option);
    if (json_is_string(value)) {
        r = buf_printf(out, err, "%s\n", json_string_value(value));
    } else if (json_is_array(value)) {
        for (size_t i = 0; r == 0 && i < json_array_size(value); i++)
            r = buf_printf(out, err, "%s\n", json_string_value(json_array_get(value, i)));
    } else {
        r = add_value(config, option, out, err);
        r = r < 0 ? r : buf_add(out, "\n", 1, err);
    }
    json_decref(value);
    return r;
}

static int add_sample_option(const struct config *config, const struct config_option *option,
                             struct buf *out, struct error *err)
{
    char variable[64];

    config_variable(option, variable, sizeof(variable));
    if (buf_printf(out, err, "\n# %c%s.\n# Takes ", toupper((unsigned char)option->help[0]),
                   option->help + 1) < 0 ||
        config_describe(config, option, out, err) < 0 ||
        buf_printf(out, err, ". Also %s", variable) < 0)
        return -1;
    for (size_t i = 0; option->aliases[i]; i++)
        if (buf_printf(out, err, ", %s", option->aliases[i]) < 0)
            return -1;
    if (option->flag && buf_printf(out, err, ", --%s", option->flag) < 0)
        return -1;
    if (buf_printf(out, err, ".\n#%s = ", option->name) < 0 ||
        add_value(config, option, out, err) < 0)
        return -1;
    return buf_add(out, "\n", 1, err);
}

static int add_sample(const struct config *config, struct buf *out, struct error *err)
{
    size_t count;
    const struct config_option *options = config_options(&count);

    if (buf_add_str(
            out,
            "# Belljar's configuration. Every line shows a default: remove the `#` to change it.\n"
            "# Environment variables override this file, and flags override both.\n",
            err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (add_sample_option(config, &options[i], out, err) < 0)
            return -1;
    return buf_add_str(
        out,
        "\n# Further environments, chosen with `environment` or --environment: a virtual\n"
        "# environment of the same Python version, and its own modules to preload.\n"
        "#[environments.reports]\n"
        "#python = \"/srv/reports/venv\"\n"
        "#preload = [\"pandas\"]\n"
        "\n# Other MCP servers, whose tools programs import: `from servers.notes import search`.\n"
        "# A tool that only reads may be called, others are asked for, unless [….tools] says "
        "otherwise.\n"
        "#[servers.notes]\n"
        "#command = \"notes-server\"\n"
        "#args = [\"--stdio\"]\n"
        "#env = { NOTES_TOKEN = \"${NOTES_TOKEN}\" }\n"
        "#tools = { delete = \"deny\" }\n",
        err);
}

struct arguments {
    const char *path;
    const char *name;
    bool has_defaults;
    bool is_json;
};

/* Old spellings in the profile that is set. A profile that cannot be read is told of by the
 * commands that need it. */
static void hint_at_profile(const struct config *config)
{
    cleanup_error struct error err = {0};
    struct profile *profile = NULL;
    char text[128];

    if (admit_load_profile(config, &profile, &err) == 0)
        for (size_t i = 0; profile_old_limit(profile, i, text, sizeof(text)); i++)
            (void)fprintf(stderr, "hint: profile `%s`: %s\n", profile_name(profile), text);
    profile_free(profile);
}

static int show(const struct arguments *request, struct buf *out, struct error *err)
{
    cleanup(config_free_p) struct config *config = config_new();

    if (!config)
        return error_memory(err);
    if (request->has_defaults)
        return add_sample(config, out, err);
    if (config_load(config, request->path, err) < 0)
        return -1;
    if (request->name)
        return add_one(config, request->name, out, err);
    if (request->is_json)
        return add_json(config, out, err);
    hint_at_profile(config);
    if (add_settings(config, out, err) < 0 || add_environments(config, out, err) < 0)
        return -1;
    return add_servers(config, out, err);
}

int cmd_config(int argc, char **argv)
{
    /* clang-format off */
    static const struct option options[] = {
        {"config",   required_argument, NULL, 'c'},
        {"defaults", no_argument,       NULL, 'd'},
        {"json",     no_argument,       NULL, 'j'},
        {"help",     no_argument,       NULL, 'h'},
        {0},
    };
    /* clang-format on */
    cleanup_error struct error err = {0};
    cleanup(buf_done) struct buf out = BUF_OF(4 * MIB);
    struct arguments request = {0};
    const struct cmd_place places[] = {
        {'c', .word = &request.path},
        {'d', .flag = &request.has_defaults},
        {'j', .flag = &request.is_json},
    };
    int r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    if (optind < argc)
        request.name = argv[optind++];
    if (optind < argc)
        return cmd_bad_argument("config", argv[optind]);

    if (show(&request, &out, &err) < 0)
        return cmd_fail(&err);
    (void)fputs(buf_str(&out), stdout); /* main() sees whether it arrived */
    return 0;
}
