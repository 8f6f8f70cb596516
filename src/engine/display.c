#include "engine/display.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/masking.h"
#include "engine/progress_bar.h"

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

/* Forms that are text, and what is said about them, as copies that are fit to be seen. */
static bool mask_forms(struct run *run, struct wire_display *shown, char *copies[])
{
    for (uint32_t i = 0; i < shown->count; i++)
        if (!mask_form(mask_context_of(run), shown->forms[i].mime, &shown->forms[i].data,
                       &copies[i]))
            return false;
    return mask_form(mask_context_of(run), span_of("application/json"), &shown->metadata,
                     &copies[shown->count]);
}

bool display_take(struct run *run, struct unpack *u)
{
    struct run_event event = {.kind = RUN_EVENT_DISPLAY, .offset = run->result.n_displays};
    char *copies[WIRE_FORMS_MAX + 1] = {NULL};
    struct wire_display shown;

    if (!wire_unpack_display(u, &shown) || shown.count == 0)
        return false;
    for (uint32_t i = 0; i < shown.count; i++)
        if (!display_is_mime(shown.forms[i].mime))
            return false;
    if (mask_forms(run, &shown, copies))
        event.display = run_add_display(run, &shown);
    else
        run->result.displays_more++;
    for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
        free(copies[i]);
    if (event.display && run->on_event)
        run->on_event(run, &event);
    return true;
}

static void tell_progress(struct run *run, uint64_t done, uint64_t total, struct span said)
{
    struct clean_text text = mask_text(mask_context_of(run), said);

    if (run->on_event)
        run->on_event(run, &(struct run_event){.kind = RUN_EVENT_PROGRESS,
                                               .offset = run->result.n_progress,
                                               .data = clean_data(text),
                                               .len = clean_len(text),
                                               .done = done,
                                               .total = total});
    run->result.n_progress++;
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
    struct progress_bar bar;

    if (run->on_event && progress_bar_find(data, len, &bar))
        tell_progress(run, bar.done, bar.total, (struct span){bar.name, bar.name_len});
}
