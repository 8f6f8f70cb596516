/* Changes in a session's /workspace and /tmp that come from outside, for every door: each is
 * recorded before it takes effect, and once more when it fails.
 */
#pragma once

#include <limits.h>

#include "base/id.h"
#include "engine/session.h"
#include "sandbox/files.h"

struct sha256_stream;

/* A file that comes in pieces (sandbox/files.h). The session may end in the meantime. */
struct session_writer {
    struct files_writer files;
    struct sha256_stream *hash;
    struct recorder *recorder;
    char *owner;
    char session[ID_SIZE];
    char path[PATH_MAX];
};

/* Paths are those that files_path_check_tmp() has checked. E_BUSY: the session is starting. */
int session_write_begin(struct session_writer *writer, struct session *session, const char *path,
                        const struct files_write_options *options, struct error *err);
int session_write_feed(struct session_writer *writer, const void *data, size_t len,
                       struct error *err);

/* Ends the writer, whether it succeeds or not. */
int session_write_commit(struct session_writer *writer, struct error *err);
void session_write_abort(
    struct session_writer *writer); /* leaves nothing; harmless after the end */

/* In a fiber it pauses, and the session may end in the meantime. */
int session_delete_file(struct session *session, const char *path, bool is_recursive,
                        struct error *err);

/* A change in a session that is elsewhere (engine/elsewhere.h), which is asked for there. */
struct session_change {
    const char *event; /* as in struct recorder_file; NULL: none is recorded */
    struct recorder *recorder;
    char *owner;
    char session[ID_SIZE];
    char path[PATH_MAX], to[PATH_MAX]; /* the latter: of "move" */
    uint64_t bytes;                    /* of "write" */
};

/* Records it, before it takes effect. `digest`: of what is written, or NULL. */
int session_change_begin(struct session_change *change, const struct session *session,
                         const char *event, const uint8_t *digest, struct error *err);

/* It came to nothing. */
void session_change_failed(struct session_change *change, const struct error *err);
void session_change_done(struct session_change *change);

int session_make_directory(struct session *session, const char *path, struct error *err);

/* As session_delete_file(): it may pause where a file is copied (files_move()). */
int session_move_file(struct session *session, const char *from, const char *to, struct error *err);

/* session_files(); NULL with E_BUSY while the session starts. */
const struct files *session_need_files(struct session *session, struct error *err);
