/* Hosts in the settings: a table of the file becomes the one text that all doors know. */
#include <string.h>

#include "base/cleanup.h"
#include "base/config_internal.h"
#include "base/limits.h"
#include "base/net.h"
#include "base/suggest.h"

static const char *const keys[] = {"host", "methods", "header", "private"};

static int check_keys(json_t *table, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(table, key, value)
    {
        bool is_known = false;

        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
            is_known = is_known || strcmp(key, keys[i]) == 0;
        if (!is_known) {
            const char *nearest = suggest_nearest(key, keys, ARRAY_SIZE(keys));

            error_set(err, E_INVALID, "read the unknown name `%s`", key);
            return nearest ? error_hint(err, "did you mean `%s`?", nearest)
                           : error_hint(err, "a host has `host`, `methods`, `header`, `private`");
        }
        if (json_is_string(value) && strpbrk(json_string_value(value), "\r\n"))
            return error_set(err, E_INVALID, "`%s` has more than one line", key);
    }
    return 0;
}

static int add_methods(const json_t *methods, struct buf *out, struct error *err)
{
    const json_t *item;
    size_t i;

    if (!methods)
        return 0;
    if (json_array_size(methods) == 0)
        return error_set(err, E_INVALID, "`methods`: expected an array of words, as in [\"GET\"]");
    json_array_foreach(methods, i, item)
    {
        if (!json_is_string(item))
            return error_set(err, E_INVALID, "`methods`: expected an array of words");
        if (buf_printf(out, err, "%s%s", i ? "+" : "", json_string_value(item)) < 0)
            return -1;
    }
    return buf_add_str(out, " ", err);
}

static int write_table(json_t *table, struct buf *out, struct error *err)
{
    const json_t *host = json_object_get(table, "host"), *header = json_object_get(table, "header");
    const json_t *private = json_object_get(table, "private");

    if (check_keys(table, err) < 0)
        return -1;
    if (!json_is_string(host) || (header && !json_is_string(header)) ||
        (private && !json_is_boolean(private)))
        return error_set(err, E_INVALID,
                         "expected {host = \"…\", methods = […], header = \"…\", private = true}");
    if (strpbrk(json_string_value(host), " "))
        return error_set(err, E_INVALID, "`host` contains a space");
    if (add_methods(json_object_get(table, "methods"), out, err) < 0 ||
        buf_add_str(out, json_string_value(host), err) < 0)
        return -1;
    if (json_is_true(private) && buf_add_str(out, " private", err) < 0)
        return -1;
    return header ? buf_printf(out, err, " header=%s", json_string_value(header)) : 0;
}

char *config_net_text(const json_t *item, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(16 * KIB);
    struct net *net = net_new();
    int r;

    r = json_is_object(item) ? write_table((json_t *)item, &text, err)
                             : buf_add_str(&text, json_string_value(item), err);
    if (r == 0)
        r = net ? net_add(net, buf_str(&text), err) : error_memory(err);
    net_unref(net);
    return r == 0 ? take_ptr(text.data) : NULL;
}
