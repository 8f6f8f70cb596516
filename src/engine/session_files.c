#include "engine/session_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/sha256.h"
#include "engine/recorder.h"
#include "engine/session_internal.h"

const struct files *session_need_files(struct session *session, struct error *err)
{
    const struct files *files = session_files(session);

    if (!files && session_check_here(session, "files of a session at this interface", err) < 0)
        return NULL;
    if (!files) {
        error_set(err, E_BUSY, "the session is starting");
        error_hint(err, "try again in a moment");
    }
    return files;
}

static int tell_failure(struct recorder *recorder, struct recorder_file *event,
                        const struct error *err)
{
    event->error = err;
    (void)recorder_file(recorder, event, NULL);
    return -1;
}

int session_write_begin(struct session_writer *writer, struct session *session, const char *path,
                        const struct files_write_options *options, struct error *err)
{
    const struct files *files = session_need_files(session, err);
    struct session_info info;

    session_info(session, &info);
    *writer = (struct session_writer){.recorder = session->table->recorder};
    (void)snprintf(writer->session, sizeof(writer->session), "%s", info.id);
    (void)snprintf(writer->path, sizeof(writer->path), "%s", path);
    if (!files || files_write_begin(&writer->files, files, path, options, err) < 0)
        return -1;
    writer->hash = sha256_begin();
    writer->owner = strdup(info.owner ? info.owner : "");
    if (writer->owner)
        return 0;
    session_write_abort(writer);
    return error_memory(err);
}

int session_write_feed(struct session_writer *writer, const void *data, size_t len,
                       struct error *err)
{
    sha256_feed(writer->hash, data, len);
    return files_write_feed(&writer->files, data, len, err);
}

void session_write_abort(struct session_writer *writer)
{
    uint8_t digest[SHA256_BYTES];

    sha256_end(take_ptr(writer->hash), digest);
    files_write_abort(&writer->files);
    free(take_ptr(writer->owner));
}

static int commit(struct session_writer *writer, struct error *err)
{
    uint8_t digest[SHA256_BYTES] = {0};
    struct recorder_file event = {.event = "write",
                                  .owner = writer->owner,
                                  .session = writer->session,
                                  .path = writer->path,
                                  .bytes = writer->files.written,
                                  .digest = digest};

    sha256_end(take_ptr(writer->hash), digest);
    if (recorder_file(writer->recorder, &event, err) < 0)
        return -1;
    return files_write_commit(&writer->files, err) < 0 ? tell_failure(writer->recorder, &event, err)
                                                       : 0;
}

int session_write_commit(struct session_writer *writer, struct error *err)
{
    int r = commit(writer, err);

    session_write_abort(writer);
    return r;
}

/* Work that may pause, recorded before: the session may end meanwhile. */
static int act_slowly(struct session *session, const struct recorder_file *asked,
                      int (*fn)(const struct files *files, const struct recorder_file *event,
                                struct error *err),
                      struct error *err)
{
    cleanup(files_done) struct files own = {.fd = -1};
    cleanup_free char *owner = NULL;
    const struct files *files = session_need_files(session, err);
    struct recorder *recorder = session->table->recorder;
    struct recorder_file event = *asked;
    struct session_info info;
    char id[ID_SIZE];

    session_info(session, &info);
    (void)snprintf(id, sizeof(id), "%s", info.id);
    owner = strdup(info.owner ? info.owner : "");
    if (!owner)
        return error_memory(err);
    event.session = id;
    event.owner = owner;
    if (!files || files_copy(files, &own, err) < 0 || recorder_file(recorder, &event, err) < 0)
        return -1;
    return fn(&own, &event, err) < 0 ? tell_failure(recorder, &event, err) : 0;
}

static int delete_one(const struct files *files, const struct recorder_file *event,
                      struct error *err)
{
    return files_delete(files, event->path, false, err);
}

static int delete_all(const struct files *files, const struct recorder_file *event,
                      struct error *err)
{
    return files_delete(files, event->path, true, err);
}

int session_delete_file(struct session *session, const char *path, bool is_recursive,
                        struct error *err)
{
    struct recorder_file event = {.event = "delete", .path = path};

    return act_slowly(session, &event, is_recursive ? delete_all : delete_one, err);
}

static int move(const struct files *files, const struct recorder_file *event, struct error *err)
{
    return files_move(files, event->path, event->to, err);
}

/* Work that is done in one go, recorded before. */
static int act(struct session *session, struct recorder_file *event,
               int (*fn)(const struct files *files, const struct recorder_file *event,
                         struct error *err),
               struct error *err)
{
    const struct files *files = session_need_files(session, err);
    struct recorder *recorder = session->table->recorder;
    struct session_info info;

    session_info(session, &info);
    event->session = info.id;
    event->owner = info.owner ? info.owner : "";
    if (!files || recorder_file(recorder, event, err) < 0)
        return -1;
    return fn(files, event, err) < 0 ? tell_failure(recorder, event, err) : 0;
}

static int make_directory(const struct files *files, const struct recorder_file *event,
                          struct error *err)
{
    return files_make_directory(files, event->path, err);
}

int session_make_directory(struct session *session, const char *path, struct error *err)
{
    struct recorder_file event = {.event = "make_directory", .path = path};

    return act(session, &event, make_directory, err);
}

int session_move_file(struct session *session, const char *from, const char *to, struct error *err)
{
    struct recorder_file event = {.event = "move", .path = from, .to = to};

    return act_slowly(session, &event, move, err);
}

/* --- elsewhere --- */

static struct recorder_file event_of(const struct session_change *change)
{
    return (struct recorder_file){.event = change->event,
                                  .owner = change->owner,
                                  .session = change->session,
                                  .path = change->path,
                                  .to = *change->to ? change->to : NULL,
                                  .bytes = change->bytes};
}

int session_change_begin(struct session_change *change, const struct session *session,
                         const char *event, const uint8_t *digest, struct error *err)
{
    struct recorder_file told;
    struct session_info info;

    session_info(session, &info);
    (void)snprintf(change->session, sizeof(change->session), "%s", info.id);
    change->recorder = session->table->recorder;
    change->owner = strdup(info.owner ? info.owner : "");
    if (!change->owner)
        return error_memory(err);
    change->event = event;
    told = event_of(change);
    told.digest = digest;
    if (recorder_file(change->recorder, &told, err) == 0)
        return 0;
    change->event = NULL;
    return -1;
}

void session_change_failed(struct session_change *change, const struct error *err)
{
    struct recorder_file told = event_of(change);

    if (change->event)
        (void)tell_failure(change->recorder, &told, err);
    change->event = NULL;
}

void session_change_done(struct session_change *change)
{
    free(change->owner);
}
