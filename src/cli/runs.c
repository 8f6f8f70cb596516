#include "cli/runs.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/short_id.h"

/* --- lists --- */

static const char *id_of(const json_t *item, bool is_session)
{
    return json_string_value(json_object_get(item, is_session ? "session_id" : "id"));
}

/* A server can be anybody's: lines of ours are made of its ids, and paths as well. */
static int add_list(const struct client *client, const char *path, bool is_session, json_t *all,
                    struct error *err)
{
    const char *name = is_session ? "sessions" : "runs";
    cleanup_json json_t *answer = NULL;
    json_t *list, *item;
    size_t i;

    if (client_call(client, "GET", path, NULL, &answer, err) < 0)
        return -1;
    list = json_object_get(answer, name);
    if (!json_is_array(list))
        return error_set(err, E_PROTOCOL, "the server's answer has no list of %s", name);
    json_array_foreach(list, i, item)
    {
        if (!client_is_id(id_of(item, is_session)))
            return error_set(err, E_PROTOCOL, "the server's list of %s has an invalid id", name);
    }
    return json_object_set(all, name, list) < 0 ? error_memory(err) : 0;
}

int runs_list(const struct client *client, bool is_all, json_t **ret_list, struct error *err)
{
    cleanup_json json_t *all = json_object();

    if (!all)
        return error_memory(err);
    if (add_list(client, is_all ? "/v1/runs?limit=1000" : "/v1/runs?limit=1000&state=live", false,
                 all, err) < 0 ||
        add_list(client, "/v1/sessions", true, all, err) < 0)
        return -1;
    *ret_list = take_ptr(all);
    return 0;
}

/* --- one of them --- */

bool runs_is_job(const char *word)
{
    return strncmp(word, "job_", 4) == 0;
}

static void consider(struct short_id *search, const json_t *item, bool is_session,
                     struct runs_target *target)
{
    const char *name = is_session ? json_string_value(json_object_get(item, "name")) : NULL;

    if (short_id_try_name(search, id_of(item, is_session), name))
        target->is_session = is_session;
}

static int judge(const struct short_id *search, struct runs_target *target, struct error *err)
{
    int found = short_id_result(search, err);

    if (found > 0) {
        (void)snprintf(target->id, sizeof(target->id), "%s", search->best);
        return 0;
    }
    if (found < 0)
        return -1;
    error_set(err, E_NOT_FOUND, "there is no run or session `%s`", search->word);
    if (runs_is_job(search->word))
        return error_hint(err, "it is the id of a job: `belljar jobs cancel ID` cancels one");
    return error_hint(err, "`belljar ps --all` lists them; results are kept only for a while");
}

int runs_find(const struct client *client, const char *word, struct runs_target *ret_target,
              struct error *err)
{
    cleanup_json json_t *all = NULL;
    cleanup(short_id_done) struct short_id search = {.word = word};
    struct runs_target target = {0};
    json_t *item;
    size_t i;

    if (!*word)
        return error_set(err, E_INVALID, "the id is empty");
    if (runs_list(client, true, &all, err) < 0)
        return -1;
    json_array_foreach(json_object_get(all, "runs"), i, item)
    {
        consider(&search, item, false, &target);
    }
    json_array_foreach(json_object_get(all, "sessions"), i, item)
    {
        consider(&search, item, true, &target);
    }
    if (judge(&search, &target, err) < 0)
        return -1;
    *ret_target = target;
    return 0;
}
