#include "api/page.h"

#include <stdlib.h>

#include "base/cleanup.h"

int page_program(const json_t *url, const char *then, struct buf *out, struct error *err)
{
    cleanup_free char *quoted = json_dumps(url, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

    if (!quoted)
        return error_memory(err);
    return buf_printf(out, err,
                      "from api import web\n"
                      "try:\n"
                      "    page = web.get(%s, max_chars=100000)\n"
                      "except web.WebError as error:\n"
                      "    raise SystemExit(str(error)) from None\n"
                      "%s\n",
                      quoted, then);
}
