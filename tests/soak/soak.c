/* soak: many sessions at once, random cells with known answers, and things done to them that should
 * not happen: kernels, inits and the zygote are killed, cells interrupted, sessions ended and
 * opened again, kept, forked and taken back, for as long as one likes.
 *
 *     soak [--seconds S] [--cells N] [--sessions N] [--seed N] [--cold] [--bash-cells]
 *
 * It ends after so many seconds or cells. With --bash-cells there are only cells of Bash and only
 * interrupts, as many as there can be: a search for output that reaches the wrong cell.
 *
 * Every answer must be right, or an honest word about what was done to its session (model.c). At
 * the end no process, cgroup or descriptor is left, and memory has not grown since a quarter of
 * the time. The last line says how much was done; the status is 0 only if all of it was right.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admit/admit.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "model.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

#define SESSIONS_MAX 1000
#define QUEUE_MAX    3 /* cells under way in one session */
#define FORKS        2

/* How often the driver looks around; how long a session rests between two cells, at most. */
#define TICK_MS  2
#define PAUSE_MS 400

/* How often it says how far it is. */
#define SAY_NS (60 * NS_PER_S)

/* So long after a kill its signs are not a surprise. */
#define KILL_ECHO_NS (5 * NS_PER_S)

/* A cell without an answer for this long has been forgotten. */
#define LOST_NS (180 * NS_PER_S)

/* Memory of the driver at a quarter of the time against the end: allocators breathe. */
#define GROWTH_MAX_KB 4096

/* One place where a session lives, dies, and is opened again. */
struct place {
    struct soak *soak;
    struct session *session;
    struct model model;
    struct model kept; /* as the checkpoint has it */
    bool has_kept;
    bool is_ending; /* we did something that ends it */
    bool was_interrupted;
    bool is_copying; /* a checkpoint, restore or fork is under way */
    bool is_restoring;
    uint64_t opened_ns;
    uint64_t killed_ns;
    uint64_t next_ns;
    struct ask *asks[QUEUE_MAX];
};

/* A cell under way. */
struct ask {
    struct place *place;
    const struct cell *cell;
    struct run *run;
    long number;
    unsigned harms;
    uint64_t begun_ns;
};

struct soak {
    struct engine engine;
    struct config *config;
    struct profile *profile;
    struct loop_watch *tick;
    struct place places[SESSIONS_MAX];
    size_t n_places;
    uint64_t begin_ns, end_ns;
    uint64_t random;
    bool is_warm, is_over;
    bool is_bash_only;
    uint64_t next_say_ns;
    uint64_t zygote_killed_ns; /* 0: not yet */
    long number;
    size_t under_way;
    size_t quarter_kb;

    size_t max_cells; /* 0: the time alone decides */
    size_t n_cells, n_wrong, n_opened, n_ended, n_lost;
    size_t done[16]; /* by harm */
};

enum deed {
    DO_INTERRUPT,
    DO_CANCEL,
    DO_KILL,
    DO_KILL_INIT,
    DO_CLOSE,
    DO_RESTART,
    DO_CHECKPOINT,
    DO_RESTORE,
    DO_FORK,
    DO_KILL_ZYGOTE,
    N_DEEDS,
};

static const struct {
    const char *name;
    unsigned per_minute; /* at a hundred sessions */
} deeds[N_DEEDS] = {
    [DO_INTERRUPT] = {"interrupts", 300},
    [DO_CANCEL] = {"cancelled", 100},
    [DO_KILL] = {"processes killed", 120},
    [DO_KILL_INIT] = {"inits killed", 60},
    [DO_CLOSE] = {"sessions closed", 60},
    [DO_RESTART] = {"restarts", 60},
    [DO_CHECKPOINT] = {"checkpoints", 120},
    [DO_RESTORE] = {"restores", 120},
    [DO_FORK] = {"forks", 60},
    [DO_KILL_ZYGOTE] = {"zygotes killed", 3},
};

static uint64_t random_below(struct soak *k, uint64_t n)
{
    k->random ^= k->random << 13;
    k->random ^= k->random >> 7;
    k->random ^= k->random << 17;
    return k->random % n;
}

static void wrong(struct soak *k, const char *what, const struct ask *ask)
{
    const struct run *run = ask ? ask->run : NULL;

    k->n_wrong++;
    (void)fprintf(stderr, "soak: WRONG: %s\n", what);
    if (!run)
        return;
    (void)fprintf(
        stderr,
        "    cell `%s` of place %td, session %s, after %.3f s, harms %u\n"
        "    status %s, exit code %d, signal %d, state %d, error `%s`\n"
        "    stdout `%s`, value `%s`, exception `%s: %s`\n    stderr `%.400s`\n",
        ask->cell->name, ask->place - k->places, run->origin.session,
        (double)(loop_now_ns() - ask->begun_ns) / 1e9, ask->harms,
        run_status_name(run->result.status), run->result.exit_code, run->result.signal,
        (int)run->result.state, run->result.error.message ? run->result.error.message : "",
        buf_str(&run->result.out.head), run->result.value_text ? run->result.value_text : "",
        run->result.exception.name ? run->result.exception.name : "",
        run->result.exception.message ? run->result.exception.message : "",
        buf_str(&run->result.err.head));
    for (int i = 0; i < 2; i++)
        (void)fprintf(stderr, "    counter %d: %ld to %ld%s\n", i,
                      ask->place->model.counters[i].low, ask->place->model.counters[i].high,
                      ask->place->model.counters[i].may_be_lost ? ", or none" : "");
}

static double seconds_since(uint64_t ns)
{
    return ns ? (double)(loop_now_ns() - ns) / 1e9 : -1;
}

/* The first signs of a kill may come a little later, and on a busy machine later still. */
static bool is_recent(uint64_t killed_ns)
{
    return killed_ns && loop_now_ns() - killed_ns < KILL_ECHO_NS;
}

/* --- cells --- */

static struct run *admitted(struct soak *k, const char *code, enum run_language language)
{
    struct run *run = run_new();

    if (!run || buf_add_str(&run->program.code, code, NULL) < 0) {
        (void)fputs("soak: out of memory\n", stderr);
        exit(1);
    }
    run->program.language = language;
    if (admit_run(run, k->config, k->profile, &run->result.error) < 0) {
        (void)fprintf(stderr, "soak: %s\n", run->result.error.message);
        exit(1);
    }
    return run;
}

static bool is_busy(const struct place *p)
{
    for (size_t i = 0; i < QUEUE_MAX; i++)
        if (p->asks[i])
            return true;
    return false;
}

static void on_answer(struct run *run)
{
    struct ask *ask = run->user;
    struct place *p = ask->place;
    struct soak *k = p->soak;
    const char *why;

    if (is_recent(p->killed_ns))
        ask->harms |= HARM_KILL;
    if (p->is_ending || k->is_over || is_recent(k->zygote_killed_ns))
        ask->harms |= HARM_END;
    k->n_cells++;
    k->n_lost += run->result.state == RUN_STATE_LOST;
    why = model_judge(&p->model, ask->cell, ask->number, run, ask->harms);
    if (why)
        wrong(k, why, ask);
    if (ask->begun_ns < p->killed_ns) /* it may have ended just before the kill */
        model_may_lose(&p->model);
    p->was_interrupted |= run->result.status == RUN_CANCELLED || run->result.status == RUN_TIMEOUT;
    for (size_t i = 0; i < QUEUE_MAX; i++)
        if (p->asks[i] == ask)
            p->asks[i] = NULL;
    k->under_way--;
    run_free(run);
    free(ask);
}

static unsigned weight_of(const struct soak *k, const struct cell *cell)
{
    return k->is_bash_only && cell->language != RUN_BASH ? 0 : cell->weight;
}

static const struct cell *random_cell(struct soak *k)
{
    unsigned sum = 0;
    uint64_t at;

    for (size_t i = 0; i < n_cells; i++)
        sum += weight_of(k, &cells[i]);
    at = random_below(k, sum);
    for (size_t i = 0; i < n_cells; i++) {
        if (at < weight_of(k, &cells[i]))
            return &cells[i];
        at -= weight_of(k, &cells[i]);
    }
    return &cells[0];
}

/* The code of a cell, with its number wherever it is asked for. */
static void fill_in(const char *code, long number, struct buf *filled)
{
    for (const char *hole; (hole = strstr(code, "%ld")); code = hole + 3)
        if (buf_add(filled, code, (size_t)(hole - code), NULL) < 0 ||
            buf_printf(filled, NULL, "%ld", number) < 0)
            exit(1);
    if (buf_add_str(filled, code, NULL) < 0)
        exit(1);
}

static void ask_cell(struct place *p, size_t slot)
{
    struct soak *k = p->soak;
    struct ask *ask = calloc(1, sizeof(*ask));
    cleanup(buf_done) struct buf code = {0};

    if (!ask)
        exit(1);
    ask->place = p;
    ask->cell = random_cell(k);
    ask->number = ++k->number;
    ask->begun_ns = loop_now_ns();
    buf_init(&code, MIB);
    fill_in(ask->cell->code, ask->number, &code);
    ask->run = admitted(k, buf_str(&code), ask->cell->language);
    ask->run->terms.limits.timeout_ms = ask->cell->timeout_ms;
    ask->run->on_done = on_answer;
    ask->run->user = ask;
    p->asks[slot] = ask;
    k->under_way++;
    if (session_submit(p->session, ask->run) < 0)
        exit(1);
}

/* --- sessions --- */

static struct place *place_of(struct soak *k, const struct session *session)
{
    for (size_t i = 0; i < k->n_places; i++)
        if (k->places[i].session == session)
            return &k->places[i];
    return NULL;
}

static void on_end(void *user, struct session *session, const char *why)
{
    struct soak *k = user;
    struct place *p = place_of(k, session);
    char what[300];

    k->n_ended++;
    if (!p) /* a copy that found no place */
        return;
    if (!p->is_ending && !k->is_over && !is_recent(k->zygote_killed_ns)) {
        (void)snprintf(what, sizeof(what),
                       "a session ended by itself, %.3f s after it was opened, %.3f s after the "
                       "zygote was killed: %s",
                       seconds_since(p->opened_ns), seconds_since(k->zygote_killed_ns), why);
        wrong(k, what, NULL);
    }
    p->session = NULL;
    p->is_ending = true; /* its last answers may still be on their way */
}

static void open_place(struct place *p)
{
    struct soak *k = p->soak;
    struct run *run = admitted(k, "", RUN_PYTHON);
    struct error err = {0};

    *p = (struct place){.soak = k, .opened_ns = loop_now_ns(), .model.is_file_known = true};
    if (sessions_open(k->engine.sessions, &run->terms,
                      &(struct session_options){.owner = "", .on_end = on_end, .user = k},
                      &p->session, &err) < 0) {
        wrong(k, err.message, NULL);
        p->session = NULL;
    }
    error_done(&err);
    run_free(run);
    k->n_opened++;
}

/* --- what is done to them --- */

static void harm_cells(struct place *p, unsigned harm)
{
    for (size_t i = 0; i < QUEUE_MAX; i++)
        if (p->asks[i])
            p->asks[i]->harms |= harm;
}

static bool interrupt(struct place *p)
{
    if (!session_interrupt(p->session))
        return false;
    harm_cells(p, HARM_INTERRUPT);
    return true;
}

static bool cancel(struct place *p)
{
    for (size_t i = 0; i < QUEUE_MAX; i++)
        if (p->asks[i]) {
            p->asks[i]->harms |= HARM_INTERRUPT;
            session_cancel(p->session, p->asks[i]->run);
            return true;
        }
    return false;
}

/* One of the children of pid 1: a kernel, or what lives beside it. */
static bool kill_process(struct place *p)
{
    pid_t init = session_pid(p->session);
    char path[64];
    int pids[16], n = 0;
    FILE *list;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)init, (int)init);
    list = init > 0 ? fopen(path, "re") : NULL;
    while (list && n < 16 && fscanf(list, "%d", &pids[n]) == 1)
        n++;
    if (list)
        (void)fclose(list);
    if (n == 0 || kill(pids[random_below(p->soak, (uint64_t)n)], SIGKILL) < 0)
        return false;
    p->killed_ns = loop_now_ns();
    harm_cells(p, HARM_KILL);
    model_may_lose(&p->model);
    return true;
}

static bool kill_init(struct place *p)
{
    pid_t init = session_pid(p->session);

    if (init <= 0)
        return false;
    p->is_ending = true;
    return kill(init, SIGKILL) == 0;
}

static bool close_place(struct place *p)
{
    p->is_ending = true;
    session_close(p->session, "the soak test ends it");
    return true;
}

static bool restart(struct place *p)
{
    enum run_language language = random_below(p->soak, 2) ? RUN_BASH : RUN_PYTHON;
    struct error err = {0};

    if (is_busy(p) || session_restart(p->session, language, &err) < 0) {
        error_done(&err);
        return false;
    }
    model_lose(&p->model, language);
    return true;
}

/* Everything may die at once. */
static bool kill_zygote(struct soak *k)
{
    const struct zygote_client *zygote = pool_zygote(k->engine.pool);
    pid_t pid = zygote && zygote_client_is_ready(zygote) ? zygote_client_pid(zygote) : -1;

    if (pid <= 0)
        return false;
    for (size_t i = 0; i < k->n_places; i++)
        k->places[i].is_ending = true;
    k->zygote_killed_ns = loop_now_ns();
    return kill(pid, SIGKILL) == 0;
}

/* --- copies --- */

/* A kernel that was killed, or a child that an interrupted cell has left behind: there are reasons
 * to say no. */
static bool may_refuse(const struct place *p)
{
    return p->is_ending || p->soak->is_over || p->was_interrupted || is_recent(p->killed_ns) ||
           is_recent(p->soak->zygote_killed_ns);
}

static void on_kept(void *user, const struct session_copied *result)
{
    struct place *p = user;

    p->is_copying = false;
    if (result->err->code == E_NONE) {
        p->kept = model_copy(&p->model);
        p->has_kept = true;
    } else if (!may_refuse(p)) {
        wrong(p->soak, result->err->message, NULL);
    }
}

static void on_restored(void *user, const struct session_copied *result)
{
    struct place *p = user;

    p->is_copying = p->is_restoring = false;
    if (result->err->code == E_NONE) {
        p->model = p->kept;
        if (is_recent(p->killed_ns)) /* it may have met the copy */
            model_may_lose(&p->model);
    } else if (!may_refuse(p)) {
        wrong(p->soak, result->err->message, NULL);
    }
}

static void on_forked(void *user, const struct session_copied *result)
{
    struct place *p = user;

    p->is_copying = false;
    if (result->err->code != E_NONE && !may_refuse(p))
        wrong(p->soak, result->err->message, NULL);
    for (size_t i = 0; i < result->n_sessions; i++) {
        struct place *copy = NULL;

        /* A place that is free at this moment; else it has come for nothing. */
        for (size_t j = 0; j < p->soak->n_places && !copy; j++)
            if (!p->soak->places[j].session && !is_busy(&p->soak->places[j]) &&
                !p->soak->places[j].is_copying)
                copy = &p->soak->places[j];
        if (!copy || p->soak->is_over) {
            session_close(result->sessions[i], "there is no place for it");
            continue;
        }
        *copy = (struct place){
            .soak = p->soak, .session = result->sessions[i], .model = model_copy(&p->model)};
        p->soak->n_opened++;
    }
}

static bool copy(struct place *p, enum deed deed)
{
    struct error err = {0};
    int r;

    if (!p->soak->is_warm || is_busy(p) || p->is_copying || session_pid(p->session) < 0 ||
        (deed == DO_RESTORE && !p->has_kept))
        return false;
    if (deed == DO_CHECKPOINT)
        r = session_checkpoint(p->session, "kept", on_kept, p, &err);
    else if (deed == DO_RESTORE)
        r = session_restore(p->session, "kept", on_restored, p, &err);
    else
        r = session_fork(p->session, FORKS,
                         &(struct session_options){.owner = "", .on_end = on_end, .user = p->soak},
                         on_forked, p, &err);
    if (r < 0 && err.code != E_BUSY && !may_refuse(p))
        wrong(p->soak, err.message, NULL);
    p->is_copying = r == 0;
    p->is_restoring = r == 0 && deed == DO_RESTORE;
    error_done(&err);
    return r == 0;
}

static bool do_it(struct soak *k, enum deed deed, struct place *p)
{
    if (deed == DO_KILL_ZYGOTE)
        return kill_zygote(k);
    if (!p->session || p->is_ending)
        return false;
    switch (deed) {
    case DO_INTERRUPT:
        return interrupt(p);
    case DO_CANCEL:
        return cancel(p);
    case DO_KILL:
        return kill_process(p);
    case DO_KILL_INIT:
        return kill_init(p);
    case DO_CLOSE:
        return close_place(p);
    case DO_RESTART:
        return !p->is_copying && restart(p);
    default:
        return copy(p, deed);
    }
}

/* Many things can only be done to a session that rests, or to one that does not. */
static bool do_somewhere(struct soak *k, enum deed deed)
{
    for (size_t i = 0; i < k->n_places; i++)
        if (do_it(k, deed, &k->places[random_below(k, k->n_places)]))
            return true;
    return false;
}

static void do_something(struct soak *k)
{
    for (int deed = 0; deed < N_DEEDS; deed++) {
        uint64_t rate = (uint64_t)deeds[deed].per_minute * k->n_places / 100 + 1;

        if (k->is_bash_only && deed != DO_INTERRUPT && deed != DO_CANCEL)
            continue;
        if (random_below(k, 60 * 1000 / TICK_MS) < rate)
            k->done[deed] += do_somewhere(k, (enum deed)deed);
    }
}

/* --- the driver --- */

static size_t resident_kb(void)
{
    unsigned long size, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file && fscanf(file, "%lu %lu", &size, &pages) != 2)
        pages = 0;
    if (file)
        (void)fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void look_for_forgotten_cells(struct place *p)
{
    for (size_t i = 0; i < QUEUE_MAX; i++)
        if (p->asks[i] && loop_now_ns() - p->asks[i]->begun_ns > LOST_NS) {
            wrong(p->soak, "a cell was never answered", p->asks[i]);
            p->soak->is_over = true;
            loop_stop(p->soak->engine.loop);
            return;
        }
}

static void live(struct place *p)
{
    uint64_t now = loop_now_ns();

    if (!p->session) {
        if (!is_busy(p) && !p->is_copying)
            open_place(p);
        return;
    }
    if (p->is_ending || p->is_copying || now < p->next_ns)
        return;
    p->next_ns = now + random_below(p->soak, p->soak->is_bash_only ? 2 : PAUSE_MS) * NS_PER_MS;
    for (size_t i = 0; i < QUEUE_MAX; i++)
        if (!p->asks[i]) {
            ask_cell(p, i);
            return;
        }
}

static bool all_is_quiet(const struct soak *k)
{
    for (size_t i = 0; i < k->n_places; i++)
        if (k->places[i].session || k->places[i].is_copying)
            return false;
    return k->under_way == 0;
}

/* The time is over: what runs is ended, which every cell is told. */
static void wind_up(struct soak *k)
{
    k->is_over = true;
    for (size_t i = 0; i < k->n_places; i++)
        if (k->places[i].session && !k->places[i].is_ending)
            (void)close_place(&k->places[i]);
}

static void on_tick(void *arg)
{
    struct soak *k = arg;
    uint64_t now = loop_now_ns();

    for (size_t i = 0; i < k->n_places; i++)
        look_for_forgotten_cells(&k->places[i]);
    if (k->is_over) {
        if (all_is_quiet(k))
            loop_stop(k->engine.loop);
    } else if (now >= k->end_ns || (k->max_cells && k->n_cells >= k->max_cells)) {
        wind_up(k);
    } else {
        for (size_t i = 0; i < k->n_places; i++)
            live(&k->places[i]);
        do_something(k);
        /* Once in any case. */
        if (!k->is_bash_only && !k->zygote_killed_ns &&
            now > k->begin_ns + (k->end_ns - k->begin_ns) / 2 && kill_zygote(k))
            k->done[DO_KILL_ZYGOTE]++;
        if (!k->quarter_kb && now > k->begin_ns + (k->end_ns - k->begin_ns) / 4)
            k->quarter_kb = resident_kb();
        if (now >= k->next_say_ns) {
            (void)printf("%zu cells answered, %zu wrong\n", k->n_cells, k->n_wrong);
            (void)fflush(stdout);
            k->next_say_ns = now + SAY_NS;
        }
    }
    loop_timer_start(k->tick, TICK_MS);
}

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 65536; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static int run_it(struct soak *k, struct error *err)
{
    struct run_limits limits = {0};

    admit_limits(k->config, k->profile, &limits);
    if (engine_open(&k->engine, k->config, &(struct engine_stock){.size = 4, .warm = k->is_warm},
                    &limits, err) < 0 ||
        engine_open_sessions(
            &k->engine,
            &(struct sessions_options){.max_total = SESSIONS_MAX * (FORKS + 1),
                                       .max_per_owner = SESSIONS_MAX * (FORKS + 1)},
            err) < 0)
        return -1;
    k->tick = loop_timer(k->engine.loop, on_tick, k);
    if (!k->tick)
        return error_memory(err);
    k->begin_ns = loop_now_ns();
    k->end_ns += k->begin_ns;
    k->next_say_ns = k->begin_ns + SAY_NS;
    loop_timer_start(k->tick, 0);
    return loop_run(k->engine.loop, err);
}

static void look_for_leftovers(struct soak *k, size_t descriptors, const char *cgroup)
{
    size_t end_kb = resident_kb();

    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        wrong(k, "a process is left", NULL);
    if (open_descriptors() != descriptors)
        wrong(k, "a descriptor is left", NULL);
    if (*cgroup && access(cgroup, F_OK) == 0)
        wrong(k, "a cgroup is left", NULL);
    if (k->quarter_kb && end_kb > k->quarter_kb + GROWTH_MAX_KB)
        wrong(k, "memory has grown", NULL);
    (void)printf("memory of the driver: %zu kB at a quarter of the time, %zu kB at the end\n",
                 k->quarter_kb, end_kb);
}

static void say(const struct soak *k)
{
    (void)printf("%zu sessions opened, %zu ended", k->n_opened, k->n_ended);
    for (int i = 0; i < N_DEEDS; i++)
        (void)printf(", %zu %s", k->done[i], deeds[i].name);
    (void)printf("\n%zu cells answered, %zu with a lost kernel; %zu wrong\n", k->n_cells, k->n_lost,
                 k->n_wrong);
}

static int usage(void)
{
    (void)fputs(
        "usage: soak [--seconds S] [--cells N] [--sessions N] [--seed N] [--cold] [--bash-cells]\n",
        stderr);
    return 64;
}

int main(int argc, char **argv)
{
    /* clang-format off */
    static const struct option options[] = {
        {"seconds", required_argument, NULL, 's'},
        {"cells", required_argument, NULL, 'm'},
        {"sessions", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 'r'},
        {"cold", no_argument, NULL, 'c'},
        {"bash-cells", no_argument, NULL, 'b'},
        {0},
    };
    /* clang-format on */
    static struct soak k;
    cleanup_error struct error err = {0};
    unsigned long seconds = 60, sessions = 100, seed = (unsigned long)loop_now_ns();
    size_t descriptors = open_descriptors();
    char cgroup[512] = "";
    bool is_warm = true; /* a cold one makes no copies */
    int option, r = -1;

    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        if (option == 's')
            seconds = strtoul(optarg, NULL, 10);
        else if (option == 'n')
            sessions = strtoul(optarg, NULL, 10);
        else if (option == 'r')
            seed = strtoul(optarg, NULL, 10);
        else if (option == 'm')
            k.max_cells = strtoul(optarg, NULL, 10);
        else if (option == 'b')
            k.is_bash_only = true;
        else if (option == 'c')
            is_warm = false;
        else
            return usage();
    }
    if (seconds < 1 || sessions < 1 || sessions > SESSIONS_MAX || optind < argc)
        return usage();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)printf("%lu sessions for %lu s, seed %lu\n", sessions, seconds, seed);
    (void)fflush(stdout);

    k.random = seed * 2654435761u + 88172645463325252u;
    k.is_warm = is_warm;
    k.n_places = sessions;
    k.end_ns = seconds * NS_PER_S;
    for (size_t i = 0; i < k.n_places; i++)
        k.places[i].soak = &k;
    k.config = config_new();
    if (k.config && config_load(k.config, NULL, &err) == 0 &&
        config_set_flag(k.config, "profile", "open", &err) == 0 &&
        admit_load_profile(k.config, &k.profile, &err) == 0)
        r = run_it(&k, &err);
    if (r < 0)
        wrong(&k, err.message ? err.message : "out of memory", NULL);
    if (k.engine.cgroups && cgroup_host_path(k.engine.cgroups))
        (void)snprintf(cgroup, sizeof(cgroup), "%s", cgroup_host_path(k.engine.cgroups));
    k.is_over = true;
    loop_watch_free(k.tick);
    engine_close(&k.engine);
    profile_free(k.profile);
    config_free(k.config);
    look_for_leftovers(&k, descriptors, cgroup);
    say(&k);
    return k.n_wrong ? 1 : 0;
}
