/* Where our own files are: beside the program in a checkout, else where they were installed. */
#pragma once

#include "base/error.h"

/* Path of one of our helper programs, "belljar-zygote" or "belljar-broker". The caller frees it. */
char *paths_program(const char *name, struct error *err);

/* A directory of read-only data: "policies", "escape" or "skills". The caller frees it. */
char *paths_data(const char *name, struct error *err);

/* NAME in the user's own directory for what lasts ($XDG_STATE_HOME/belljar), which is made,
 * private, if it is not there. The caller frees it. */
char *paths_state(const char *name, struct error *err);

/* Where NAME is that is large, can be made again and holds no secret: in $XDG_DATA_HOME/belljar, or
 * /var/lib/belljar of root, whose sandboxes are other users and do not see his home. Nothing is
 * made. The caller frees it. */
char *paths_made(const char *name, struct error *err);

/* The same for what lasts as long as the machine is up: $XDG_RUNTIME_DIR/belljar, /run/belljar of
 * root, or else the directory above. */
char *paths_runtime(const char *name, struct error *err);
