#include "front/display.h"

#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"

#define SIZE_LARGEST 100000 /* pixels; a larger picture is a number that means nothing */

static const struct json_text_limits data_limits = {
    .bytes = LIMIT_DISPLAY_BYTES, .depth = 200, .allows_nul = true, .allows_scalar = true};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static bool is_json(const char *mime)
{
    return strcmp(mime, "application/json") == 0 || ends_with(mime, "+json");
}

static bool is_text(const char *mime)
{
    return strncmp(mime, "text/", 5) == 0 || ends_with(mime, "+xml") ||
           strcmp(mime, "application/xml") == 0 || strcmp(mime, "application/javascript") == 0;
}

const char *display_picture_suffix(const char *mime)
{
    static const struct {
        const char *mime, *suffix;
    } pictures[] = {
        {"image/png",     "png" },
        {"image/jpeg",    "jpg" },
        {"image/svg+xml", "svg" },
        {"image/gif",     "gif" },
        {"image/webp",    "webp"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pictures); i++)
        if (strcmp(mime, pictures[i].mime) == 0)
            return pictures[i].suffix;
    return NULL;
}

/* JSON of the program's is believed as far as it can be read; what cannot is text. */
static json_t *data_json(const struct run_form *form, const char **ret_encoding)
{
    cleanup(buf_done) struct buf text = {0};
    json_t *value = NULL;

    *ret_encoding = NULL;
    if (is_json(form->mime) &&
        json_text_load(form->data, form->len, &data_limits, &value, NULL) == 0)
        return value;
    if (is_json(form->mime) || is_text(form->mime))
        return json_text_string(form->data, form->len);
    *ret_encoding = "base64";
    buf_init(&text, 2 * LIMIT_DISPLAY_BYTES);
    if (base64_add(&text, form->data, form->len, NULL) < 0)
        return NULL;
    return json_stringn_nocheck(buf_str(&text), text.len);
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
    json_t *data = data_json(form, &encoding);
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

    for (size_t i = 0; list && i < run->n_displays; i++)
        if (display_json_add(list, &run->displays[i], i) < 0) {
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
