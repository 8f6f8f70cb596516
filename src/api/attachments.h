/* Files that travel with a run: those it finds when it begins, and those it is asked to bring back.
 */
#pragma once

#include <jansson.h>

#include "admit/request.h"
#include "api/schema.h"
#include "base/run.h"
#include "http/request.h"

/* Bytes of a request that comes as a form, its files included. */
#define ATTACHMENTS_BODY_BYTES (64 * MIB)

extern const struct schema_field attachments_file_fields[];

/* clang-format off */
#define ATTACHMENTS_FIELDS                                                                              \
    {"files", SCHEMA_OBJECTS, .max_len = LIMIT_FILES_GIVEN, .items = attachments_file_fields,           \
     .help = "files to put into /workspace before it starts"},                                       \
    {"collect", SCHEMA_STRINGS, .max_len = LIMIT_FILES_PATTERNS,                                   \
     .help = "patterns of files to bring back, such as *.csv or **/*.png"}
/* clang-format on */

/* From the checked body, and from the parts of a form, or NULL. */
int attachments_read(const json_t *body, const struct multipart *parts, struct run_request *request,
                     struct error *err);

/* The collected files: [{"path","size","encoding","content"}]. NULL: out of memory. */
json_t *attachments_json(const struct run *run);
