#include "http/sse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

struct sse_event {
    struct sse_event *next;
    uint64_t id;
    size_t len;
    struct shared *data; /* long data, which stands behind `text`; or NULL */
    size_t data_len;
    char text[];
};

static void free_event(struct sse_event *event)
{
    shared_unref(event->data);
    free(event);
}

void sse_init(struct sse *sse)
{
    *sse = (struct sse){0};
}

static void drop_first(struct sse *sse)
{
    struct sse_event *event = sse->first;

    sse->first = event->next;
    if (!sse->first)
        sse->last = NULL;
    sse->sent_bytes -= event->len;
    free_event(event);
}

void sse_done(struct sse *sse)
{
    for (struct sse_event *event = sse->first, *next; event; event = next) {
        next = event->next;
        free_event(event);
    }
    *sse = (struct sse){0};
}

int sse_text_add(struct buf *out, const char *name, const json_t *data, struct error *err)
{
    if (buf_printf(out, err, "event: %s\ndata: ", name) < 0 ||
        json_text_dump(data, JSON_TEXT_COMPACT, out, err) < 0)
        return -1;
    return buf_add_str(out, "\n\n", err);
}

/* The lines before the data: at most so many bytes beside the name. */
#define HEAD_BYTES ((size_t)96)

static int format_head(const struct sse *sse, uint64_t id, const char *name, char *text,
                       size_t size)
{
    char lines[HEAD_BYTES] = "";

    if (!sse->has_no_ids)
        (void)snprintf(lines, sizeof(lines), "id: %s%" PRIu64 "\n", sse->prefix, id);
    return snprintf(text, size, "%sevent: %s\ndata: ", lines, name);
}

static struct sse_event *format(const struct sse *sse, uint64_t id, const char *name,
                                const char *data, size_t len)
{
    size_t head = strlen(name) + HEAD_BYTES;
    struct sse_event *event = malloc(sizeof(*event) + len + head + 2);
    int n;

    if (!event)
        return NULL;
    *event = (struct sse_event){.id = id};
    n = format_head(sse, id, name, event->text, head);
    memcpy(event->text + n, data, len);
    event->len = (size_t)n + len;
    event->text[event->len++] = '\n';
    event->text[event->len++] = '\n';
    return event;
}

static int append(struct sse *sse, struct sse_event *event, struct error *err)
{
    if (!event)
        return error_memory(err);
    sse->last_id++;
    if (sse->last)
        sse->last->next = event;
    else
        sse->first = event;
    sse->last = event;
    if (!sse->unsent)
        sse->unsent = event;
    sse->unsent_bytes += event->len;
    sse_pump(sse);
    return 0;
}

int sse_add(struct sse *sse, const char *name, const char *data, size_t len, struct error *err)
{
    return append(sse, format(sse, sse->last_id + 1, name, data, len), err);
}

int sse_add_shared(struct sse *sse, const char *name, struct shared *data, size_t len,
                   struct error *err)
{
    struct sse_event *event;

    if (len <= REQUEST_COPIED)
        return sse_add(sse, name, buf_str(&data->text), len, err);
    event = format(sse, sse->last_id + 1, name, "", 0);
    if (event) {
        event->data = shared_ref(data);
        event->data_len = len;
        event->len += len;
    }
    return append(sse, event, err);
}

int sse_prime(struct sse *sse, unsigned retry_ms, struct error *err)
{
    struct sse_event *event = malloc(sizeof(*event) + 2 * HEAD_BYTES);

    if (event) {
        *event = (struct sse_event){.id = sse->last_id + 1};
        event->len = (size_t)snprintf(event->text, 2 * HEAD_BYTES,
                                      "id: %s%" PRIu64 "\nretry: %u\ndata: \n\n", sse->prefix,
                                      event->id, retry_ms);
    }
    return append(sse, event, err);
}

static bool write_event(struct request *reader, const struct sse_event *event)
{
    static const char end[] = "\n\n";
    size_t head = event->len - event->data_len - (sizeof(end) - 1);

    if (!event->data)
        return request_write(reader, event->text, event->len);
    (void)request_write(reader, event->text, head);
    (void)request_write_shared(reader, event->data, event->data_len);
    return request_write(reader, end, sizeof(end) - 1);
}

void sse_pump(struct sse *sse)
{
    bool has_room = sse->reader != NULL;

    while (has_room && sse->unsent) {
        struct sse_event *event = sse->unsent;

        sse->unsent = event->next;
        sse->unsent_bytes -= event->len;
        sse->sent_bytes += event->len;
        has_room = write_event(sse->reader, event);
        while (sse->sent_bytes > SSE_KEPT && sse->first != event)
            drop_first(sse);
    }
    if (sse->is_over && sse->reader && !sse->unsent) {
        struct request *reader = sse->reader;

        sse->reader = NULL;
        request_end(reader);
    }
}

void sse_finish(struct sse *sse)
{
    sse->is_over = true;
    sse_pump(sse);
}

/* Everything behind that id counts as not sent again. */
static void rewind_to(struct sse *sse, uint64_t after_id)
{
    size_t all = sse->sent_bytes + sse->unsent_bytes;

    sse->sent_bytes = 0;
    sse->unsent = sse->first;
    while (sse->unsent && sse->unsent->id <= after_id) {
        sse->sent_bytes += sse->unsent->len;
        sse->unsent = sse->unsent->next;
    }
    sse->unsent_bytes = all - sse->sent_bytes;
}

static void tell_gap(struct sse *sse, uint64_t after_id)
{
    uint64_t next = sse->unsent ? sse->unsent->id : sse->last_id + 1;
    char text[128];
    int n;

    if (sse->is_silent || after_id >= next - 1)
        return;
    n = snprintf(text, sizeof(text), "event: gap\ndata: {\"missed\":%" PRIu64 "}\n\n",
                 next - 1 - after_id);
    (void)request_write(sse->reader, text, (size_t)n);
}

void sse_attach(struct sse *sse, struct request *request, uint64_t after_id)
{
    struct request *before = sse->reader;

    sse->reader = NULL;
    if (before)
        request_end(before);
    request_begin(request, 200, "text/event-stream", sse->headers, REQUEST_UNKNOWN_LENGTH);
    sse->reader = request;
    if (after_id != SSE_UNREAD) {
        rewind_to(sse, after_id);
        tell_gap(sse, after_id);
    }
    sse_pump(sse);
}

void sse_detach(struct sse *sse)
{
    sse->reader = NULL;
}

bool sse_is_behind(const struct sse *sse)
{
    return sse->unsent_bytes > SSE_BEHIND;
}

void sse_keep_alive(struct sse *sse)
{
    if (sse->reader && !sse->unsent)
        (void)request_write(sse->reader, ":\n\n", 3);
}
