#include "base/display_form.h"

#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"

static const struct json_text_limits data_limits = {
    .bytes = LIMIT_DISPLAY_BYTES, .depth = 200, .allows_nul = true, .allows_scalar = true};

static bool is_json(const char *mime)
{
    return strcmp(mime, "application/json") == 0 || text_ends_with(mime, "+json");
}

static bool is_text(const char *mime)
{
    return strncmp(mime, "text/", 5) == 0 || text_ends_with(mime, "+xml") ||
           strcmp(mime, "application/xml") == 0 || strcmp(mime, "application/javascript") == 0;
}

bool form_is_binary(const char *mime)
{
    return !is_json(mime) && !is_text(mime);
}

/* JSON of the program's is believed as far as it can be read; what cannot is text. */
json_t *form_data(const struct run_form *form, const char **ret_encoding)
{
    cleanup(buf_done) struct buf text = BUF_OF(2 * LIMIT_DISPLAY_BYTES);
    json_t *value = NULL;

    *ret_encoding = NULL;
    if (is_json(form->mime) &&
        json_text_load(form->data, form->len, &data_limits, &value, NULL) == 0)
        return value;
    if (!form_is_binary(form->mime))
        return json_text_string(form->data, form->len);
    *ret_encoding = "base64";
    if (base64_add(&text, form->data, form->len, NULL) < 0)
        return NULL;
    return json_stringn_nocheck(buf_str(&text), text.len);
}
