/* Data that the server keeps for clients of CodeRunner: the language of each session that they
 * opened, and the sessions that were opened implicitly. */
#pragma once

#include "base/error.h"

struct coderunner;

int coderunner_new(struct coderunner **ret_coderunner, struct error *err);

/* After the sessions. */
void coderunner_free(struct coderunner *coderunner);
