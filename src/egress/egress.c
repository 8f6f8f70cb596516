#include "egress/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/cleanup.h"
#include "base/share.h"
#include "egress/internal.h"

/* Taken in by one wake-up: a program that connects without end does not keep us from others. */
#define ACCEPT_TIMES 8

/* The interval at which clocks are checked, and the time to read an answer of ours. */
#define TICK_MS   1000
#define CLOSING_S 5

/* Connections beyond a token's share that wait for their refusal to be read, of all sandboxes. Each
 * is a descriptor: what comes when there are so many is closed without an answer. */
#define REFUSING_MAX 64

#define OVER_SHARE "this token has used up its share of connections"

/* All gates of one token. It lives as long as there is one. */
struct egress_owner {
    struct egress_owner *next;
    size_t n_gates, n_open;
    char name[];
};

/* --- whose they are --- */

static struct egress_owner *join_owner(struct egress_settings *settings, const char *name)
{
    struct egress_owner *owner = settings->owners;
    size_t size = strlen(name) + 1;

    while (owner && strcmp(owner->name, name) != 0)
        owner = owner->next;
    if (!owner) {
        owner = calloc(1, sizeof(*owner) + size);
        if (!owner)
            return NULL;
        memcpy(owner->name, name, size);
        owner->next = settings->owners;
        settings->owners = owner;
    }
    owner->n_gates++;
    return owner;
}

static void leave_owner(struct egress_settings *settings, struct egress_owner *owner)
{
    if (!owner || --owner->n_gates > 0)
        return;
    for (struct egress_owner **at = &settings->owners; *at; at = &(*at)->next)
        if (*at == owner) {
            *at = owner->next;
            break;
        }
    free(owner);
}

void egress_set_owner(struct egress *e, const char *name)
{
    struct egress_owner *owner;

    if (!name || e->n_guests || strcmp(e->owner->name, name) == 0)
        return;
    owner = join_owner(e->settings, name);
    if (!owner)
        return; /* it stays with those that have no owner, and their share */
    leave_owner(e->settings, e->owner);
    e->owner = owner;
}

static bool has_share(const struct egress *e)
{
    const struct share share = {.total = LIMIT_NET_OPEN_ALL,
                                .used = e->settings->n_open,
                                .own = e->owner->n_open,
                                .has_others = true};

    return share_allows(&share, 1);
}

/* --- the end of a client --- */

static const char *how_of(const struct proxy_client *g)
{
    static const char *const names[] = {
        [EGRESS_HTTP] = "http", [EGRESS_CONNECT] = "connect", [EGRESS_SOCKS5] = "socks"};

    return names[g->how];
}

static void write_grant(const struct proxy_client *g, char *text, size_t size)
{
    bool is_v6 = g->host.is_address && g->host.address.is_v6;

    (void)snprintf(text, size, "%s%s%s:%u", is_v6 ? "[" : "", g->host.name, is_v6 ? "]" : "",
                   g->port);
}

static void tell(struct proxy_client *g, const char *why, const char *grant, bool is_failure)
{
    struct egress *e = g->egress;

    if (g->is_reported)
        return;
    g->is_reported = true;
    if (e->fn)
        e->fn(e->user, &(struct egress_note){.host = g->is_known ? g->host.name : "",
                                             .port = g->port,
                                             .how = how_of(g),
                                             .why = why,
                                             .grant = grant,
                                             .is_failure = is_failure,
                                             .sent = g->sent,
                                             .received = g->received,
                                             .ms = (double)(loop_now_ns() - g->started_ns) / 1e6});
}

static int open_door(struct egress *e, struct error *err);

void proxy_client_end(struct proxy_client *g)
{
    struct egress *e = g->egress;

    if (g->stage == EGRESS_OPEN)
        tell(g, NULL, NULL, false);
    LIST_REMOVE(g, link);
    if (g->lookup)
        resolve_cancel(g->lookup);
    if (g->inner)
        bufferevent_free(g->inner);
    if (g->outer)
        bufferevent_free(g->outer);
    if (g->head.data) /* it may hold a key */
        explicit_bzero(g->head.data, g->head.size);
    buf_done(&g->head);
    if (g->is_over_share) {
        e->settings->n_refusing--;
    } else {
        e->owner->n_open--;
        e->settings->n_open--;
    }
    free(g);
    e->n_guests--;
    if (!e->door && e->listener >= 0 && e->n_guests < LIMIT_NET_OPEN)
        (void)open_door(e, NULL); /* or the tick does */
}

bool proxy_client_count(struct proxy_client *g, uint64_t sent, uint64_t received)
{
    struct egress *e = g->egress;

    g->sent += sent;
    g->received += received;
    e->totals.sent += sent;
    e->totals.received += received;
    g->active_ns = loop_now_ns();
    if (e->totals.sent + e->totals.received <= e->settings->bytes)
        return true;
    tell(g, "the sandbox has reached its traffic limit", NULL, false);
    proxy_client_end(g);
    return false;
}

/* --- refusals --- */

static const char *reason_of(int status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    default:
        return "Bad Gateway";
    }
}

/* The words stand in the first line, too: that is what libraries show of a tunnel that was not
 * made. */
static void answer_http(struct proxy_client *g, int status, const char *why, const char *where,
                        const char *grant)
{
    struct evbuffer *out = bufferevent_get_output(g->inner);
    char body[1024];
    int len = snprintf(body, sizeof(body), "belljar: %s%s%s%s%s%s%s%s\n", where, *where ? ": " : "",
                       why, grant ? "\nhint: grant " : "", grant ? grant : "",
                       grant ? " (`net`), which whoever started Belljar does with `--net " : "",
                       grant ? grant : "", grant ? "`" : "");

    (void)evbuffer_add_printf(out,
                              "HTTP/1.1 %d %s (%s%s%s)\r\nContent-Type: text/plain\r\n"
                              "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
                              status, reason_of(status), where, *where ? ": " : "", why, len, body);
}

static void answer_socks(struct proxy_client *g, int status)
{
    unsigned char reply[10] = {5, 0, 0, 1};

    reply[1] = status == 403 ? 2 : status == 504 ? 6 : status == 400 ? 7 : 4;
    (void)evbuffer_add(bufferevent_get_output(g->inner), reply, sizeof(reply));
}

void proxy_client_refuse(struct proxy_client *g, int status, const char *why, bool would_help)
{
    char where[HOST_NAME_MAX_LEN + 16] = "";

    if (g->is_known)
        write_grant(g, where, sizeof(where));
    tell(g, why, would_help ? where : NULL, status == 502 || status == 504);
    if (g->outer) {
        bufferevent_free(g->outer);
        g->outer = NULL;
    }
    if (g->how == EGRESS_SOCKS5)
        answer_socks(g, status);
    else
        answer_http(g, status, why, where, would_help ? where : NULL);
    g->stage = EGRESS_CLOSING;
    g->active_ns = loop_now_ns();
    g->is_inner_held = false;
    (void)bufferevent_enable(g->inner, EV_READ); /* and forgets it: see proxy_client_on_inner() */
}

/* --- clocks --- */

static bool is_over_time(const struct proxy_client *g, uint64_t now)
{
    uint64_t age_s = (now - g->started_ns) / 1000000000,
             quiet_s = (now - g->active_ns) / 1000000000;

    switch (g->stage) {
    case EGRESS_ASKING:
    case EGRESS_SOCKS:
        return age_s >= LIMIT_NET_ASK_S;
    case EGRESS_WAITING: /* the question has a time of its own */
        return false;
    case EGRESS_MAKING:
        return quiet_s >= LIMIT_NET_MAKE_S;
    case EGRESS_CLOSING:
        return quiet_s >= CLOSING_S;
    default:
        return quiet_s >= LIMIT_NET_IDLE_S || age_s >= LIMIT_NET_LIFE_S;
    }
}

static void on_tick(void *arg)
{
    struct egress *e = arg;
    uint64_t now = loop_now_ns();

    for (struct proxy_client *g = LIST_FIRST(&e->clients), *next; g; g = next) {
        next = LIST_NEXT(g, link);
        if (!is_over_time(g, now))
            continue;
        if (g->stage == EGRESS_MAKING)
            proxy_client_refuse(g, 504, "the host did not answer in time", false);
        else
            proxy_client_end(g);
    }
    if (!e->door && e->n_guests < LIMIT_NET_OPEN)
        (void)open_door(e, NULL);
    if (!LIST_EMPTY(&e->clients) || !e->door)
        loop_timer_start(e->tick, TICK_MS);
}

/* --- the door --- */

static void close_door(struct egress *e)
{
    loop_watch_free(e->door);
    e->door = NULL;
    loop_timer_start(e->tick, TICK_MS);
}

static int take_in(struct egress *e, int fd, bool is_over_share)
{
    struct proxy_client *g = calloc(1, sizeof(*g));

    if (g)
        g->inner = bufferevent_socket_new(loop_base(e->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    if (!g || !g->inner) {
        free(g);
        (void)close(fd);
        return -1;
    }
    g->egress = e;
    g->is_over_share = is_over_share;
    g->started_ns = g->active_ns = loop_now_ns();
    buf_init(&g->head, (size_t)2 * PROXY_HEAD_BYTES);
    LIST_INSERT_HEAD(&e->clients, g, link);
    e->n_guests++;
    if (is_over_share) {
        e->settings->n_refusing++;
    } else {
        e->owner->n_open++;
        e->settings->n_open++;
    }
    bufferevent_setcb(g->inner, proxy_client_on_inner, proxy_client_on_inner_sent,
                      proxy_client_on_inner_event, g);
    bufferevent_setwatermark(g->inner, EV_READ, 0, EGRESS_HIGH);
    bufferevent_setwatermark(g->inner, EV_WRITE, EGRESS_LOW, 0);
    (void)bufferevent_enable(g->inner, EV_READ | EV_WRITE);
    if (++e->n_total > LIMIT_NET_TOTAL)
        proxy_client_refuse(g, 403, "the sandbox has reached its limit of connections", false);
    else if (is_over_share)
        proxy_client_refuse(g, 503, OVER_SHARE, false);
    return 0;
}

/* Without an answer, but not without a word to whoever reads the result. */
static void turn_away(struct egress *e, int fd)
{
    (void)close(fd);
    e->n_total++;
    if (e->fn)
        e->fn(e->user, &(struct egress_note){.host = "", .how = "connect", .why = OVER_SHARE});
}

static void on_door(void *arg)
{
    struct egress *e = arg;

    for (int i = 0; i < ACCEPT_TIMES; i++) {
        bool is_over_share = !has_share(e);
        int fd;

        if (e->n_guests >= LIMIT_NET_OPEN) {
            close_door(e);
            return;
        }
        fd = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
            return;
        if (fd >= 0 && is_over_share && e->settings->n_refusing >= REFUSING_MAX) {
            turn_away(e, fd);
            continue;
        }
        if (fd < 0 || take_in(e, fd, is_over_share) < 0) { /* no descriptors, no memory: later */
            close_door(e);
            return;
        }
        loop_timer_start(e->tick, TICK_MS);
    }
}

static int open_door(struct egress *e, struct error *err)
{
    e->door = loop_watch_fd(e->loop, e->listener, LOOP_READ, on_door, e);
    return e->door ? 0 : error_memory(err);
}

/* A program chose neither its kind nor its state, but it is of the sandbox. */
static int check_listener(int fd, struct error *err)
{
    int value = 0, flags;
    socklen_t len = sizeof(value);

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &len) < 0 || value != 1)
        return error_set(err, E_PROTOCOL,
                         "the sandbox passed a descriptor that is not a listening socket");
    flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return error_errno(err, "fcntl");
    return 0;
}

int egress_new(struct egress_settings *settings, struct loop *loop, int listener, struct net *net,
               egress_fn fn, void *user, struct egress **ret_egress, struct error *err)
{
    struct egress *e = calloc(1, sizeof(*e));
    int r;

    if (!e) {
        (void)close(listener);
        return error_memory(err);
    }
    *e = (struct egress){.settings = settings,
                         .loop = loop,
                         .listener = listener,
                         .net = net_ref(net),
                         .fn = fn,
                         .user = user};
    e->tick = loop_timer(loop, on_tick, e);
    e->owner = join_owner(settings, "");
    r = e->tick && e->owner ? check_listener(listener, err) : error_memory(err);
    if (r == 0)
        r = open_door(e, err);
    if (r < 0) {
        egress_free(e);
        return -1;
    }
    *ret_egress = e;
    return 0;
}

void egress_set_ask(struct egress *e, egress_ask_fn ask)
{
    e->ask = ask;
}

void egress_totals(const struct egress *e, struct egress_totals *ret_totals)
{
    *ret_totals = e->totals;
}

void egress_free(struct egress *e)
{
    if (!e)
        return;
    loop_watch_free(e->door);
    e->door = NULL;
    close_fd(&e->listener);
    while (!LIST_EMPTY(&e->clients))
        proxy_client_end(LIST_FIRST(&e->clients));
    egress_forget_asked(e);
    loop_watch_free(e->tick);
    leave_owner(e->settings, e->owner);
    net_unref(e->net);
    free(e);
}
