/* The directory in which a program starts: the granted one if that is clear, else /workspace. */
#pragma once

#include "admit/request.h"

/* Fills run->workdir, which stays NULL for /workspace. The run has its grants already.
 *
 * In this order: `workdir` of the request, `workdir` of the settings, and the one granted directory
 * that holds all others. A one-shot run that brings files along or collects some starts in
 * /workspace, where those are. E_DENIED: the directory that was named is not granted. */
int workdir_choose(const struct admission *admission, const struct run_request *request,
                   struct run *run, struct error *err);

/* The directory, if only the settings grant directories. */
int workdir_of_settings(const struct config *config, struct run *run, struct error *err);
