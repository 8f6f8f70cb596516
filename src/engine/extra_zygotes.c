#include "engine/extra_zygotes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define IDLE_NS (600 * 1000000000ULL)

bool extra_zygotes_serve(const struct extra_zygotes *sides, const struct run_terms *terms)
{
    return terms->environment || (terms->has_seed && !sides->own->steady);
}

static bool is_of(const struct extra_zygote *side, const struct run_terms *terms)
{
    if (!side->zygote || side->environment.steady != terms->has_seed)
        return false;
    if (!side->name || !terms->environment)
        return !side->name && !terms->environment;
    return strcmp(side->name, terms->environment) == 0;
}

/* A free place; else one whose zygote has nothing to do, which has to end first. */
static struct extra_zygote *place(struct extra_zygotes *sides, struct error *err)
{
    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++)
        if (!sides->slots[i].zygote)
            return &sides->slots[i];
    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++)
        if (zygote_client_boxes(sides->slots[i].zygote) == 0)
            zygote_client_end(sides->slots[i].zygote);
    error_set(err, E_BUSY, "%d other environments are in use", EXTRA_ZYGOTES_MAX);
    error_hint(err, "try again in a moment");
    return NULL;
}

static int open_environment(const struct extra_zygotes *sides, const struct run_terms *terms,
                            struct extra_zygote *side, struct error *err)
{
    if (!terms->environment) {
        side->environment = environment_steady(sides->own);
        return 0;
    }
    side->name = strdup(terms->environment);
    if (!side->name)
        return error_memory(err);
    if (!sides->config)
        return error_set(err, E_INTERNAL, "there is no environment `%s`", terms->environment);
    if (environment_open(&side->environment, sides->config, terms->environment, true, true, err) <
        0)
        return -1;
    side->environment.policies = sides->own->policies;
    if (terms->has_seed)
        side->environment = environment_steady(&side->environment);
    return 0;
}

struct zygote_client *extra_zygotes_zygote(struct extra_zygotes *sides,
                                           const struct run_terms *terms, struct error *err)
{
    struct extra_zygote *side;

    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++)
        if (is_of(&sides->slots[i], terms)) {
            sides->slots[i].used_ns = loop_now_ns();
            return sides->slots[i].zygote;
        }
    side = place(sides, err);
    if (!side)
        return NULL;
    side->used_ns = loop_now_ns();
    if (open_environment(sides, terms, side, err) < 0 ||
        zygote_client_new(sides->loop, sides->masks, &side->environment, sides->events,
                          sides->owner, &side->zygote, err) < 0) {
        extra_zygote_forget(side);
        return NULL;
    }
    return side->zygote;
}

struct extra_zygote *extra_zygotes_find(struct extra_zygotes *sides,
                                        const struct zygote_client *zygote)
{
    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++)
        if (sides->slots[i].zygote == zygote)
            return &sides->slots[i];
    return NULL;
}

void extra_zygote_forget(struct extra_zygote *side)
{
    if (side->name) /* else it shares everything with the pool's */
        environment_done(&side->environment);
    free(side->name);
    *side = (struct extra_zygote){0};
}

void extra_zygotes_tend(struct extra_zygotes *sides)
{
    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++) {
        struct extra_zygote *side = &sides->slots[i];

        if (side->zygote && zygote_client_is_needed(side->zygote))
            side->used_ns = loop_now_ns();
        else if (side->zygote && loop_now_ns() - side->used_ns > IDLE_NS)
            zygote_client_end(side->zygote);
    }
}
