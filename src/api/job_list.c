/* Lists of runs: what waits, what runs, and what is kept. */
#include <ctype.h>
#include <string.h>

#include "api/job_internal.h"
#include "base/json.h"
#include "engine/masking.h"

/* Bytes of the first line that are shown. */
#define LINE_SHOWN 80

void job_note_begin(struct job *job, const struct run *run)
{
    struct job_note *note = &job->note;
    const char *code = run->program.code.data;
    size_t len = run->program.code.len, from = 0, n = 0;

    note->language = run->program.language;
    note->masking = run->terms.masking;
    while (from < len && isspace((unsigned char)code[from]))
        from++;
    while (from + n < len && n < sizeof(note->line) - 1 && code[from + n] != '\n')
        n++;
    if (n)
        memcpy(note->line, code + from, n);
    note->line[n] = '\0';
}

void job_note_end(struct job *job, const struct run *run)
{
    bool has_failed = run->result.error.code != E_NONE;

    job->note.end = has_failed ? "failed" : run_status_name(run->result.status);
    job->note.exit_code = run->result.exit_code;
}

/* The program is the owner's own text; still no door gives out a secret. A list may have a thousand
 * lines, so each is masked once. */
void job_mask_note(struct job *job)
{
    struct job_note *note = &job->note;
    const struct mask_context context = {
        .level = note->masking,
        .masks = pool_masks(job->jobs->options.pool),
    };
    struct clean_text text;
    size_t len;

    if (note->is_masked)
        return;
    text = mask_text(context, (struct span){note->line, strlen(note->line)});
    len = clean_len(text) < LINE_SHOWN ? clean_len(text) : LINE_SHOWN;
    len -= utf8_cut_at_end(clean_data(text), len);
    memmove(note->line, clean_data(text), len);
    note->line[len] = '\0';
    note->is_masked = true;
}

static const char *state_of(const struct job *job)
{
    if (job->note.end)
        return job->note.end;
    return job->run && job->run->box ? "running" : "waiting";
}

static json_t *job_json(struct job *job)
{
    job_mask_note(job);
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:b, s:f, s:o, s:s, s:o}", "id", job->id, "state", state_of(job),
        "language", languages[job->note.language].name, "session_id",
        *job->session_id ? json_string(job->session_id) : json_null(), "detached",
        (int)job->is_detached, "age_s", (double)(loop_now_ns() - job->begun_ns) / 1e9, "exit_code",
        job->note.end && strcmp(job->note.end, "failed") != 0 ? json_integer(job->note.exit_code)
                                                              : json_null(),
        "owner", job->place.caller->name, "code",
        json_text_string(job->note.line, strlen(job->note.line)));
}

static bool passes(const struct job *job, const char *owner, const struct job_filter *filter)
{
    return strcmp(job->owner, owner) == 0 && (!filter->is_live || !job->note.end) &&
           (!filter->is_command || job->note.language == RUN_COMMAND) &&
           (!filter->session || strcmp(job->session_id, filter->session) == 0);
}

json_t *jobs_list(const struct jobs *jobs, const char *owner, const struct job_filter *filter,
                  size_t limit)
{
    json_t *list = json_array();
    struct job *job;

    TAILQ_FOREACH_REVERSE(job, &jobs->all, job_list, link)
    {
        if (json_array_size(list) == limit)
            break;
        if (passes(job, owner, filter) && json_array_append_new(list, job_json(job)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
