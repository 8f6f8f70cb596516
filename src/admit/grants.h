/* Directories and hosts that a request asks for (`allow`, `net`), within those that the settings
 * have and the token may use. */
#pragma once

#include "admit/request.h"

/* Opens what the request names, and what every sandbox gets, into the run, outer directories first.
 * A client gets one answer for whatever is not allowed, whether it exists or not: nobody learns
 * what a disk holds. `has_files`: directories can be granted under the profile. */
int grants_open(const struct admission *admission, const struct run_request *request,
                bool has_files, struct run *run, struct error *err);

/* Opens the grants of the settings into the run: for the user whose command it is. */
int grants_of_settings(const struct config *config, struct run *run, struct error *err);

/* Whether the settings let this directory, a resolved path, be written. */
bool grants_may_write(const struct config *config, const char *path);
