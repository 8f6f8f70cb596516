/* belljar audit show: everything that is known of one run, session or record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "audit/record.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/terminal_text.h"
#include "cli/audit/audit.h"
#include "cli/short_id.h"

/* Texts are shown below, as they are; the links of the chain are for verify. */
static const char *const hidden[] = {"v", "prev", "mac", "hash"};

struct showing {
    const struct audit *audit;
    struct index *index;
    struct buf out;
    size_t count;
};

static bool is_hidden(const char *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
        if (strcmp(hidden[i], key) == 0)
            return true;
    return false;
}

static int add_text(struct buf *out, const char *text, size_t len, struct error *err)
{
    struct terminal terminal;

    terminal_begin(&terminal, false);
    if (terminal_feed(&terminal, text, len, out, err) < 0 ||
        terminal_finish(&terminal, out, err) < 0)
        return -1;
    return out->len && out->data[out->len - 1] != '\n' ? buf_add_str(out, "\n", err) : 0;
}

/* A value in one line; objects without the texts in them. */
static int add_value(struct buf *out, const json_t *value, struct error *err)
{
    json_t *copy = json_copy((json_t *)value);
    char *text;
    int r;

    if (json_is_object(copy))
        (void)json_object_del(copy, "text");
    if (json_is_string(copy)) {
        r = terminal_line(json_string_value(copy), json_string_length(copy), out, err);
        json_decref(copy);
        return r;
    }
    text = json_dumps(copy, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));
    r = text ? terminal_line(text, strlen(text), out, err) : error_memory(err);
    free(text);
    json_decref(copy);
    return r;
}

static int add_fields(struct buf *out, json_t *object, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        if (is_hidden(key))
            continue;
        if (buf_printf(out, err, "  %-15s ", key) < 0 || add_value(out, value, err) < 0 ||
            buf_add_str(out, "\n", err) < 0)
            return -1;
    }
    return 0;
}

/* A masked text is not what ran: it says so before it is read. */
static int add_warning(struct buf *out, const json_t *value, struct error *err)
{
    json_int_t unseen = json_integer_value(json_object_get(value, "hidden_bytes"));
    json_int_t bytes = json_integer_value(json_object_get(value, "bytes"));
    const char *digest = json_string_value(json_object_get(value, "sha256"));

    if (json_integer_value(json_object_get(value, "masked")) <= 0)
        return 0;
    if (buf_add_str(out, "!!! the text below is incomplete: ", err) < 0)
        return -1;
    if (unseen > 0 && buf_printf(out, err,
                                 "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
                                 " bytes are replaced by labels",
                                 unseen, bytes) < 0)
        return -1;
    if (unseen <= 0 && buf_add_str(out, "labels replace secrets", err) < 0)
        return -1;
    if (buf_add_str(out, "; the sha256 of the original is ", err) < 0 ||
        terminal_line(digest ? digest : "?", digest ? strlen(digest) : 1, out, err) < 0)
        return -1;
    return buf_add_str(out, " !!!\n", err);
}

static int add_texts(struct buf *out, json_t *object, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        const json_t *text = json_object_get(value, "text");

        if (!json_string_length(text))
            continue;
        if (buf_printf(out, err, "--- %s ---\n", key) < 0 || add_warning(out, value, err) < 0 ||
            add_text(out, json_string_value(text), json_string_length(text), err) < 0)
            return -1;
    }
    return 0;
}

static int show(void *user, const struct index_row *row, const struct buf *line,
                const struct buf *start, struct error *err)
{
    struct showing *showing = user;
    struct buf *out = &showing->out;
    json_t *object;
    int r;

    (void)row;
    (void)start;
    showing->count++;
    buf_clear(out);
    if (showing->audit->is_json && !index_refers(line))
        return buf_add(out, line->data, line->len, err) < 0 || buf_add_str(out, "\n", err) < 0
                   ? -1
                   : audit_print(out, err);
    object = index_load(showing->index, line);
    if (!object)
        return error_set(err, E_INVALID, "a record cannot be read");
    if (showing->audit->is_json) {
        r = json_text_dump(object, JSON_TEXT_COMPACT, out, err);
        json_decref(object);
        return r < 0 || buf_add_str(out, "\n", err) < 0 ? -1 : audit_print(out, err);
    }
    r = showing->count > 1 ? buf_add_str(out, "\n", err) : 0;
    if (r == 0)
        r = buf_printf(out, err, "record %" JSON_INTEGER_FORMAT "\n",
                       json_integer_value(json_object_get(object, "seq")));
    if (r == 0)
        r = add_fields(out, object, err);
    if (r == 0)
        r = add_texts(out, object, err);
    json_decref(object);
    return r < 0 ? r : audit_print(out, err);
}

static int try_row(void *user, const struct index_row *row, const struct buf *line,
                   const struct buf *start, struct error *err)
{
    (void)line;
    (void)start;
    (void)err;
    if (row->id)
        (void)short_id_try(user, row->id);
    return 0;
}

/* A part of an id, where nothing has the word as its whole. 1: `search` has the id; 0: none fits.
 */
static int find_id(struct index *index, struct short_id *search, struct error *err)
{
    const struct index_filter filter = {.text = search->word, .has_starts = true};

    return *search->word && index_find(index, &filter, try_row, search, err) < 0
               ? -1
               : short_id_result(search, err);
}

static int show_all(struct showing *showing, struct index_filter *filter, struct error *err)
{
    cleanup(short_id_done) struct short_id search = {.word = filter->id};
    int r = index_find(showing->index, filter, show, showing, err);

    if (r < 0 || showing->count)
        return r;
    r = find_id(showing->index, &search, err);
    if (r <= 0)
        return r;
    filter->id = search.best;
    r = index_find(showing->index, filter, show, showing, err);
    filter->id = search.word;
    return r;
}

int audit_show(struct audit *audit, char **words, struct error *err)
{
    struct showing showing = {.audit = audit};
    struct index *index = NULL;
    int r;

    if (!words[0] || words[1]) {
        error_set(err, E_INVALID, "`belljar audit show` takes one id");
        return error_hint(err,
                          "of a run or a session, a correlation id, or the number of a record");
    }
    audit->filter.id = *words[0] == '#' ? words[0] + 1 : words[0];
    audit->filter.has_starts = true;
    audit->filter.limit = 0;
    if (index_open(audit->dir, &index, err) < 0)
        return -1;
    buf_init(&showing.out, 8 * RECORD_BYTES);
    showing.index = index;
    r = show_all(&showing, &audit->filter, err);
    buf_done(&showing.out);
    index_close(index);
    if (r == 0 && !showing.count) {
        error_set(err, E_NOT_FOUND, "there is no record of `%s` in the trail", words[0]);
        return error_hint(err, "`belljar audit list` shows the recorded runs");
    }
    return r;
}
