#include "base/error_json.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

json_t *error_json(const struct error *error, enum hint_reader reader)
{
    cleanup_free char *hint = hint_text(reader, error->hint);

    return json_pack("{s:{s:s, s:o, s:o}}", "error", "code", error_code_name(error->code),
                     "message", json_string_or_null(error_message(error)), "hint",
                     json_string_or_null(hint));
}
