/* The stream of a run's events as the engine inside writes it (http/sse.h), read strictly:
 *
 *     id: NUMBER       at most once in an event, and not looked at
 *     event: NAME      once; lower case letters and `_`
 *     data: TEXT       once, behind the name
 *     (empty line)
 *
 * Between events there are empty lines and comments, which begin with a colon. Anything else is an
 * error, and so is a text longer than what its event may have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define EVENTS_NAME_MAX ((size_t)32)

struct events_reader {
    struct buf line, data;
    char name[EVENTS_NAME_MAX + 1];
    bool has_data, has_id;
    /* The most bytes that the data of an event of that name may have; 0: there is no such event. */
    size_t (*limit)(void *user, const char *name);
    /* An error ends the reading. The bytes are lent. */
    int (*on_event)(void *user, const char *name, const char *data, size_t len, struct error *err);
    void *user;
};

void events_init(struct events_reader *reader, size_t (*limit)(void *user, const char *name),
                 int (*on_event)(void *user, const char *name, const char *data, size_t len,
                                 struct error *err),
                 void *user);
void events_done(struct events_reader *reader);

/* Within on_event: its data become the caller's, in place of what was there. */
void events_take_data(struct events_reader *reader, struct buf *out);

/* E_PROTOCOL: it is none. */
int events_feed(struct events_reader *reader, const char *data, size_t len, struct error *err);

/* Whether it ends between two events. */
bool events_is_whole(const struct events_reader *reader);
