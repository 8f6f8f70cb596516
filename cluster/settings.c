#include "cluster/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json.h"
#include "base/suggest.h"
#include "base/toml.h"

#define CONNECTIONS 4096

#define LIST_MAX 64

/* Longer than an engine needs to start again. */
#define JOBS_AFTER_S 10

enum kind { TEXT, LIST, NUMBER };

struct key {
    const char *section; /* "": before the first */
    const char *name;
    enum kind kind;
    size_t offset;
    const char *expected;
};

#define IDENTITY(section, member)                                                                  \
    {section, "bus_cert", TEXT, offsetof(struct settings, member.cert), "the path of a PEM file"}, \
        {section, "bus_key", TEXT, offsetof(struct settings, member.key),                          \
         "the path of a PEM file"},                                                                \
        {section, "bus_user", TEXT, offsetof(struct settings, member.user), "the name of a user"}, \
    {                                                                                              \
        section, "bus_password_file", TEXT, offsetof(struct settings, member.password_file),       \
            "the path of a file"                                                                   \
    }

static const struct key keys[] = {
    {"", "name", TEXT, offsetof(struct settings, name), "up to 12 lowercase letters and digits"},
    {"", "log_level", TEXT, offsetof(struct settings, log_level), "error, warning, info or debug"},
    {"", "log_format", TEXT, offsetof(struct settings, log_format), "text or json"},
    {"bus", "servers", LIST, offsetof(struct settings, servers), "a list of URLs"},
    {"bus", "ca", TEXT, offsetof(struct settings, ca), "the path of a PEM file"},
    {"bus", "replicas", NUMBER, offsetof(struct settings, replicas), "a whole number from 1 to 5"},
    {"gateway", "listen", LIST, offsetof(struct settings, listen), "a list of ADDRESS:PORT"},
    {"gateway", "tls_cert", TEXT, offsetof(struct settings, tls_cert), "the path of a PEM file"},
    {"gateway", "tls_key", TEXT, offsetof(struct settings, tls_key), "the path of a PEM file"},
    {"gateway", "connections", NUMBER, offsetof(struct settings, connections),
     "a whole number from 1 to 100000"},
    IDENTITY("gateway", gateway),
    {"node", "socket", TEXT, offsetof(struct settings, socket), "the path of a Unix socket"},
    {"node", "tokens", TEXT, offsetof(struct settings, tokens), "the path of a file"},
    {"node", "jobs_key", TEXT, offsetof(struct settings, jobs_key), "the path of a file"},
    {"node", "jobs_after_s", NUMBER, offsetof(struct settings, jobs_after_s),
     "a whole number from 1 to 100000"},
    {"node", "labels", LIST, offsetof(struct settings, labels), "a list of words"},
    {"node", "profiles", LIST, offsetof(struct settings, profiles), "a list of profiles"},
    {"node", "environments", LIST, offsetof(struct settings, environments),
     "a list of environments"},
    IDENTITY("node", node),
};

struct place {
    const char *path;
    const json_t *lines;
};

static int wrong(const struct place *place, const char *where, const char *expected,
                 struct error *err)
{
    return error_set(err, E_INVALID, "%s:%d: `%s`: expected %s", place->path,
                     toml_line(place->lines, where), where, expected);
}

static int unknown(const struct place *place, const char *where, const char *section,
                   const char *name, struct error *err)
{
    const char *known[ARRAY_SIZE(keys)], *nearest;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(keys[i].section, section) == 0)
            known[n++] = keys[i].name;
    nearest = suggest_nearest(name, known, n);
    (void)wrong(place, where, "a known setting", err);
    return nearest ? error_hint(err, "did you mean `%s`?", nearest) : -1;
}

static int take_list(const json_t *value, char ***ret_list)
{
    size_t n = json_array_size(value);
    char **list;

    if (!json_are_strings(value) || n > LIST_MAX)
        return 1;
    list = calloc(n + 1, sizeof(*list));
    if (!list)
        return -1;
    *ret_list = list;
    for (size_t i = 0; i < n; i++) {
        list[i] = strdup(json_string_value(json_array_get(value, i)));
        if (!list[i])
            return -1;
    }
    return 0;
}

/* 1: the value is wrong. */
static int take_value(const struct key *key, const json_t *value, void *to)
{
    char *text;

    switch (key->kind) {
    case TEXT:
        if (!json_is_string(value) || !*json_string_value(value))
            return 1;
        text = strdup(json_string_value(value));
        if (!text)
            return -1;
        free(*(char **)to);
        *(char **)to = text;
        return 0;
    case LIST:
        return take_list(value, to);
    default:
        if (!json_is_integer(value) || json_integer_value(value) < 1 ||
            json_integer_value(value) > 100000)
            return 1;
        *(int64_t *)to = json_integer_value(value);
        return 0;
    }
}

static int take(const struct place *place, struct settings *s, const char *section,
                const char *name, const json_t *value, struct error *err)
{
    char where[128];

    (void)snprintf(where, sizeof(where), "%s%s%s", section, *section ? "." : "", name);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        int r;

        if (strcmp(keys[i].section, section) != 0 || strcmp(keys[i].name, name) != 0)
            continue;
        r = take_value(&keys[i], value, (char *)s + keys[i].offset);
        if (r < 0)
            return error_memory(err);
        return r ? wrong(place, where, keys[i].expected, err) : 0;
    }
    return unknown(place, where, section, name, err);
}

static int take_section(const struct place *place, struct settings *s, const char *section,
                        json_t *table, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(table, name, value)
    {
        if (take(place, s, section, name, value, err) < 0)
            return -1;
    }
    s->has_gateway |= strcmp(section, "gateway") == 0;
    s->has_node |= strcmp(section, "node") == 0;
    return 0;
}

static int take_all(const struct place *place, struct settings *s, json_t *tree, struct error *err)
{
    static const char *const sections[] = {"bus", "gateway", "node"};
    const char *name;
    json_t *value;

    json_object_foreach(tree, name, value)
    {
        bool is_section = false;

        for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
            is_section |= strcmp(name, sections[i]) == 0;
        if (is_section && !json_is_object(value))
            return wrong(place, name, "a table", err);
        if ((is_section ? take_section(place, s, name, value, err)
                        : take(place, s, "", name, value, err)) < 0)
            return -1;
    }
    return 0;
}

static int check_identity(const struct place *place, const char *section,
                          const struct bus_identity *identity, struct error *err)
{
    if (!identity->cert != !identity->key)
        return wrong(place, section, "both `bus_cert` and `bus_key`, or neither", err);
    if (!identity->user != !identity->password_file)
        return wrong(place, section, "both `bus_user` and `bus_password_file`, or neither", err);
    return 0;
}

static int check(const struct place *place, const struct settings *s, struct error *err)
{
    if (!s->name || !id_is_node(s->name))
        return wrong(place, "name", keys[0].expected, err);
    if (!s->servers || !*s->servers)
        return wrong(place, "bus.servers", "a list of URLs", err);
    if (s->replicas > 5)
        return wrong(place, "bus.replicas", "a whole number from 1 to 5", err);
    if (s->has_gateway && (!s->listen || !*s->listen))
        return wrong(place, "gateway.listen", "a list of ADDRESS:PORT", err);
    if (!s->tls_cert != !s->tls_key)
        return wrong(place, "gateway", "both `tls_cert` and `tls_key`, or neither", err);
    if (s->has_node && !s->socket)
        return wrong(place, "node.socket", "the path of a Unix socket", err);
    if (s->tokens && !s->ca)
        return wrong(place, "node.tokens", "`ca` of [bus] beside it", err);
    if (check_identity(place, "gateway", &s->gateway, err) < 0)
        return -1;
    return check_identity(place, "node", &s->node, err);
}

int settings_load(const char *path, struct settings *ret_settings, struct error *err)
{
    cleanup_json json_t *tree = NULL, *lines = NULL;
    struct settings s = {.connections = CONNECTIONS, .replicas = 1, .jobs_after_s = JOBS_AFTER_S};
    struct place place = {.path = path};

    if (toml_load_lines(path, &tree, &lines, err) < 0)
        return -1;
    place.lines = lines;
    if (take_all(&place, &s, tree, err) < 0 || check(&place, &s, err) < 0) {
        settings_done(&s);
        return -1;
    }
    *ret_settings = s;
    return 0;
}

static void free_list(char **list)
{
    for (char **at = list; at && *at; at++)
        free(*at);
    free(list);
}

void settings_done(struct settings *s)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        void *at = (char *)s + keys[i].offset;

        if (keys[i].kind == TEXT)
            free(*(char **)at);
        else if (keys[i].kind == LIST)
            free_list(*(char ***)at);
    }
    *s = (struct settings){0};
}
