/* A page of the web as text: the program that fetches it, in a sandbox and through its gate like
 * any other. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

/* `then`: the program's last line, which finds the answer of `api.web.get()` in `page`. A page that
 * cannot be had ends the program with the reason. */
int page_program(const json_t *url, const char *then, struct buf *out, struct error *err);
