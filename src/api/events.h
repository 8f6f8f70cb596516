/* Everything that happens on a server, as one stream for each client that listens: runs, commands,
 * sessions, questions for approval, changes.
 *
 * An event is written once, into a ring that all clients read, each from its own place. So a client
 * that does not read costs nothing but its place: what it has not read when the ring comes round
 * again is lost to it, and it is told so. Clients are served some times a second, with everything
 * that happened in between. While nobody listens, and nobody did a minute ago, nothing is written.
 *
 * Ids are microseconds of the clock, and grow: they say nothing of how much others do, and those
 * of an earlier server are known for what they are.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"
#include "http/request.h"

struct approval_change; /* calls/approval.h */
struct events;
struct job;
struct session_event; /* engine/session.h */

enum event_kind {
    EVENT_RUN = 1,
    EVENT_COMMAND = 2,
    EVENT_SESSION = 4,
    EVENT_APPROVAL = 8,
    EVENT_CHANGE = 16,
    EVENT_ANY = 31,
};
#define EVENT_KINDS "run", "command", "session", "approval", "change"

int events_new(struct loop *loop, struct events **ret_events, struct error *err);
void events_free(struct events *events); /* accepts NULL */

/* The server stops: all streams end, and nothing more is written. */
void events_close(struct events *events);

/* Ends the streams of those whose token has gone. */
void events_end_unknown(struct events *events);

/* --- what happens; `events` may be NULL --- */

/* Whether anybody may ever read it. */
bool events_are_wanted(const struct events *events);

/* `owner` sees it. Takes `data` over, an object, and adds the time and the owner. `session` may be
 * NULL or "". */
void events_tell(struct events *events, enum event_kind kind, const char *name, const char *owner,
                 const char *session, json_t *data);

void events_tell_session(struct events *events, const struct session_event *event);
void events_tell_approval(struct events *events, const struct approval_change *change);
void events_tell_undo(struct events *events, const char *owner, const char *run,
                      const json_t *answer);

/* --- who listens --- */

struct events_filter {
    unsigned kinds;      /* enum event_kind */
    bool is_of_all;      /* of all owners, for an operator */
    const char *session; /* the id of one, or NULL */
};

/* Answers the request with what happens from now on, or, where it has `Last-Event-ID`, from then
 * on, behind `hello`, an object that it takes over. E_BUSY: too many listen; `hello` is freed. */
int events_follow(struct events *events, struct request *request,
                  const struct events_filter *filter, json_t *hello, struct error *err);
