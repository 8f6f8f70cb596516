#include "cluster/roster.h"

#include <stdio.h>
#include <string.h>

static void remove_at(struct roster *roster, size_t at)
{
    roster->count--;
    memmove(&roster->list[at], &roster->list[at + 1],
            (roster->count - at) * sizeof(roster->list[0]));
}

void roster_remove(struct roster *roster, const char *name)
{
    for (size_t i = 0; i < roster->count; i++)
        if (strcmp(roster->list[i].name, name) == 0) {
            remove_at(roster, i);
            return;
        }
}

void roster_add(struct roster *roster, const struct member *lost)
{
    struct roster_entry *entry;

    roster_remove(roster, lost->beat.name);
    if (roster->count == ROSTER_MAX)
        remove_at(roster, 0);
    entry = &roster->list[roster->count++];
    *entry = (struct roster_entry){.lost_ns = lost->heard_ns};
    (void)snprintf(entry->name, sizeof(entry->name), "%s", lost->beat.name);
    (void)snprintf(entry->version, sizeof(entry->version), "%s", lost->beat.version);
}

void roster_tidy(struct roster *roster, uint64_t now_ns)
{
    while (roster->count && now_ns > roster->list[0].lost_ns + ROSTER_MAX_NS)
        remove_at(roster, 0);
}
