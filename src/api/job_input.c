/* Lines of standard input that a program asks for (calls/call.h, `input.line`): an event for the
 * client that follows it, who answers with POST /v1/runs/{run}/stdin. */
#include <string.h>

#include "api/job_internal.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "calls/call.h"

static void on_cancel(struct call *call)
{
    struct job *job = call->user;

    job->input = NULL;
    loop_watch_free(job->input_clock);
    job->input_clock = NULL;
}

/* The call that waits, which is to be answered. */
static struct call *release(struct job *job)
{
    struct call *call = job->input;

    on_cancel(call);
    call->on_cancel = NULL;
    return call;
}

/* The time limit of the run stands meanwhile: a client that does not answer is not asked again. */
static void on_late(void *arg)
{
    struct job *job = arg;

    job->is_input_over = true;
    call_give_line(release(job), NULL, 0);
}

bool job_want_line(struct job *job, struct call *call)
{
    if (job->input) {
        call_refuse_line(call);
        return false;
    }
    if (!job->is_input_over)
        job->input_clock = loop_timer(job->jobs->options.loop, on_late, job);
    if (!job->input_clock) {
        call_give_line(call, NULL, 0);
        return false;
    }
    job->input = call;
    call->user = job;
    call->on_cancel = on_cancel;
    loop_timer_start(job->input_clock, LIMIT_INPUT_LINE_S * 1000);
    return true;
}

int job_give_line(struct job *job, struct span text, bool closes, struct error *err)
{
    cleanup(buf_done) struct buf line = BUF_OF(text.len + 2);

    if (text.len && text.data[text.len - 1] == '\n')
        text.len--;
    if (memchr(text.data, '\n', text.len)) {
        error_set(err, E_INVALID, "`text` has more than one line");
        return error_hint(err, "send one for each event `input`");
    }
    if (!job->input) {
        error_set(err, E_NOT_FOUND, "the run does not wait for a line of input");
        return error_hint(err, "send it after the event `input`");
    }
    if (buf_add(&line, text.data, text.len, err) < 0 || buf_add(&line, "\n", 1, err) < 0)
        return -1;
    job->is_input_over |= closes;
    call_give_line(release(job), closes && !text.len ? NULL : buf_str(&line), line.len);
    return 0;
}
