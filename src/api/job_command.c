/* Commands in sessions as jobs: what is done with one that runs. */
#include <string.h>

#include "api/job_internal.h"

struct job *jobs_find_command(struct jobs *jobs, const char *owner, const char *session,
                              const char *id, struct error *err)
{
    struct job *job = jobs_find(jobs, owner, id, NULL);

    if (job && job->note.language == RUN_COMMAND && strcmp(job->session_id, session) == 0)
        return job;
    error_set(err, E_NOT_FOUND, "the session has no command with that id");
    error_hint(err, "results are kept only for a while");
    return NULL;
}

/* Its session, where it can still be told something. */
static struct session *live_session(const struct job *job, struct error *err)
{
    if (!job->run || job->note.end) {
        error_set(err, E_NOT_FOUND, "the command has ended");
        return NULL;
    }
    return sessions_find(job->jobs->options.sessions, job->owner, job->session_id, err);
}

/* Input that waits is the owner's, as that which came with the command. */
int job_input(struct job *job, const char *data, size_t len, bool closes, struct error *err)
{
    struct session *session = live_session(job, err);
    const struct buf *input;
    size_t before;

    if (!session || jobs_check_room(job->jobs, job->place.caller, len, err) < 0)
        return -1;
    input = &job->run->program.input;
    before = input->size;
    if (session_input(session, job->run, data, len, closes, err) < 0)
        return -1;
    job->sent_bytes += len;
    job_weigh_in(job, input->size - before);
    return 0;
}

int job_signal(struct job *job, int sig, struct error *err)
{
    struct session *session = live_session(job, err);

    return session ? session_signal(session, job->run, sig, err) : -1;
}

int job_resize(struct job *job, uint16_t columns, uint16_t rows, struct error *err)
{
    struct session *session = live_session(job, err);

    return session ? session_resize(session, job->run, columns, rows, err) : -1;
}

void job_hold(struct job *job, bool is_held)
{
    if (!job->run || is_held == job->is_held)
        return;
    job->is_held = is_held;
    pool_hold(job->run, is_held);
}
