#include "cluster/list_merge.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cluster/route.h"

#define ID_PREFIX 4

int list_merge_init(struct list_merge *merge, const char *name)
{
    *merge = (struct list_merge){.name = name, .all = json_array(), .lost = json_array()};
    return merge->all && merge->lost ? 0 : -1;
}

void list_merge_done(struct list_merge *merge)
{
    json_decref(merge->all);
    json_decref(merge->lost);
    json_decref(merge->form);
    *merge = (struct list_merge){0};
}

void list_merge_lose(struct list_merge *merge, const char *node)
{
    (void)json_array_append_new(merge->lost, json_string(node));
}

void list_merge_add(struct list_merge *merge, const char *node, const char *text, size_t len)
{
    static const struct json_text_limits limits = {
        .bytes = LIST_ANSWER_BYTES, .depth = 32, .memory = LIST_ANSWER_MEMORY};
    json_t *answer = NULL;

    merge->bytes += len;
    if (merge->bytes > LIST_ALL_BYTES || json_text_load(text, len, &limits, &answer, NULL) < 0 ||
        !(json_is_object(answer) || json_is_array(answer))) {
        json_decref(answer);
        list_merge_lose(merge, node);
        return;
    }
    (void)json_array_extend(merge->all,
                            json_is_array(answer) ? answer : json_object_get(answer, merge->name));
    if (merge->form)
        json_decref(answer);
    else
        merge->form = answer;
}

/* A durable job that has moved, and whose first home has just come back, is on two nodes. */
static bool is_same(const json_t *a, const json_t *b)
{
    const char *id = json_get_text(a, "id");

    return *id && strcmp(id, json_get_text(b, "id")) == 0;
}

/* The moment in an id, which is at its beginning: of the first member that is one. */
static const char *moment_of(const json_t *item)
{
    const char *name;
    json_t *value;
    char node[13];

    json_object_foreach((json_t *)item, name, value)
    {
        const char *text = json_string_value(value);

        if (text && route_node_of((struct span){text, strlen(text)}, node))
            return text + ID_PREFIX;
    }
    return "";
}

static int by_moment(const void *a, const void *b)
{
    return strcmp(moment_of(*(json_t *const *)b), moment_of(*(json_t *const *)a));
}

static void add_sorted(json_t *from, size_t limit, json_t *to)
{
    size_t n = json_array_size(from);
    json_t **items = calloc(n ? n : 1, sizeof(*items));

    for (size_t i = 0; items && i < n; i++)
        items[i] = json_array_get(from, i);
    if (items)
        qsort(items, n, sizeof(*items), by_moment);
    for (size_t i = 0; items && i < n && json_array_size(to) < limit; i++)
        if (i == 0 || !is_same(items[i - 1], items[i]))
            (void)json_array_append(to, items[i]);
    free(items);
}

json_t *list_merge_end(struct list_merge *merge, size_t limit)
{
    cleanup_json json_t *sorted = json_array();
    json_t *form = take_ptr(merge->form);

    add_sorted(merge->all, limit, sorted);
    if (json_is_array(form)) { /* of another system: it has no word for nodes that are missing */
        json_decref(form);
        return json_incref(sorted);
    }
    if (!form)
        form = json_object();
    json_set(form, merge->name, json_incref(sorted));
    if (json_array_size(merge->lost))
        json_set(form, "nodes_missing", json_incref(merge->lost));
    return form;
}

size_t list_merge_limit(struct span rest, size_t fallback)
{
    while (rest.len) {
        size_t n = span_until(rest, "&");

        if (n > 6 && n < 12 && memcmp(rest.data, "limit=", 6) == 0) {
            char digits[8] = "";
            long limit;

            memcpy(digits, rest.data + 6, n - 6);
            limit = strtol(digits, NULL, 10);
            return limit > 0 ? (size_t)limit : SIZE_MAX;
        }
        n += n < rest.len;
        rest.data += n;
        rest.len -= n;
    }
    return fallback ? fallback : SIZE_MAX;
}
