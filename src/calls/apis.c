#include "calls/apis.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/quote.h"
#include "base/suggest.h"
#include "calls/apis_internal.h"
#include "calls/call.h"
#include "calls/outside.h"

#define EXAMPLE                                                                                    \
    "from api import filesystem as fs; print(fs.search_replace('**/*.md', 'a', 'b', "              \
    "dry_run=True))"

/* Names that are looked through for one that was meant. */
#define NAMES_MAX 256

/* --- sources --- */

static int add_own(const struct stored *who, json_t *apis, struct error *err)
{
    json_t *own = json_text_own(apis_own, strlen(apis_own));
    int r = own ? json_object_update(apis, own) : -1;

    if (!(who->reach & RUN_REACH_SERVERS))
        (void)json_object_del(apis, "servers");
    json_decref(own);
    return r < 0 ? error_memory(err) : 0;
}

/* Those that this host adds, each described only if it is meant. */
static int add_found(const struct apis_place *place, const char *wanted, json_t *apis,
                     struct error *err)
{
    for (size_t i = 0; i < APIS_GROUPS; i++) {
        json_t *modules = json_object();
        int r = 0;

        apis_groups[i].add(place, wanted, modules);
        r = json_object_update_missing(apis, modules);
        json_decref(modules);
        if (r < 0)
            return error_memory(err);
    }
    return 0;
}

/* Names alone, by kind. */
static void name_found(const struct apis_place *place, json_t *value)
{
    for (size_t i = 0; i < APIS_GROUPS; i++) {
        const struct apis_group *group = &apis_groups[i];
        json_t *modules = json_object(), *names = json_array(), *unused;
        const char *name;

        group->add(place, NULL, modules);
        json_object_foreach(modules, name, unused)
        {
            (void)json_array_append_new(names, json_string(name + strlen(group->prefix)));
        }
        if (json_array_size(names))
            (void)json_object_set(value, group->name, names);
        json_decref(names);
        json_decref(modules);
    }
}

/* --- what was asked for --- */

enum detail { DETAIL_NAMES, DETAIL_SIGNATURES, DETAIL_FULL };

static int read_detail(const json_t *arguments, enum detail *ret_detail, struct error *err)
{
    static const char *const words[] = {"names", "signatures", "full"};
    const char *word = json_string_value(json_object_get(arguments, "detail"));

    *ret_detail = DETAIL_SIGNATURES;
    for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
        if (strcmp(word, words[i]) == 0) {
            *ret_detail = (enum detail)i;
            return 0;
        }
    if (!word)
        return 0;
    error_set(err, E_INVALID, "`detail` must be names, signatures or full");
    return error_hint(err, "names first, then signatures of a module, then full of a function");
}

bool apis_is_about(const char *wanted, const char *module)
{
    const char *last = strchr(module, '.');
    size_t len = strlen(module), last_len = last ? strlen(last + 1) : 0;

    if (strncmp(wanted, module, len) == 0 && (!wanted[len] || wanted[len] == '.'))
        return true;
    if (!last)
        return false;
    if ((size_t)(last - module) == strlen(wanted) && strncmp(wanted, module, strlen(wanted)) == 0)
        return true;
    return strncmp(wanted, last + 1, last_len) == 0 &&
           (!wanted[last_len] || wanted[last_len] == '.');
}

/* By its name, or by the beginning or the end of it. */
static bool names_module(const char *wanted, const char *module)
{
    size_t len = strlen(wanted), all = strlen(module);

    if (strncmp(module, wanted, len) == 0 && (!module[len] || module[len] == '.'))
        return true;
    return all > len && module[all - len - 1] == '.' && strcmp(module + all - len, wanted) == 0;
}

/* "api.filesystem", "filesystem", "api", "api.filesystem.read_file", "filesystem.read_file" and
 * "read_file" are all names of something. */
static bool is_meant(const char *wanted, const char *module, const char *function)
{
    char full[512];

    if (!wanted || names_module(wanted, module))
        return true;
    (void)snprintf(full, sizeof(full), ".%s.%s", module, function);
    for (const char *at = full; (at = strchr(at, '.')); at++)
        if (strcmp(at + 1, wanted) == 0)
            return true;
    return false;
}

static json_t *show(const char *name, const json_t *function, enum detail detail)
{
    if (detail == DETAIL_NAMES)
        return json_string(name);
    return detail == DETAIL_FULL ? json_incref((json_t *)function)
                                 : json_incref(json_object_get(function, "signature"));
}

static json_t *show_module(const char *name, const json_t *module, const char *wanted,
                           enum detail detail)
{
    json_t *functions = json_array();
    const char *key;
    json_t *function;

    json_object_foreach(json_object_get(module, "functions"), key, function)
    {
        if (is_meant(wanted, name, key))
            (void)json_array_append_new(functions, show(key, function, detail));
    }
    /* A module of this host may have none, or none that is known. */
    if (!json_array_size(functions) && !(wanted && names_module(wanted, name))) {
        json_decref(functions);
        return NULL;
    }
    if (detail == DETAIL_NAMES)
        return functions;
    return json_pack("{s:O, s:o}", "description", json_object_get(module, "description"),
                     "functions", functions);
}

#define NAME_SHOWN 200 /* bytes of a name that is not there */

static int not_found(const json_t *all, const char *wanted, struct error *err)
{
    const char *names[NAMES_MAX], *name, *near;
    size_t count = 0;
    cleanup_free char *words = NULL;
    json_t *module, *unused;

    json_object_foreach((json_t *)all, name, module)
    {
        const char *function;

        if (count < NAMES_MAX)
            names[count++] = name;
        json_object_foreach(json_object_get(module, "functions"), function, unused)
        {
            if (count < NAMES_MAX)
                names[count++] = function;
        }
    }
    near = suggest_nearest(wanted, names, count);
    words = quote_words(span_of(wanted), NAME_SHOWN);
    error_set(err, E_NOT_FOUND, "there is no module or function %s", words ? words : "");
    return near ? error_hint(err, "did you mean `%s`?", near)
                : error_hint(err, "`names` lists all of them");
}

static int select_apis(const json_t *all, const char *wanted, enum detail detail,
                       json_t **ret_value, struct error *err)
{
    json_t *chosen = json_object(), *module;
    const char *name;

    json_object_foreach((json_t *)all, name, module)
    {
        json_t *shown = show_module(name, module, wanted, detail);

        if (shown)
            (void)json_object_set_new(chosen, name, shown);
    }
    if (!json_object_size(chosen)) {
        json_decref(chosen);
        return not_found(all, wanted ? wanted : "", err);
    }
    *ret_value = json_pack("{s:o}", "apis", chosen);
    if (detail == DETAIL_SIGNATURES && !wanted)
        (void)json_object_set_new(*ret_value, "example_usage", json_string(EXAMPLE));
    return *ret_value ? 0 : error_memory(err);
}

int apis_list(const struct apis_place *place, const json_t *arguments, json_t **ret_value,
              struct error *err)
{
    const char *wanted = json_string_value(json_object_get(arguments, "name"));
    json_t *all = json_object();
    enum detail detail;
    int r = read_detail(arguments, &detail, err);

    if (r == 0 && detail == DETAIL_FULL && !wanted) {
        r = error_set(err, E_INVALID, "`full` needs the `name` of a module or function");
        error_hint(err, "`names` lists all of them");
    }
    if (r == 0)
        r = add_own(&place->stored, all, err);
    if (r == 0 && wanted)
        r = add_found(place, wanted, all, err);
    if (r == 0)
        r = select_apis(all, wanted, detail, ret_value, err);
    if (r == 0 && !wanted)
        name_found(place, *ret_value);
    json_decref(all);
    return r;
}

struct upstream_call *apis_ask(const struct apis_place *place, int server, upstream_done done,
                               void *user, struct error *err)
{
    return upstreams_list(place->outside->upstreams, (size_t)server, place->stored.owner, done,
                          user, err);
}

/* --- as a call --- */

static struct apis_place place_of(const struct call *call)
{
    return (struct apis_place){
        .stored = {call->run->origin.store, call->run->origin.keeper, call->run->terms.reach},
        .outside = call_outside(call)};
}

static void answer(struct call *call)
{
    const struct apis_place place = place_of(call);
    struct error err = {0};
    json_t *value = NULL;

    if (apis_list(&place, call->arguments, &value, &err) < 0)
        call_fail(call, &err);
    else
        call_answer(call, value);
}

static void on_cancel(struct call *call)
{
    upstream_call_cancel(call->user);
}

static void on_tools(void *user, const json_t *value, const struct error *cause)
{
    struct call *call = user;
    struct error err = {0};

    (void)value; /* the list is known now */
    call->on_cancel = NULL;
    if (!cause) {
        answer(call);
        return;
    }
    error_copy(&err, cause);
    call_fail(call, &err);
}

static void list(struct call *call)
{
    const struct apis_place place = place_of(call);
    int server = apis_server(&place, call->arguments);
    struct error err = {0};

    if (server < 0) {
        answer(call);
        return;
    }
    call->on_cancel = on_cancel;
    call->user = apis_ask(&place, server, on_tools, call, &err);
    if (!call->user) {
        call->on_cancel = NULL;
        call_fail(call, &err);
    }
}

/* clang-format off */
static const struct call_field list_fields[] = {
    {"detail", CALL_TEXT, false, 32},
    {"name", CALL_TEXT, false, 256},
    {0},
};

/* Everybody may know what exists. */
const struct call_row call_apis_rows[] = {
    {"apis.list", 0, list_fields, list},
    {0},
};
/* clang-format on */
