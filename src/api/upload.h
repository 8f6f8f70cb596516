/* A file of a session that comes as the body of a request, for every door: written in pieces, whole
 * or not at all, and paid for by its sender. */
#pragma once

#include "api/api.h"
#include "engine/session_files.h"

struct upload;

struct upload_order {
    struct session *session;
    const char *path; /* checked by files_path_check() */
    struct files_write_options options;
    bool is_gzip; /* what comes is compressed, what is written is not */
};

/* Takes the body from here on: sets user, on_piece and on_gone of the request. */
int upload_begin(struct request *request, const struct upload_order *order, struct error *err);

/* All of it is there, and gets its name. Fills *ret_path, and *ret_size if not NULL. -1 with EEXIST
 * as err->errnum: a file that has to be new was made meanwhile. The upload has ended either way. */
int upload_end(struct request *request, char ret_path[PATH_MAX], uint64_t *ret_size,
               struct error *err);

/* Whether its sender may send bytes at all now. */
int upload_check_quota(struct request *request, struct error *err);
