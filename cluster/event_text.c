#include "cluster/event_text.h"

#include <ctype.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/id.h"

#define ID_DIGITS 18 /* of an engine */

/* --- events --- */

static bool read_decimal(struct span text, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (!text.len || text.len > ID_DIGITS)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!isdigit((unsigned char)text.data[i]))
            return false;
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_number = number;
    return true;
}

static bool is_name(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!islower((unsigned char)text.data[i]) && text.data[i] != '_')
            return false;
    return text.len && text.len <= EVENT_NAME_MAX;
}

/* A client would take a CR for the end of the line. */
static bool is_line(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < ' ')
            return false;
    return true;
}

static bool take_field(struct span line, const char *start, struct span *ret_value)
{
    size_t len = strlen(start);

    if (!span_starts_with(line, start))
        return false;
    *ret_value = (struct span){line.data + len, line.len - len};
    return true;
}

/* Fields that are not known are left out: engines may be newer. */
static int take_line(struct span line, struct event_text *event)
{
    struct span value;

    if (!is_line(line))
        return -1;
    if (take_field(line, "id: ", &value)) {
        if (event->has_id || !read_decimal(value, &event->id))
            return -1;
        event->has_id = true;
    } else if (take_field(line, "event: ", &value)) {
        if (event->name.len || !is_name(value))
            return -1;
        event->name = value;
    } else if (take_field(line, "data: ", &value)) {
        if (event->data.data)
            return -1;
        event->data = value;
    }
    return 0;
}

int event_text_next(struct span text, struct event_text *ret_event, size_t *ret_used)
{
    struct event_text event = {.data = {NULL, 0}};
    size_t at = 0;

    while (at < text.len && at <= EVENT_TEXT_MAX) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        struct span line = {text.data + at, end ? (size_t)(end - text.data) - at : 0};

        if (!end)
            break;
        at += line.len + 1;
        if (line.len == 0) {
            if (at > EVENT_TEXT_MAX || !event.name.len != !event.data.data)
                return -1;
            *ret_event = event;
            *ret_used = at;
            return 1;
        }
        if (take_line(line, &event) < 0)
            return -1;
    }
    return text.len > EVENT_TEXT_MAX ? -1 : 0;
}

/* --- places --- */

static struct event_place *find(struct event_places *places, const char *node)
{
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->list[i].node, node) == 0)
            return &places->list[i];
    return NULL;
}

const struct event_place *event_places_find(const struct event_places *places, const char *node)
{
    return find((struct event_places *)places, node);
}

void event_places_set(struct event_places *places, const char *node, uint64_t id)
{
    struct event_place *place = find(places, node);

    if (!place && places->count < ARRAY_SIZE(places->list)) {
        place = &places->list[places->count++];
        (void)snprintf(place->node, sizeof(place->node), "%s", node);
    }
    if (place)
        place->id = id;
}

void event_places_remove(struct event_places *places, const char *node)
{
    struct event_place *place = find(places, node);

    if (place)
        *place = places->list[--places->count];
}

static bool read_place(struct span text, struct event_places *places)
{
    size_t len = span_until(text, "-");
    uint64_t id = 0;
    char node[13];

    if (len >= sizeof(node) || len + 1 >= text.len || text.len - len > 13)
        return false;
    (void)snprintf(node, sizeof(node), "%.*s", (int)len, text.data);
    if (!id_is_node(node) || find(places, node) || places->count == ARRAY_SIZE(places->list))
        return false;
    for (size_t i = len + 1; i < text.len; i++) {
        char c = text.data[i];

        if (!isdigit((unsigned char)c) && !islower((unsigned char)c))
            return false;
        id = id * 36 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
    }
    event_places_set(places, node, id);
    return true;
}

bool event_places_read(struct span text, struct event_places *ret_places)
{
    ret_places->count = 0;
    while (text.len) {
        size_t len = span_until(text, ".");

        if (!read_place((struct span){text.data, len}, ret_places)) {
            ret_places->count = 0;
            return false;
        }
        len += len < text.len;
        text.data += len;
        text.len -= len;
    }
    return ret_places->count > 0;
}

static int write_place(const struct event_place *place, const char *before, struct buf *out,
                       struct error *err)
{
    char digits[16];
    size_t at = sizeof(digits) - 1;
    uint64_t rest = place->id;

    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36];
        rest /= 36;
    } while (rest);
    return buf_printf(out, err, "%s%s-%s", before, place->node, digits + at);
}

int event_places_write(const struct event_places *places, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < places->count; i++)
        if (write_place(&places->list[i], i ? "." : "", out, err) < 0)
            return -1;
    return 0;
}
