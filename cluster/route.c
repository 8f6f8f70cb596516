#include "cluster/route.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/id.h"

/* Without the prefix. */
#define ID_LETTERS 26

struct row {
    const char *method, *path; /* a path that ends in `*` is a beginning */
    enum route_who who;
    const char *word;
    size_t limit; /* of a list, where the query has none; 0: all of it */
};

/* As engines have it. */
#define LIST_DEFAULT 100

static const struct row rows[] = {
    {"POST", "/v1/run", ROUTE_FRESH, NULL},
    {"POST", "/v1/check", ROUTE_FRESH, NULL},
    {"POST", "/v1/batch", ROUTE_BATCH, NULL},
    {"POST", "/v1/jobs", ROUTE_FRESH, NULL},
    {"POST", "/v1/sessions", ROUTE_OPENS, "name"},
    {"POST", "/mcp", ROUTE_FRESH, NULL},
    {"GET", "/sse", ROUTE_FRESH, NULL},
    {"POST", "/run", ROUTE_FRESH, NULL},
    {"POST", "/run_code", ROUTE_FRESH, NULL},
    {"POST", "/v1/sandbox/run", ROUTE_FRESH, NULL},
    {"POST", "/execute", ROUTE_UNSURE, "session_id"},
    {"POST", "/v1/execute", ROUTE_UNSURE, "session_id"},
    {"POST", "/api/execute", ROUTE_UNSURE, "session_id"},
    {"POST", "/api/v1/execute", ROUTE_UNSURE, "session_id"},
    {"POST", "/execute_async", ROUTE_UNSURE, "session_id"},
    {"POST", "/api/execute_async", ROUTE_UNSURE, "session_id"},
    {"POST", "/sessions", ROUTE_FRESH, NULL},
    {"POST", "/api/sessions", ROUTE_FRESH, NULL},
    {"POST", "/e2b/sandboxes", ROUTE_FRESH, NULL},
    {"POST", "/e2b/v2/sandboxes", ROUTE_FRESH, NULL},
    {"POST", "/jupyter/api/kernels", ROUTE_FRESH, NULL},
    {"POST", "/jupyter/api/sessions", ROUTE_FRESH, NULL},
    {"POST", "/v1/tokens", ROUTE_LOCAL, NULL},
    {"DELETE", "/v1/tokens/*", ROUTE_LOCAL, NULL},
    {"POST", "/v1/console/*", ROUTE_LOCAL, NULL},
    {"DELETE", "/v1/console/*", ROUTE_LOCAL, NULL},
    {"GET", "/metrics", ROUTE_METRICS, NULL},
    {"GET", "/v1/stats", ROUTE_STATS, NULL},
    {"GET", "/v1/events", ROUTE_EVENTS, NULL},
    {"GET", "/v1/cluster/nodes", ROUTE_NODES, NULL},
    {"GET", "/v1/audit/records", ROUTE_RECORDS, NULL, LIST_DEFAULT},
    {"GET", "/v1/audit/head", ROUTE_OF, NULL},
    {"GET", "/v1/audit/key", ROUTE_OF, NULL},
    {"GET", "/v1/audit/lines", ROUTE_OF, NULL},
    {"GET", "/v1/audit/records/*", ROUTE_OF, "record"},
    {"POST", "/v1/audit/verify", ROUTE_OF, NULL},
    {"POST", "/v1/audit/receipt", ROUTE_UNSURE, "id"},
    {"GET", "/v1/runs", ROUTE_ALL, "runs", LIST_DEFAULT},
    {"GET", "/v1/sessions", ROUTE_ALL, "sessions"},
    {"GET", "/v1/jobs", ROUTE_ALL, "jobs", LIST_DEFAULT},
    {"GET", "/v1/approvals", ROUTE_ALL, "approvals"},
    {"GET", "/v1/snapshots", ROUTE_ALL, "snapshots"},
    {"GET", "/v1/undo", ROUTE_ALL, "runs"},
    {"GET", "/jupyter/api/kernels", ROUTE_ALL, "kernels"},
    {"GET", "/jupyter/api/sessions", ROUTE_ALL, "sessions"},
    {"GET", "/e2b/sandboxes", ROUTE_ALL, "sandboxes"},
    {"GET", "/e2b/v2/sandboxes", ROUTE_ALL, "sandboxes"},
};

/* Letters and digits: 26 of them, with a hyphen behind. */
static bool is_core(struct span text)
{
    for (size_t i = 0; i < ID_LETTERS; i++)
        if (i == text.len || !isalnum((unsigned char)text.data[i]))
            return false;
    return text.len > ID_LETTERS && text.data[ID_LETTERS] == '-';
}

bool route_node_of(struct span text, char ret_node[13])
{
    size_t prefix = 0, len;
    bool is_plain = is_core(text); /* of a sandbox of E2B's interface */

    while (prefix < text.len && prefix < 5 && islower((unsigned char)text.data[prefix]))
        prefix++;
    if (!is_plain && (prefix < 2 || prefix == text.len || text.data[prefix] != '_'))
        return false;
    prefix = is_plain ? 0 : prefix + 1;
    text.data += prefix;
    text.len -= prefix;
    if (!is_core(text))
        return false;
    text.data += ID_LETTERS + 1;
    text.len -= ID_LETTERS + 1;
    len = is_plain ? span_until(text, "-") : text.len; /* its old clients add a word */
    if (len == 0 || len > ID_NODE_MAX)
        return false;
    memcpy(ret_node, text.data, len);
    ret_node[len] = '\0';
    return id_is_node(ret_node);
}

/* The first id with a node among words that are separated by these. */
static bool find_id(struct span text, const char *separators, char ret_node[13], bool *is_session)
{
    while (text.len) {
        size_t n = span_until(text, separators);
        struct span word = {text.data, n};

        if (route_node_of(word, ret_node)) {
            *is_session = span_starts_with(word, "ses_") || span_starts_with(word, "mcp_") ||
                          span_starts_with(word, "sse_") || is_core(word);
            return true;
        }
        n += n < text.len;
        text.data += n;
        text.len -= n;
    }
    return false;
}

/* "8000-ses_…-a1.example.org": the host of a port. */
static bool find_in_host(struct span host, char ret_node[13])
{
    struct span label = {host.data, host.data ? span_until(host, ".:") : 0};
    size_t digits = 0;

    while (digits < label.len && isdigit((unsigned char)label.data[digits]))
        digits++;
    if (!digits || digits == label.len || label.data[digits] != '-')
        return false;
    return route_node_of((struct span){label.data + digits + 1, label.len - digits - 1}, ret_node);
}

static bool find_node(const struct http_head *head, struct route_target *target)
{
    struct span session = http_head_get(head, "mcp-session-id");
    struct span sandbox = http_head_get(head, "e2b-sandbox-id");

    if (find_id(head->path, "/", target->node, &target->is_session))
        return true;
    if (session.data && find_id(session, " ", target->node, &target->is_session))
        return true;
    if (sandbox.data && find_id(sandbox, " ", target->node, &target->is_session))
        return true;
    if (!find_in_host(http_head_get(head, "host"), target->node))
        return false;
    target->is_session = true;
    return true;
}

/* "/v1/jobs/ID/…": the id names its first home. */
static void find_job(const struct http_head *head, struct route_target *target)
{
    static const char start[] = "/v1/jobs/";
    struct span rest = head->path;
    size_t len;

    if (!span_starts_with(rest, start))
        return;
    rest.data += sizeof(start) - 1;
    rest.len -= sizeof(start) - 1;
    len = sizeof(start) - 1 + span_until(rest, "/");
    target->is_job = len < sizeof(target->probe);
    if (target->is_job)
        (void)snprintf(target->probe, sizeof(target->probe), "%.*s", (int)len, head->path.data);
}

/* "/v1/jobs/key:KEY" */
static bool find_job_by_key(const struct http_head *head, struct route_target *target)
{
    size_t len = head->path.len;

    if (!span_starts_with(head->path, "/v1/jobs/key:") || len >= sizeof(target->probe))
        return false;
    (void)snprintf(target->probe, sizeof(target->probe), "%.*s", (int)len, head->path.data);
    return true;
}

static bool matches(const struct row *row, const struct http_head *head)
{
    size_t len = strlen(row->path);

    if (!span_is(head->method, row->method))
        return false;
    if (row->path[len - 1] == '*')
        return head->path.len >= len - 1 && memcmp(head->path.data, row->path, len - 1) == 0;
    return span_is(head->path, row->path);
}

/* "/jupyter/api/kernels/ID/…": ids are those of the other system. Its clients may have the token in
 * the query. */
static bool find_kernel(const struct http_head *head, struct route_target *target)
{
    static const char *const starts[] = {"/jupyter/api/kernels/", "/jupyter/api/sessions/"};

    for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
        size_t len = strlen(starts[i]);
        int n;

        if (!span_starts_with(head->path, starts[i]))
            continue;
        len += span_until((struct span){head->path.data + len, head->path.len - len}, "/");
        n = snprintf(target->probe, sizeof(target->probe), "%.*s%s%.*s", (int)len, head->path.data,
                     head->query.len ? "?" : "", (int)head->query.len, head->query.data);
        return n > 0 && (size_t)n < sizeof(target->probe);
    }
    return false;
}

/* A segment of a path, whose encoding has been checked (http/request_rules.h). */
static bool decode(struct span text, char *name, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        bool is_encoded = text.data[i] == '%' && i + 2 < text.len;

        if (n + 1 == size)
            return false;
        name[n++] = is_encoded
                        ? (char)(hex_value(text.data[i + 1]) << 4 | hex_value(text.data[i + 2]))
                        : text.data[i];
        i += is_encoded ? 2 : 0;
    }
    name[n] = '\0';
    return true;
}

/* "/v1/sessions/NAME/…" */
static bool find_name(const struct http_head *head, struct route_target *target)
{
    static const char start[] = "/v1/sessions/";
    struct span rest = head->path;
    size_t len;

    if (!span_starts_with(rest, start))
        return false;
    rest.data += sizeof(start) - 1;
    rest.len -= sizeof(start) - 1;
    len = span_until(rest, "/");
    return len && decode((struct span){rest.data, len}, target->name, sizeof(target->name));
}

/* "node=a1" among the words of a query. */
static bool find_in_query(struct span query, char ret_node[13])
{
    while (query.len) {
        size_t n = span_until(query, "&");
        int len = (int)n - (int)strlen("node=");

        if (len > 0 && len <= ID_NODE_MAX && memcmp(query.data, "node=", strlen("node=")) == 0) {
            (void)snprintf(ret_node, 13, "%.*s", len, query.data + strlen("node="));
            return id_is_node(ret_node);
        }
        n += n < query.len;
        query.data += n;
        query.len -= n;
    }
    return false;
}

/* Records by the id of somebody else's making: who has them is asked. By their number they are
 * those of one machine. */
static bool find_record(const struct http_head *head, struct route_target *target)
{
    const char *last = memrchr(head->path.data, '/', head->path.len);
    size_t len = last ? head->path.len - (size_t)(last + 1 - head->path.data) : 0, digits = 0;

    while (digits < len && isdigit((unsigned char)last[1 + digits]))
        digits++;
    if (digits == len || head->target.len >= sizeof(target->probe))
        return false;
    (void)snprintf(target->probe, sizeof(target->probe), "%.*s", (int)head->target.len,
                   head->target.data);
    return true;
}

void route_find(const struct http_head *head, struct route_target *ret_target)
{
    *ret_target = (struct route_target){.who = ROUTE_NODE};
    if (find_node(head, ret_target)) {
        find_job(head, ret_target);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (matches(&rows[i], head)) {
            ret_target->who = rows[i].who;
            ret_target->limit = rows[i].limit;
            /* Events of one session come from its node alone. */
            if (rows[i].who == ROUTE_EVENTS &&
                find_id(head->query, "&=", ret_target->node, &ret_target->is_session))
                ret_target->who = ROUTE_NODE;
            if ((rows[i].who == ROUTE_OF || rows[i].who == ROUTE_RECORDS) &&
                find_in_query(head->query, ret_target->node))
                ret_target->who = ROUTE_NODE;
            else if (rows[i].word && strcmp(rows[i].word, "record") == 0 &&
                     find_record(head, ret_target))
                ret_target->who = ROUTE_FIND;
            if (rows[i].who == ROUTE_ALL)
                ret_target->list = rows[i].word;
            else
                ret_target->field = rows[i].word;
            return;
        }
    if (find_kernel(head, ret_target) || find_job_by_key(head, ret_target))
        ret_target->who = ROUTE_FIND;
    else if (find_name(head, ret_target))
        ret_target->who = ROUTE_NAME;
    else if (!find_id(head->query, "&=", ret_target->node, &ret_target->is_session))
        ret_target->who = ROUTE_ANY;
}
