/* CodeRunner's sessions. Each is a sandbox of its own; those that nobody asked for are few, and do
 * not rest long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "compat/coderunner_internal.h"

/* The session that `/v1/sessions/session` is about. */
#define USUAL_NAME "session"

/* Of the sessions that nobody asked for: how long one rests, and how many of an owner. */
#define LOOSE_IDLE_S 300
#define LOOSE_KEPT   4

/* One session that was opened here. */
struct place {
    struct coderunner *coderunner;
    LIST_ENTRY(place) link;
    struct session *session;
    enum run_language language;
    bool is_loose; /* opened by the way */
};

struct coderunner {
    LIST_HEAD(, place) places;
};

static struct place *find_place(const struct coderunner *coderunner, const struct session *session)
{
    struct place *p;

    LIST_FOREACH(p, &coderunner->places, link)
        if (p->session == session)
            return p;
    return NULL;
}

static void free_place(struct place *place)
{
    LIST_REMOVE(place, link);
    free(place);
}

static void on_session_end(void *user, struct session *session, const char *why)
{
    (void)session;
    (void)why;
    free_place(user);
}

static struct place *new_place(struct coderunner *coderunner, enum run_language language,
                               bool is_loose)
{
    struct place *place = calloc(1, sizeof(*place));

    if (!place)
        return NULL;
    *place = (struct place){.coderunner = coderunner, .language = language, .is_loose = is_loose};
    LIST_INSERT_HEAD(&coderunner->places, place, link);
    return place;
}

/* At rest, of the owner, and opened by the way. */
static bool is_resting(const struct place *place, const char *owner, uint64_t *ret_idle_ms)
{
    struct session_info info;

    if (!place->is_loose || !place->session)
        return false;
    session_info(place->session, &info);
    *ret_idle_ms = info.idle_ms;
    return info.state == SESSION_IDLE && !info.waiting && strcmp(info.owner, owner) == 0;
}

/* For one more that nobody asked for: of those at rest, the ones that rest longest go. */
static void make_room(const struct coderunner *coderunner, const char *owner)
{
    for (;;) {
        struct place *longest = NULL, *p;
        uint64_t longest_ms = 0, ms;
        size_t resting = 0;

        LIST_FOREACH(p, &coderunner->places, link) {
            if (!is_resting(p, owner, &ms))
                continue;
            resting++;
            if (!longest || ms >= longest_ms) {
                longest = p;
                longest_ms = ms;
            }
        }
        if (resting < LOOSE_KEPT)
            return;
        longest->is_loose = false; /* it is gone in a while */
        session_close(longest->session, "others were opened since");
    }
}

static uint64_t clock_ms(double seconds, double most_s)
{
    return (uint64_t)((most_s > 0 && (seconds <= 0 || most_s < seconds) ? most_s : seconds) * 1000);
}

int coderunner_open(const struct request *request, const char *name, enum run_language language,
                    bool is_loose, struct session **ret_session, struct error *err)
{
    const struct api *api = request->api;
    const struct config *config = api->config;
    struct place *place = new_place(api->coderunner, language, is_loose);
    const struct admission admission = api_admission(api, request->caller);
    const struct run_request asked = {.profile = CODERUNNER_PROFILE};
    const struct session_options options = {
        .name = name,
        .owner = request->owner,
        .idle_ms = clock_ms(is_loose ? LOOSE_IDLE_S : 0, config->session_idle_s),
        .lifetime_ms = clock_ms(0, config->session_lifetime_s),
        .evicts = admission_evicts(config, false),
        .on_end = on_session_end,
        .user = place,
    };
    int r = place ? 0 : error_memory(err);

    if (is_loose)
        make_room(api->coderunner, request->owner);
    if (r == 0)
        r = admit_session(&admission, &asked, api->sessions, &options, ret_session, err);
    if (r == 0)
        place->session = *ret_session;
    else if (place)
        free_place(place);
    return r;
}

enum run_language coderunner_language(const struct api *api, const struct session *session)
{
    const struct place *place = find_place(api->coderunner, session);

    return place ? place->language : RUN_PYTHON;
}

static json_t *session_body(const struct api *api, const struct session *session)
{
    char created[DATE_SIZE], used[DATE_SIZE];
    struct session_info info;

    session_info(session, &info);
    date_seconds((time_t)(coderunner_now_s() - (double)info.age_ms / 1000), created);
    date_seconds((time_t)(coderunner_now_s() - (double)info.idle_ms / 1000), used);
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "session_id", info.id, "language",
                     languages[coderunner_language(api, session)].name, "created_at", created,
                     "last_used", used, "status", "active");
}

void coderunner_start_session(struct request *request)
{
    const char *word = request_query(request, "language");
    enum run_language language = RUN_PYTHON;
    struct session *session = NULL;
    struct error err = {0};

    if ((word && coderunner_find_language(word, &language, &err) < 0) ||
        coderunner_open(request, NULL, language, false, &session, &err) < 0)
        coderunner_answer_error(request, &err);
    else
        request_answer_json(request, 200, session_body(request->api, session));
}

void coderunner_list_sessions(struct request *request)
{
    const struct api *api = request->api;
    json_t *list = json_array();

    for (struct session *s = sessions_next(api->sessions, NULL); s;
         s = sessions_next(api->sessions, s)) {
        struct session_info info;

        /* One that is ending is still there and not found any more. */
        session_info(s, &info);
        if (sessions_find(api->sessions, request->owner, info.id, NULL) == s)
            (void)json_array_append_new(list, session_body(api, s));
    }
    request_answer_json(request, 200, json_pack("{s:o}", "sessions", list));
}

static void answer_no_session(struct request *request, struct error *err)
{
    error_done(err);
    error_set(err, E_NOT_FOUND, "Session not found");
    coderunner_answer_error(request, err);
}

/* NULL: the answer has been given. */
struct session *coderunner_find(struct request *request, const char *name)
{
    const struct api *api = request->api;
    struct error err = {0};
    struct session *session = sessions_find(api->sessions, request->owner, name, &err);

    if (!session)
        answer_no_session(request, &err);
    return session;
}

void coderunner_show_session(struct request *request)
{
    const struct session *session = coderunner_find(request, request->params[0]);

    if (session)
        request_answer_json(request, 200, session_body(request->api, session));
}

void coderunner_end_session(struct request *request)
{
    struct session *session = coderunner_find(request, request->params[0]);
    char message[128];

    if (!session)
        return;
    (void)snprintf(message, sizeof(message), "Session %.64s closed", request->params[0]);
    session_close(session, "it was closed by its owner");
    request_answer_json(request, 200,
                        json_pack("{s:b, s:o}", "success", 1, "message",
                                  json_text_string(message, strlen(message))));
}

/* --- the one session of a client that keeps no id --- */

static void answer_usual(struct request *request, const struct session *session, const char *status)
{
    struct session_info info;

    session_info(session, &info);
    request_answer_json(request, 200,
                        json_pack("{s:s, s:s}", "session_id", info.id, "status", status));
}

void coderunner_start_usual(struct request *request)
{
    const struct api *api = request->api;
    struct session *session = sessions_find(api->sessions, request->owner, USUAL_NAME, NULL);
    struct error err = {0};

    if (!session && coderunner_open(request, USUAL_NAME, RUN_PYTHON, false, &session, &err) < 0)
        coderunner_answer_error(request, &err);
    else
        answer_usual(request, session, "active");
}

void coderunner_show_usual(struct request *request)
{
    const struct session *session = coderunner_find(request, USUAL_NAME);

    if (session)
        answer_usual(request, session, "active");
}

void coderunner_end_usual(struct request *request)
{
    struct session *session = coderunner_find(request, USUAL_NAME);
    struct session_info info;
    json_t *body;

    if (!session)
        return;
    session_info(session, &info);
    body = json_pack("{s:s, s:s}", "session_id", info.id, "status", "closed");
    session_close(session, "it was closed by its owner");
    request_answer_json(request, 200, body);
}

/* --- the memory --- */

int coderunner_new(struct coderunner **ret_coderunner, struct error *err)
{
    *ret_coderunner = calloc(1, sizeof(**ret_coderunner));
    return *ret_coderunner ? 0 : error_memory(err);
}

void coderunner_free(struct coderunner *coderunner)
{
    if (!coderunner)
        return;
    while (!LIST_EMPTY(&coderunner->places))
        free_place(LIST_FIRST(&coderunner->places));
    free(coderunner);
}
