/* Directories of the host that a request asks for (`allow`), within those that the settings have
 * and the token may use. */
#pragma once

#include "front/api.h"

/* Opens what the body names, into the run. Whatever is not allowed gets one answer, whether it is
 * there or not: nobody learns what a disk holds. */
int grants_read(const struct api *api, const struct caller *caller, const json_t *body,
                struct run *run, struct error *err);

/* Whether the settings let this directory, a resolved path, be written. */
bool grants_may_write(const struct config *config, const char *path);
