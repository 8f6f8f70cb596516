/* Collects the denials of a run, as far as the supervisor knows them: from counters of Linux, from
 * the state of the sandbox's disk and from its own clocks. Nothing here comes from the program. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/cleanup.h"
#include "engine/box_internal.h"
#include "engine/git_link.h"
#include "engine/masking.h"

static double mebibytes(uint64_t bytes)
{
    return (double)bytes / (double)MIB;
}

static void note_time(const struct box *b, struct run *run)
{
    char what[128];
    bool is_cpu =
        b->cell.verdict == BOX_CPU_TIME ||
        (b->cell.verdict == BOX_NO_VERDICT && run->terms.limits.cpu_ms && run->result.signal);

    if (run->result.status != RUN_TIMEOUT)
        return;
    if (b->cell.verdict == BOX_WORK) {
        box_deny_work(run);
        return;
    }
    (void)snprintf(what, sizeof(what), "run for more than %g s%s",
                   (is_cpu ? run->terms.limits.cpu_ms : run->terms.limits.timeout_ms) / 1000.0,
                   is_cpu ? " of CPU time" : "");
    (void)run_deny(run, what, RUN_LAYER_TIME,
                   is_cpu ? "raise `cpu_time_s` (`--cpu-time`), or do less at a time"
                          : "raise `timeout_s` (`--timeout`), or do less at a time");
}

static void note_memory(struct run *run)
{
    char what[128];

    if (run->result.status != RUN_MEMORY_EXCEEDED)
        return;
    (void)snprintf(what, sizeof(what), "use more than %g MB of memory",
                   mebibytes(run->terms.limits.memory_bytes));
    (void)run_deny(run, what, RUN_LAYER_MEMORY,
                   "raise `memory_mb` (`--memory`), or work on the data in pieces");
}

/* The peak says cheaply that nothing was refused. Where the kernel keeps none, or it is a session's
 * of cells before, the counter is asked. */
static void note_processes(struct box *b, struct run *run)
{
    struct cgroup_usage usage;
    char what[128];

    if (cgroup_host_kind(b->cgroups) == CGROUP_NONE ||
        (b->cell.is_peak_known && run->result.usage.processes_peak < run->terms.limits.processes) ||
        cgroup_read(b->cgroup, CGROUP_REFUSALS, &usage, NULL) < 0)
        return;
    if (usage.forks_refused > b->forks_refused) {
        (void)snprintf(what, sizeof(what), "start more than %u processes and threads",
                       run->terms.limits.processes);
        (void)run_deny(run, what, RUN_LAYER_PROCESSES,
                       "raise `pids` (`--pids`), or start fewer at a time");
    }
    b->forks_refused = usage.forks_refused;
}

/* A cell that goes well on a disk that was full before it is not refused anything, and neither is
 * one that ends with an exception about something else. */
static bool is_about_space(const struct run *run)
{
    const struct run_exception *e = &run->result.exception;

    if (run->result.status == RUN_SUCCESS)
        return false;
    return !e->name || e->is_ours || !e->message || strstr(e->message, "No space left on device");
}

/* Full now, at the end: what a program has removed again is not seen. */
static void note_disk(struct box *b, struct run *run)
{
    struct statfs st;
    char what[128];
    bool was_full = b->is_disk_full;

    if (b->files.fd < 0 || b->files.is_on_host || fstatfs(b->files.fd, &st) < 0)
        return;
    b->is_disk_full = (st.f_blocks && !st.f_bfree) || (st.f_files && !st.f_ffree);
    if (was_full && !is_about_space(run))
        return;
    if (st.f_blocks && !st.f_bfree) {
        (void)snprintf(what, sizeof(what),
                       "write more than %g MB to /workspace, /tmp and /dev/shm together",
                       mebibytes(run->terms.limits.disk_bytes));
        (void)run_deny(run, what, RUN_LAYER_DISK,
                       "raise `disk_mb` (`--disk`), or remove what is not needed");
    }
    if (st.f_files && !st.f_ffree) {
        (void)snprintf(what, sizeof(what),
                       "make more than %u files in /workspace, /tmp and /dev/shm together",
                       run->terms.limits.inodes);
        (void)run_deny(run, what, RUN_LAYER_DISK, "make fewer files; the operator sets `inodes`");
    }
}

/* A file of exactly that size was cut there; a program without a handler is killed by SIGXFSZ. */
static void note_file_size(struct run *run)
{
    bool is_struck = run->result.status == RUN_ERROR && run->result.signal == SIGXFSZ;
    char what[128];

    for (size_t i = 0; i < run->result.n_files; i++)
        is_struck |= run->result.files[i].change != RUN_FILE_GONE &&
                     run->result.files[i].size == run->terms.limits.file_bytes;
    if (!is_struck)
        return;
    (void)snprintf(what, sizeof(what), "write more than %g MB to one file",
                   mebibytes(run->terms.limits.file_bytes));
    (void)run_deny(run, what, RUN_LAYER_FILE_SIZE,
                   "write several smaller files; the operator sets `file_mb`");
}

/* The words of git decide only whether it is worth a look: what is said is ours. */
static bool has_no_repository(const struct run_stream *stream)
{
    static const char words[] = "fatal: not a git repository: ";

    return (stream->head.len &&
            memmem(buf_str(&stream->head), stream->head.len, words, sizeof(words) - 1)) ||
           (stream->tail.len &&
            memmem(buf_str(&stream->tail), stream->tail.len, words, sizeof(words) - 1));
}

/* A linked worktree, or a submodule, without its repository. */
static void note_git_links(const struct box *b, struct run *run)
{
    const struct run_terms *terms = b->terms ? b->terms : &run->terms;
    char root[PATH_MAX], what[2 * PATH_MAX + 64], hint[PATH_MAX + 128];

    if (!terms->n_grants ||
        (!has_no_repository(&run->result.out) && !has_no_repository(&run->result.err)))
        return;
    for (size_t i = 0; i < terms->n_grants; i++) {
        if (!git_link_is_missing(terms, i, root))
            continue;
        (void)snprintf(what, sizeof(what), "use git in %s: its data are in %s",
                       terms->grants[i].path, root);
        (void)snprintf(hint, sizeof(hint),
                       "`--allow %s` grants it (`:rw` to commit); ask the user to allow it", root);
        (void)run_deny(run, what, RUN_LAYER_DIRECTORIES, hint);
    }
}

void box_deny_host(struct run *run, const struct egress_note *note)
{
    char what[600], hint[600] = "";

    if (*note->host)
        (void)snprintf(what, sizeof(what), "connect to %s:%u (%s)", note->host, note->port,
                       note->why);
    else
        (void)snprintf(what, sizeof(what), "connect (%s)", note->why);
    if (note->grant)
        (void)snprintf(hint, sizeof(hint),
                       "`--net %s` allows it; \"%s\" in `net` of the request allows it",
                       note->grant, note->grant);
    if (note->is_failure)
        (void)snprintf(hint, sizeof(hint),
                       "the host is granted; check its name, and that this machine can reach it");
    (void)run_deny(run, what, note->is_failure ? RUN_LAYER_NETWORK : RUN_LAYER_NETWORK_GATE,
                   *hint ? hint : NULL);
}

void box_deny_call(struct run *run, const char *name, const struct error *why)
{
    char what[WIRE_CALL_NAME_MAX + 16];

    if (why->code != E_DENIED)
        return;
    (void)snprintf(what, sizeof(what), "call %s", name);
    (void)run_deny(run, what, RUN_LAYER_CALL, why->hint ? why->hint : why->message);
}

static struct clean_text mask(struct run *run, const char *text, size_t len)
{
    return mask_text(mask_context_of(run), (struct span){text, len});
}

void box_note_denials(struct box *b, struct run *run)
{
    note_time(b, run);
    note_memory(run);
    if (!b->cell.is_refused) {
        note_processes(b, run);
        note_disk(b, run);
        note_file_size(run);
        note_git_links(b, run);
    }
    run_mask_denials(run, mask);
}
