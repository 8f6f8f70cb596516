/* Values, tables and pictures of a result. */
#include <string.h>

#include "api/display.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/internal.h"
#include "mcp/tools.h"

/* Pictures of one answer: clients read messages of ten megabytes at most. */
#define PICTURE_BYTES (6 * MIB)

/* --- values --- */

static int add_value(const char *label, const char *text, size_t len, struct buf *out)
{
    if (buf_add_str(out, label, NULL) < 0 || mcp_add_words(out, text, len, MCP_WORDS_INSIDE) < 0)
        return -1;
    return len && text[len - 1] == '\n' ? 0 : buf_add_str(out, "\n", NULL);
}

/* A table has the same as HTML, at many times the length, and as text, which is rounded. */
static const struct run_form *table_of(const struct run_display *display)
{
    return run_display_form(display, "application/vnd.belljar.table+json")
               ? run_display_form(display, "text/csv")
               : NULL;
}

/* The last display is the result if it has no text of its own, which the result has. */
static bool is_result(const struct run *run, size_t i)
{
    const struct run_display *display = &run->result.displays[i];

    return run->result.value_text && i + 1 == run->result.n_displays &&
           (run_display_form(display, "text/html") || run_display_form(display, "text/csv")) &&
           !run_display_form(display, "text/plain") && !run_display_form(display, "text/markdown");
}

const struct run_form *mcp_result_table(const struct run *run)
{
    size_t last = run->result.n_displays - 1;

    return run->result.n_displays && is_result(run, last) ? table_of(&run->result.displays[last])
                                                          : NULL;
}

/* Of a long table the first rows are sent (library/display.py). */
#define ROWS_SENT 1000

/* "table of 3 x 2": the program says so. */
static int add_shape(const struct run_display *display, struct buf *out, json_int_t *ret_rows)
{
    static const struct json_text_limits limits = {.bytes = 64 * KIB, .depth = 20};
    const struct run_form *form = run_display_form(display, "application/vnd.belljar.table+json");
    json_t *about = NULL;
    const json_t *shape;
    json_int_t rows, columns;
    bool is_series;

    if (!form || json_text_load(form->data, form->len, &limits, &about, NULL) < 0)
        return buf_add_str(out, "table\n", NULL);
    shape = json_object_get(about, "shape");
    rows = json_integer_value(json_array_get(shape, 0));
    columns = json_integer_value(json_array_get(shape, 1));
    is_series = json_array_size(shape) < 2;
    json_decref(about);
    *ret_rows = rows;
    if (buf_printf(out, NULL, "%s, %lld rows", is_series ? "series" : "table", (long long)rows) <
            0 ||
        (!is_series && buf_printf(out, NULL, " x %lld columns", (long long)columns) < 0))
        return -1;
    return buf_add_str(out, rows > ROWS_SENT ? ", the first 1000 rows\n" : "\n", NULL);
}

static int add_table(const char *label, const struct run_display *display, struct buf *out)
{
    const struct run_form *form = table_of(display);
    json_int_t rows = 0;

    if (buf_add_str(out, label, NULL) < 0 || add_shape(display, out, &rows) < 0 ||
        add_value("", form->data, form->len, out) < 0)
        return -1;
    return rows > ROWS_SENT ? buf_printf(out, NULL, "(%lld more rows are not sent)\n",
                                         (long long)(rows - ROWS_SENT))
                            : 0;
}

int mcp_add_value(const struct run *run, struct buf *out)
{
    const char *text = run->result.value_text;

    if (mcp_result_table(run))
        return add_table("[result] ", &run->result.displays[run->result.n_displays - 1], out);
    return text && strcmp(text, "None") != 0 ? add_value("[result] ", text, strlen(text), out) : 0;
}

/* --- pictures --- */

static bool is_picture(const struct run_form *form)
{
    return strcmp(form->mime, "image/svg+xml") != 0 && display_picture_suffix(form->mime) != NULL;
}

static const struct run_form *picture_of(const struct run_display *display)
{
    const struct run_form *small = run_display_form(display, WIRE_SMALL_PICTURE);

    for (size_t i = 0; !small && i < display->n_forms; i++)
        if (is_picture(&display->forms[i]))
            return &display->forms[i];
    return small;
}

static uint32_t number_at(const char *data)
{
    const unsigned char *at = (const unsigned char *)data;

    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The size of a PNG is at a fixed place. Other formats would have to be parsed, and the program may
 * have written anything: of those only the bytes count. */
bool mcp_picture_fits(const char *data, size_t len, uint64_t size)
{
    static const char head[] = "\x89PNG\r\n\x1a\n";

    if (size > MCP_PICTURE_MAX)
        return false;
    if (len < 24 || memcmp(data, head, sizeof(head) - 1) != 0)
        return true;
    return number_at(data + 16) <= MCP_PICTURE_SIDE && number_at(data + 20) <= MCP_PICTURE_SIDE;
}

static int add_text(const struct run_display *display, struct buf *out)
{
    const struct run_form *form = run_display_form(display, "text/plain");

    if (table_of(display))
        return add_table("[display] ", display, out);
    if (!form)
        form = run_display_form(display, "text/markdown");
    if (!form && display->n_forms && strncmp(display->forms[0].mime, "text/", 5) == 0)
        form = &display->forms[0];
    if (form)
        return add_value("[display] ", form->data, form->len, out);
    return display->n_forms ? buf_printf(out, NULL, "[display] %s, %zu bytes\n",
                                         display->forms[0].mime, display->forms[0].len)
                            : 0;
}

int mcp_add_displays(const struct run *run, struct buf *out)
{
    size_t pictures = 0, large = 0;

    for (size_t i = 0; i < run->result.n_displays; i++) {
        const struct run_form *picture = picture_of(&run->result.displays[i]);

        if (picture && mcp_picture_fits(picture->data, picture->len, picture->len))
            pictures++;
        else if (picture)
            large++;
        else if (!is_result(run, i) && add_text(&run->result.displays[i], out) < 0)
            return -1;
    }
    if (pictures && buf_printf(out, NULL, "[images] %zu\n", pictures) < 0)
        return -1;
    if (large &&
        buf_printf(out, NULL,
                   "[images] %zu too large to show, more than %d pixels or %d KB; draw with fewer "
                   "(figsize, dpi, thumbnail())\n",
                   large, MCP_PICTURE_SIDE, (int)(MCP_PICTURE_MAX / KIB)) < 0)
        return -1;
    return run->result.displays_more ? buf_printf(out, NULL, "[display] %u more were left out\n",
                                                  run->result.displays_more)
                                     : 0;
}

void mcp_add_pictures(const struct run *run, json_t *content)
{
    size_t left = PICTURE_BYTES;

    for (size_t i = 0; i < run->result.n_displays; i++) {
        const struct run_form *form = picture_of(&run->result.displays[i]);
        cleanup(buf_done) struct buf data = {0};

        if (!form || form->len > left || !mcp_picture_fits(form->data, form->len, form->len))
            continue;
        buf_init(&data, 2 * PICTURE_BYTES);
        if (base64_add(&data, form->data, form->len, NULL) < 0)
            continue;
        left -= form->len;
        (void)json_array_append_new(
            content, json_pack("{s:s, s:o, s:s}", "type", "image", "data",
                               json_stringn_nocheck(buf_str(&data), data.len), "mimeType",
                               is_picture(form) ? form->mime : "image/png"));
    }
}
