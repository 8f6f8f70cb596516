/* GET /v1/events: everything that the caller may see, as it happens. */
#include <string.h>

#include "api/events.h"
#include "api/rights.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/id.h"
#include "base/json.h"
#include "calls/approval.h"

/* A list of words with commas. */
static int read_kinds(const struct request *request, unsigned *ret_kinds, struct error *err)
{
    static const char *const names[] = {EVENT_KINDS};
    const char *list = request_query(request, "kinds");
    unsigned kinds = 0;

    for (const char *word = list; word && *word;) {
        size_t len = strcspn(word, ","), i = 0;

        while (i < ARRAY_SIZE(names) &&
               !(strlen(names[i]) == len && memcmp(word, names[i], len) == 0))
            i++;
        if (i == ARRAY_SIZE(names)) {
            error_set(err, E_INVALID, "`kinds`: unknown kind `%.*s`", (int)(len < 40 ? len : 40),
                      word);
            return error_hint(err, "the kinds are run, command, session, approval and change");
        }
        kinds |= 1u << i;
        word += len + (word[len] == ',');
    }
    *ret_kinds = list && *list ? kinds : EVENT_ANY;
    return 0;
}

static size_t count_sessions(const struct api *api, const char *owner)
{
    size_t count = 0;

    for (struct session *s = sessions_next(api->sessions, NULL); s;
         s = sessions_next(api->sessions, s)) {
        struct session_info info;

        session_info(s, &info);
        count += !owner || strcmp(info.owner, owner) == 0;
    }
    return count;
}

static json_t *hello_json(const struct request *request, bool is_of_all)
{
    const struct api *api = request->api;
    const char *owner = is_of_all ? NULL : request->owner;
    cleanup_json json_t *approvals = approval_list(pool_approvals(api->pool), owner, NULL);
    char now[DATE_SIZE];
    size_t running, waiting;

    date_millis_now(now);
    jobs_count_live(api->jobs, owner, &running, &waiting);
    return json_pack("{s:s, s:s, s:s, s:{s:I, s:I, s:I, s:I}}", "time", now, "server_started_at",
                     api->started_at, "version", BELLJAR_VERSION, "live", "running",
                     (json_int_t)running, "waiting", (json_int_t)waiting, "sessions",
                     (json_int_t)count_sessions(api, owner), "approvals",
                     (json_int_t)json_array_size(approvals));
}

static void follow(struct request *request)
{
    const struct api *api = request->api;
    struct events_filter filter = {.session = request_query(request, "session")};
    struct error err = {0};

    if (api_read_all(request, &filter.is_of_all, &err) < 0 ||
        read_kinds(request, &filter.kinds, &err) < 0 ||
        events_follow(api->events, request, &filter, hello_json(request, filter.is_of_all), &err) <
            0)
        api_refuse(request, "events", &err);
}

/* clang-format off */
static const struct schema_field fields[] = {
    API_ALL_FIELD,
    {"kinds", SCHEMA_STRING, .max_len = 64, .help = "some of run, command, session, approval and change, with commas (default: all)"},
    {"session", SCHEMA_STRING, .max_len = ID_SIZE - 1, .help = "only what belongs to the session with this id"},
    {0},
};

const struct route api_event_routes[] = {
    {"GET", "/v1/events", follow, .query = fields, .streams = true, .status = 200, .tag = "meta",
     .summary = "everything that happens to the caller's runs and sessions, as events; with `all`, to everybody's, for operators"},
    {0},
};
/* clang-format on */
