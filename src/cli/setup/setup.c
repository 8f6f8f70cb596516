/* belljar setup: tells an agent's program that there is a Belljar, in that program's own file. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admit/profiles.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/terminal_text.h"
#include "cli/cmd.h"
#include "cli/setup/setup.h"

#define NAME_MAX_CHARS 32

struct wish {
    const struct setup_client *client; /* NULL: --print for any */
    const char *name;
    struct config *config;
    const char *profile;
    json_t *args;
    bool has_writable; /* an --allow with :rw */
    char program[PATH_MAX];
    bool is_project; /* in the settings of the project here */
    bool is_dry, is_remove, is_print, replaces, is_unverified;
};

enum {
    OPT_ALLOW = 256,
    OPT_PROFILE,
    OPT_SETTING,
    OPT_PROJECT,
    OPT_NAME,
    OPT_DRY,
    OPT_REMOVE,
    OPT_PRINT,
    OPT_REPLACE,
    OPT_NO
};

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {"allow", required_argument, NULL, OPT_ALLOW},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"net", required_argument, NULL, OPT_SETTING},
    {"environment", required_argument, NULL, OPT_SETTING},
    {"compat", required_argument, NULL, OPT_SETTING},
    {"project", no_argument, NULL, OPT_PROJECT},
    {"name", required_argument, NULL, OPT_NAME},
    {"dry-run", no_argument, NULL, OPT_DRY},
    {"remove", no_argument, NULL, OPT_REMOVE},
    {"print", no_argument, NULL, OPT_PRINT},
    {"replace", no_argument, NULL, OPT_REPLACE},
    {"no-verify", no_argument, NULL, OPT_NO},
    {0},
};

static int help(void)
{
    (void)printf("usage: belljar setup CLIENT [OPTION]…\n"
                 "       belljar setup --print [CLIENT] [OPTION]…\n\n"
                 "Register Belljar with an MCP client, in that client's own settings. Everything\n"
                 "else in the settings stays unchanged, comments included.\n\nclients:\n");
    for (size_t i = 0; i < setup_clients_count; i++)
        (void)printf("  %-15s %s\n", setup_clients[i].name, setup_clients[i].title);
    (void)printf("\n  --allow DIR[:ro|:rw|:cow]  a directory that programs may see; repeatable\n"
                 "  --profile NAME        profile of the programs\n"
                 "  --net HOST[:PORT]     a host that programs may reach; repeatable\n"
                 "  --environment NAME    packages of the programs\n"
                 "  --compat NAME         rules and tool names of another system\n"
                 "  --project             in the settings of the project in this directory\n"
                 "  --name NAME           name of the server in the settings (belljar)\n"
                 "  --dry-run             show the change without making it\n"
                 "  --remove              remove the entry\n"
                 "  --replace             replace another server of the same name\n"
                 "  --no-verify           do not check that the client can connect\n"
                 "  --print               print the entry, for this or any other client\n\n"
                 "example: belljar setup claude-code --allow ~/data:rw\n");
    return 0;
}

/* --- what is asked for --- */

static int add_arg(struct wish *wish, const char *text, struct error *err)
{
    if (json_array_append_new(wish->args, json_string(text)) < 0)
        return error_set(err, E_INVALID, "`%s` is not UTF-8", text);
    return 0;
}

/* The client starts the server from anywhere, so the directory is named in full. */
static int add_allow(struct wish *wish, const char *word, struct error *err)
{
    cleanup_free char *path = NULL, *full = NULL, *text = NULL;
    enum run_grant_mode mode;
    struct stat st;

    if (config_parse_grant(word, &path, &mode, err) < 0)
        return -1;
    full = realpath(path, NULL);
    if (!full || stat(full, &st) < 0) {
        error_set(err, E_NOT_FOUND, "--allow `%s`: %s", path, strerror(errno));
        return error_hint(err, "name an existing directory");
    }
    if (!S_ISDIR(st.st_mode)) {
        error_set(err, E_INVALID, "--allow `%s` is not a directory", path);
        return error_hint(err, "name the directory that holds it");
    }
    if (asprintf(&text, "%s:%s", full, run_grant_mode_name(mode)) < 0)
        return error_memory(err);
    if (add_arg(wish, "--allow", err) < 0 || add_arg(wish, text, err) < 0)
        return -1;
    wish->has_writable |= mode == RUN_GRANT_RW;
    return 0;
}

/* The entry itself shows that an agent's changes can be undone, whatever the settings of this host
 * will say. */
static int add_undo(struct wish *wish, struct error *err)
{
    if (!wish->has_writable)
        return 0;
    return add_arg(wish, "--undo", err) < 0 ? -1 : add_arg(wish, "on", err);
}

/* A mistake in its name would otherwise show as a server that does not start. */
static int check_profile(struct wish *wish, struct error *err)
{
    const struct profile *profile;
    struct profiles *profiles = NULL;
    int r;

    if (!wish->profile)
        return 0;
    if (config_set_flag(wish->config, "profile", wish->profile, err) < 0 ||
        profiles_open(wish->config, &profiles, err) < 0)
        return -1;
    r = profiles_get(profiles, NULL, &profile, err);
    if (r == 0 && json_array_size(wish->args) > 1 && !profile_allows_grants(profile))
        r = error_set(err, E_INVALID, "profile `%s` does not support --allow", wish->profile);
    profiles_free(profiles);
    if (r < 0 || add_arg(wish, "--profile", err) < 0)
        return -1;
    return add_arg(wish, wish->profile, err);
}

/* Part of the names of tools, and a bare key in TOML. */
static int check_name(const char *name, struct error *err)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    if (n && n <= NAME_MAX_CHARS && !name[n])
        return 0;
    return error_set(err, E_INVALID,
                     "--name: read `%s`, expected up to %d letters, digits, `_` or `-`", name,
                     NAME_MAX_CHARS);
}

static int find_program(struct wish *wish, struct error *err)
{
    ssize_t n = readlink("/proc/self/exe", wish->program, sizeof(wish->program) - 1);

    if (n < 0)
        return error_errno(err, "find the program's own path");
    wish->program[n] = '\0';
    if (access(wish->program, X_OK) < 0)
        return error_errno(err, "%s", wish->program);
    return 0;
}

/* A setting of `belljar mcp` that is passed on as it is. */
static int add_setting(struct wish *wish, const char *flag, struct error *err)
{
    cleanup_free char *option = NULL;

    if (config_set_flag(wish->config, flag, optarg, err) < 0)
        return -1;
    if (asprintf(&option, "--%s", flag) < 0) {
        option = NULL;
        return error_memory(err);
    }
    return add_arg(wish, option, err) < 0 ? -1 : add_arg(wish, optarg, err);
}

static int take_option(struct wish *wish, int answer, const char *name, struct error *err)
{
    switch (answer) {
    case OPT_SETTING:
        return add_setting(wish, name, err);
    case OPT_PROJECT:
        wish->is_project = true;
        return 0;
    case OPT_ALLOW:
        return add_allow(wish, optarg, err);
    case OPT_PROFILE:
        wish->profile = optarg;
        return 0;
    case OPT_NAME:
        wish->name = optarg;
        return check_name(optarg, err);
    case OPT_DRY:
        wish->is_dry = true;
        return 0;
    case OPT_REMOVE:
        wish->is_remove = true;
        return 0;
    case OPT_PRINT:
        wish->is_print = true;
        return 0;
    case OPT_REPLACE:
        wish->replaces = true;
        return 0;
    default:
        wish->is_unverified = true;
        return 0;
    }
}

/* The clients whose settings are there: those that somebody uses here. */
static int hint_clients(struct error *err)
{
    cleanup(buf_done) struct buf found = BUF_OF(KIB);

    for (size_t i = 0; i < setup_clients_count; i++)
        if (setup_client_is_here(&setup_clients[i]))
            (void)buf_printf(&found, NULL, "%s%s", found.len ? ", " : "", setup_clients[i].name);
    return found.len
               ? error_hint(err, "found here: %s; for example `belljar setup %.*s`",
                            buf_str(&found), (int)strcspn(buf_str(&found), ","), buf_str(&found))
               : error_hint(err, "`belljar setup --help` lists them; none was found here");
}

static int take_client(struct wish *wish, int argc, char **argv, struct error *err)
{
    if (optind == argc && wish->is_print)
        return 0;
    if (optind == argc) {
        error_set(err, E_INVALID, "no client was named");
        return hint_clients(err);
    }
    wish->client = setup_client_find(argv[optind], err);
    return wish->client ? 0 : -1;
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct wish *wish, int argc, char **argv)
{
    struct error err = {0};
    int answer, index = 0;

    opterr = 0;
    while ((answer = cmd_getopt(argc, argv, ":h", options, &index)) >= 0) {
        if (answer == 'h')
            return help() + 1;
        if (answer == '?' || answer == ':')
            return cmd_bad_option("setup", answer, argv, options) + 1;
        if (take_option(wish, answer, options[index].name, &err) < 0)
            return cmd_fail(&err) + 1;
    }
    if (optind + 1 < argc)
        return cmd_bad_argument("setup", argv[optind + 1]) + 1;
    if (take_client(wish, argc, argv, &err) < 0 || check_profile(wish, &err) < 0 ||
        add_undo(wish, &err) < 0 || find_program(wish, &err) < 0)
        return cmd_fail(&err) + 1;
    return 0;
}

/* --- doing it --- */

static int say(const char *what, const struct setup_file *file)
{
    cleanup(buf_done) struct buf line = BUF_OF(MIB);

    (void)terminal_line(file->path, strlen(file->path), &line, NULL);
    (void)printf("belljar: %s %s\n", what, buf_str(&line));
    return 0;
}

static int show_diff(const struct setup_file *file, const struct buf *after, struct error *err)
{
    cleanup(buf_done) struct buf diff = BUF_OF(2 * SETUP_FILE_BYTES);

    if (setup_diff(file->path, &file->text, after, &diff, err) < 0)
        return -1;
    (void)fputs(buf_str(&diff), stdout);
    return 0;
}

/* Somebody else's server of the same name is not ours to change. */
static int check_owner(const struct wish *wish, const json_t *entry, struct error *err)
{
    const char *command = json_string_value(json_object_get(entry, "command"));
    const char *slash = command ? strrchr(command, '/') : NULL;

    if (!entry || wish->replaces ||
        (command && strcmp(slash ? slash + 1 : command, "belljar") == 0))
        return 0;
    error_set(err, E_DENIED, "`%s` is the name of another server there", wish->name);
    return error_hint(err, "choose another name with --name, or use --replace");
}

static bool is_same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(buf_str(a), buf_str(b), a->len) == 0;
}

/* The text before our first change is kept until it is asked for; a later change of our own entry
 * must not replace it. */
static int keep_backup(const struct setup_file *file, const json_t *entry, struct error *err)
{
    if (entry && access(file->backup, F_OK) == 0)
        return 0;
    return setup_file_write_backup(file, err);
}

static int put_entry(const struct wish *wish, const struct setup_file *file, const json_t *present,
                     struct buf *out, struct error *err)
{
    json_t *entry = setup_client_entry(wish->client, wish->program, wish->args, err);
    int r;

    if (!entry)
        return -1;
    if (present && !json_is_object(present))
        r = error_set(err, E_INVALID, "`%s` exists and is not an object", wish->name);
    else
        r = setup_client_put(wish->client, &file->text, wish->name, entry, out, err);
    json_decref(entry);
    return r < 0 && err->code == E_INVALID ? error_wrap(err, "%s", file->path) : r;
}

static int add(const struct wish *wish, const struct setup_file *file, const json_t *present,
               struct error *err)
{
    cleanup(buf_done) struct buf out = BUF_OF(SETUP_FILE_BYTES);

    if (check_owner(wish, present, err) < 0 || put_entry(wish, file, present, &out, err) < 0)
        return -1;
    if (is_same(&file->text, &out))
        return say("nothing to change in", file);
    if (wish->is_dry)
        return show_diff(file, &out, err);
    if (keep_backup(file, present, err) < 0 || setup_file_write(file, &out, err) < 0)
        return -1;
    (void)say(present ? "changed the entry in" : "added to", file);
    if (file->is_there)
        (void)printf("belljar: backup of the old file: %s\n", file->backup);
    return 0;
}

/* The entry with its keys in the order in which we write them: a parser may have sorted them. */
static json_t *in_our_order(const struct wish *wish, const json_t *entry)
{
    json_t *ours = setup_client_entry(wish->client, "", wish->args, NULL), *sorted = json_object();
    const char *key;
    json_t *value;

    json_object_foreach(ours, key, value)
    {
        if (json_object_get(entry, key))
            (void)json_object_set(sorted, key, json_object_get(entry, key));
    }
    (void)json_object_update_missing(sorted, (json_t *)entry);
    json_decref(ours);
    return sorted;
}

/* Would adding the entry to this text, which does not have it, give the file as it is? Then the
 * text is what was there. */
static bool is_origin(const struct wish *wish, const struct setup_file *file, const json_t *entry,
                      const struct buf *text)
{
    cleanup(buf_done) struct buf out = BUF_OF(SETUP_FILE_BYTES);
    json_t *ordered = in_our_order(wish, entry);
    bool is;

    is = ordered && setup_client_put(wish->client, text, wish->name, ordered, &out, NULL) == 0 &&
         is_same(&out, &file->text);
    json_decref(ordered);
    return is;
}

/* The copy of before, if it is from before our entry: one that was made when the entry was changed
 * says nothing of what was there without it. */
static bool read_backup(const struct wish *wish, const struct setup_file *file, struct buf *text)
{
    json_t *entry = NULL;
    bool is = setup_file_read_backup(file, text) &&
              setup_client_get(wish->client, text, wish->name, &entry, NULL) == 0 && !entry;

    json_decref(entry);
    return is;
}

enum way { WAY_RESTORE, WAY_DELETE, WAY_EDIT };

/* *ret_way: the text is that of before, there was no file, or the entry alone is taken out. */
static int take_out(const struct wish *wish, const struct setup_file *file, const json_t *entry,
                    struct buf *out, enum way *ret_way, struct error *err)
{
    cleanup(buf_done) struct buf nothing = BUF_OF(1);
    bool has_backup = read_backup(wish, file, out);

    if (has_backup && is_origin(wish, file, entry, out)) {
        *ret_way = WAY_RESTORE;
        return 0;
    }
    buf_clear(out);
    *ret_way = !has_backup && is_origin(wish, file, entry, &nothing) ? WAY_DELETE : WAY_EDIT;
    if (*ret_way == WAY_DELETE)
        return 0;
    return setup_client_remove(wish->client, &file->text, wish->name, out, err);
}

static int take_away(const struct wish *wish, const struct setup_file *file, const json_t *present,
                     struct error *err)
{
    cleanup(buf_done) struct buf out = BUF_OF(SETUP_FILE_BYTES);
    enum way way;

    if (!present)
        return say("there is no such entry in", file);
    if (check_owner(wish, present, err) < 0 || take_out(wish, file, present, &out, &way, err) < 0)
        return -1;
    if (wish->is_dry)
        return show_diff(file, &out, err);
    if ((way == WAY_DELETE ? setup_file_delete(file, err) : setup_file_write(file, &out, err)) < 0)
        return -1;
    if (way != WAY_EDIT)
        (void)unlink(file->backup); /* it says nothing that the file does not */
    return say(way == WAY_DELETE ? "removed the entry and the file, which had no other:"
                                 : "removed from",
               file);
}

static int print_entry(const struct wish *wish, struct error *err)
{
    const struct setup_client *client =
        wish->client ? wish->client : setup_client_find("cursor", err);
    cleanup(buf_done) struct buf nothing = {0}, out = {0};
    json_t *entry = setup_client_entry(client, wish->program, wish->args, err);
    int r;

    buf_init(&nothing, 1);
    buf_init(&out, MIB);
    if (!entry)
        return -1;
    r = setup_client_put(client, &nothing, wish->name, entry, &out, err);
    json_decref(entry);
    if (r == 0)
        (void)fputs(buf_str(&out), stdout);
    return r;
}

static int verify(const struct wish *wish, struct error *err)
{
    cleanup(buf_done) struct buf line = {0}, shown = {0};
    enum setup_verdict verdict;

    if (wish->client->after)
        (void)printf("belljar: %s\n", wish->client->after);
    if (wish->is_unverified || !wish->client->program)
        return 0;
    (void)fflush(stdout);
    buf_init(&line, MIB);
    buf_init(&shown, MIB);
    if (setup_verify(wish->client, wish->name, &verdict, &line, err) < 0 ||
        terminal_line(buf_str(&line), line.len, &shown, err) < 0)
        return -1;
    if (verdict == SETUP_NOT_INSTALLED) {
        (void)printf("belljar: `%s` is not installed here, so the connection was not checked\n",
                     wish->client->program);
        return 0;
    }
    if (line.len)
        (void)printf("belljar: `%s mcp list` says: %s\n", wish->client->program, buf_str(&shown));
    if (verdict != SETUP_FAILS)
        return 0;
    error_set(err, E_PROTOCOL, "`%s mcp list` does not report that the server works",
              wish->client->program);
    return error_hint(err, "the entry is written; run its command by hand to see the error");
}

static int set_up(const struct wish *wish, struct error *err)
{
    cleanup(setup_file_done) struct setup_file file = {0};
    cleanup_free char *path = wish->is_project ? setup_client_project_path(wish->client, err)
                                               : setup_client_path(wish->client, err);
    json_t *present = NULL;
    int r;

    if (!path || setup_file_read(&file, path, err) < 0)
        return -1;
    if (setup_client_get(wish->client, &file.text, wish->name, &present, err) < 0) {
        error_wrap(err, "%s", file.path);
        return error_hint(err, "the file is unchanged; fix it, then try again");
    }
    r = wish->is_remove ? take_away(wish, &file, present, err) : add(wish, &file, present, err);
    json_decref(present);
    if (r < 0 || wish->is_dry || wish->is_remove)
        return r;
    return verify(wish, err);
}

static void wish_done(struct wish *wish)
{
    json_decref(wish->args);
    config_free(wish->config);
}

int cmd_setup(int argc, char **argv)
{
    cleanup(wish_done) struct wish wish = {
        .name = "belljar", .args = json_pack("[s]", "mcp"), .config = config_new()};
    struct error err = {0};
    int r;

    if (!wish.args || !wish.config) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    r = parse(&wish, argc, argv);
    if (r > 0)
        return r - 1;
    r = wish.is_print ? print_entry(&wish, &err) : set_up(&wish, &err);
    return r < 0 ? cmd_fail(&err) : 0;
}
