/* Nodes that a gateway has lost: for an hour they are shown to operators, with what they said last.
 */
#pragma once

#include "cluster/beat.h"

#define ROSTER_MAX    64
#define ROSTER_MAX_NS UINT64_C(3600000000000)

struct roster_entry {
    char name[13];
    char version[32];
    uint64_t lost_ns; /* when it was heard last */
};

struct roster {
    struct roster_entry list[ROSTER_MAX];
    size_t count;
};

/* The oldest goes for it. */
void roster_add(struct roster *roster, const struct member *lost);

/* It is there again. */
void roster_remove(struct roster *roster, const char *name);

/* Forgets those that were lost too long ago. */
void roster_tidy(struct roster *roster, uint64_t now_ns);
