#include "pool/display.h"

#include <ctype.h>
#include <string.h>

#include "pool/bar.h"

#define MIME_PART_MAX ((size_t)127)

static size_t part_length(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && text[n] &&
           (islower((unsigned char)text[n]) || isdigit((unsigned char)text[n]) ||
            (n && strchr("!#$&-^_.+", text[n]))))
        n++;
    return n;
}

bool display_is_mime(struct span mime)
{
    size_t type = part_length(mime.data, mime.len), subtype;

    if (!type || type > MIME_PART_MAX || type == mime.len || mime.data[type] != '/')
        return false;
    subtype = part_length(mime.data + type + 1, mime.len - type - 1);
    return subtype && subtype <= MIME_PART_MAX && type + 1 + subtype == mime.len;
}

bool display_take(struct run *run, struct unpack *u)
{
    struct run_event event = {.kind = RUN_EVENT_DISPLAY, .offset = run->n_displays};
    struct wire_display shown;

    if (!wire_unpack_display(u, &shown) || shown.count == 0)
        return false;
    for (uint32_t i = 0; i < shown.count; i++)
        if (!display_is_mime(shown.forms[i].mime))
            return false;
    event.display = run_add_display(run, &shown);
    if (event.display && run->on_event)
        run->on_event(run, &event);
    return true;
}

static void tell_progress(struct run *run, uint64_t done, uint64_t total, struct span text)
{
    if (run->on_event)
        run->on_event(run, &(struct run_event){.kind = RUN_EVENT_PROGRESS,
                                               .offset = run->n_progress,
                                               .data = text.data,
                                               .len = text.len,
                                               .done = done,
                                               .total = total});
    run->n_progress++;
}

bool display_take_progress(struct run *run, struct unpack *u)
{
    struct wire_progress m;

    if (!wire_unpack_progress(u, &m))
        return false;
    tell_progress(run, m.done, m.total, m.text);
    return true;
}

void display_take_bar(struct run *run, const char *data, size_t len)
{
    struct bar bar;

    if (run->on_event && bar_find(data, len, &bar))
        tell_progress(run, bar.done, bar.total, (struct span){bar.name, bar.name_len});
}
