/* Reads the first message of a program to the gate: a request, CONNECT, or SOCKS 5. */
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/cleanup.h"
#include "egress/internal.h"

/* --- secrets --- */

/* Adds the text, with the value of each secret in its place. NULL for `out`: only looks whether
 * they are there. */
static int expand(const struct egress_settings *settings, const char *text, struct buf *out,
                  struct error *err)
{
    while (*text) {
        const char *from = strstr(text, "${secret:"), *end = from ? strchr(from, '}') : NULL;
        const char *value;

        if (!end)
            return out ? buf_add_str(out, text, err) : 0;
        value = settings->secret
                    ? settings->secret(settings->user, from + 9, (size_t)(end - from) - 9)
                    : NULL;
        if (!value || !*value || strpbrk(value, "\r\n")) {
            error_set(err, E_INVALID, "unknown secret `%.*s`", (int)(end - from) - 9, from + 9);
            return error_hint(err, "define it under [secrets] in `masking_file`, or list a "
                                   "variable of that name there");
        }
        if (out && (buf_add(out, text, (size_t)(from - text), err) < 0 ||
                    buf_add_str(out, value, err) < 0))
            return -1;
        text = end + 1;
    }
    return 0;
}

int egress_check(const struct egress_settings *settings, const struct net *net, struct error *err)
{
    for (size_t i = 0; net && i < net->count; i++)
        if (net->grants[i].header && expand(settings, net->grants[i].header, NULL, err) < 0)
            return -1;
    return 0;
}

/* The request as it goes out. */
static int write_head(struct proxy_client *g, const struct proxy_head *head)
{
    cleanup(buf_wipe) struct buf header = BUF_OF(PROXY_HEAD_BYTES);

    if (g->grant->header && expand(g->egress->settings, g->grant->header, &header, NULL) < 0)
        return -1;
    return proxy_head_write(head, g->grant->header ? buf_str(&header) : NULL, &g->head, NULL);
}

/* --- HTTP --- */

/* False: it was refused, or somebody is asked; then all that it said is still there, and is heard
 * again. */
static bool is_granted(struct proxy_client *g, const struct net_ask *ask)
{
    const char *why = NULL;

    g->grant = net_match(g->egress->net, ask, &g->port, &g->is_tls, &why);
    if (!g->grant)
        g->grant = egress_match_asked(g, ask);
    if (!g->grant) {
        switch (egress_ask(g, &why)) {
        case EGRESS_LATER:
            g->stage = EGRESS_WAITING;
            return false;
        case EGRESS_YES:
            g->grant = egress_match_asked(g, ask);
            break;
        case EGRESS_NO:
            break;
        }
    }
    if (!g->grant)
        proxy_client_refuse(g, 403, why, true);
    return g->grant;
}

/* `len`: of the head, in the input. */
static void on_request(struct proxy_client *g, struct proxy_head *head, size_t len)
{
    cleanup_free char *method = span_dup(head->http.method);
    cleanup_free char *path = head->path.len ? span_dup(head->path) : NULL;
    struct net_ask ask = {
        .host = &g->host,
        .port = head->port,
        .is_tunnel = head->is_connect,
        .is_tls = head->is_tls,
        .method = method,
        .path = path ? path : "/",
    };

    g->how = head->is_connect ? EGRESS_CONNECT : EGRESS_HTTP;
    g->host = head->host;
    g->port = head->port;
    g->is_known = true;
    if (!method || (head->path.len && !path)) {
        proxy_client_end(g);
        return;
    }
    if (!is_granted(g, &ask))
        return;
    head->port = g->port;
    head->is_tls = g->is_tls;
    head->is_part = g->grant->path || g->grant->methods;
    http_body_init(&g->body, &head->http);
    g->is_asked = head->http.framing == HTTP_NO_BODY;
    if (!head->is_connect && write_head(g, head) < 0) {
        proxy_client_refuse(g, 502, "the request could not be written", false);
        return;
    }
    (void)evbuffer_drain(bufferevent_get_input(g->inner), len);
    proxy_client_go(g);
}

static void listen_http(struct proxy_client *g, struct evbuffer *in)
{
    size_t len = evbuffer_get_length(in);
    const char *data, *why = NULL;
    struct proxy_head head;
    long n;

    len = len < PROXY_HEAD_BYTES ? len : PROXY_HEAD_BYTES;
    data = (const char *)evbuffer_pullup(in, (ev_ssize_t)len);
    if (!data) {
        proxy_client_end(g);
        return;
    }
    n = proxy_head_read(data, len, &g->scanned, &head, &why);
    if (n == 0)
        return;
    g->scanned = 0;
    if (n < 0) {
        proxy_client_refuse(g, 400, why, false);
        return;
    }
    (void)bufferevent_disable(g->inner, EV_READ); /* until there is somewhere to go */
    on_request(g, &head, (size_t)n);
}

/* --- SOCKS 5 (RFC 1928) --- */

enum { SOCKS_CONNECT = 1, SOCKS_V4 = 1, SOCKS_NAME = 3, SOCKS_V6 = 4 };

/* VERSION, N, N methods. We know one: none. */
static void greet_socks(struct proxy_client *g, struct evbuffer *in)
{
    unsigned char hello[2 + 255];
    ev_ssize_t len = evbuffer_copyout(in, hello, sizeof(hello));
    bool has_none;

    if (len < 2 || len < 2 + hello[1])
        return;
    has_none = memchr(hello + 2, 0, hello[1]);
    (void)evbuffer_drain(in, 2 + (size_t)hello[1]);
    g->how = EGRESS_SOCKS5;
    (void)bufferevent_write(g->inner, has_none ? "\5\0" : "\5\377", 2);
    g->stage = has_none ? EGRESS_SOCKS : EGRESS_CLOSING;
    if (has_none)
        proxy_client_listen(g);
}

/* The host of the request and how long the whole is; 0: not there yet. */
static size_t read_socks(const unsigned char *data, size_t len, struct proxy_client *g,
                         const char **ret_why)
{
    size_t host, at = 4;

    if (len < 5)
        return 0;
    host = data[3] == SOCKS_V4 ? 4 : data[3] == SOCKS_V6 ? 16 : data[3] == SOCKS_NAME ? data[4] : 0;
    if (data[3] == SOCKS_NAME)
        at++;
    if (data[3] != SOCKS_V4 && data[3] != SOCKS_V6 && data[3] != SOCKS_NAME) {
        *ret_why = "a SOCKS request with an unknown kind of address";
        return len;
    }
    if (len < at + host + 2)
        return 0;
    g->port = (uint16_t)(data[at + host] << 8 | data[at + host + 1]);
    if (data[3] == SOCKS_NAME) {
        *ret_why = host_parse((const char *)data + at, host, false, &g->host);
    } else {
        char text[ADDRESS_TEXT];
        struct address a = {.is_v6 = data[3] == SOCKS_V6};

        memcpy(a.bytes, data + at, host);
        address_text(&a, text); /* and back: IPv4 in IPv6 is IPv4 */
        *ret_why = host_parse(text, strlen(text), false, &g->host);
    }
    g->is_known = !*ret_why;
    return at + host + 2;
}

static void listen_socks(struct proxy_client *g, struct evbuffer *in)
{
    unsigned char data[4 + 1 + 255 + 2];
    ev_ssize_t len = evbuffer_copyout(in, data, sizeof(data));
    const char *why = NULL;
    size_t n = len < 0 ? 0 : read_socks(data, (size_t)len, g, &why);

    if (n == 0)
        return;
    if (!why && (data[0] != 5 || data[1] != SOCKS_CONNECT || data[2] != 0))
        why = "a SOCKS request other than CONNECT to a host";
    if (why || !g->port) {
        proxy_client_refuse(g, 400, why ? why : "port 0", false);
        return;
    }
    (void)bufferevent_disable(g->inner, EV_READ);
    if (is_granted(g, &(struct net_ask){.host = &g->host, .port = g->port, .is_tunnel = true})) {
        (void)evbuffer_drain(in, n);
        g->is_asked = true;
        proxy_client_go(g);
    }
}

void proxy_client_listen(struct proxy_client *g)
{
    struct evbuffer *in = bufferevent_get_input(g->inner);
    unsigned char first;

    if (evbuffer_copyout(in, &first, 1) != 1)
        return;
    if (g->stage == EGRESS_SOCKS)
        listen_socks(g, in);
    else if (first == 5)
        greet_socks(g, in);
    else if ((first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z'))
        listen_http(g, in);
    else
        proxy_client_refuse(g, 400, "neither HTTP nor SOCKS 5", false);
}
