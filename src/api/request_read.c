/* The checked body of the native API as a request (admit/request.h). */
#include <ctype.h>
#include <string.h>

#include "api/api.h"
#include "api/attachments.h"
#include "base/cleanup.h"
#include "base/language.h"

static struct span text_of(const json_t *body, const char *name)
{
    const json_t *value = json_object_get(body, name);

    return (struct span){json_string_value(value), json_string_length(value)};
}

static int read_words(const json_t *list, struct run_request_words *words, struct error *err)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (run_request_add(words, json_string_value(item), err) < 0)
            return -1;
    }
    return 0;
}

static bool is_variable_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

static int read_env(const json_t *env, struct run_request *asked, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)env, name, value)
    {
        if (!is_variable_name(name))
            return error_set(err, E_INVALID, "`env`: a name is not made of letters, digits and _");
        if (strlen(name) + 1 + json_string_length(value) > LIMIT_ENV_BYTES)
            return error_set(err, E_TOO_LARGE, "`env`: `%s` is longer than %zu bytes", name,
                             LIMIT_ENV_BYTES);
        if (run_request_add_variable(asked, (struct span){name, strlen(name)},
                                     json_string_value(value), err) < 0)
            return -1;
    }
    return 0;
}

static void read_limits(const json_t *body, struct run_request *asked)
{
    for (size_t i = 0; i < RUN_LIMIT_REQUEST_ROWS; i++) {
        const json_t *value = json_object_get(body, run_limit_table[i].name);

        if (value)
            run_request_set_limit(asked, (enum run_limit_row)i, json_number_value(value));
    }
}

int api_read_terms(const json_t *body, struct run_request *asked, struct error *err)
{
    asked->language = language_of_json(body);
    asked->profile = text_of(body, "profile").data;
    asked->environment = text_of(body, "environment").data;
    asked->workdir = text_of(body, "workdir").data;
    asked->has_allow = json_object_get(body, "allow") != NULL;
    asked->has_net = json_object_get(body, "net") != NULL;
    read_limits(body, asked);
    if (read_words(json_object_get(body, "allow"), &asked->allow, err) < 0 ||
        read_words(json_object_get(body, "net"), &asked->net, err) < 0 ||
        read_words(json_object_get(body, "ports"), &asked->ports, err) < 0)
        return -1;
    return read_env(json_object_get(body, "env"), asked, err);
}

int api_read_request(const json_t *body, const struct multipart *parts, struct run_request *asked,
                     struct error *err)
{
    const json_t *seed = json_object_get(body, "seed");

    asked->code = text_of(body, "code");
    asked->input = text_of(body, "stdin");
    asked->auto_print = json_is_true(json_object_get(body, "auto_print"));
    asked->wants_receipt = json_is_true(json_object_get(body, "receipt"));
    asked->has_seed = seed != NULL;
    asked->seed = (uint64_t)json_integer_value(seed);
    asked->filename = text_of(body, "filename").data;
    if (api_read_terms(body, asked, err) < 0 ||
        read_words(json_object_get(body, "args"), &asked->args, err) < 0)
        return -1;
    return attachments_read(body, parts, asked, err);
}

struct admission api_admission(const struct api *api, const struct caller *caller)
{
    return (struct admission){
        .config = api->config,
        .profiles = api->profiles,
        .caller = caller,
        .gives_all = true,
        .store = api->store,
        .keeper = caller->keeper,
    };
}
