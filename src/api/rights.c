#include "api/rights.h"

#include <string.h>

#include "base/cleanup.h"

int api_read_all(const struct request *request, bool *ret_all, struct error *err)
{
    bool is_all = json_is_true(json_object_get(request->query, "all"));

    if (is_all && !request->caller->rights.is_operator) {
        error_set(err, E_DENIED, "`all`: this token is not an operator's");
        return error_hint(err, "leave it out to see what the token has itself");
    }
    *ret_all = is_all;
    return 0;
}

struct job *api_find_any_job(const struct request *request, struct error *err)
{
    const struct api *api = request->api;
    cleanup_error struct error none = {0};
    struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &none);

    if (!job && request->caller->rights.is_operator)
        job = jobs_find(api->jobs, NULL, request->params[0], NULL);
    if (!job)
        error_move(err, &none);
    return job;
}

struct session *api_find_any_session(const struct request *request, struct error *err)
{
    const struct api *api = request->api;
    cleanup_error struct error none = {0};
    struct session *found = sessions_find(api->sessions, request->owner, request->params[0], &none);

    for (struct session *s = sessions_next(api->sessions, NULL);
         s && !found && request->caller->rights.is_operator; s = sessions_next(api->sessions, s)) {
        struct session_info info;

        session_info(s, &info);
        if (strcmp(info.id, request->params[0]) == 0) /* a name may be several owners' */
            found = s;
    }
    if (!found)
        error_move(err, &none);
    return found;
}
