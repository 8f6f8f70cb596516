/* What the server remembers for clients of CodeRunner: which language a session they opened was
 * opened for, and which sessions nobody asked for. */
#pragma once

#include "base/error.h"

struct coderunner;

int coderunner_new(struct coderunner **ret_coderunner, struct error *err);

/* After the sessions. */
void coderunner_free(struct coderunner *coderunner);
