/* Runs one behind the other, by their `next`: those that wait, and those whose on_done is due. */
#pragma once

#include <stdbool.h>

#include "base/run.h"

struct run_list {
    struct run *first, *last;
    size_t count;
};

static inline void run_list_add(struct run_list *list, struct run *run)
{
    run->next = NULL;
    if (list->last)
        list->last->next = run;
    else
        list->first = run;
    list->last = run;
    list->count++;
}

static inline void run_list_add_first(struct run_list *list, struct run *run)
{
    run->next = list->first;
    list->first = run;
    if (!list->last)
        list->last = run;
    list->count++;
}

/* False: it is not in there. */
static inline bool run_list_remove(struct run_list *list, const struct run *run)
{
    struct run *before = NULL;

    for (struct run *r = list->first; r; before = r, r = r->next) {
        if (r != run)
            continue;
        if (before)
            before->next = r->next;
        else
            list->first = r->next;
        if (list->last == r)
            list->last = before;
        list->count--;
        return true;
    }
    return false;
}

/* The first of all of them; the list is empty then, and may be filled again meanwhile. */
static inline struct run *run_list_take(struct run_list *list)
{
    struct run *first = list->first;

    *list = (struct run_list){0};
    return first;
}
