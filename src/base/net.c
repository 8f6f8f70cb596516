#include "base/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

#define GRANT_HINT "HOST, HOST:PORT, *.HOST or http://HOST:PORT/PATH/, as in api.example.org:443"

static void grant_done(struct net_grant *grant)
{
    free(grant->path);
    free(grant->methods);
    if (grant->header)
        explicit_bzero(grant->header, strlen(grant->header));
    free(grant->header);
    *grant = (struct net_grant){0};
}

struct net *net_new(void)
{
    struct net *net = calloc(1, sizeof(*net));

    if (net)
        net->refs = 1;
    return net;
}

struct net *net_ref(struct net *net)
{
    if (net)
        net->refs++;
    return net;
}

void net_unref(struct net *net)
{
    if (!net || --net->refs)
        return;
    for (size_t i = 0; i < net->count; i++)
        grant_done(&net->grants[i]);
    free(net->grants);
    free(net);
}

/* Takes the grant over, also on failure. */
static int append(struct net *net, struct net_grant *grant, struct error *err)
{
    struct net_grant *grown = NULL;

    if (net->count < LIMIT_NET_GRANTS)
        grown = realloc(net->grants, (net->count + 1) * sizeof(*grown));
    if (!grown) {
        grant_done(grant);
        return net->count < LIMIT_NET_GRANTS
                   ? error_memory(err)
                   : error_set(err, E_TOO_LARGE, "more than %d hosts", LIMIT_NET_GRANTS);
    }
    net->grants = grown;
    net->grants[net->count++] = *grant;
    return 0;
}

/* --- reading --- */

static int wrong(const char *text, const char *why, struct error *err)
{
    const char *header = strstr(text, " header=");

    error_set(err, E_INVALID, "invalid host `%.*s`: %s",
              header ? (int)(header - text) : (int)strnlen(text, 200), text, why);
    return error_hint(err, "write " GRANT_HINT);
}

static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*.^_`|~-", c));
}

/* "GET+HEAD " before the host. */
static int read_methods(const char **at, struct net_grant *grant, const char *text,
                        struct error *err)
{
    size_t len = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-+");

    if (len == 0 || (*at)[len] != ' ')
        return 0;
    if ((*at)[0] == '+' || (*at)[len - 1] == '+' || len > 100)
        return wrong(text, "methods are written as GET+POST", err);
    grant->methods = strndup(*at, len);
    if (!grant->methods)
        return error_memory(err);
    *at += len + 1;
    return 0;
}

/* NAME: VALUE, which goes out as it stands: nothing in it may end a line. */
static int read_header(const char *value, struct net_grant *grant, const char *text,
                       struct error *err)
{
    size_t name = 0;

    while (is_token(value[name]))
        name++;
    if (name == 0 || value[name] != ':' || !value[name + 1 + strspn(value + name + 1, " ")])
        return wrong(text, "a header is written as header=NAME: VALUE", err);
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return wrong(text, "a control character in the header", err);
    /* A key that stands in the settings themselves would be unknown to the masker. */
    if (!strstr(value, "${secret:"))
        return wrong(text, "a header takes its value from a secret: header=NAME: ${secret:KEY}",
                     err);
    if (!(grant->header = strdup(value)))
        return error_memory(err);
    return 0;
}

static int read_options(const char *at, struct net_grant *grant, const char *text,
                        struct error *err)
{
    while (*at == ' ') {
        at++;
        if (strncmp(at, "header=", 7) == 0)
            return read_header(at + 7, grant, text, err);
        if (strncmp(at, "private", 7) != 0 || (at[7] && at[7] != ' '))
            return wrong(text, "only `private` and `header=` may follow the host", err);
        grant->is_private = true;
        at += 7;
    }
    return 0;
}

static int read_host(const char *at, size_t len, struct net_grant *grant, const char *text,
                     struct error *err)
{
    const char *why;
    char name[ADDRESS_TEXT];

    grant->is_wildcard = len > 2 && at[0] == '*' && at[1] == '.';
    if (len && at[0] == '*' && !grant->is_wildcard)
        return wrong(text, "a star may only replace the first part of a name, as in *.example.org",
                     err);
    if (grant->is_wildcard) {
        at += 2;
        len -= 2;
    }
    why = host_parse_port(at, len, &grant->host, &grant->port);
    if (!why && grant->is_wildcard && (grant->host.is_address || !strchr(grant->host.name, '.')))
        why = "a star needs a name with a dot after it";
    if (!why && grant->host.is_address && address_is_nobody(&grant->host.address))
        why = "that address is not assigned";
    if (why)
        return wrong(text, why, err);
    if (!grant->host.is_address)
        return 0;
    /* The reader of the settings has to see which address it is. */
    address_text(&grant->host.address, name);
    if (memmem(at, len, name, strlen(name)))
        return 0;
    wrong(text, "an address in an unusual spelling", err);
    return error_hint(err, "write %s", name);
}

static bool is_plain_path(const char *path);

static int read_path(const char *at, size_t len, struct net_grant *grant, const char *text,
                     struct error *err)
{
    if (len == 0 || (len == 1 && *at == '/'))
        return 0;
    grant->path = strndup(at, len);
    if (!grant->path)
        return error_memory(err);
    if (!is_plain_path(grant->path) || strpbrk(grant->path, "?#"))
        return wrong(text, "the path must not contain `..`, `%`, `?` or `#`", err);
    return 0;
}

static int parse(const char *text, struct net_grant *grant, struct error *err)
{
    const char *at = text;
    bool is_http;
    size_t len, host;

    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return wrong("…", "a control character", err);
    if (read_methods(&at, grant, text, err) < 0)
        return -1;
    is_http = strncmp(at, "http://", 7) == 0;
    grant->is_tls = strncmp(at, "https://", 8) == 0;
    grant->port = is_http ? 80 : grant->is_tls ? 443 : 0;
    at += is_http ? 7 : grant->is_tls ? 8 : 0;
    len = strcspn(at, " ");
    host = strcspn(at, " /");
    if (memmem(at, host, "://", 3))
        return wrong(text, "only http:// and https:// are known", err);
    if (read_host(at, host, grant, text, err) < 0 ||
        read_path(at + host, len - host, grant, text, err) < 0 ||
        read_options(at + len, grant, text, err) < 0)
        return -1;
    if (grant->header && grant->is_wildcard)
        return wrong(text, "a header is for one host, not for all below a name", err);
    if (grant->header && !is_http) { /* a secret does not travel in the open unless it is said */
        grant->is_tls = true;
        grant->port = grant->port ? grant->port : 443;
    }
    return 0;
}

int net_add(struct net *net, const char *text, struct error *err)
{
    struct net_grant grant = {0};

    if (strcmp(text, NET_ASK) == 0) {
        net->asks = true;
        return 0;
    }
    if (parse(text, &grant, err) < 0) {
        grant_done(&grant);
        return -1;
    }
    return append(net, &grant, err);
}

/* A copy of it, which may be whole or not. */
static bool copy_grant(const struct net_grant *from, struct net_grant *ret)
{
    *ret = *from;
    ret->path = from->path ? strdup(from->path) : NULL;
    ret->methods = from->methods ? strdup(from->methods) : NULL;
    ret->header = from->header ? strdup(from->header) : NULL;
    return !(from->path && !ret->path) && !(from->methods && !ret->methods) &&
           !(from->header && !ret->header);
}

static int append_all(struct net *net, const struct net *from, struct error *err)
{
    net->asks |= from->asks;
    for (size_t i = 0; i < from->count; i++) {
        struct net_grant copy;

        if (!copy_grant(&from->grants[i], &copy)) {
            grant_done(&copy);
            return error_memory(err);
        }
        if (append(net, &copy, err) < 0)
            return -1;
    }
    return 0;
}

int net_merge(struct net **net, struct net *more, struct error *err)
{
    cleanup(net_unref_p) struct net *both = NULL;

    if (!more)
        return 0;
    if (!*net) {
        *net = net_ref(more);
        return 0;
    }
    both = net_new();
    if (!both)
        return error_memory(err);
    if (append_all(both, *net, err) < 0 || append_all(both, more, err) < 0)
        return -1;
    net_unref(*net);
    *net = take_ptr(both);
    return 0;
}

int net_grant_text(const struct net_grant *g, char *text, size_t size)
{
    bool has_brackets = g->host.is_address && g->host.address.is_v6;
    char port[8] = "";

    if (g->port)
        (void)snprintf(port, sizeof(port), ":%u", g->port);
    return snprintf(
        text, size, "%s%s%s%s%s%s%s%s%s%s", g->methods ? g->methods : "", g->methods ? " " : "",
        g->is_tls ? "https://"
        : g->path ? "http://"
                  : "",
        g->is_wildcard ? "*." : "", has_brackets ? "[" : "", g->host.name, has_brackets ? "]" : "",
        port, g->path ? g->path : "", g->is_private ? " private" : "");
}

/* --- matching --- */

/* `name` is below the wildcard's. */
static bool is_below(const char *name, const char *parent)
{
    size_t len = strlen(name), tail = strlen(parent);

    return len > tail + 1 && name[len - tail - 1] == '.' && strcmp(name + len - tail, parent) == 0;
}

static bool has_host(const struct net_grant *grant, const struct host *host)
{
    if (!grant->is_wildcard)
        return host_equal(&grant->host, host);
    return !host->is_address && is_below(host->name, grant->host.name);
}

static bool has_port(const struct net_grant *grant, uint16_t port)
{
    return grant->port ? grant->port == port : port == 80 || port == 443;
}

static bool has_method(const char *methods, const char *method, size_t len)
{
    for (const char *at = methods; at && *at;) {
        size_t n = strcspn(at, "+");

        if (n == len && strncmp(at, method, len) == 0)
            return true;
        at += n + (at[n] == '+');
    }
    return !methods;
}

/* Nothing that a server could take for another place: `.` and `..`, also with parameters behind
 * them (`..;`), anything encoded, backslashes, empty segments. Whoever was granted a part of a
 * server spells what is in it plainly. */
static bool is_plain_path(const char *path)
{
    for (const char *at = path; *at == '/';) {
        size_t len = strcspn(++at, "/"), name = strcspn(at, "/;");

        if ((name == 1 && at[0] == '.') || (name == 2 && at[0] == '.' && at[1] == '.') ||
            (len == 0 && at[len] == '/'))
            return false;
        at += len;
    }
    return !strpbrk(path, "%\\");
}

static bool starts_with_path(const char *path, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(path, prefix, len) == 0 &&
           (prefix[len - 1] == '/' || path[len] == '/' || path[len] == '\0');
}

static bool needs_sight(const struct net_grant *grant)
{
    return grant->path || grant->methods || grant->header;
}

/* The port of a request under this grant, or 0: it is not for it. One in plain text to a host that
 * is granted as https:// becomes one with TLS, on the way out. */
static uint16_t port_of(const struct net_grant *grant, const struct net_ask *ask)
{
    if (!ask->is_tunnel && grant->is_tls && !ask->is_tls && ask->port == 80)
        return grant->port;
    return has_port(grant, ask->port) ? ask->port : 0;
}

static const char *refusal_of(const struct net_grant *grant, const struct net_ask *ask)
{
    if (ask->is_tunnel && needs_sight(grant))
        return "it is granted only for requests that Belljar can read: use http://, not a "
               "tunnel";
    if (ask->is_tunnel)
        return NULL;
    if (!has_method(grant->methods, ask->method, strlen(ask->method)))
        return "the method is not granted";
    if (grant->path && (!is_plain_path(ask->path) || !starts_with_path(ask->path, grant->path)))
        return "the path is not granted";
    return NULL;
}

const struct net_grant *net_match(const struct net *net, const struct net_ask *ask,
                                  uint16_t *ret_port, bool *ret_is_tls, const char **ret_why)
{
    const struct net_grant *best = NULL;
    const char *why = "the host is not granted";

    for (size_t i = 0; i < net->count; i++) {
        const struct net_grant *grant = &net->grants[i];
        const char *refusal;

        if (!has_host(grant, ask->host))
            continue;
        if (!port_of(grant, ask)) {
            why = "the port is not granted";
            continue;
        }
        refusal = refusal_of(grant, ask);
        if (refusal)
            why = refusal;
        else if (!best || (grant->header && !best->header)) /* who has a key wants to use it */
            best = grant;
    }
    if (!best) {
        *ret_why = why;
        return NULL;
    }
    *ret_port = port_of(best, ask);
    *ret_is_tls = !ask->is_tunnel && (ask->is_tls || best->is_tls);
    return best;
}

bool net_may_ask(const struct net *net, const struct host *host)
{
    if (!net->asks || host_is_loopback(host) ||
        (host->is_address && (address_range(&host->address) || address_is_nobody(&host->address))))
        return false;
    for (size_t i = 0; i < net->count; i++)
        if (has_host(&net->grants[i], host))
            return false;
    return true;
}

const char *net_judge(const struct net *net, const struct net_grant *grant,
                      const struct address *address, bool is_own, uint16_t port)
{
    const char *range = address_range(address);

    if (!range && is_own)
        range = "this machine's own";
    if (address_is_nobody(address))
        return range ? range : "nobody's";
    if (!range || grant->is_private || grant->host.is_address)
        return NULL;
    if (!grant->is_wildcard && !grant->host.is_address && host_is_loopback(&grant->host) &&
        address_is_loopback(address))
        return NULL;
    /* One of a part of that server says nothing about the rest, which the name would open. */
    for (size_t i = 0; i < net->count; i++)
        if (net->grants[i].host.is_address && !needs_sight(&net->grants[i]) &&
            has_port(&net->grants[i], port) && address_equal(&net->grants[i].host.address, address))
            return NULL;
    return range;
}

/* --- what somebody asks for, within what is allowed --- */

static bool covers_host(const struct net_grant *a, const struct net_grant *b)
{
    if (!b->is_wildcard)
        return has_host(a, &b->host);
    return a->is_wildcard &&
           (strcmp(a->host.name, b->host.name) == 0 || is_below(b->host.name, a->host.name));
}

/* The methods of both, or NULL with *ret_is_empty. */
static char *common_methods(const char *a, const char *b, bool *ret_is_empty)
{
    char *out = a || b ? calloc(1, strlen(a ? a : b) + 1) : NULL;
    size_t used = 0;

    *ret_is_empty = false;
    if (!out)
        return NULL;
    for (const char *at = a ? a : b; *at;) {
        size_t n = strcspn(at, "+");

        if (!a || has_method(b, at, n)) {
            if (used)
                out[used++] = '+';
            memcpy(out + used, at, n);
            used += n;
        }
        at += n + (at[n] == '+');
    }
    *ret_is_empty = used == 0;
    return out;
}

/* Fills *ret with what both have; false: nothing. */
static bool intersect(const struct net_grant *allowed, const struct net_grant *asked,
                      struct net_grant *ret, bool *ret_failed)
{
    const char *path = asked->path;
    bool is_empty;

    if (!covers_host(allowed, asked))
        return false;
    *ret = (struct net_grant){.host = asked->host,
                              .is_wildcard = asked->is_wildcard,
                              .is_tls = allowed->is_tls || asked->is_tls,
                              .is_private = allowed->is_private,
                              .port = asked->port ? asked->port : allowed->port};
    if (allowed->port ? ret->port != allowed->port : ret->port && !has_port(allowed, ret->port))
        return false;
    if (!asked->port && allowed->port && !has_port(asked, allowed->port))
        return false;
    if (!path || (allowed->path && starts_with_path(allowed->path, path)))
        path = allowed->path;
    else if (allowed->path && !starts_with_path(path, allowed->path))
        return false;
    ret->methods = common_methods(allowed->methods, asked->methods, &is_empty);
    ret->path = path ? strdup(path) : NULL;
    ret->header = allowed->header ? strdup(allowed->header) : NULL;
    *ret_failed = (path && !ret->path) || (allowed->header && !ret->header) ||
                  ((allowed->methods || asked->methods) && !ret->methods);
    if (!is_empty && !*ret_failed)
        return true;
    grant_done(ret);
    return false;
}

int net_add_within(struct net *net, const struct net *allowed, const char *text, struct error *err)
{
    struct net_grant asked = {0};
    bool has_any = false, has_failed = false;
    int r;

    if (strcmp(text, NET_ASK) == 0 && allowed && allowed->asks) {
        net->asks = true;
        return 0;
    }
    r = parse(text, &asked, err);
    if (r == 0 && (asked.header || asked.is_private))
        r = wrong(text, "only the operator may set `private` and `header=`", err);
    for (size_t i = 0; r == 0 && allowed && i < allowed->count; i++) {
        struct net_grant both;

        if (!intersect(&allowed->grants[i], &asked, &both, &has_failed)) {
            if (has_failed)
                r = error_memory(err);
            continue;
        }
        has_any = true;
        r = append(net, &both, err);
    }
    grant_done(&asked);
    if (r < 0 || has_any)
        return r;
    error_set(err, E_DENIED, "`%.200s` is not one of the allowed hosts", text);
    return error_hint(err, "the operator lists them as `net`");
}
