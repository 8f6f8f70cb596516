/* Who asks: a bearer token, or a process of the same user over the Unix socket.
 *
 * The token is made at the first start and kept in a file that only its user can read. It is
 * compared without a difference in time and never printed, logged or put into an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "wire/pack.h"

struct auth;

/* What a client shows of itself. */
struct auth_claim {
    struct span token; /* data NULL: none */
    bool is_unix;
    uid_t uid; /* of the peer, over a Unix socket */
};

/* Reads the token's file, or makes it. NULL: nobody needs one. */
int auth_open(const char *path, struct auth **ret_auth, struct error *err);
void auth_free(struct auth *auth);

/* Whose request it is: what he opens is found by nobody else. E_AUTH: nobody's. */
int auth_check(const struct auth *auth, const struct auth_claim *claim, char *ret_owner,
               size_t size, struct error *err);
