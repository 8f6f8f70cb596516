#include "compat/jupyter_message.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/span.h"

#define DEPTH     32
#define TYPE_MAX  64
#define NAME_MAX_ 256

/* Channel, header, parent header, metadata, content, and the end of it. */
#define PARTS       5
#define OFFSETS_MAX 64

static const char *const channels[JUPYTER_CHANNELS] = {
    [JUPYTER_SHELL] = "shell",
    [JUPYTER_CONTROL] = "control",
    [JUPYTER_STDIN] = "stdin",
    [JUPYTER_IOPUB] = "iopub",
};

static const struct json_text_limits limits = {
    .bytes = JUPYTER_MESSAGE_BYTES, .depth = DEPTH, .allows_nul = true};

void jupyter_message_done(struct jupyter_message *message)
{
    json_decref(message->header);
    json_decref(message->content);
    *message = (struct jupyter_message){0};
}

static int find_channel(struct span name, enum jupyter_channel *ret_channel, struct error *err)
{
    for (size_t i = 0; i < JUPYTER_CHANNELS; i++)
        if (span_is(name, channels[i])) {
            *ret_channel = (enum jupyter_channel)i;
            return 0;
        }
    return error_set(err, E_INVALID, "the message names no known channel");
}

static bool is_text(const json_t *object, const char *key, size_t max)
{
    const json_t *value = json_object_get(object, key);

    return json_is_string(value) && json_string_length(value) <= max;
}

/* It comes back with every answer, so it is short. */
static int check(const struct jupyter_message *m, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(JUPYTER_HEADER_BYTES);
    cleanup_error struct error ignored = {0};

    if (!json_is_object(m->header) || !is_text(m->header, "msg_type", TYPE_MAX) ||
        !is_text(m->header, "msg_id", NAME_MAX_))
        return error_set(err, E_INVALID, "the header needs the texts `msg_id` and `msg_type`");
    if (json_text_dump(m->header, JSON_TEXT_COMPACT, &text, &ignored) < 0)
        return error_set(err, E_INVALID, "the header is too long");
    if (!json_is_object(m->content))
        return error_set(err, E_INVALID, "the content is not an object");
    return 0;
}

static int read_text(const char *data, size_t len, struct jupyter_message *m, struct error *err)
{
    cleanup_json json_t *whole = NULL;
    const json_t *channel;

    if (json_text_load(data, len, &limits, &whole, err) < 0)
        return -1;
    channel = json_object_get(whole, "channel");
    if (find_channel((struct span){json_is_string(channel) ? json_string_value(channel) : "",
                                   json_string_length(channel)},
                     &m->channel, err) < 0)
        return -1;
    m->header = json_incref(json_object_get(whole, "header"));
    m->content = json_incref(json_object_get(whole, "content"));
    return check(m, err);
}

static uint64_t word_at(const char *data, size_t index)
{
    uint64_t word;

    memcpy(&word, data + index * sizeof(word), sizeof(word));
    return le64toh(word);
}

/* They go up and stay within the message. */
static int read_offsets(const char *data, size_t len, size_t offsets[PARTS + 1], struct error *err)
{
    uint64_t count = len >= sizeof(uint64_t) ? word_at(data, 0) : 0, before;

    if (count <= PARTS || count > OFFSETS_MAX || len < (count + 1) * sizeof(uint64_t))
        return error_set(err, E_INVALID, "the message has an invalid number of offsets");
    before = (count + 1) * sizeof(uint64_t);
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = word_at(data, i + 1);

        if (offset < before || offset > len)
            return error_set(err, E_INVALID, "the message has invalid offsets");
        before = offset;
        if (i <= PARTS)
            offsets[i] = (size_t)offset;
    }
    return 0;
}

static int read_binary(const char *data, size_t len, struct jupyter_message *m, struct error *err)
{
    size_t at[PARTS + 1];

    if (read_offsets(data, len, at, err) < 0 ||
        find_channel((struct span){data + at[0], at[1] - at[0]}, &m->channel, err) < 0 ||
        json_text_load(data + at[1], at[2] - at[1], &limits, &m->header, err) < 0 ||
        json_text_load(data + at[4], at[5] - at[4], &limits, &m->content, err) < 0)
        return -1;
    return check(m, err);
}

int jupyter_message_read(const char *data, size_t len, bool is_binary,
                         struct jupyter_message *ret_message, struct error *err)
{
    struct jupyter_message m = {0};

    if ((is_binary ? read_binary(data, len, &m, err) : read_text(data, len, &m, err)) < 0) {
        jupyter_message_done(&m);
        return -1;
    }
    *ret_message = m;
    return 0;
}

/* --- ours --- */

static json_t *header_of(const struct jupyter_answer *a)
{
    char date[DATE_SIZE];

    date_millis_now(date);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "msg_id", a->id, "msg_type", a->type,
                     "session", a->session, "username", "belljar", "date", date, "version",
                     JUPYTER_VERSION);
}

static json_t *parent_of(const struct jupyter_answer *a)
{
    return a->parent ? json_incref((json_t *)(uintptr_t)a->parent) : json_object();
}

static int write_text(const struct jupyter_answer *a, struct buf *out, struct error *err)
{
    cleanup_json json_t *whole =
        json_pack("{s:s, s:o, s:s, s:s, s:o, s:{}, s:O, s:[]}", "channel", channels[a->channel],
                  "header", header_of(a), "msg_id", a->id, "msg_type", a->type, "parent_header",
                  parent_of(a), "metadata", "content", a->content, "buffers");

    return whole ? json_text_dump(whole, JSON_TEXT_COMPACT, out, err) : error_memory(err);
}

static int add_part(const json_t *value, struct buf *out, uint64_t *end, struct error *err)
{
    int r = value ? json_text_dump(value, JSON_TEXT_COMPACT, out, err) : error_memory(err);

    *end = htole64(out->len);
    return r;
}

static int write_binary(const struct jupyter_answer *a, struct buf *out, struct error *err)
{
    uint64_t words[1 + PARTS + 1] = {htole64(PARTS + 1), htole64(sizeof(words))};
    cleanup_json json_t *header = header_of(a), *parent = parent_of(a), *metadata = json_object();

    if (buf_add(out, words, sizeof(words), err) < 0 ||
        buf_add_str(out, channels[a->channel], err) < 0)
        return -1;
    words[2] = htole64(out->len);
    if (add_part(header, out, &words[3], err) < 0 || add_part(parent, out, &words[4], err) < 0 ||
        add_part(metadata, out, &words[5], err) < 0 ||
        add_part(a->content, out, &words[6], err) < 0)
        return -1;
    memcpy(out->data, words, sizeof(words));
    return 0;
}

int jupyter_message_write(const struct jupyter_answer *answer, bool is_binary, struct buf *out,
                          struct error *err)
{
    return is_binary ? write_binary(answer, out, err) : write_text(answer, out, err);
}
