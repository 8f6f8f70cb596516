#include "api/display.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/display_form.h"
#include "base/json.h"

#define SIZE_LARGEST 100000 /* pixels; a larger picture is a number that means nothing */

const char *display_picture_suffix(const char *mime)
{
    static const struct {
        const char *mime, *suffix;
    } pictures[] = {
        {"image/png", "png"}, {"image/jpeg", "jpg"},  {"image/svg+xml", "svg"},
        {"image/gif", "gif"}, {"image/webp", "webp"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pictures); i++)
        if (strcmp(mime, pictures[i].mime) == 0)
            return pictures[i].suffix;
    return NULL;
}

static uint32_t size_in(const json_t *metadata, const char *key)
{
    const json_t *value = json_object_get(metadata, key);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : 0;

    return number > 0 && number <= SIZE_LARGEST ? (uint32_t)number : 0;
}

static void read_size(const struct run_display *display, uint32_t *ret_width, uint32_t *ret_height)
{
    static const struct json_text_limits limits = {.bytes = 64 * KIB, .depth = 20};
    json_t *metadata = NULL;

    *ret_width = *ret_height = 0;
    if (!display->metadata ||
        json_text_load(display->metadata, strlen(display->metadata), &limits, &metadata, NULL) < 0)
        return;
    *ret_width = size_in(metadata, "width");
    *ret_height = size_in(metadata, "height");
    json_decref(metadata);
}

static json_t *form_json(const struct run_form *form, size_t bundle, uint32_t width,
                         uint32_t height)
{
    const char *encoding;
    json_t *data = form_data(form, &encoding);
    json_t *entry = json_pack("{s:I, s:s, s:o}", "bundle", (json_int_t)bundle, "mime", form->mime,
                              "data", data);

    if (entry && encoding && json_object_set_new(entry, "encoding", json_string(encoding)) < 0) {
        json_decref(entry);
        return NULL;
    }
    if (entry && width && height && display_picture_suffix(form->mime) &&
        (json_object_set_new(entry, "width", json_integer(width)) < 0 ||
         json_object_set_new(entry, "height", json_integer(height)) < 0)) {
        json_decref(entry);
        return NULL;
    }
    return entry;
}

int display_json_add(json_t *list, const struct run_display *display, size_t bundle)
{
    uint32_t width, height;

    read_size(display, &width, &height);
    for (size_t i = 0; i < display->n_forms; i++)
        if (json_array_append_new(list, form_json(&display->forms[i], bundle, width, height)) < 0)
            return -1;
    return 0;
}

json_t *display_json(const struct run *run)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < run->result.n_displays; i++)
        if (display_json_add(list, &run->result.displays[i], i) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

const struct run_form *display_picture(const struct run_display *display, uint32_t *ret_width,
                                       uint32_t *ret_height)
{
    for (size_t i = 0; i < display->n_forms; i++)
        if (display_picture_suffix(display->forms[i].mime)) {
            read_size(display, ret_width, ret_height);
            return &display->forms[i];
        }
    return NULL;
}
