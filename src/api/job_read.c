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

/* Bytes of one event. */
#define PIECE ((size_t)16 * KIB)

struct job_reader {
    struct job_reader *next; /* of the same job */
    struct job *job;
    struct request *request;
    uint64_t at[2]; /* of stdout and stderr */
    bool waits;     /* for what follows */
    bool is_behind;
    struct loop_work work;
};

static void write_event(struct job_reader *reader, const char *name, json_t *value)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);

    if (value && buf_printf(&text, NULL, "event: %s\ndata: ", name) == 0 &&
        json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) == 0 &&
        buf_add_str(&text, "\n\n", NULL) == 0 &&
        !request_write(reader->request, buf_str(&text), text.len))
        reader->is_behind = true;
    json_decref(value);
}

/* One piece of a stream. False: there is none now. */
static bool write_piece(struct job_reader *reader, int i)
{
    static const char *const names[] = {"stdout", "stderr"};
    const struct job *job = reader->job;
    const struct run_stream *stream = !job->run ? &job->ended[i]
                                      : i       ? &job->run->result.err
                                                : &job->run->result.out;
    char data[PIECE];
    uint64_t at = reader->at[i];
    size_t len = run_stream_read(stream, &at, data, sizeof(data));
    size_t cut = utf8_cut_at_end(data, len);

    /* The rest of a character is on its way, unless the end is here. */
    if (len > cut || job->note.end == NULL)
        len -= cut;
    if (!len)
        return false;
    if (at > reader->at[i])
        write_event(
            reader, "dropped",
            json_pack("{s:s, s:I}", "stream", names[i], "bytes", (json_int_t)(at - reader->at[i])));
    write_event(
        reader, names[i],
        json_pack("{s:o, s:I}", "text", json_text_string(data, len), "offset", (json_int_t)at));
    reader->at[i] = at + len;
    return true;
}

/* --- who reads --- */

static void free_reader(struct job_reader *reader)
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
}

static void end(struct job_reader *reader)
{
    struct request *request = reader->request;

    request->on_gone = NULL;
    request->on_drained = NULL;
    free_reader(reader);
    request_end(request);
}

/* The answer without its newline, and the end. */
static void write_answer(struct job_reader *reader)
{
    struct request *request = reader->request;
    struct shared *answer = reader->job->answer;
    const char *head =
        reader->job->status == 200 ? "event: result\ndata: " : "event: error\ndata: ";

    (void)request_write(request, head, strlen(head));
    (void)request_write_shared(request, answer, answer->text.len);
    (void)request_write(request, "\n", 1);
    end(reader);
}

static void write_running(struct job_reader *reader)
{
    write_event(reader, "running", json_pack("{s:s}", "id", reader->job->id));
    end(reader);
}

static void wake(struct job_reader *reader);

static void pump(void *arg)
{
    struct job_reader *reader = arg;
    bool has_more = false;

    for (int i = 0; i < 2 && !reader->is_behind; i++)
        has_more |= write_piece(reader, i);
    if (reader->is_behind)
        return; /* on_drained() goes on */
    if (has_more)
        wake(reader);
    else if (!reader->job->run)
        write_answer(reader);
    else if (!reader->waits)
        write_running(reader);
}

static void wake(struct job_reader *reader)
{
    loop_line_post(reader->job->jobs->options.loop, &reader->request->caller->line, &reader->work,
                   pump, reader);
}

static void on_gone(struct request *request)
{
    free_reader(request->user);
}

static void on_drained(struct request *request)
{
    struct job_reader *reader = request->user;

    reader->is_behind = false;
    wake(reader);
}

/* --- the job's side --- */

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
    while (job->readers) {
        struct request *request = job->readers->request;

        request->on_gone = NULL;
        request->on_drained = NULL;
        free_reader(job->readers);
        request_abort(request);
    }
}

void job_comment_readers(const struct job *job)
{
    for (struct job_reader *reader = job->readers; reader; reader = reader->next)
        if (!reader->is_behind && !request_write(reader->request, ":\n\n", 3))
            reader->is_behind = true;
}

void job_read_output(struct job *job, struct request *request, const uint64_t after[2], bool waits)
{
    struct job_reader *reader = calloc(1, sizeof(*reader));
    bool is_over = !job->run;
    struct error err = {0};

    if (!reader) {
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    *reader = (struct job_reader){.next = job->readers,
                                  .job = job,
                                  .request = request,
                                  .at = {after[0], after[1]},
                                  .waits = waits};
    job->readers = reader;
    request->user = reader;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    request_begin(request, 200, "text/event-stream", "Cache-Control: no-store\r\n",
                  REQUEST_UNKNOWN_LENGTH);
    if (is_over) { /* the answer has it all */
        write_answer(reader);
        return;
    }
    job_hear_run(job);
    job_begin_ticks(job->jobs);
    write_event(reader, "start", json_pack("{s:s}", "id", job->id));
    wake(reader);
}
