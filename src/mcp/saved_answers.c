/* Answers that were cut, as a whole: stored for a while, to be read in pages (tool_output.c). */
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

struct mcp_saved_answer {
    TAILQ_ENTRY(mcp_saved_answer) link; /* in order of their age */
    char id[ID_SIZE];
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

    for (const struct mcp_saved_answer *k = TAILQ_FIRST(&server->saved); k; k = TAILQ_NEXT(k, link))
        if (!owner || strcmp(k->owner, owner) == 0) {
            share.count++;
            share.bytes += k->len;
        }
    return share;
}

static void drop(struct mcp_server *server, struct mcp_saved_answer *answer)
{
    TAILQ_REMOVE(&server->saved, answer, link);
    spool_free(answer->spool);
    free(answer);
}

static struct mcp_saved_answer *oldest_of(const struct mcp_server *server, const char *owner)
{
    struct mcp_saved_answer *answer = TAILQ_FIRST(&server->saved);

    while (answer && strcmp(answer->owner, owner) != 0)
        answer = TAILQ_NEXT(answer, link);
    return answer;
}

/* The owner with the most makes room. */
static const char *owner_of_most(const struct mcp_server *server)
{
    const char *owner = NULL;
    uint64_t most = 0;

    for (const struct mcp_saved_answer *k = TAILQ_FIRST(&server->saved); k; k = TAILQ_NEXT(k, link))
        if (!owner || share_of(server, k->owner).bytes > most) {
            most = share_of(server, k->owner).bytes;
            owner = k->owner;
        }
    return owner;
}

static void make_room(struct mcp_server *server, const char *owner, size_t len)
{
    struct mcp_saved_answer *answer;
    struct share_of share = share_of(server, owner);

    while ((share.count >= OWNER_MAX || share.bytes + len > OWNER_BYTES) &&
           (answer = oldest_of(server, owner))) {
        drop(server, answer);
        share = share_of(server, owner);
    }
    share = share_of(server, NULL);
    while (!TAILQ_EMPTY(&server->saved) &&
           (share.count >= STORE_MAX || share.bytes + len > STORE_BYTES)) {
        drop(server, oldest_of(server, owner_of_most(server)));
        share = share_of(server, NULL);
    }
}

const char *mcp_keep(struct mcp_server *server, const char *owner, const char *text, size_t len)
{
    struct mcp_saved_answer *answer = calloc(1, sizeof(*answer));

    if (len > MCP_SAVED_BYTES)
        len = MCP_SAVED_BYTES;
    make_room(server, owner, len);
    if (!answer || id_make(answer->id, "ans_") < 0 ||
        (!server->answer_spools && spool_directory_new(NULL, STORE_BYTES + MCP_SAVED_BYTES,
                                                       &server->answer_spools, NULL) < 0) ||
        spool_new(server->answer_spools, NULL, &answer->spool, NULL) < 0) {
        free(answer);
        return NULL;
    }
    (void)snprintf(answer->owner, sizeof(answer->owner), "%s", owner);
    spool_add(answer->spool, text, len);
    answer->len = len;
    TAILQ_INSERT_TAIL(&server->saved, answer, link);
    return answer->id;
}

const struct spool *mcp_saved_answer_find(const struct mcp_server *server, const char *owner,
                                          const char *id)
{
    for (const struct mcp_saved_answer *k = TAILQ_FIRST(&server->saved); k; k = TAILQ_NEXT(k, link))
        if (strcmp(k->id, id) == 0 && strcmp(k->owner, owner) == 0)
            return k->spool;
    return NULL;
}

void mcp_saved_answers_forget(struct mcp_server *server, const char *owner)
{
    for (struct mcp_saved_answer *k = TAILQ_FIRST(&server->saved), *after; k; k = after) {
        after = TAILQ_NEXT(k, link);
        if (!owner || strcmp(k->owner, owner) == 0)
            drop(server, k);
    }
    if (!owner)
        spool_directory_free(take_ptr(server->answer_spools));
}
