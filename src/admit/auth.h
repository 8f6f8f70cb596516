/* Identifies the caller: by a bearer token, or as a process of the same user over the Unix socket.
 *
 * The first token is made at the first start and kept in a file that only its user can read, who
 * can use it. Further ones (admit/tokens.h) are known by their hash. A token that a client sends is
 * hashed and compared with all, without a difference in time, and never printed, logged or put into
 * an error.
 *
 * A change of the tokens' file holds from the next check on. While that file cannot be read, its
 * tokens are not known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "admit/caller.h"
#include "base/error.h"
#include "wire/pack.h"

struct auth;
struct page_tokens;

/* The credentials of a client. */
struct auth_claim {
    struct span token; /* data NULL: none */
    bool is_unix;
    uid_t uid;          /* of the peer, over a Unix socket */
    unsigned *ret_page; /* the number of a page's token (admit/page_tokens.h), or 0; optional */
};

struct auth_options {
    const char *token_path;      /* the first token; NULL: nobody needs one */
    const char *tokens_path;     /* the others; NULL: there are none */
    double trail_bytes_per_hour; /* for each caller; 0: any amount */
    /* Both optional. A token was removed: what it opened should end. And: the file cannot be read,
     * or can again (code E_NONE). */
    void (*on_removed)(void *user, struct caller *caller);
    void (*on_trouble)(void *user, const struct error *err);
    /* Optional. The rights of a token have changed: what it may no longer have should end. */
    void (*on_changed)(void *user, struct caller *caller);
    /* The first token as text, which is not kept. */
    void (*on_first)(void *user, const char *token, size_t len);
    void *user;
};

/* Reads the files. The first token is made where there is none at all. */
int auth_open(const struct auth_options *options, struct auth **ret_auth, struct error *err);
void auth_free(struct auth *auth);

/* False: everybody may do everything. */
bool auth_needs_token(const struct auth *auth);

/* Whether there is a first token: where its file is absent and there are others, there is none. */
bool auth_has_first(const struct auth *auth);

/* The caller of a request: nobody else finds what it opens. E_AUTH: unknown. A token counts even
 * over the Unix socket. */
int auth_check(struct auth *auth, const struct auth_claim *claim, struct caller **ret_caller,
               struct error *err);

/* Looks at the tokens' file now. */
void auth_refresh(struct auth *auth);

/* Those of the web console. */
struct page_tokens *auth_pages(const struct auth *auth);

/* All there ever were; NULL begins and ends. */
struct caller *auth_next(const struct auth *auth, const struct caller *after);

/* Whether more than one caller is known, so that shares matter. */
bool auth_has_others(const struct auth *auth);
