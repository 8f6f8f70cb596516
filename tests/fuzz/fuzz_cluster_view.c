/* Any bytes as what a node sends for the whole cluster: metrics that are taken name their node in
 * every series and can be taken again; events lie within their bytes, and an id that is read and
 * written again is the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/event_text.h"
#include "cluster/metrics_merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Every line but comments has the label once, right behind the name. */
static void check_series(const struct buf *out)
{
    for (const char *line = buf_str(out); *line; line = strchr(line, '\n') + 1) {
        size_t name = strcspn(line, "{ \n");

        if (!strchr(line, '\n'))
            abort();
        if (*line != '#' && strncmp(line + name, "{node=\"a1\"", 10) != 0)
            abort();
    }
}

static void check_metrics(struct span text)
{
    struct metrics_merge *m = metrics_merge_new();
    struct buf out = BUF_OF(METRICS_ALL_BYTES);
    bool is_taken = m && metrics_merge_add(m, "a1", text, NULL) == 0;

    if (m && metrics_merge_write(m, &out, NULL) == 0) {
        if (!is_taken && out.len)
            abort();
        check_series(&out);
    }
    buf_done(&out);
    metrics_merge_free(m);
}

static bool is_within(struct span part, struct span whole)
{
    return !part.len || (part.data >= whole.data && part.data + part.len <= whole.data + whole.len);
}

static void check_events(struct span text)
{
    struct event_text event;
    size_t used = 0;

    while (event_text_next(text, &event, &used) == 1) {
        if (!used || used > text.len || used > EVENT_TEXT_MAX || event.name.len > EVENT_NAME_MAX ||
            !is_within(event.name, text) || !is_within(event.data, text) ||
            memchr(event.data.data ? event.data.data : "", '\r', event.data.len))
            abort();
        text.data += used;
        text.len -= used;
    }
}

static void check_places(struct span text)
{
    struct event_places places, again;
    struct buf out = BUF_OF(64 * KIB);

    if (event_places_read(text, &places)) {
        if (places.count > CLUSTER_NAMES_MAX || event_places_write(&places, &out, NULL) < 0 ||
            !event_places_read((struct span){buf_str(&out), out.len}, &again) ||
            again.count != places.count)
            abort();
        for (size_t i = 0; i < places.count; i++)
            if (again.list[i].id != places.list[i].id)
                abort();
    }
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct span text = {(const char *)data, len};

    check_metrics(text);
    check_events(text);
    check_places(text);
    return 0;
}
