/* Cells in a session of this process. */
#include "admit/request.h"
#include "base/cleanup.h"
#include "cli/shell/shell.h"

static void on_event(struct run *run, const struct run_event *event)
{
    const struct backend_local *local = run->user;

    if (local->cell.on_event)
        local->cell.on_event(local->cell.user, event);
}

static void on_done(struct run *run)
{
    struct backend_local *local = run->user;
    const struct backend_cell cell = local->cell;

    local->run = NULL;
    local->cell = (struct backend_cell){0};
    cell.on_done(cell.user, run);
    run_free(run);
}

static int run_cell(struct backend *backend, const struct backend_cell *cell, struct error *err)
{
    struct backend_local *local = (struct backend_local *)backend;
    const struct shell *shell = local->shell;
    struct admission admission = shell_admission(shell);
    struct run_request asked = {
        .code = {cell->code, cell->len},
        .language = cell->language,
        .auto_print = cell->language != RUN_BASH,
        .can_ask = cell->can_ask,
        .can_type = cell->can_type,
        .has_one_stream = shell->asked.has_one_stream,
    };

    if (!shell->session)
        return error_set(err, E_NOT_FOUND, "the session has ended");
    admission.has_skills = admission.may_keep = true;
    if (cell->timeout_s > 0)
        run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s, cell->timeout_s);
    if (admit_request(&admission, &asked, &local->run, err) < 0)
        return -1;
    local->cell = *cell;
    local->cell.code = NULL;
    local->run->user = local;
    local->run->on_event = on_event;
    local->run->on_done = on_done;
    local->run->is_unmetered = true;
    if (session_submit(shell->session, local->run) == 0)
        return 0;
    error_copy(err, &local->run->result.error);
    run_free(take_ptr(local->run));
    return -1;
}

static void interrupt(struct backend *backend)
{
    struct backend_local *local = (struct backend_local *)backend;
    const struct shell *shell = local->shell;

    if (shell->session && local->run && !session_interrupt(shell->session))
        session_cancel(shell->session, local->run); /* it waits for its sandbox */
}

static void hold(struct backend *backend, bool is_held)
{
    struct backend_local *local = (struct backend_local *)backend;

    if (local->run)
        pool_hold(local->run, is_held);
}

void backend_local_init(struct backend_local *local, struct shell *shell)
{
    static const struct backend_ops ops = {run_cell, interrupt, hold};

    *local = (struct backend_local){.base = {&ops}, .shell = shell};
}
