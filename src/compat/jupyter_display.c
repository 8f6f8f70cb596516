/* Displays of a program, for a notebook. A notebook believes the output of a cell: it would run the
 * scripts of a page, with the rights of the person who looks at it. So a page of the program comes
 * in a frame of nobody's origin that reaches no network, and forms that a notebook may run, or
 * that are not known, are left out. */
#include <string.h>

#include "base/cleanup.h"
#include "base/display_form.h"
#include "base/json.h"
#include "base/span.h"
#include "compat/jupyter_internal.h"

/* A trailing star stands for the rest. */
static const char *const permitted[] = {"text/plain",
                                        "text/latex",
                                        "image/png",
                                        "image/jpeg",
                                        "image/gif",
                                        "image/webp",
                                        "image/svg+xml",
                                        "application/json",
                                        "application/geo+json",
                                        "application/vnd.vegalite.*",
                                        "application/vnd.vega.*",
                                        "application/vnd.plotly.*"};

#define PAGE "text/html"

static bool is_permitted(const char *mime)
{
    for (size_t i = 0; i < ARRAY_SIZE(permitted); i++) {
        size_t len = strlen(permitted[i]);

        if (permitted[i][len - 1] == '*' ? strncmp(mime, permitted[i], len - 1) == 0
                                         : strcmp(mime, permitted[i]) == 0)
            return true;
    }
    return false;
}

static int add_escaped(struct buf *out, struct span text)
{
    while (text.len) {
        size_t n = span_until(text, "&\"");

        if (n && buf_add(out, text.data, n, NULL) < 0)
            return -1;
        if (n < text.len && buf_add_str(out, text.data[n] == '&' ? "&amp;" : "&quot;", NULL) < 0)
            return -1;
        n += n < text.len;
        text = (struct span){text.data + n, text.len - n};
    }
    return 0;
}

/* Within quotes, `&` and `"` are all that ends or changes an attribute. */
static json_t *frame_json(const struct run_form *form)
{
    static const char begin[] =
        "<iframe sandbox=\"allow-scripts\" style=\"border:0;width:100%;height:20em;"
        "resize:vertical;overflow:auto\" srcdoc=\"<meta http-equiv=Content-Security-Policy "
        "content=&quot;default-src 'none'; img-src data:; font-src data:; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'&quot;>";
    cleanup(buf_done) struct buf out = BUF_OF(8 * LIMIT_DISPLAY_BYTES);

    if (buf_add_str(&out, begin, NULL) < 0 ||
        add_escaped(&out, (struct span){form->data, form->len}) < 0 ||
        buf_add_str(&out, "\"></iframe>", NULL) < 0)
        return NULL;
    return json_text_string(buf_str(&out), out.len);
}

json_t *jupyter_display_json(const struct run_display *display)
{
    json_t *data = json_object();
    const char *encoding;

    for (size_t i = 0; data && i < display->n_forms; i++) {
        const struct run_form *form = &display->forms[i];

        if (strcmp(form->mime, PAGE) == 0)
            (void)json_object_set_new(data, PAGE, frame_json(form));
        else if (is_permitted(form->mime))
            (void)json_object_set_new(data, form->mime, form_data(form, &encoding));
    }
    return data;
}
