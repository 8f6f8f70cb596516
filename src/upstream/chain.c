/* Opening a wire: `initialize`, or where that is refused `server/discover` of the modern era; then
 * tools/list, page by page.
 *
 * The legacy handshake comes first although it is the older one: every server there is answers to
 * it, with an error at least, while some of the old ones never answer to anything else before it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "upstream/internal.h"
#include "upstream/message.h"

#define LEGACY_VERSION "2025-11-25"

#define INSTRUCTIONS_MAX (8 * KIB)
#define TITLE_MAX        200

static void fail_chain(struct upstream *u, const char *what, const struct error *cause)
{
    cleanup_error struct error err = {0};

    error_copy(&err, cause);
    error_wrap(&err, "server `%s`: %s", u->config->name, what);
    upstream_break(u, &err);
}

static void on_link_late(void *arg)
{
    struct upstream_request *request = arg;
    struct upstream *u = request->upstream;
    cleanup_error struct error err = {0};

    error_set(&err, E_BUSY, "no answer within %.0f seconds", u->config->timeout_s);
    error_hint(&err, "`timeout_s` of [servers.%s] sets how long an answer may take",
               u->config->name);
    upstream_request_free(request);
    fail_chain(u, "start", &err);
}

static void refuse_link(struct upstream *u, const struct error *err, int code)
{
    (void)code;
    fail_chain(u, u->is_listing ? "tools/list" : "start", err);
}

static void send_link(struct upstream *u, const char *method, json_t *params,
                      void (*on_result)(struct upstream *u, const json_t *result),
                      void (*on_refused)(struct upstream *u, const struct error *err, int code))
{
    cleanup_error struct error err = {0};
    struct upstream_request *request = upstream_request_new(u);

    if (request)
        request->clock = loop_timer(u->all->loop, on_link_late, request);
    if (!request || !request->clock) {
        json_decref(params);
        (void)upstream_no_memory(&err);
        fail_chain(u, "start", &err);
        return;
    }
    request->on_result = on_result;
    request->on_refused = on_refused;
    loop_timer_start(request->clock, upstream_timeout_ms(u));
    if (upstream_post(u, method, params, request->id, &err) < 0)
        fail_chain(u, "start", &err);
}

static void finish_list(struct upstream *u)
{
    json_decref(u->description);
    u->description = u->opening ? json_copy(u->opening) : json_object();
    if (json_object_set(u->description, "tools", u->listed) < 0) {
        cleanup_error struct error err = {0};

        (void)upstream_no_memory(&err);
        upstream_break(u, &err);
    }
    json_decref(u->listed);
    u->listed = NULL;
    u->is_listing = false;
    u->state = UPSTREAM_READY;
    upstream_pump(u);
}

static void on_page(struct upstream *u, const json_t *result)
{
    cleanup_error struct error err = {0};
    const char *cursor = upstream_tools_next(result);
    int left_out = upstream_tools_add(u->listed, result, &err);

    if (left_out < 0) {
        fail_chain(u, "tools/list", &err);
        return;
    }
    if (left_out)
        LOG_EVENT(LOG_WARNING, "server_tools_left_out", {.key = "server", .text = u->config->name},
                  {.key = "count", .number = left_out});
    if (!cursor || ++u->n_pages >= LIMIT_UPSTREAM_PAGES ||
        json_array_size(u->listed) >= LIMIT_UPSTREAM_TOOLS)
        finish_list(u);
    else
        send_link(u, "tools/list", json_pack("{s:s}", "cursor", cursor), on_page, refuse_link);
}

void upstream_chain_list(struct upstream *u)
{
    cleanup_error struct error err = {0};

    u->state = UPSTREAM_OPENING;
    u->is_stale = false;
    u->is_listing = true;
    u->n_pages = 0;
    json_decref(u->listed);
    u->listed = json_array();
    if (u->listed) {
        send_link(u, "tools/list", json_object(), on_page, refuse_link);
        return;
    }
    (void)upstream_no_memory(&err);
    fail_chain(u, "start", &err);
}

/* The server's description of itself, for people. */
static void keep_opening(struct upstream *u, const json_t *result, const json_t *info)
{
    const json_t *words = json_object_get(result, "instructions");
    const json_t *title = json_object_get(info, "title");

    if (!title)
        title = json_object_get(info, "name");
    json_decref(u->opening);
    u->opening = json_object();
    if (json_is_string(words))
        (void)json_object_set_new(u->opening, "instructions",
                                  upstream_text(words, INSTRUCTIONS_MAX));
    if (json_is_string(title))
        (void)json_object_set_new(u->opening, "title", upstream_text(title, TITLE_MAX));
}

static void on_discovered(struct upstream *u, const json_t *result)
{
    const json_t *meta = json_object_get(result, "_meta");

    keep_opening(u, result, json_object_get(meta, UPSTREAM_META "serverInfo"));
    upstream_chain_list(u);
}

static void discover(struct upstream *u)
{
    u->is_modern = u->wire->is_modern = true;
    u->wire->version = UPSTREAM_MODERN;
    send_link(u, "server/discover", json_object(), on_discovered, refuse_link);
}

static void on_initialized(struct upstream *u, const json_t *result)
{
    const char *version = json_string_value(json_object_get(result, "protocolVersion"));
    cleanup_error struct error err = {0};

    if (!version || strlen(version) != strlen(LEGACY_VERSION) ||
        strspn(version, "0123456789-") != strlen(version)) {
        error_set(&err, E_PROTOCOL, "its answer has no protocol version");
        fail_chain(u, "start", &err);
        return;
    }
    (void)snprintf(u->version, sizeof(u->version), "%s", version);
    u->wire->version = u->version;
    keep_opening(u, result, json_object_get(result, "serverInfo"));
    if (upstream_post(u, "notifications/initialized", json_object(), 0, &err) < 0) {
        fail_chain(u, "start", &err);
        return;
    }
    upstream_chain_list(u);
}

/* A server that has left the handshake behind. */
static void on_handshake_refused(struct upstream *u, const struct error *err, int code)
{
    if (u->config->era == CONFIG_ERA_AUTO && code != 0)
        discover(u);
    else
        refuse_link(u, err, code);
}

void upstream_chain_begin(struct upstream *u)
{
    u->is_listing = false;
    if (u->config->era == CONFIG_ERA_MODERN) {
        discover(u);
        return;
    }
    u->is_modern = u->wire->is_modern = false;
    u->wire->version = NULL;
    send_link(u, "initialize",
              json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion", LEGACY_VERSION,
                        "capabilities", "clientInfo", "name", "belljar", "version", "1"),
              on_initialized, on_handshake_refused);
}
