/* Hosts that a program may reach: grants as people write them, and the question whether one covers
 * what the program asks for. The gate (egress/egress.h) asks; nothing is looked up here.
 *
 *     [METHOD[+METHOD]… ] [http://|https://] HOST [:PORT] [/PATH] [ private] [ header=NAME: VALUE]
 *
 *     api.example.org                    ports 80 and 443
 *     *.example.org:443                  every name below it, not itself
 *     http://127.0.0.1:8000/session/     plain requests to that path and below it
 *     GET+HEAD https://api.example.org   the gate sees the request, and speaks TLS itself
 *     ask                                somebody is asked for any other host
 *
 * A grant that names methods, a path or a header is for requests that the gate can read: no tunnel
 * is made for it. An address outside of the public Internet is reached only when it is granted
 * itself, or when the grant of the name says `private`; `localhost` says it by its name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/error.h"

struct net_grant {
    struct host host; /* of a wildcard: what stands behind the star, with its dot */
    bool is_wildcard;
    bool is_tls;     /* https://: for requests in plain text the gate speaks TLS */
    bool is_private; /* its addresses may be any */
    uint16_t port;   /* 0: 80 and 443 */
    char *path;      /* begins with a slash; NULL: any */
    char *methods;   /* "GET+HEAD"; NULL: any */
    char *header;    /* "Name: value", in which ${secret:NAME} stands for a secret; or NULL */
};

struct net {
    unsigned refs;
    size_t count;
    struct net_grant *grants;
    bool asks; /* for a host that no grant names, somebody may be asked */
};

/* Empty, with one reference. NULL: out of memory. */
struct net *net_new(void);
struct net *net_ref(struct net *net); /* accepts NULL, as the next one does */
void net_unref(struct net *net);

static inline void net_unref_p(struct net **net)
{
    net_unref(*net);
}

/* Reads a grant and adds it. */
int net_add(struct net *net, const char *text, struct error *err);

/* Reads one that somebody asks for, and adds what `allowed` has of it: never more, in any respect.
 * Nothing: E_DENIED. He brings no header; the one of `allowed` comes with it. */
int net_add_within(struct net *net, const struct net *allowed, const char *text, struct error *err);

/* *net gets the grants of `more`, too, of which either may be NULL. What others refer to is not
 * changed. */
int net_merge(struct net **net, struct net *more, struct error *err);

/* The word that stands for asking among the grants. */
#define NET_ASK "ask"

/* Whether somebody may be asked for that host. Not for one that a grant names: its limits are the
 * operator's. Not for this machine, nor for an address that is not of the public Internet: a yes
 * would be a grant of that address, which is beyond what a question can show. */
bool net_may_ask(const struct net *net, const struct host *host);

/* The grant as text, without the header's value. */
int net_grant_text(const struct net_grant *grant, char *text, size_t size);

/* A program's request for a connection. */
struct net_ask {
    const struct host *host;
    uint16_t port;
    bool is_tunnel;            /* bytes that nobody looks at: CONNECT, SOCKS */
    bool is_tls;               /* of a request: https:// */
    const char *method, *path; /* of a request; the path without the query */
};

/* The grant that covers it, or NULL; *ret_why then says why not, and *ret_port, *ret_is_tls where
 * and how to connect otherwise. */
const struct net_grant *net_match(const struct net *net, const struct net_ask *ask,
                                  uint16_t *ret_port, bool *ret_is_tls, const char **ret_why);

/* Whether a connection by that grant may go to this address. `is_own`: it is this machine's. NULL:
 * it may; otherwise what kind of address it is. */
const char *net_judge(const struct net *net, const struct net_grant *grant,
                      const struct address *address, bool is_own, uint16_t port);
