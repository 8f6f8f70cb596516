/* Where our own files are: beside the program in a checkout, else where they were installed. */
#pragma once

#include "base/error.h"

/* Path of belljar-zygote. The caller frees it. */
char *paths_zygote(struct error *err);

/* A directory of read-only data: "policies" or "escape". The caller frees it. */
char *paths_data(const char *name, struct error *err);
