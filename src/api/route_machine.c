/* The virtual machine in which a server runs programs, for operators: what `belljar machine` asks
 * for. */
#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"

#define LOG_BYTES ((size_t)256 * 1024)

/* NULL: the request has been answered. */
static const struct machine_door *door_of(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};

    if (api->machine)
        return api->machine;
    error_set(&err, E_NOT_FOUND, "this server has no virtual machine");
    error_hint(&err, "start it with `belljar serve --machine kvm`");
    request_answer_error(request, &err);
    return NULL;
}

static void show(struct request *request)
{
    const struct machine_door *door = door_of(request);

    if (door)
        api_answer_masked(request, 200, door->status(door->user));
}

static void stop(struct request *request)
{
    const struct machine_door *door = door_of(request);

    if (door)
        request_answer_json(request, 200,
                            json_pack("{s:b}", "stopped", (int)door->stop(door->user)));
}

static void show_log(struct request *request)
{
    const struct machine_door *door = door_of(request);
    cleanup(buf_done) struct buf text = BUF_OF(LOG_BYTES);
    struct error err = {0};

    if (!door)
        return;
    if (door->log(door->user, &text, &err) < 0)
        request_answer_error(request, &err);
    else
        api_answer_masked(request, 200, json_pack("{s:s#}", "log", buf_str(&text), text.len));
}

/* clang-format off */
const struct route api_machine_routes[] = {
    {"GET", "/v1/machine", show, .access = ROUTE_OPERATOR, .status = 200, .is_unlisted = true,
     .summary = "the virtual machine of the server: `belljar machine status`"},
    {"GET", "/v1/machine/log", show_log, .access = ROUTE_OPERATOR, .status = 200, .is_unlisted = true,
     .summary = "what it has written: `belljar machine log`"},
    {"POST", "/v1/machine/stop", stop, .access = ROUTE_OPERATOR, .status = 200, .is_unlisted = true,
     .summary = "ends it: `belljar machine stop`"},
    {0},
};
/* clang-format on */
