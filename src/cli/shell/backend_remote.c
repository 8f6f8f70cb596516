/* Cells in a session of a server, which others use, too: the agent whose session it is.
 *
 * A cell is run as `belljar run --session` runs it, and this process waits for it: while a cell
 * runs, the prompt is not shown. Ctrl-C cancels the cell there. Leaving does not end the
 * session.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/shell/shell.h"

struct backend_remote {
    struct backend base;
    struct shell *shell;
    struct remote *remote;
    struct backend_cell cell; /* that is under way; its code is `code` */
    struct buf code;
    bool is_interrupted; /* before it was sent */
    json_int_t cells;    /* of the session that are known to us, our own among them */
    struct loop_watch *soon;
};

/* --- what others do in it --- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* The cell that runs there now; its code may be anything. */
static void say_busy(struct backend_remote *b)
{
    cleanup_free char *path = client_path("/v1/runs?state=live&session=", b->remote->session, "");
    cleanup_json json_t *answer = NULL;
    const json_t *runs, *run;

    if (!path || client_call(&b->remote->client, "GET", path, NULL, &answer, NULL) < 0)
        return;
    runs = json_object_get(answer, "runs");
    run = json_array_get(runs, json_array_size(runs) - 1); /* the oldest: it has its turn */
    if (run)
        shell_say("the session is busy with %.40s: %.100s", text_of(run, "id"),
                  text_of(run, "code"));
}

/* `session` is as the server describes it. */
static void say_state(struct backend_remote *b, const json_t *session)
{
    const char *state = json_string_value(json_object_get(session, "state"));
    json_int_t cells = json_integer_value(json_object_get(session, "cells"));

    if (cells > b->cells)
        shell_say("%" JSON_INTEGER_FORMAT " other %s ran in the session meanwhile",
                  cells - b->cells, cells - b->cells == 1 ? "cell" : "cells");
    b->cells = cells;
    if (state && strcmp(state, "busy") == 0)
        say_busy(b);
}

static void look(struct backend_remote *b)
{
    cleanup_free char *path = client_path("/v1/sessions/", b->remote->session, "");
    cleanup_json json_t *session = NULL;

    if (path && client_call(&b->remote->client, "GET", path, NULL, &session, NULL) == 0)
        say_state(b, session);
}

/* --- cells --- */

static void on_event(struct run *run, const struct run_event *event)
{
    const struct backend_remote *b = run->user;

    b->cell.on_event(b->cell.user, event);
    if (b->shell->is_over) /* nobody reads us any more */
        remote_cancel(b->remote);
}

/* The server's hint names what its other clients can do. */
static void explain_input(struct run_exception *e)
{
    if (!e->name || strcmp(e->name, "EOFError") != 0 || !e->hint)
        return;
    free(e->hint);
    e->hint = strdup("standard input has the cells: write the value into the code");
}

static void end_cell(struct backend_remote *b, struct run *run)
{
    const struct backend_cell cell = b->cell;

    explain_input(&run->result.exception);
    b->cell = (struct backend_cell){0};
    buf_clear(&b->code);
    if (run->result.error.code == E_NOT_FOUND || b->remote->ended_by)
        b->shell->is_ending = true; /* the session is gone, or we are to go */
    cell.on_done(cell.user, run);
    if (b->remote->ended_by)
        b->shell->exit_code = 130;
    run_free(run);
}

static void on_soon(void *arg)
{
    struct backend_remote *b = arg;
    const struct run_request asked = {
        .code = {b->code.data, b->code.len},
        .language = b->cell.language,
        .auto_print = b->cell.language != RUN_BASH,
        .can_type = b->cell.can_type,
    };
    struct run *run = run_new();

    if (!run) {
        shell_end(b->shell);
        return;
    }
    run->user = b;
    run->on_event = on_event;
    run->program.language = b->cell.language;
    run->program.auto_print = asked.auto_print;
    run->result.status = RUN_CANCELLED;
    run->result.exit_code = 130;
    if (!b->is_interrupted) {
        look(b);
        b->cells++; /* ours */
        (void)remote_run(b->remote, b->shell->config, &asked, run, &run->result.error);
    }
    end_cell(b, run);
}

static int run_cell(struct backend *backend, const struct backend_cell *cell, struct error *err)
{
    struct backend_remote *b = (struct backend_remote *)backend;

    /* Cells of the shell itself are short, and must not wait for those of an agent. */
    if (!cell->on_event)
        return error_set(err, E_UNSUPPORTED, "the session is on a server");
    if (buf_add(&b->code, cell->code, cell->len, err) < 0)
        return -1;
    b->cell = *cell;
    b->cell.code = NULL;
    b->is_interrupted = false;
    loop_timer_start(b->soon, 0);
    return 0;
}

/* Once it is sent, remote_run() has the signals. */
static void interrupt(struct backend *backend)
{
    ((struct backend_remote *)backend)->is_interrupted = true;
}

/* --- the session --- */

int backend_remote_open(struct shell *shell, struct remote *remote, struct error *err)
{
    static const struct backend_ops ops = {.run = run_cell, .interrupt = interrupt};
    struct backend_remote *b = calloc(1, sizeof(*b));
    cleanup_json json_t *session = NULL;

    if (!b)
        return error_memory(err);
    *b = (struct backend_remote){.base = {&ops}, .shell = shell, .remote = remote};
    shell->remote = b;
    buf_init(&b->code, (size_t)shell->config->code_bytes);
    shell->engine.loop = loop_new(err);
    if (!shell->engine.loop)
        return -1;
    b->soon = loop_timer(shell->engine.loop, on_soon, b);
    if (!b->soon)
        return error_memory(err);
    if (remote_attach(remote, shell->config, &shell->asked, &session, err) < 0)
        return -1;
    remote->consent = &shell->consent;
    remote->on_line = shell_on_typed;
    remote->on_line_user = shell;
    shell->backend = &b->base;
    b->cells = json_integer_value(json_object_get(session, "cells"));
    return 0;
}

void backend_remote_greet(struct shell *shell)
{
    struct backend_remote *b = shell->remote;

    if (editor_is_interactive(shell->editor)) {
        shell_say("session %.64s of the server, %" JSON_INTEGER_FORMAT
                  " cells so far; leaving does not end it",
                  b->remote->session, b->cells);
        look(b);
    }
    shell_ask(shell);
}

void backend_remote_free(struct shell *shell)
{
    struct backend_remote *b = shell->remote;

    if (!b)
        return;
    loop_watch_free(b->soon);
    buf_done(&b->code);
    free(b);
    shell->remote = NULL;
}
