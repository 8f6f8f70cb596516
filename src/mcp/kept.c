/* Answers that were cut, as a whole: kept for a while, to be read in pages (tool_output.c). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "mcp/internal.h"

/* Of one owner's answers, and of all. The oldest ones go first. */
#define OWNER_BYTES ((uint64_t)16 * MIB)
#define OWNER_MAX   32
#define STORE_BYTES ((uint64_t)64 * MIB)
#define STORE_MAX   256

struct mcp_kept_answer {
    struct mcp_kept_answer *before, *after; /* in order of their age */
    char id[32];
    char owner[REQUEST_OWNER_MAX];
    struct spool *spool;
    size_t len;
};

struct share_of {
    size_t count;
    uint64_t bytes;
};

static struct share_of share_of(const struct mcp_server *server, const char *owner)
{
    struct share_of share = {0};

    for (const struct mcp_kept_answer *k = server->first_kept; k; k = k->after)
        if (!owner || strcmp(k->owner, owner) == 0) {
            share.count++;
            share.bytes += k->len;
        }
    return share;
}

static void drop(struct mcp_server *server, struct mcp_kept_answer *kept)
{
    *(kept->before ? &kept->before->after : &server->first_kept) = kept->after;
    *(kept->after ? &kept->after->before : &server->last_kept) = kept->before;
    spool_free(kept->spool);
    free(kept);
}

static struct mcp_kept_answer *oldest_of(const struct mcp_server *server, const char *owner)
{
    struct mcp_kept_answer *kept = server->first_kept;

    while (kept && strcmp(kept->owner, owner) != 0)
        kept = kept->after;
    return kept;
}

/* The owner with the most makes room. */
static const char *owner_of_most(const struct mcp_server *server)
{
    const char *owner = NULL;
    uint64_t most = 0;

    for (const struct mcp_kept_answer *k = server->first_kept; k; k = k->after)
        if (!owner || share_of(server, k->owner).bytes > most) {
            most = share_of(server, k->owner).bytes;
            owner = k->owner;
        }
    return owner;
}

static void make_room(struct mcp_server *server, const char *owner, size_t len)
{
    struct mcp_kept_answer *kept;
    struct share_of share = share_of(server, owner);

    while ((share.count >= OWNER_MAX || share.bytes + len > OWNER_BYTES) &&
           (kept = oldest_of(server, owner))) {
        drop(server, kept);
        share = share_of(server, owner);
    }
    share = share_of(server, NULL);
    while (server->first_kept && (share.count >= STORE_MAX || share.bytes + len > STORE_BYTES)) {
        drop(server, oldest_of(server, owner_of_most(server)));
        share = share_of(server, NULL);
    }
}

const char *mcp_keep(struct mcp_server *server, const char *owner, const char *text, size_t len)
{
    struct mcp_kept_answer *kept = calloc(1, sizeof(*kept));

    if (len > MCP_KEPT_BYTES)
        len = MCP_KEPT_BYTES;
    make_room(server, owner, len);
    if (!kept || id_make(kept->id, "ans_") < 0 ||
        (!server->kept &&
         spool_store_new(NULL, STORE_BYTES + MCP_KEPT_BYTES, &server->kept, NULL) < 0) ||
        spool_new(server->kept, NULL, &kept->spool, NULL) < 0) {
        free(kept);
        return NULL;
    }
    (void)snprintf(kept->owner, sizeof(kept->owner), "%s", owner);
    spool_add(kept->spool, text, len);
    kept->len = len;
    kept->before = server->last_kept;
    *(server->last_kept ? &server->last_kept->after : &server->first_kept) = kept;
    server->last_kept = kept;
    return kept->id;
}

const struct spool *mcp_kept_find(const struct mcp_server *server, const char *owner,
                                  const char *id)
{
    for (const struct mcp_kept_answer *k = server->first_kept; k; k = k->after)
        if (strcmp(k->id, id) == 0 && strcmp(k->owner, owner) == 0)
            return k->spool;
    return NULL;
}

void mcp_kept_forget(struct mcp_server *server, const char *owner)
{
    for (struct mcp_kept_answer *k = server->first_kept, *after; k; k = after) {
        after = k->after;
        if (!owner || strcmp(k->owner, owner) == 0)
            drop(server, k);
    }
    if (!owner)
        spool_store_free(take_ptr(server->kept));
}
