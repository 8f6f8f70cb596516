#include "cli/runs.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"

/* Shorter ends than these are accidents. */
#define END_MIN 4

/* Ids in a message about a word that fits several. */
#define NAMED_MAX 4

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

enum fit { FIT_NOT, FIT_PART, FIT_WHOLE };

static enum fit fit(const char *id, const char *word)
{
    size_t len = strlen(word), all = strlen(id);
    const char *bare = strchr(id, '_');

    bare = bare ? bare + 1 : id;
    if (strcmp(id, word) == 0)
        return FIT_WHOLE;
    if (strncasecmp(id, word, len) == 0 || strncasecmp(bare, word, len) == 0 ||
        (len >= END_MIN && len <= all && strcasecmp(id + all - len, word) == 0))
        return FIT_PART;
    return FIT_NOT;
}

/* A word, and the ids that fit it so far. */
struct search {
    const char *word;
    struct runs_target best;
    enum fit fit;
    size_t count;   /* of those that fit as well as the best */
    struct buf ids; /* of the first few */
};

static void consider(struct search *search, const json_t *item, bool is_session)
{
    const char *id = id_of(item, is_session);
    const char *name = is_session ? json_string_value(json_object_get(item, "name")) : NULL;
    enum fit found = name && strcmp(name, search->word) == 0 ? FIT_WHOLE : fit(id, search->word);

    if (found == FIT_NOT || found < search->fit)
        return;
    if (found > search->fit) {
        search->fit = found;
        search->count = 0;
        buf_clear(&search->ids);
    }
    if (search->count++ < NAMED_MAX)
        (void)buf_printf(&search->ids, NULL, "%s%s", search->count > 1 ? ", " : "", id);
    search->best.is_session = is_session;
    (void)snprintf(search->best.id, sizeof(search->best.id), "%s", id);
}

static int judge(const struct search *search, struct runs_target *ret_target, struct error *err)
{
    if (search->count == 1) {
        *ret_target = search->best;
        return 0;
    }
    if (search->count == 0) {
        error_set(err, E_NOT_FOUND, "there is no run or session `%s`", search->word);
        return error_hint(err, "`belljar ps --all` lists them; answers are kept for a while only");
    }
    error_set(err, E_INVALID, "`%s` fits %zu ids: %s%s", search->word, search->count,
              buf_str(&search->ids), search->count > NAMED_MAX ? ", …" : "");
    return error_hint(err, "give more of the id");
}

int runs_find(const struct client *client, const char *word, struct runs_target *ret_target,
              struct error *err)
{
    cleanup_json json_t *all = NULL;
    struct search search = {.word = word};
    json_t *item;
    size_t i;
    int r;

    if (!*word)
        return error_set(err, E_INVALID, "the id is empty");
    if (runs_list(client, true, &all, err) < 0)
        return -1;
    buf_init(&search.ids, 1024);
    json_array_foreach(json_object_get(all, "runs"), i, item)
    {
        consider(&search, item, false);
    }
    json_array_foreach(json_object_get(all, "sessions"), i, item)
    {
        consider(&search, item, true);
    }
    r = judge(&search, ret_target, err);
    buf_done(&search.ids);
    return r;
}
