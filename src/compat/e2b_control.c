/* The control plane of E2B: making, finding and ending sandboxes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "compat/e2b_internal.h"
#include "engine/environment.h"

#define TIMEOUT_S    300
#define TIMEOUT_V1_S 15

/* Sandboxes on a page of a list. */
#define PAGE_MAX 100

#define METADATA_MAX   64
#define METADATA_BYTES ((size_t)16 * KIB)

/* --- as JSON --- */

static json_t *date_json(uint64_t ms)
{
    const struct timespec at = {.tv_sec = (time_t)(ms / 1000),
                                .tv_nsec = (long)(ms % 1000) * 1000000};
    char text[DATE_SIZE];

    date_millis(&at, text);
    return json_string(text);
}

static json_t *detail_json(const struct e2b_sandbox *s)
{
    json_t *value = e2b_sandbox_json(s);
    struct session_info info;
    bool is_paused = e2b_sandbox_is_paused(s);
    double cpus;

    session_info(s->session, &info);
    cpus = run_limit_get(info.limits, &run_limit_table[RUN_LIMIT_ROW_cpus]);
    /* The list shows no more tokens than clients read from it. */
    (void)json_object_del(value, "trafficAccessToken");
    json_set(value, "startedAt", date_json(s->started_ms));
    json_set(value, "endAt", date_json(s->end_ms));
    json_set(value, "state", json_string(is_paused ? "paused" : "running"));
    json_set(value, "cpuCount", json_integer(cpus >= 1 ? (json_int_t)cpus : 1));
    json_set(value, "memoryMB", json_integer((json_int_t)(info.limits->memory_bytes / MIB)));
    json_set(value, "diskSizeMB", json_integer((json_int_t)(info.limits->disk_bytes / MIB)));
    json_set(value, "metadata", json_incref(s->metadata));
    json_set(value, "allowInternetAccess", json_boolean(info.terms->net != NULL));
    json_set(value, "lifecycle",
             json_pack("{s:s, s:b}", "onTimeout", s->pauses ? "pause" : "kill", "autoResume",
                       (int)s->resumes));
    json_set(value, "volumeMounts", json_array());
    return value;
}

/* --- reading --- */

struct e2b_sandbox *e2b_sandbox_in_path(struct request *request)
{
    const struct api *api = request->api;
    const char *id = request->params[0];
    struct e2b_sandbox *s = e2b_sandbox_find(api->e2b, id, strlen(id), request->owner);
    struct error err = {0};

    if (s)
        return s;
    error_set(&err, E_NOT_FOUND, "sandbox \"%.64s\" doesn't exist or you don't have access to it",
              id);
    request_answer_error(request, &err);
    return NULL;
}

int e2b_read_timeout(const struct request *request, const json_t *body, const char *name,
                     unsigned usual_s, uint64_t *ret_ms, struct error *err)
{
    const struct api *api = request->api;
    const json_t *value = json_object_get(body, name);
    double seconds = value && !json_is_null(value) ? json_number_value(value) : usual_s;
    double most = api->config->session_lifetime_s;

    if (value && !json_is_null(value) && !json_is_number(value))
        return error_set(err, E_INVALID, "`%s`: expected a number of seconds", name);
    if (!(seconds >= 0 && seconds <= 2592000))
        return error_set(err, E_INVALID, "`%s`: expected 0 to 2592000 seconds", name);
    if (most > 0 && seconds > most && value) {
        error_set(err, E_INVALID, "`%s`: the operator allows at most %.15g seconds", name, most);
        return error_hint(err, "ask for less, or have `session_lifetime_s` raised");
    }
    *ret_ms = (uint64_t)(seconds * 1000);
    return 0;
}

/* An object whose values are texts; NULL: there is none. */
static int read_map(const json_t *body, const char *name, size_t max, json_t **ret_map,
                    struct error *err)
{
    json_t *map = json_object_get(body, name), *value;
    const char *key;
    size_t bytes = 0;

    *ret_map = NULL;
    if (!map || json_is_null(map))
        return 0;
    if (!json_is_object(map) || json_object_size(map) > max)
        return error_set(err, E_INVALID, "`%s`: expected an object with at most %zu texts", name,
                         max);
    json_object_foreach(map, key, value)
    {
        bytes += strlen(key) + json_string_length(value);
        if (!json_is_string(value))
            return error_set(err, E_INVALID, "`%s`: expected an object whose values are texts",
                             name);
    }
    if (bytes > METADATA_BYTES)
        return error_set(err, E_TOO_LARGE, "`%s`: more than %zu bytes", name, METADATA_BYTES);
    *ret_map = map;
    return 0;
}

/* A template is an environment of ours; these are E2B's own, and stand for the usual one. */
static int read_template(const struct request *request, const json_t *body, struct e2b_order *order,
                         struct error *err)
{
    static const char *const usual[] = {"base", "code-interpreter-v1", "code-interpreter",
                                        "code-interpreter-stateful"};
    const struct api *api = request->api;
    const char *name = e2b_text(body, "templateID", NULL);

    if (!*name)
        return error_set(err, E_INVALID, "`templateID` is missing");
    order->template = name;
    for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
        if (strcmp(name, usual[i]) == 0)
            return 0;
    if (sessions_snapshot_terms(api->sessions, request->owner, name, NULL)) {
        order->snapshot = name;
        return 0;
    }
    order->environment = name;
    if (environment_check_name(api->config, name, NULL) == 0)
        return 0;
    error_set(err, E_NOT_FOUND, "template '%.64s' not found", name);
    return error_hint(err, "it is the name of an environment: `belljar environment list`");
}

/* Asked for, and not to be had: a program that relies on it should know at once. */
static int refuse_extras(const json_t *body, struct error *err)
{
    static const struct {
        const char *name, *what;
    } extras[] = {
        {"volumeMounts", "volumes"},
        {"mcp", "the MCP gateway"},
        {"iam", "identities"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
        const json_t *value = json_object_get(body, extras[i].name);

        if (json_object_size(value) || json_array_size(value)) {
            error_set(err, E_INVALID, "`%s`: Belljar has no %s for E2B's clients", extras[i].name,
                      extras[i].what);
            return error_hint(err, "leave it out");
        }
    }
    return 0;
}

/* Versions of the clients: a later major one speaks a protocol that nobody here has seen, before
 * 2.14 the client of JavaScript sends files without saying to which sandbox, unless the name of the
 * host does, before 2.3 none sends a token with cells, and before 1.1 with anything. They are told
 * at once, instead of failing later in some odd way. */
#define MAJOR_LAST  2
#define MINOR_FIRST 14

struct client {
    bool is_known, is_javascript;
    unsigned major, minor;
};

/* "2.51.0". Numbers beyond 9999 are 9999. */
static bool read_version(const char *text, unsigned *ret_major, unsigned *ret_minor)
{
    unsigned numbers[2] = {0, 0};

    for (int i = 0; i < 2; i++) {
        if (*text < '0' || *text > '9')
            return i > 0;
        for (; *text >= '0' && *text <= '9'; text++)
            numbers[i] = numbers[i] < 1000 ? numbers[i] * 10 + (unsigned)(*text - '0') : 9999;
        text += *text == '.';
        *ret_major = numbers[0];
        *ret_minor = numbers[1];
    }
    return true;
}

static struct client read_client(const struct request *request)
{
    static const char *const names[] = {"e2b-js-sdk/", "e2b-python-sdk/"};
    struct span agent = request_header(request, "user-agent");
    struct client client = {0};
    char text[64];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t len = strlen(names[i]);

        if (!agent.data || !span_starts_with(agent, names[i]))
            continue;
        (void)snprintf(text, sizeof(text), "%.*s",
                       (int)(agent.len - len < 63 ? agent.len - len : 63), agent.data + len);
        client.is_known = read_version(text, &client.major, &client.minor);
        client.is_javascript = i == 0;
    }
    return client;
}

static bool is_older(const struct client *client, unsigned major, unsigned minor)
{
    return client->is_known &&
           (client->major < major || (client->major == major && client->minor < minor));
}

/* A version that nobody here has seen may ask for what later versions know: its user should learn
 * that from the failure. */
#define MINOR_TESTED 51

static int hint_version(const struct request *request, struct error *err)
{
    struct client client = read_client(request);

    if (!client.is_known || client.major < MAJOR_LAST ||
        (client.major == MAJOR_LAST && client.minor <= MINOR_TESTED))
        return -1;
    return error_hint(err,
                      "version %u.%u of E2B's client is newer than those that are tested, up "
                      "to %d.%d: docs/guide/e2b.md",
                      client.major, client.minor, MAJOR_LAST, MINOR_TESTED);
}

/* *ret_has_no_token: its cells come without one. */
static int check_client(const struct request *request, bool *ret_has_no_token, struct error *err)
{
    const struct api *api = request->api;
    struct client client = read_client(request);

    *ret_has_no_token = is_older(&client, 2, 3);
    if (client.is_known && client.major > MAJOR_LAST) {
        error_set(err, E_INVALID, "version %u.%u of E2B's client is not supported", client.major,
                  client.minor);
        return error_hint(err, "use a version of the range in docs/guide/e2b.md");
    }
    if (is_older(&client, 1, 1)) {
        error_set(err, E_INVALID, "version %u.%u of E2B's client sends no tokens", client.major,
                  client.minor);
        return error_hint(err, "use a newer one: docs/guide/e2b.md");
    }
    if (client.is_javascript && !request->path_text && is_older(&client, MAJOR_LAST, MINOR_FIRST)) {
        error_set(err, E_INVALID, "version %u.%u of E2B's client does not know E2B_SANDBOX_URL",
                  client.major, client.minor);
        return error_hint(err, "use a newer one, or host names: docs/guide/e2b.md");
    }
    if (*ret_has_no_token && api->e2b->is_beyond) {
        error_set(err, E_INVALID, "version %u.%u of E2B's client sends no token with cells",
                  client.major, client.minor);
        return error_hint(err, "use 2.3 or newer, or a server that listens on 127.0.0.1 only");
    }
    return 0;
}

/* --- making, ending --- */

void e2b_create(struct request *request)
{
    bool is_old = span_is(request->head.path, "/e2b/sandboxes");
    struct e2b_order order = {.caller = request->caller, .generation = request->generation};
    json_t *body = e2b_body(request);
    struct error err = {0};

    if (!body)
        return;
    e2b_read_domain(request, order.domain);
    order.pauses = json_is_true(json_object_get(body, "autoPause"));
    order.resumes = json_is_true(json_object_get(json_object_get(body, "autoResume"), "enabled"));
    if (check_client(request, &order.has_no_token, &err) < 0 ||
        read_template(request, body, &order, &err) < 0 || refuse_extras(body, &err) < 0 ||
        e2b_read_timeout(request, body, "timeout", is_old ? TIMEOUT_V1_S : TIMEOUT_S,
                         &order.timeout_ms, &err) < 0 ||
        read_map(body, "metadata", METADATA_MAX, &order.metadata, &err) < 0 ||
        read_map(body, "envVars", LIMIT_ENV_COUNT, &order.env, &err) < 0 ||
        e2b_sandbox_open(request->api, request, &order, &err) < 0)
        api_refuse(request, "session", &err);
}

void e2b_connect(struct request *request)
{
    struct e2b_sandbox *s = e2b_sandbox_in_path(request);
    json_t *body = s ? e2b_body(request) : NULL;
    uint64_t timeout_ms = 0;
    bool was_paused, has_no_token = false;
    struct error err = {0};

    if (!body)
        return;
    if (check_client(request, &has_no_token, &err) < 0 ||
        e2b_read_timeout(request, body, "timeout", TIMEOUT_S, &timeout_ms, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    was_paused = e2b_sandbox_is_paused(s);
    if (was_paused && session_resume(s->session, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    /* The end of one that runs is only ever moved later. */
    if (was_paused || time(NULL) * 1000 + (time_t)timeout_ms > (time_t)s->end_ms)
        e2b_sandbox_set_end(s, timeout_ms);
    request_answer_json(request, was_paused ? 201 : 200, e2b_sandbox_json(s));
}

void e2b_pause(struct request *request)
{
    struct e2b_sandbox *s = e2b_sandbox_in_path(request);
    struct error err = {0};

    if (!s)
        return;
    if (e2b_sandbox_is_paused(s)) {
        error_set(&err, E_INVALID, "sandbox %s is already paused", s->id);
        request_answer_error_as(request, 409, NULL, &err);
    } else if (e2b_sandbox_pause(s, &err) < 0) {
        request_answer_error(request, &err);
    } else {
        request_answer_empty(request, 204);
    }
}

void e2b_kill(struct request *request)
{
    struct e2b_sandbox *s = e2b_sandbox_in_path(request);

    if (!s)
        return;
    e2b_sandbox_close(s, "it was closed by its owner");
    request_answer_empty(request, 204);
}

static void move_end(struct request *request, const char *name)
{
    struct e2b_sandbox *s = e2b_sandbox_in_path(request);
    json_t *body = s ? e2b_body(request) : NULL;
    uint64_t timeout_ms = 0;
    struct error err = {0};

    if (!body)
        return;
    if (e2b_read_timeout(request, body, name, TIMEOUT_S, &timeout_ms, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    e2b_sandbox_set_end(s, timeout_ms);
    request_answer_empty(request, 204);
}

void e2b_set_timeout(struct request *request)
{
    move_end(request, "timeout");
}

void e2b_refresh(struct request *request)
{
    move_end(request, "duration");
}

/* --- looking --- */

void e2b_show(struct request *request)
{
    const struct e2b_sandbox *s = e2b_sandbox_in_path(request);

    if (s)
        request_answer_json(request, 200, detail_json(s));
}

/* Key or value of the filter, which is encoded twice. The caller frees it. */
static char *decode_part(const char *text, size_t len)
{
    char *once = malloc(len + 1), *twice = malloc(len + 1);
    size_t n;

    if (once && twice) {
        n = schema_decode((struct span){text, len}, true, once);
        (void)schema_decode((struct span){once, n}, false, twice);
    }
    free(once);
    return twice;
}

/* "k=v&k=v": whether the sandbox has all of them. */
static bool has_metadata(const struct e2b_sandbox *s, const char *filter)
{
    while (*filter) {
        size_t len = strcspn(filter, "&"), at = strcspn(filter, "=&");
        cleanup_free char *key = decode_part(filter, at);
        cleanup_free char *value =
            at < len ? decode_part(filter + at + 1, len - at - 1) : strdup("");
        const char *own = key ? json_string_value(json_object_get(s->metadata, key)) : NULL;

        if (!own || !value || strcmp(own, value) != 0)
            return false;
        filter += len + (filter[len] == '&');
    }
    return true;
}

static bool has_state(const struct e2b_sandbox *s, const json_t *states)
{
    const char *own = e2b_sandbox_is_paused(s) ? "paused" : "running";
    const json_t *state;
    size_t i;

    json_array_foreach(states, i, state)
    {
        if (strstr(json_string_value(state), own))
            return true;
    }
    return !json_array_size(states);
}

void e2b_list(struct request *request)
{
    const struct api *api = request->api;
    const json_t *query = request->query, *limit = json_object_get(query, "limit");
    size_t most = limit ? (size_t)json_integer_value(limit) : PAGE_MAX;
    bool is_rising = strcmp(json_get_text(query, "order"), "asc") == 0, has_more = false;
    uint64_t after = strtoull(json_get_text(query, "nextToken"), NULL, 10), last = 0;
    const json_t *states = json_object_get(query, "state");
    const char *template = json_get_text(query, "template");
    json_t *list = json_array();
    char header[64];

    for (const struct e2b_sandbox *s = is_rising ? TAILQ_LAST(&api->e2b->sandboxes, e2b_sandboxes)
                                                 : TAILQ_FIRST(&api->e2b->sandboxes);
         s; s = is_rising ? TAILQ_PREV(s, e2b_sandboxes, link) : TAILQ_NEXT(s, link)) {
        if (!e2b_sandbox_is_of(s, request->owner) || !has_state(s, states) ||
            (after && (is_rising ? s->serial <= after : s->serial >= after)) ||
            (*template && strcmp(template, s->template) != 0) ||
            !has_metadata(s, json_get_text(query, "metadata")))
            continue;
        has_more = json_array_size(list) == most;
        if (has_more)
            break;
        (void)json_array_append_new(list, detail_json(s));
        last = s->serial;
    }
    (void)snprintf(header, sizeof(header), "X-Next-Token: %llu\r\n", (unsigned long long)last);
    request_answer_json_with(request, 200, has_more ? header : NULL, list);
}

void e2b_unsupported(struct request *request)
{
    struct error err = {0};

    error_set(&err, E_UNSUPPORTED, "Belljar does not offer this part of E2B's interface");
    error_hint(&err,
               "docs/guide/e2b.md lists what works; environments take the place of templates");
    (void)hint_version(request, &err);
    request_answer_error(request, &err);
}

/* A port of the sandbox that no program of ours answers, or a path that nobody knows. */
void e2b_unknown(struct request *request)
{
    const struct api *api = request->api;
    struct span id = e2b_named_id(request);
    struct error err = {0};

    if (id.data) {
        e2b_answer_gone(request, id,
                        e2b_sandbox_find(api->e2b, id.data, id.len, NULL)
                            ? "The sandbox is running but port is not open"
                            : "The sandbox was not found");
        return;
    }
    error_set(&err, E_NOT_FOUND, "there is nothing at this path");
    (void)hint_version(request, &err);
    request_answer_error(request, &err);
}
