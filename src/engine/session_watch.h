/* Watching a directory in a session's /workspace, for every door.
 *
 * Events come from the loop, as sandbox/tree_watch.h describes them; their paths begin at the
 * watched directory and are bytes (files_path_escape()). A door that is behind holds the watch;
 * what is lost meanwhile is told as TREE_LOST. Watching is no use of the session: its idle clock
 * goes on.
 */
#pragma once

#include "engine/session.h"
#include "sandbox/tree_watch.h"

#define SESSION_WATCHES       8  /* of one session, at once */
#define SESSION_WATCHES_TOTAL 64 /* of all */

struct session_watch;

struct session_watch_options {
    const char *path; /* that files_path_check_tmp() has checked */
    bool is_recursive;
    void (*on_ready)(void *user); /* what happens from here on is told; optional */
    void (*on_event)(void *user, const struct tree_event *event);
    /* The directory, or the session, is gone; so is the watch after this call. */
    void (*on_end)(void *user, const char *why);
    void *user;
};

/* E_NOT_FOUND, E_INVALID: there is no such directory. E_BUSY: there are too many watches, or the
 * session starts. */
int session_watch_new(struct session *session, const struct session_watch_options *options,
                      struct session_watch **ret_watch, struct error *err);
void session_watch_free(struct session_watch *watch); /* accepts NULL; without a word */
void session_watch_hold(struct session_watch *watch, bool is_held);
