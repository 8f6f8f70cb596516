#include "admit/spent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "admit/quota.h"
#include "base/cleanup.h"
#include "base/json.h"

struct spent {
    json_t *nodes; /* what each said last */
};

struct spent *spent_new(void)
{
    struct spent *spent = calloc(1, sizeof(*spent));

    if (spent)
        spent->nodes = json_object();
    if (spent && !spent->nodes) {
        free(spent);
        return NULL;
    }
    return spent;
}

void spent_free(struct spent *spent)
{
    if (spent)
        json_decref(spent->nodes);
    free(spent);
}

json_t *spent_json(const struct auth *auth, const char *since)
{
    json_t *tokens = json_object();

    for (struct caller *c = auth_next(auth, NULL); tokens && c; c = auth_next(auth, c)) {
        double amounts[QUOTA_ALLOWANCES];

        if (json_object_size(tokens) < SPENT_TOKENS_MAX && quota_spent(c, amounts))
            (void)json_object_set_new(tokens, c->name,
                                      json_pack("[f, f, f]", amounts[0], amounts[1], amounts[2]));
    }
    return json_pack("{s:s, s:o}", "since", since, "tokens", tokens);
}

static struct caller *find(const struct auth *auth, const char *name)
{
    struct caller *c = auth_next(auth, NULL);

    while (c && strcmp(c->name, name) != 0)
        c = auth_next(auth, c);
    return c;
}

/* More than before. `before` is NULL where it began at 0. */
static double more(const json_t *now, const json_t *before, size_t i)
{
    double amount = json_number_value(json_array_get(now, i));
    double known = json_number_value(json_array_get(before, i));

    return isfinite(amount) && amount > known ? amount - known : 0;
}

static void add(const struct auth *auth, const json_t *tokens, const json_t *before,
                uint64_t now_ns)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)tokens, name, value)
    {
        const json_t *known = json_object_get(before, name);
        struct caller *caller = json_equal(value, known) ? NULL : find(auth, name);
        double amounts[QUOTA_ALLOWANCES];

        for (size_t i = 0; i < QUOTA_ALLOWANCES; i++)
            amounts[i] = more(value, known, i);
        if (caller)
            quota_add(caller, now_ns, amounts);
    }
}

static void take(struct spent *spent, const struct auth *auth, const char *node, json_t *said,
                 uint64_t now_ns)
{
    const json_t *before = json_object_get(spent->nodes, node);
    const json_t *tokens = json_object_get(said, "tokens");
    /* Another engine, which began at 0 while this one has been there. */
    bool is_other = before && strcmp(json_get_text(before, "since"), json_get_text(said, "since"));

    if (!json_is_object(tokens) || json_object_size(tokens) > SPENT_TOKENS_MAX ||
        (!before && json_object_size(spent->nodes) == SPENT_NODES_MAX))
        return;
    if (before)
        add(auth, tokens, is_other ? NULL : json_object_get(before, "tokens"), now_ns);
    (void)json_object_set(spent->nodes, node, said);
}

void spent_take(struct spent *spent, const struct auth *auth, const json_t *nodes, uint64_t now_ns)
{
    const char *node;
    json_t *said;

    json_object_foreach((json_t *)nodes, node, said) take(spent, auth, node, said, now_ns);
}
