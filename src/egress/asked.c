/* Hosts that somebody was asked for, and the clients that wait for the answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "egress/internal.h"

enum asked_state { ASKED_WAITING, ASKED_YES, ASKED_NO };

struct asked {
    char grant[EGRESS_GRANT_TEXT];
    enum asked_state state;
    struct net *net; /* of a yes: the grant */
};

/* As it would stand behind --net: a yes to a host of the Web is one to both of its ports. */
static void write_grant(const struct proxy_client *g, char text[static EGRESS_GRANT_TEXT])
{
    char host[HOST_TEXT];

    host_text(&g->host, host);
    if (g->port == 80 || g->port == 443)
        (void)snprintf(text, EGRESS_GRANT_TEXT, "%s", host);
    else
        (void)snprintf(text, EGRESS_GRANT_TEXT, "%s:%u", host, g->port);
}

static struct asked *find(struct egress *e, const char *grant)
{
    for (size_t i = 0; i < e->n_asked; i++)
        if (strcmp(e->asked[i].grant, grant) == 0)
            return &e->asked[i];
    return NULL;
}

static struct asked *append(struct egress *e, const char *grant)
{
    struct asked *grown;

    if (e->n_asked == LIMIT_NET_ASKED)
        return NULL;
    grown = realloc(e->asked, (e->n_asked + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    e->asked = grown;
    grown += e->n_asked++;
    *grown = (struct asked){.state = ASKED_WAITING};
    (void)snprintf(grown->grant, sizeof(grown->grant), "%s", grant);
    return grown;
}

static void forget(struct egress *e, struct asked *asked)
{
    net_unref(asked->net);
    *asked = e->asked[--e->n_asked];
}

void egress_forget_asked(struct egress *e)
{
    while (e->n_asked)
        forget(e, e->asked);
    free(e->asked);
    e->asked = NULL;
}

/* False: there is no memory for it. */
static bool allow(struct asked *asked)
{
    asked->net = net_new();
    if (!asked->net || net_add(asked->net, asked->grant, NULL) < 0)
        return false;
    asked->state = ASKED_YES;
    return true;
}

const struct net_grant *egress_match_asked(struct proxy_client *g, const struct net_ask *ask)
{
    char text[EGRESS_GRANT_TEXT];
    const struct asked *asked;
    const char *why;

    write_grant(g, text);
    asked = find(g->egress, text);
    return asked && asked->net ? net_match(asked->net, ask, &g->port, &g->is_tls, &why) : NULL;
}

static enum egress_consent consent_of(const struct asked *asked, const char **ret_why)
{
    if (asked && asked->state == ASKED_NO)
        *ret_why = EGRESS_SAID_NO;
    return !asked || asked->state == ASKED_NO ? EGRESS_NO
           : asked->state == ASKED_YES        ? EGRESS_YES
                                              : EGRESS_LATER;
}

enum egress_consent egress_ask(struct proxy_client *g, const char **ret_why)
{
    struct egress *e = g->egress;
    char text[EGRESS_GRANT_TEXT];
    enum egress_consent said;

    if (!e->ask || !net_may_ask(e->net, &g->host))
        return EGRESS_NO;
    write_grant(g, text);
    if (find(e, text))
        return consent_of(find(e, text), ret_why);
    if (!append(e, text)) {
        *ret_why = "the sandbox has asked for too many hosts";
        return EGRESS_NO;
    }
    said = e->ask(e->user, text, ret_why);
    if (said == EGRESS_LATER) /* it may be answered already */
        return consent_of(find(e, text), ret_why);
    if (said == EGRESS_YES && allow(find(e, text)))
        return EGRESS_YES;
    forget(e, find(e, text));
    return EGRESS_NO;
}

void egress_answer(struct egress *e, const char *grant, enum egress_consent said)
{
    struct asked *asked = find(e, grant);

    if (!asked || asked->state != ASKED_WAITING)
        return;
    if (said == EGRESS_NO)
        asked->state = ASKED_NO;
    else if (said != EGRESS_YES || !allow(asked))
        forget(e, asked);
    for (struct proxy_client *g = LIST_FIRST(&e->clients), *next; g; g = next) {
        char text[EGRESS_GRANT_TEXT];

        next = LIST_NEXT(g, link);
        if (g->stage != EGRESS_WAITING)
            continue;
        write_grant(g, text);
        if (strcmp(text, grant) != 0)
            continue;
        /* It says again what it said, and is judged anew. */
        g->stage = g->how == EGRESS_SOCKS5 ? EGRESS_SOCKS : EGRESS_ASKING;
        g->started_ns = g->active_ns = loop_now_ns();
        proxy_client_listen(g);
    }
}
