#include "base/error_json.h"

static json_t *string_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

json_t *error_json(const struct error *error)
{
    return json_pack("{s:{s:s, s:o, s:o}}", "error", "code", error_code_name(error->code),
                     "message", string_or_null(error->message ? error->message : "out of memory"),
                     "hint", string_or_null(error->hint));
}
