/* Sessions in the trail, and in the stream of events. */
#include <string.h>

#include "engine/recorder.h"
#include "engine/session_internal.h"

int session_tell(const struct session *s, const char *event, const char *key, const char *detail,
                 const struct error *error, struct error *err)
{
    const struct recorder_session told = {
        .event = event,
        .id = s->id,
        .name = s->name,
        .owner = s->owner,
        .profile = s->terms.profile,
        .detail_key = key,
        .detail = detail,
        .limits = strcmp(event, "open") == 0 ? &s->terms.limits : NULL,
        .error = error,
    };

    if (recorder_session(s->table->recorder, &told, err) < 0)
        return -1;
    if (!error || error->code == E_NONE)
        session_announce(s, event, detail);
    return 0;
}

void session_announce(const struct session *s, const char *event, const char *detail)
{
    const struct sessions_options *options = &s->table->options;
    const struct session_event happened = {event, detail, s};

    if (options->on_event)
        options->on_event(options->user, &happened);
}

int session_note(struct session *s, const char *event, const char *detail, struct error *err)
{
    return session_tell(s, event, "changes", detail, NULL, err);
}
