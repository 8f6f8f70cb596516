/* The gate: the only way from a sandbox to granted hosts. One per sandbox that has any.
 *
 * The sandbox's network namespace stays empty. Its pid 1 has made a socket that listens on loopback
 * in there and passed it up; connections to it are accepted here, outside, and it is the supervisor
 * that connects further, where a grant (base/net.h) says so. What a program says first tells how it
 * speaks: HTTP to a proxy, CONNECT, or SOCKS 5.
 *
 * A name is resolved once. Every address of it is judged, and the connection goes to one that was.
 * No byte is read before the one before has somewhere to go, in both directions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/net.h"

struct egress;

/* A connection that ended, or that was refused. Texts are only lent, and are no program's but for
 * the host, which has a host's characters. */
struct egress_note {
    const char *host; /* "": it did not come to naming one */
    uint16_t port;
    const char *how;   /* "http", "connect", "socks" */
    const char *why;   /* of a refusal, in words; NULL: it was none */
    const char *grant; /* what would allow it; NULL: nothing would */
    bool is_failure;   /* it was allowed, and the host was not reached or did not answer */
    uint64_t sent, received;
    double ms;
};

typedef void (*egress_fn)(void *user, const struct egress_note *note);

struct resolver; /* base/resolve.h */

struct egress_owner;

/* Shared by all sandboxes of one engine. */
struct egress_settings {
    struct resolver *resolver;
    uint64_t bytes; /* that one sandbox may move, both directions together */
    /* The value of a secret, or NULL: there is none of that name. */
    const char *(*secret)(void *user, const char *name, size_t len);
    void *user;
    /* Kept by the gates: connections of all of them, those being refused, and whose they are. */
    size_t n_open, n_refusing;
    struct egress_owner *owners;
};

/* Whether every secret that a grant names is there. */
int egress_check(const struct egress_settings *settings, const struct net *net, struct error *err);

/* `listener` is the gate's, also on failure. */
int egress_new(struct egress_settings *settings, struct loop *loop, int listener, struct net *net,
               egress_fn fn, void *user, struct egress **ret_egress, struct error *err);

/* The answer about a host that no grant names. LATER: none yet; egress_answer() brings it. */
enum egress_consent { EGRESS_NO, EGRESS_YES, EGRESS_LATER };

#define EGRESS_GRANT_TEXT (HOST_TEXT + 8)

/* Asks for a host, `grant`, as it stands behind --net; its characters are a host's. *ret_why: of a
 * no, and stays as it is otherwise. Nothing was looked up or connected yet. */
typedef enum egress_consent (*egress_ask_fn)(void *user, const char *grant, const char **ret_why);

/* Set if the hosts say `ask` (base/net.h). `user` is that of egress_new(). */
void egress_set_ask(struct egress *egress, egress_ask_fn ask);

/* The answer. A yes or a no holds as long as the sandbox; LATER stands for none: whoever waits is
 * judged again. A yes permits what a grant of that name would: addresses are judged as ever. */
void egress_answer(struct egress *egress, const char *grant, enum egress_consent said);

/* Sets the owner of the program before it runs in the sandbox: all connections of one token have
 * one share of LIMIT_NET_OPEN_ALL. Connections beyond the share are refused. NULL: no owner. */
void egress_set_owner(struct egress *egress, const char *owner);

/* The traffic so far. */
struct egress_totals {
    uint64_t connections, sent, received;
};

void egress_totals(const struct egress *egress, struct egress_totals *ret_totals);

/* Closes everything; what was open is told. Accepts NULL. */
void egress_free(struct egress *egress);
