#include "cli/short_id.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/id.h"
#include "base/limits.h"

/* Shorter ends than these are accidents. */
#define END_MIN 4

/* Ids in a message about a word that fits several. */
#define NAMED_MAX 4

static bool ends_with(const char *id, size_t id_len, const char *word)
{
    size_t len = strlen(word);

    return len >= END_MIN && len <= id_len && strncasecmp(id + id_len - len, word, len) == 0;
}

/* The name of a node behind it is the same for all. */
static enum short_id_fit fit_of(const char *id, const char *word)
{
    size_t len = strlen(word), all = strlen(id),
           plain = all < ID_PLAIN_SIZE ? all : ID_PLAIN_SIZE - 1;
    const char *bare = strchr(id, '_');

    bare = bare ? bare + 1 : id;
    if (strcmp(id, word) == 0)
        return SHORT_ID_WHOLE;
    if (strncasecmp(id, word, len) == 0 || strncasecmp(bare, word, len) == 0 ||
        ends_with(id, all, word) || (id[plain] == '-' && ends_with(id, plain, word)))
        return SHORT_ID_PART;
    return SHORT_ID_NOT;
}

bool short_id_try_name(struct short_id *search, const char *id, const char *name)
{
    enum short_id_fit found =
        name && strcmp(name, search->word) == 0 ? SHORT_ID_WHOLE : fit_of(id, search->word);

    if (found == SHORT_ID_NOT || found < search->fit || strlen(id) >= SHORT_ID_SIZE)
        return false;
    if (found > search->fit) {
        search->fit = found;
        search->count = 0;
        buf_clear(&search->ids);
    } else if (search->count &&
               (strcmp(id, search->best) == 0 || strstr(buf_str(&search->ids), id))) {
        return true;
    }
    if (!search->ids.limit)
        buf_init(&search->ids, KIB);
    if (search->count++ < NAMED_MAX)
        (void)buf_printf(&search->ids, NULL, "%s%s", search->count > 1 ? ", " : "", id);
    (void)snprintf(search->best, sizeof(search->best), "%s", id);
    return true;
}

bool short_id_try(struct short_id *search, const char *id)
{
    return short_id_try_name(search, id, NULL);
}

int short_id_result(const struct short_id *search, struct error *err)
{
    if (search->count < 2)
        return (int)search->count;
    error_set(err, E_INVALID, "`%s` fits several ids: %s%s", search->word, buf_str(&search->ids),
              search->count > NAMED_MAX ? ", …" : "");
    return error_hint(err, "give more of the id");
}

void short_id_done(struct short_id *search)
{
    buf_done(&search->ids);
}
