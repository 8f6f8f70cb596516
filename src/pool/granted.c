#include "pool/granted.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/grant.h"

struct granted {
    size_t count;
    struct run_grant grants[LIMIT_GRANTS];
    struct grant_watch *watches[LIMIT_GRANTS];
};

static void (*the_report)(const char *path, size_t moved, size_t failed);

void granted_configure(void (*report)(const char *path, size_t moved, size_t failed))
{
    the_report = report;
}

static void free_granted(struct granted *granted)
{
    for (size_t i = 0; i < granted->count; i++) {
        grant_watch_free(granted->watches[i]);
        grant_done(&granted->grants[i]);
    }
    free(granted);
}

/* With a descriptor of its own: the run may be freed before its sandbox is gone. */
static int add(struct granted *granted, const struct run_grant *grant, struct error *err)
{
    size_t i = granted->count++;
    struct run_grant *ours = &granted->grants[i];

    *ours = (struct run_grant){.path = strdup(grant->path),
                               .fd = fcntl(grant->fd, F_DUPFD_CLOEXEC, 3),
                               .mode = grant->mode};
    if (ours->fd < 0)
        return error_errno(err, "keep `%s`", grant->path);
    granted->watches[i] = grant_watch_new(ours);
    if (!ours->path || !granted->watches[i])
        return error_memory(err);
    return 0;
}

int granted_new(const struct run_grant *grants, size_t count, struct granted **ret_granted,
                struct error *err)
{
    struct granted *granted = NULL;

    for (size_t i = 0; the_report && i < count; i++) {
        if (grants[i].mode != RUN_GRANT_RW)
            continue;
        if (!granted && !(granted = calloc(1, sizeof(*granted))))
            return error_memory(err);
        if (add(granted, &grants[i], err) < 0) {
            free_granted(granted);
            return -1;
        }
    }
    *ret_granted = granted;
    return 0;
}

void granted_end(struct granted *granted)
{
    if (!granted)
        return;
    for (size_t i = 0; i < granted->count; i++) {
        size_t failed = 0;
        size_t moved = grant_quarantine(&granted->grants[i], granted->watches[i], &failed);

        if (moved || failed)
            the_report(granted->grants[i].path, moved, failed);
    }
    free_granted(granted);
}
