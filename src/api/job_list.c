/* Lists of runs: what waits, what runs, and what is kept. */
#include <ctype.h>
#include <string.h>

#include "api/events.h"
#include "api/job_internal.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "engine/masking.h"

/* Bytes of the first line that are shown. */
#define LINE_SHOWN 80

/* Runs that are looked at to find which answers are kept. */
#define KEPT_LOOKS 10000

/* Programs of cells that are kept. */
#define CODE_BYTES (64 * KIB)

void job_note_begin(struct job *job, const struct run *run)
{
    struct job_note *note = &job->note;
    static const char variables[] = "(variables)";
    bool is_shown = !run->program.holds_variables;
    const char *code = is_shown ? run->program.code.data : variables;
    size_t len = is_shown ? run->program.code.len : sizeof(variables) - 1, from = 0, n = 0;

    note->language = run->program.language;
    note->masking = run->terms.masking;
    note->has_terminal = run->terms.has_terminal;
    while (from < len && isspace((unsigned char)code[from]))
        from++;
    while (from + n < len && n < sizeof(note->line) - 1 && code[from + n] != '\n')
        n++;
    if (n)
        memcpy(note->line, code + from, n);
    note->line[n] = '\0';
    (void)clock_gettime(CLOCK_REALTIME, &note->begun);
    (void)snprintf(note->profile, sizeof(note->profile), "%s",
                   run->terms.profile ? run->terms.profile : "");
}

void job_note_end(struct job *job, const struct run *run)
{
    bool has_failed = run->result.error.code != E_NONE;

    job->note.end = has_failed ? "failed" : run_status_name(run->result.status);
    job->note.exit_code = run->result.exit_code;
    job->note.error = has_failed ? error_code_name(run->result.error.code) : NULL;
    job->note.wall_ms = run->result.usage.wall_ms;
    job->note.cpu_ms = run->result.usage.cpu_ms;
    job->note.memory_peak_bytes = run->result.usage.memory_peak_bytes;
    job->note.queue_ms =
        (double)((job->turn_ns ? job->turn_ns : loop_now_ns()) - job->begun_ns) / 1e6;
    job->note.masked = run->result.masked.count;
    job->note.violations = run->result.n_violations + run->result.violations_more;
}

void job_keep_code(struct job *job, struct run *run)
{
    if (!*job->session_id || run->program.code.len > CODE_BYTES || run->program.holds_variables)
        return;
    job->code = run->program.code;
    run->program.code = (struct buf){0};
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

const char *job_state(const struct job *job)
{
    if (job->note.end)
        return job->note.end;
    return job->run && job->run->box ? "running" : "waiting";
}

static void add_end(const struct job_note *note, json_t *row)
{
    json_set(row, "wall_ms", json_real(note->wall_ms));
    json_set(row, "cpu_ms", json_real(note->cpu_ms));
    json_set(row, "memory_peak_bytes", json_integer((json_int_t)note->memory_peak_bytes));
    json_set(row, "masked", json_integer((json_int_t)note->masked));
    json_set(row, "violations", json_integer((json_int_t)note->violations));
}

static json_t *job_json(struct job *job)
{
    const struct job_note *note = &job->note;
    bool has_exit = note->end && !note->error;
    char begun[DATE_SIZE];
    json_t *row;

    job_mask_note(job);
    date_millis(&note->begun, begun);
    row =
        json_pack("{s:s, s:s, s:s, s:o, s:s, s:b, s:b, s:f, s:o, s:s, s:o, s:s, s:b, s:n}", "id",
                  job->id, "state", job_state(job), "language", languages[note->language].name,
                  "session_id", *job->session_id ? json_string(job->session_id) : json_null(),
                  "profile", note->profile, "detached", (int)job->is_detached, "terminal",
                  (int)note->has_terminal, "age_s", (double)(loop_now_ns() - job->begun_ns) / 1e9,
                  "exit_code", has_exit ? json_integer(note->exit_code) : json_null(), "owner",
                  job->place.caller->name, "code", json_text_string(note->line, strlen(note->line)),
                  "started_at", begun, "is_kept", 1, "seq");
    if (row && note->end)
        add_end(note, row);
    return row;
}

void job_tell_events(struct job *job)
{
    struct events *events = job->jobs->options.events;
    bool is_command = job->note.language == RUN_COMMAND, has_ended = job->note.end != NULL;
    const char *name = is_command  ? has_ended ? "command_ended" : "command_started"
                       : has_ended ? "run_ended"
                                   : "run_started";
    json_t *data;

    if (!events_are_wanted(events) || !*job->owner)
        return;
    data = job_json(job);
    if (data) {
        (void)json_object_del(data, "is_kept");
        (void)json_object_del(data, "seq");
        json_set(data, "correlation_id",
                 json_text_string(job->correlation_id, strlen(job->correlation_id)));
        if (job->is_helper)
            json_set(data, "helper", json_true());
    }
    if (data && has_ended) {
        json_set(data, "queue_ms", json_real(job->note.queue_ms));
        json_set(data, "error", job->note.error ? json_string(job->note.error) : json_null());
    }
    events_tell(events, is_command ? EVENT_COMMAND : EVENT_RUN, name, job->owner, job->session_id,
                data);
}

static bool is_same(const char *wanted, const char *value)
{
    return !wanted || strcmp(wanted, value) == 0;
}

/* A text is looked for in what is shown: what is masked cannot be found out by asking. */
static bool passes(struct job *job, const char *owner, const struct job_filter *filter)
{
    if (!is_same(owner, job->owner) || (filter->is_live && job->note.end) ||
        (filter->is_command && job->note.language != RUN_COMMAND) ||
        !is_same(filter->session, job->session_id) || !is_same(filter->state, job_state(job)) ||
        !is_same(filter->language, languages[job->note.language].name))
        return false;
    if (!filter->text)
        return true;
    job_mask_note(job);
    return strcasestr(job->note.line, filter->text) != NULL;
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

void jobs_mark_kept(const struct jobs *jobs, json_t *list)
{
    cleanup_json json_t *known = json_object();
    size_t looks = 0, i;
    json_t *row;
    struct job *job;

    json_array_foreach(list, i, row)
    {
        json_set(row, "is_kept", json_false());
        (void)json_object_set(known, json_get_text(row, "id"), row);
    }
    TAILQ_FOREACH_REVERSE(job, &jobs->all, job_list, link)
    {
        if (!json_object_size(known) || looks++ == KEPT_LOOKS)
            break;
        row = json_object_get(known, job->id);
        if (row)
            json_set(row, "is_kept", job->note.end ? json_true() : json_null());
    }
    for (i = json_array_size(list); i > 0; i--)
        if (json_is_null(json_object_get(json_array_get(list, i - 1), "is_kept")))
            (void)json_array_remove(list, i - 1);
}

void jobs_count_live(const struct jobs *jobs, const char *owner, size_t *ret_running,
                     size_t *ret_waiting)
{
    struct job *job;

    *ret_running = *ret_waiting = 0;
    TAILQ_FOREACH(job, &jobs->all, link) {
        if (job->note.end || !is_same(owner, job->owner))
            continue;
        if (job->run && job->run->box)
            ++*ret_running;
        else
            ++*ret_waiting;
    }
}
