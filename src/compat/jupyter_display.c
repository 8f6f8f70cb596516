/* Displays of a program, for a notebook. A notebook believes the output of a cell: it would run the
 * scripts of a page or of a drawing, with the rights of the person who looks at it, and load what a
 * chart names. So a page and a drawing of the program come in a frame of nobody's origin that
 * loads nothing, charts have their data in them, and forms that a notebook may run, or that are not
 * known, are left out. */
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/display_form.h"
#include "base/json.h"
#include "base/span.h"
#include "compat/jupyter_internal.h"

#define PAGE    "text/html"
#define DRAWING "image/svg+xml"

static const char *const permitted[] = {"text/plain", "text/latex", "image/png",       "image/jpeg",
                                        "image/gif",  "image/webp", "application/json"};

/* Charts that a notebook draws, by the beginnings of their types. */
static const char *const charts[] = {"application/vnd.vegalite.", "application/vnd.vega.",
                                     "application/vnd.plotly.", "application/geo+json"};

static bool is_permitted(const char *mime)
{
    for (size_t i = 0; i < ARRAY_SIZE(permitted); i++)
        if (strcmp(mime, permitted[i]) == 0)
            return true;
    return false;
}

static bool is_chart(const char *mime)
{
    for (size_t i = 0; i < ARRAY_SIZE(charts); i++)
        if (strncmp(mime, charts[i], strlen(charts[i])) == 0)
            return true;
    return false;
}

/* --- charts --- */

/* Fields that make a chart load something, in any case. A chart may build an address from its
 * data, so the value says nothing. `usermeta` are settings of the page that draws it. */
static bool is_loading(const char *name)
{
    static const char *const names[] = {"url",    "href",   "src",     "source",      "usermeta",
                                        "loader", "mapbox", "map",     "tiles",       "sprite",
                                        "glyphs", "images", "sources", "template_url"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return text_ends_with(name, "URL") || text_ends_with(name, "Url");
}

/* `plotlyServerURL` of a setting is where a button leads that the reader may press. */
static bool is_harmless(const char *name, const json_t *value)
{
    return strcmp(name, "plotlyServerURL") == 0 && json_is_string(value) &&
           strcmp(json_string_value(value), "https://plot.ly") == 0;
}

/* The depth is bounded where the text was read. */
static bool loads_nothing(json_t *value)
{
    json_t *item;
    const char *name;
    size_t i;

    json_object_foreach(value, name, item)
    {
        bool is_empty = json_is_null(item) || (json_is_object(item) && !json_object_size(item)) ||
                        (json_is_array(item) && !json_array_size(item));

        if ((is_loading(name) && !is_empty && !is_harmless(name, item)) || !loads_nothing(item))
            return false;
    }
    json_array_foreach(value, i, item)
    {
        if (!loads_nothing(item))
            return false;
    }
    return true;
}

/* NULL: it is left out. A text would be the address of a chart. */
static json_t *chart_json(const struct run_form *form)
{
    const char *encoding;
    json_t *data = form_data(form, &encoding);

    if (json_is_object(data) && loads_nothing(data))
        return data;
    json_decref(data);
    return NULL;
}

/* --- frames --- */

#define POLICY                                                                                     \
    "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; script-src "    \
    "'unsafe-inline'"

static const char policy[] = "<meta http-equiv=Content-Security-Policy content=\"" POLICY "\">";

/* Its only quotes are of attributes, and it ends within the address of the inner frame. */
static const char begin_frame[] =
    "<iframe sandbox=\"allow-scripts\" style=\"border:0;width:100%;height:20em;resize:vertical;"
    "overflow:auto\" srcdoc=\"<meta http-equiv=Content-Security-Policy content=&quot;" POLICY
    "; frame-src data:&quot;><style>html,body{margin:0;height:100%;overflow:hidden}</style><iframe "
    "sandbox=allow-scripts style=border:0;width:100%;height:100% "
    "src=data:text/html;charset=utf-8;base64,";

static const char end_frame[] = "></iframe>\"></iframe>";

/* A page may go to another address, and take with it what it knows, unless the page around it says
 * that its frames may not. The notebook does not say so: there is a page of ours in between. */
static json_t *frame_json(struct span page)
{
    cleanup(buf_done) struct buf whole = BUF_OF(4 * LIMIT_DISPLAY_BYTES),
                                 out = BUF_OF(8 * LIMIT_DISPLAY_BYTES);

    if (buf_add(&whole, policy, sizeof(policy) - 1, NULL) < 0 ||
        buf_add(&whole, page.data, page.len, NULL) < 0 ||
        buf_add_str(&out, begin_frame, NULL) < 0 ||
        base64_add(&out, whole.data, whole.len, NULL) < 0 || buf_add_str(&out, end_frame, NULL) < 0)
        return NULL;
    return json_text_string(buf_str(&out), out.len);
}

/* As a picture, in which no script runs. */
static json_t *drawing_json(const struct run_form *form)
{
    static const char begin[] = "<img style=\"max-width:100%\" src=\"data:" DRAWING ";base64,";
    cleanup(buf_done) struct buf page = BUF_OF(4 * LIMIT_DISPLAY_BYTES);

    if (buf_add_str(&page, begin, NULL) < 0 || base64_add(&page, form->data, form->len, NULL) < 0 ||
        buf_add_str(&page, "\">", NULL) < 0)
        return NULL;
    return frame_json((struct span){buf_str(&page), page.len});
}

/* A page stands for a drawing of the same. */
json_t *jupyter_display_json(const struct run_display *display)
{
    const struct run_form *drawing = run_display_form(display, DRAWING);
    json_t *data = json_object(), *chart;
    const char *encoding;

    for (size_t i = 0; data && i < display->n_forms; i++) {
        const struct run_form *form = &display->forms[i];

        if (strcmp(form->mime, PAGE) == 0)
            (void)json_object_set_new(data, PAGE, frame_json((struct span){form->data, form->len}));
        else if (is_chart(form->mime) && (chart = chart_json(form)))
            (void)json_object_set_new(data, form->mime, chart);
        else if (is_permitted(form->mime))
            (void)json_object_set_new(data, form->mime, form_data(form, &encoding));
    }
    if (data && drawing && !json_object_get(data, PAGE))
        (void)json_object_set_new(data, PAGE, drawing_json(drawing));
    return data;
}
