/* From what was asked for and granted to a connection: resolve once, judge every address, connect
 * to one of those. */
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "base/cleanup.h"
#include "base/tls_client.h"
#include "egress/internal.h"

/* An address of the public Internet may be this machine's, whose services are no more granted
 * under it than under 127.0.0.1. */
static bool is_own(const struct address *address)
{
    struct ifaddrs *list = NULL;
    bool is_found = false;

    if (getifaddrs(&list) < 0)
        return true; /* better than not knowing */
    for (const struct ifaddrs *at = list; at && !is_found; at = at->ifa_next) {
        struct address own;

        is_found =
            at->ifa_addr && address_of_socket(at->ifa_addr, &own) && address_equal(&own, address);
    }
    freeifaddrs(list);
    return is_found;
}

/* One that is not for us makes all of them doubtful. */
static bool are_fine(struct proxy_client *g)
{
    for (size_t i = 0; i < g->n_addresses; i++) {
        const struct address *address = &g->addresses[i];
        const char *range = net_judge(g->egress->net, g->grant, address, is_own(address), g->port);
        char text[ADDRESS_TEXT], why[160];

        if (!range)
            continue;
        address_text(address, text);
        (void)snprintf(why, sizeof(why),
                       "its address %s is not of the public Internet (%s): only a grant of that "
                       "address allows it",
                       text, range);
        proxy_client_refuse(g, 403, why, false);
        return false;
    }
    return true;
}

static void try_next(struct proxy_client *g);

static void on_event(struct bufferevent *outer, short what, void *arg)
{
    struct proxy_client *g = arg;

    if (what & BEV_EVENT_CONNECTED) {
        proxy_client_open(g);
        return;
    }
    if (g->is_tls) {
        cleanup_error struct error err = {0};

        /* Another address would not be more trustworthy. */
        if (tls_client_explain_bufferevent(outer, &err)) {
            proxy_client_refuse(g, 502, error_message(&err), false);
            return;
        }
    }
    bufferevent_free(outer);
    g->outer = NULL;
    try_next(g);
}

static struct bufferevent *open_socket(struct proxy_client *g)
{
    return g->is_tls
               ? tls_client_bufferevent(g->egress->loop, &g->host)
               : bufferevent_socket_new(loop_base(g->egress->loop), -1, BEV_OPT_CLOSE_ON_FREE);
}

static void try_next(struct proxy_client *g)
{
    while (g->tried < g->n_addresses) {
        struct sockaddr_storage to;
        unsigned len = address_to_socket(&g->addresses[g->tried++], g->port, &to);

        g->outer = open_socket(g);
        if (!g->outer)
            break;
        bufferevent_setcb(g->outer, NULL, NULL, on_event, g);
        if (bufferevent_socket_connect(g->outer, (struct sockaddr *)&to, (int)len) == 0)
            return;
        bufferevent_free(g->outer);
        g->outer = NULL;
    }
    proxy_client_refuse(g, 502, "the host refuses the connection", false);
}

static void on_resolved(void *user, const struct address *addresses, size_t count, const char *why)
{
    struct proxy_client *g = user;

    g->lookup = NULL;
    if (!count) {
        proxy_client_refuse(g, 502, why, false);
        return;
    }
    memcpy(g->addresses, addresses, count * sizeof(*addresses));
    g->n_addresses = count;
    if (are_fine(g))
        try_next(g);
}

void proxy_client_go(struct proxy_client *g)
{
    g->stage = EGRESS_MAKING;
    g->active_ns = loop_now_ns();
    if (g->host.is_address) {
        on_resolved(g, &g->host.address, 1, NULL);
        return;
    }
    if (host_is_loopback(&g->host)) {
        on_resolved(g, address_localhost, ARRAY_SIZE(address_localhost), NULL);
        return;
    }
    g->lookup = resolve_start(g->egress->settings->resolver, g->egress, g->egress->owner,
                              g->host.name, on_resolved, g);
    if (!g->lookup)
        proxy_client_refuse(g, 502, "out of memory", false);
}
