/* The known clients, and how a server is added to each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "cli/setup/jsonc.h"
#include "cli/setup/setup.h"
#include "cli/setup/toml_edit.h"

/* Seconds that Codex waits for a tool: the longest run, and making its sandbox. */
#define CODEX_TOOL_TIMEOUT_S 330

const struct setup_client setup_clients[] = {
    {"claude-code", "Claude Code", "CLAUDE_CONFIG_DIR", "", ".claude.json", ".mcp.json", SETUP_JSON,
     "mcpServers", true, "claude", NULL},
    {"claude-desktop", "Claude Desktop", NULL, "~config", "Claude/claude_desktop_config.json", NULL,
     SETUP_JSON, "mcpServers", false, NULL, "restart Claude Desktop"},
    {"cursor", "Cursor", NULL, "", ".cursor/mcp.json", ".cursor/mcp.json", SETUP_JSON, "mcpServers",
     false, NULL, "Cursor shows the server in its settings, under MCP"},
    {"vscode", "VS Code", NULL, "~config", "Code/User/mcp.json", ".vscode/mcp.json", SETUP_JSON,
     "servers", true, NULL, "`MCP: List Servers` in VS Code shows the server"},
    {"gemini", "Gemini CLI", NULL, "", ".gemini/settings.json", ".gemini/settings.json", SETUP_JSON,
     "mcpServers", false, "gemini", "Gemini CLI starts servers in trusted folders only"},
    {"codex", "Codex", "CODEX_HOME", ".codex", "config.toml", NULL, SETUP_TOML, "mcp_servers",
     false, "codex", NULL},
};
const size_t setup_clients_count = ARRAY_SIZE(setup_clients);

const struct setup_client *setup_client_find(const char *name, struct error *err)
{
    const char *known[ARRAY_SIZE(setup_clients)], *nearest;

    for (size_t i = 0; i < ARRAY_SIZE(setup_clients); i++) {
        if (strcmp(setup_clients[i].name, name) == 0)
            return &setup_clients[i];
        known[i] = setup_clients[i].name;
    }
    nearest = suggest_nearest(name, known, ARRAY_SIZE(known));
    if (!nearest)
        nearest = suggest_by_words(name, known, ARRAY_SIZE(known));
    error_set(err, E_INVALID, "there is no client `%s`", name);
    if (nearest)
        error_hint(err, "did you mean `%s`?", nearest);
    else
        error_hint(err, "`belljar setup --help` lists them; `belljar setup --print` shows what to "
                        "write into any other one's settings");
    return NULL;
}

static const char *absolute(const char *variable)
{
    const char *path = getenv(variable);

    return path && *path == '/' ? path : NULL;
}

char *setup_client_path(const struct setup_client *client, struct error *err)
{
    const char *home = absolute("HOME"), *base = NULL, *dir = client->dir;
    char *path = NULL;

    if (client->home_variable)
        base = absolute(client->home_variable);
    if (!base && strcmp(dir, "~config") == 0)
        base = absolute("XDG_CONFIG_HOME");
    if (base)
        dir = "";
    else if (strcmp(dir, "~config") == 0)
        dir = ".config";
    if (!base && !home) {
        error_set(err, E_INVALID, "HOME is not the path of a directory");
        return NULL;
    }
    if (asprintf(&path, "%s/%s%s%s", base ? base : home, dir, *dir ? "/" : "", client->file) < 0) {
        error_memory(err);
        return NULL;
    }
    return path;
}

bool setup_client_is_here(const struct setup_client *client)
{
    cleanup_error struct error err = {0};
    cleanup_free char *path = setup_client_path(client, &err);
    bool has_own_folder = *client->dir && strcmp(client->dir, "~config") != 0;
    char *end;

    if (!path)
        return false;
    if (access(path, F_OK) == 0)
        return true;
    if (!has_own_folder && !strchr(client->file, '/'))
        return false; /* it lies in the home directory itself */
    end = strrchr(path, '/');
    *end = '\0';
    return access(path, F_OK) == 0;
}

char *setup_client_project_path(const struct setup_client *client, struct error *err)
{
    cleanup_free char *here = getcwd(NULL, 0);
    char *path = NULL;

    if (!client->project_file) {
        error_set(err, E_INVALID, "%s has no settings for a single project", client->title);
        error_hint(err, "leave out --project");
    } else if (!here) {
        error_errno(err, "find the current directory");
    } else if (asprintf(&path, "%s/%s", strcmp(here, "/") == 0 ? "" : here, client->project_file) <
               0) {
        path = NULL;
        error_memory(err);
    }
    return path;
}

json_t *setup_client_entry(const struct setup_client *client, const char *command, json_t *args,
                           struct error *err)
{
    json_t *entry = json_object();
    int r = entry ? 0 : -1;

    if (client->has_type)
        r |= json_object_set_new(entry, "type", json_string("stdio"));
    r |= json_object_set_new(entry, "command", json_string(command));
    r |= json_object_set(entry, "args", args);
    if (client->format == SETUP_TOML)
        r |= json_object_set_new(entry, "tool_timeout_sec", json_integer(CODEX_TOOL_TIMEOUT_S));
    if (r == 0)
        return entry;
    json_decref(entry);
    error_set(err, E_SYSTEM, "out of memory, or a path that is not UTF-8");
    return NULL;
}

/* --- the text --- */

int setup_client_get(const struct setup_client *client, const struct buf *text, const char *name,
                     json_t **ret_entry, struct error *err)
{
    const struct toml_table_name table = {client->section, name};
    const char *const path[] = {client->section, name, NULL};

    return client->format == SETUP_TOML
               ? toml_edit_get(buf_str(text), text->len, &table, ret_entry, err)
               : jsonc_get(buf_str(text), text->len, path, ret_entry, err);
}

/* Into an entry that is there, key by key: what its owner added to it stays. */
static int put_keys(const struct setup_client *client, const struct buf *text, const char *name,
                    const json_t *entry, struct buf *out, struct error *err)
{
    cleanup(buf_done) struct buf before = BUF_OF(SETUP_FILE_BYTES);
    const char *key;
    json_t *value;

    if (buf_add(out, buf_str(text), text->len, err) < 0)
        return -1;
    json_object_foreach((json_t *)entry, key, value)
    {
        const char *const path[] = {client->section, name, key, NULL};

        buf_clear(&before);
        if (buf_add(&before, buf_str(out), out->len, err) < 0 ||
            jsonc_put(buf_str(&before), before.len, path, value, out, err) < 0)
            return -1;
    }
    return 0;
}

int setup_client_put(const struct setup_client *client, const struct buf *text, const char *name,
                     const json_t *entry, struct buf *out, struct error *err)
{
    const struct toml_table_name table = {client->section, name};
    const char *const path[] = {client->section, name, NULL};
    json_t *present = NULL;
    int r;

    if (client->format == SETUP_TOML)
        return toml_edit_put(buf_str(text), text->len, &table, entry, out, err);
    if (jsonc_get(buf_str(text), text->len, path, &present, err) < 0)
        return -1;
    r = json_is_object(present) ? put_keys(client, text, name, entry, out, err)
                                : jsonc_put(buf_str(text), text->len, path, entry, out, err);
    json_decref(present);
    return r;
}

int setup_client_remove(const struct setup_client *client, const struct buf *text, const char *name,
                        struct buf *out, struct error *err)
{
    const struct toml_table_name table = {client->section, name};
    const char *const path[] = {client->section, name, NULL};

    return client->format == SETUP_TOML
               ? toml_edit_remove(buf_str(text), text->len, &table, out, err)
               : jsonc_remove(buf_str(text), text->len, path, out, err);
}
