#include "api/store_read.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/span.h"

#define PATIENCE_MS 2000

static void go_on(void *arg)
{
    struct store_read *read = arg;
    void (*fn)(void *arg) = read->fn;
    void *to = read->arg;

    store_read_end(read);
    fn(to);
}

static void on_done(struct replica_wait *wait, struct error *err)
{
    error_done(err);
    go_on(wait);
}

void store_read_begin(struct store_read *read, const struct api *api, const char *owner,
                      void (*fn)(void *arg), void *arg)
{
    bool is_shared = api->store && store_replicas(api->store);

    read->clock = is_shared ? loop_timer(api->loop, go_on, read) : NULL;
    if (!read->clock) {
        fn(arg);
        return;
    }
    read->fn = fn;
    read->arg = arg;
    read->wait.done = on_done;
    loop_timer_start(read->clock, PATIENCE_MS);
    replica_read(api->store, owner, &read->wait);
}

void store_read_end(struct store_read *read)
{
    replica_forget(&read->wait);
    loop_watch_free(take_ptr(read->clock));
}

bool store_read_is_needed(const char *code, size_t len)
{
    return len && memmem(code, len, "skill", 5);
}

/* --- of a request --- */

struct reading {
    struct store_read read;
    struct request *request;
    void (*then)(struct request *request);
};

static void on_read(void *arg)
{
    struct reading *reading = arg;
    struct request *request = reading->request;
    void (*then)(struct request * request) = reading->then;

    free(reading);
    request->on_gone = NULL;
    request->user = NULL;
    then(request);
}

static void on_gone(struct request *request)
{
    struct reading *reading = request->user;

    store_read_end(&reading->read);
    free(reading);
}

/* Tools of MCP have the word in their names. */
static bool uses_store(const struct request *request)
{
    const struct api *api = request->api;
    const char *tag = request->route->tag ? request->route->tag : "";

    if (!request->caller || !api->store || !store_replicas(api->store) || request->on_gone)
        return false;
    if (span_is(request->head.method, "GET"))
        return strcmp(tag, "skills") == 0 || strcmp(tag, "states") == 0;
    return store_read_is_needed(buf_str(&request->body), request->body.len);
}

bool store_read_first(struct request *request, void (*then)(struct request *request))
{
    struct reading *reading = uses_store(request) ? calloc(1, sizeof(*reading)) : NULL;

    if (!reading)
        return false;
    reading->request = request;
    reading->then = then;
    request->user = reading;
    request->on_gone = on_gone;
    store_read_begin(&reading->read, request->api, request->caller->keeper, on_read, reading);
    return true;
}
