/* The output of a run, for anybody who reads it along: what was written so far, then what follows,
 * then the answer.
 *
 * A reader takes what is kept, at its own pace: it does not hold the program, and there may be
 * several. What it was too slow for, or what is not kept, is an event that says how much. Between
 * the two streams the order is that in which they were read, not that in which they were written.
 */
#include <stdlib.h>
#include <string.h>

#include "admit/caller.h"
#include "api/job_internal.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/stream.h"
#include "http/sse.h"

/* Bytes of one event. */
#define PIECE ((size_t)16 * KIB)

struct job_reader {
    struct job_reader *next; /* of the same job */
    struct job *job;
    struct job_reader_to to;
    uint64_t at[2]; /* of stdout and stderr */
    bool is_behind;
    struct loop_work work;
};

/* --- one piece after the other --- */

/* One piece of a stream. False: there is none now. */
static bool give_piece(struct job_reader *reader, int i)
{
    const struct job *job = reader->job;
    const struct run_stream *stream = !job->run ? &job->ended[i]
                                      : i       ? &job->run->result.err
                                                : &job->run->result.out;
    struct job_piece piece = {.is_stderr = i};
    char data[PIECE];
    size_t cut;

    piece.offset = reader->at[i];
    piece.len = run_stream_read(stream, &piece.offset, data, sizeof(data));
    cut = utf8_cut_at_end(data, piece.len);
    /* The rest of a character is on its way, unless the end is here. */
    if (piece.len > cut || job->note.end == NULL)
        piece.len -= cut;
    if (!piece.len)
        return false;
    piece.data = data;
    piece.dropped = piece.offset - reader->at[i];
    reader->at[i] = piece.offset + piece.len;
    reader->is_behind = !reader->to.on_piece(reader->to.user, &piece);
    return true;
}

void job_reader_free(struct job_reader *reader)
{
    struct job *job = reader->job;

    loop_work_cancel(&reader->work);
    for (struct job_reader **at = &job->readers; *at; at = &(*at)->next)
        if (*at == reader) {
            *at = reader->next;
            break;
        }
    free(reader);
    for (int i = 0; i < 2 && !job->readers; i++) {
        job->ended[i].spool = NULL; /* the job's */
        run_stream_done(&job->ended[i]);
        job->ended[i] = (struct run_stream){0};
    }
    job_hold_for_readers(job);
}

/* The reader is gone before its door hears of it. */
static void tell(struct job_reader *reader, void (*fn)(void *user, struct job *job))
{
    struct job *job = reader->job;
    void *user = reader->to.user;

    job_reader_free(reader);
    fn(user, job);
}

static void wake(struct job_reader *reader);

static void pump(void *arg)
{
    struct job_reader *reader = arg;
    bool has_more = false;

    for (int i = 0; i < 2 && !reader->is_behind; i++)
        has_more |= give_piece(reader, i);
    if (reader->is_behind)
        job_hold_for_readers(reader->job); /* until job_reader_go_on() */
    else if (has_more)
        wake(reader);
    else if (!reader->job->run)
        tell(reader, reader->to.on_end);
    else if (reader->to.on_present)
        tell(reader, reader->to.on_present);
}

static void wake(struct job_reader *reader)
{
    loop_line_post(reader->job->jobs->options.loop, reader->to.line, &reader->work, pump, reader);
}

void job_reader_go_on(struct job_reader *reader)
{
    reader->is_behind = false;
    job_hold_for_readers(reader->job);
    wake(reader);
}

struct job_reader *job_reader_new(struct job *job, const struct job_reader_to *to,
                                  const uint64_t after[2], struct error *err)
{
    struct job_reader *reader = calloc(1, sizeof(*reader));

    if (!reader) {
        error_memory(err);
        return NULL;
    }
    *reader = (struct job_reader){
        .next = job->readers, .job = job, .to = *to, .at = {after[0], after[1]}};
    job->readers = reader;
    job_hear_run(job);
    job_begin_ticks(job->jobs);
    wake(reader);
    return reader;
}

/* --- the job's side --- */

size_t job_count_readers(const struct job *job)
{
    size_t count = 0;

    for (const struct job_reader *reader = job->readers; reader; reader = reader->next)
        count++;
    return count;
}

bool job_is_read_slowly(const struct job *job)
{
    for (const struct job_reader *reader = job->readers; reader; reader = reader->next)
        if (reader->to.holds && reader->is_behind)
            return true;
    return false;
}

void job_wake_readers(const struct job *job)
{
    for (struct job_reader *reader = job->readers; reader; reader = reader->next)
        if (!reader->is_behind)
            wake(reader);
}

void job_keep_for_readers(struct job *job, struct run *run)
{
    struct run_stream *streams[] = {&run->result.out, &run->result.err};

    for (int i = 0; i < 2 && job->readers; i++) {
        job->ended[i] = *streams[i];
        job->ended[i].spool = job->spools[i];
        *streams[i] = (struct run_stream){0};
    }
}

void job_drop_readers(struct job *job)
{
    for (struct job_reader *reader = job->readers; reader; reader = reader->next)
        reader->to.holds = false;
    job->is_held = false; /* there is nothing to be held any more */
    while (job->readers)
        tell(job->readers, job->readers->to.on_lost);
}

void job_comment_readers(const struct job *job)
{
    for (struct job_reader *reader = job->readers; reader; reader = reader->next)
        if (!reader->is_behind && reader->to.on_silence)
            reader->is_behind = !reader->to.on_silence(reader->to.user);
}

/* --- as events --- */

struct event_reader {
    struct request *request;
    struct job_reader *reader;
};

/* False: the client is behind. */
static bool write_event(struct request *request, const char *name, json_t *value)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    bool has_room = true;

    if (value && sse_text_add(&text, name, value, NULL) == 0)
        has_room = request_write(request, buf_str(&text), text.len);
    json_decref(value);
    return has_room;
}

static bool write_piece(void *user, const struct job_piece *piece)
{
    struct event_reader *events = user;
    const char *name = piece->is_stderr ? "stderr" : "stdout";
    bool has_room = true;

    if (piece->dropped)
        has_room = write_event(
            events->request, "dropped",
            json_pack("{s:s, s:I}", "stream", name, "bytes", (json_int_t)piece->dropped));
    return write_event(events->request, name,
                       json_pack("{s:o, s:I}", "text", json_text_string(piece->data, piece->len),
                                 "offset", (json_int_t)piece->offset)) &&
           has_room;
}

static bool write_comment(void *user)
{
    struct event_reader *events = user;

    return request_write(events->request, ":\n\n", 3);
}

/* The request without its reader. */
static struct request *release(struct event_reader *events)
{
    struct request *request = events->request;

    request->on_gone = NULL;
    request->on_drained = NULL;
    free(events);
    return request;
}

/* The answer without its newline, and the end. */
static void write_answer(struct request *request, const struct job *job)
{
    struct shared *answer = job->answer;
    const char *head = job->status == 200 ? "event: result\ndata: " : "event: error\ndata: ";

    (void)request_write(request, head, strlen(head));
    (void)request_write_shared(request, answer, answer->text.len);
    (void)request_write(request, "\n", 1);
    request_end(request);
}

static void end_with_answer(void *user, struct job *job)
{
    write_answer(release(user), job);
}

static void end_running(void *user, struct job *job)
{
    struct request *request = release(user);

    (void)write_event(request, "running", json_pack("{s:s}", "id", job->id));
    request_end(request);
}

static void end_lost(void *user, struct job *job)
{
    (void)job;
    request_abort(release(user));
}

static void on_gone(struct request *request)
{
    struct event_reader *events = request->user;

    job_reader_free(events->reader);
    free(events);
}

static void on_drained(struct request *request)
{
    const struct event_reader *events = request->user;

    job_reader_go_on(events->reader);
}

void job_read_output(struct job *job, struct request *request, const uint64_t after[2], bool waits)
{
    struct event_reader *events = calloc(1, sizeof(*events));
    const struct job_reader_to to = {
        .line = &request->caller->line,
        .holds = waits && job->note.has_terminal, /* a slow terminal slows its program down */
        .on_piece = write_piece,
        .on_end = end_with_answer,
        .on_present = waits ? NULL : end_running,
        .on_lost = end_lost,
        .on_silence = write_comment,
        .user = events,
    };
    bool is_over = !job->run;
    struct error err = {0};

    if (!events || (!is_over && !(events->reader = job_reader_new(job, &to, after, &err)))) {
        free(events);
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    request_begin(request, 200, "text/event-stream", NULL, REQUEST_UNKNOWN_LENGTH);
    events->request = request;
    if (is_over) { /* the answer has it all */
        write_answer(release(events), job);
        return;
    }
    request->user = events;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    (void)write_event(request, "start", json_pack("{s:s}", "id", job->id));
}
