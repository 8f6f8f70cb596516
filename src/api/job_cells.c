/* The cells of a session as a notebook shows them: program and answer, while they are kept. */
#include <string.h>

#include "api/job_internal.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "engine/masking.h"

/* A cell that runs still has its program in the run. */
static struct span code_of(const struct job *job)
{
    if (job->run && job->run->program.code.len)
        return (struct span){buf_str(&job->run->program.code), job->run->program.code.len};
    return (struct span){buf_str(&job->code), job->code.len};
}

static bool is_cell(const struct job *job, const char *session)
{
    return strcmp(job->session_id, session) == 0 && job->note.language != RUN_COMMAND &&
           !job->is_helper;
}

static bool has_native_answer(const struct job *job)
{
    return job->note.end && !job->run && !job->form.write && job->answer->text.len;
}

/* A larger one is fetched by itself. */
static bool fits(const struct job *job, size_t bytes)
{
    return has_native_answer(job) && job->answer->text.len <= bytes;
}

static json_t *code_json(const struct job *job)
{
    const struct mask_context context = {
        .level = job->note.masking,
        .masks = pool_masks(job->jobs->options.pool),
    };
    struct span code = code_of(job);
    struct clean_text text;

    if (!code.len)
        return json_null();
    text = mask_text(context, code);
    return json_text_string(clean_data(text), clean_len(text));
}

/* The answer is text already, and goes in as it is. */
static int write_cell(const struct job *job, size_t bytes, struct buf *out, struct error *err)
{
    bool has_answer = fits(job, bytes);
    cleanup_json json_t *head =
        json_pack("{s:s, s:s, s:s, s:o, s:b}", "id", job->id, "state", job_state(job), "language",
                  languages[job->note.language].name, "code", code_json(job), "is_kept",
                  (int)has_native_answer(job));
    size_t len = has_answer ? job->answer->text.len - 1 : 0; /* without its newline */

    if (!head)
        return error_memory(err);
    if (json_text_dump(head, JSON_TEXT_COMPACT, out, err) < 0)
        return -1;
    out->len--; /* the brace */
    if (buf_add_str(out, ",\"result\":", err) < 0 ||
        (has_answer ? buf_add(out, buf_str(&job->answer->text), len, err)
                    : buf_add_str(out, "null", err)) < 0)
        return -1;
    return buf_add_str(out, "}", err);
}

static struct job *cell_before(const struct jobs *jobs, const char *session, struct job *job)
{
    job = job ? TAILQ_PREV(job, job_list, link) : TAILQ_LAST(&jobs->all, job_list);
    while (job && !is_cell(job, session))
        job = TAILQ_PREV(job, job_list, link);
    return job;
}

static struct job *cell_after(const char *session, struct job *job)
{
    do {
        job = TAILQ_NEXT(job, link);
    } while (job && !is_cell(job, session));
    return job;
}

static struct job *first_of_page(const struct jobs *jobs, const char *session, struct job *last,
                                 size_t limit, size_t bytes, size_t *ret_count)
{
    struct job *first = NULL, *job = last;
    size_t used = 0;

    *ret_count = 0;
    while (job && *ret_count < limit) {
        used += (fits(job, bytes) ? job->answer->text.len : 0) + 2 * code_of(job).len + KIB;
        if (first && used > bytes)
            break;
        first = job;
        ++*ret_count;
        job = cell_before(jobs, session, job);
    }
    return first;
}

int jobs_list_cells(const struct jobs *jobs, const char *session, const char *before, size_t limit,
                    size_t bytes, struct buf *out, struct error *err)
{
    struct job *job = cell_before(jobs, session, NULL), *first;
    size_t count;

    while (before && job && strcmp(job->id, before) != 0)
        job = cell_before(jobs, session, job);
    if (before && !job)
        return error_set(err, E_NOT_FOUND, "`before`: the session has no cell with that id");
    if (before)
        job = cell_before(jobs, session, job);
    first = job ? first_of_page(jobs, session, job, limit, bytes, &count) : NULL;
    if (buf_add_str(out, "{\"cells\":[", err) < 0)
        return -1;
    for (job = first; first && count; count--, job = cell_after(session, job))
        if ((job != first && buf_add_str(out, ",", err) < 0) ||
            write_cell(job, bytes, out, err) < 0)
            return -1;
    return buf_printf(out, err, "],\"has_more\":%s}\n",
                      first && cell_before(jobs, session, first) ? "true" : "false");
}
