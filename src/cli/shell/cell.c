/* One cell: handed to the session, and what comes back of it, as it comes. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "admit/tokens.h"
#include "api/display.h"
#include "api/result.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/stream.h"
#include "cli/shell/shell.h"

/* Bytes of one text shown with display(). */
#define SHOWN_MAX (64 * KIB)

/* Picture and its escape sequences. */
#define DRAWN_MAX (16 * MIB)

static void clear_progress(struct shell *shell)
{
    if (shell->has_progress)
        (void)file_write_all(STDERR_FILENO, "\r\033[K", 4);
    shell->has_progress = false;
}

/* One line that is written over and over; nothing where there is no terminal to do that. */
static void show_progress(struct shell *shell, const struct run_event *event)
{
    cleanup(buf_done) struct buf line = BUF_OF(4 * KIB);
    cleanup(buf_done) struct buf text = BUF_OF(2 * KIB);

    if (!shell->err.is_terminal)
        return;
    if (terminal_line(event->data, event->len < 60 ? event->len : 60, &text, NULL) < 0)
        return;
    if (event->total)
        (void)buf_printf(&line, NULL, "\r\033[K%3.0f %% %s",
                         100.0 * (double)(event->done < event->total ? event->done : event->total) /
                             (double)event->total,
                         buf_str(&text));
    else
        (void)buf_printf(&line, NULL, "\r\033[K%llu %s", (unsigned long long)event->done,
                         buf_str(&text));
    (void)file_write_all(STDERR_FILENO, buf_str(&line), line.len);
    shell->has_progress = true;
}

static int find_place(struct shell *shell, struct error *err)
{
    if (shell->pictures)
        return 0;
    shell->pictures = paths_state("pictures", err);
    if (!shell->pictures)
        return -1;
    if (mkdir(shell->pictures, S_IRWXU) < 0 && errno != EEXIST)
        return error_errno(err, "make `%s`", shell->pictures);
    return 0;
}

static void show_picture(struct shell *shell, const struct run_form *form, uint32_t width,
                         uint32_t height)
{
    cleanup(buf_done) struct buf drawn = BUF_OF(DRAWN_MAX);
    cleanup_free char *path = NULL;
    struct error err = {0};

    if (!consent_is_open(&shell->consent) && picture_draw(shell->protocol, form, &drawn))
        (void)file_write_all(STDOUT_FILENO, buf_str(&drawn), drawn.len);
    if (find_place(shell, &err) < 0 ||
        picture_save(shell->pictures, "picture", form, &path, &err) < 0)
        shell_fail(shell, &err);
    else if (width && height)
        shell_say("picture %ux%u: %s", width, height, path);
    else
        shell_say("picture: %s", path);
}

/* The value of an expression was echoed already, and comes here without text. */
static void show_text(struct shell *shell, const struct run_display *display)
{
    const struct run_form *form = run_display_form(display, "text/plain");
    size_t len = form ? (form->len < SHOWN_MAX ? form->len : SHOWN_MAX) : 0;

    if (!len)
        return;
    (void)output_sink_pass(&shell->out, &(struct run_event){.data = form->data, .len = len});
    if (form->data[len - 1] != '\n')
        (void)output_sink_pass(&shell->out, &(struct run_event){.data = "\n", .len = 1});
}

void shell_hold(void *arg)
{
    struct shell *shell = arg;
    bool is_held = consent_is_open(&shell->consent) || output_sink_is_behind(&shell->out) ||
                   output_sink_is_behind(&shell->err);

    if (shell->out.failure || shell->err.failure) {
        shell->exit_code = 128 + SIGPIPE; /* nobody reads us any more */
        shell_end(shell);
    }
    if (is_held != shell->is_held && shell->has_cell && shell->backend->ops->hold)
        shell->backend->ops->hold(shell->backend, is_held);
    shell->is_held = is_held;
}

/* While a question stands there, nothing else is written: it could pass for the question. */
static void pause_output(struct shell *shell, bool is_paused)
{
    (void)output_sink_pause(&shell->out, is_paused);
    (void)output_sink_pause(&shell->err, is_paused);
    shell_hold(shell);
}

void shell_on_answered(void *arg)
{
    struct shell *shell = arg;

    pause_output(shell, false);
    typed_line_pause(&shell->typed, false);
}

/* Enter was pressed, and the terminal has shown it. */
void shell_on_typed(void *arg)
{
    struct shell *shell = arg;

    shell->out.is_in_line = shell->err.is_in_line = false;
}

static void on_event(void *user, const struct run_event *event)
{
    struct shell *shell = user;
    const struct run_form *picture;
    uint32_t width, height;

    if (event->kind == RUN_EVENT_PROGRESS) {
        if (consent_is_open(&shell->consent))
            return;
        show_progress(shell, event);
        return;
    }
    clear_progress(shell);
    if (event->kind == RUN_EVENT_APPROVAL) {
        consent_ask(&shell->consent, shell->engine.loop, event->approval);
        pause_output(shell, consent_is_open(&shell->consent));
        typed_line_pause(&shell->typed, consent_is_open(&shell->consent));
        return;
    }
    if (event->kind == RUN_EVENT_INPUT) {
        typed_line_want(&shell->typed, shell->engine.loop, event->input);
        return;
    }
    if (event->kind == RUN_EVENT_DISPLAY) {
        picture = display_picture(event->display, &width, &height);
        if (picture)
            show_picture(shell, picture, width, height);
        else
            show_text(shell, event->display);
    } else {
        (void)output_sink_pass(event->kind == RUN_EVENT_STDERR ? &shell->err : &shell->out, event);
    }
    shell_hold(shell);
}

static void on_done(void *user, const struct run *run)
{
    struct shell *shell = user;
    cleanup(buf_done) struct buf text = {0};
    struct error err = {0};

    clear_progress(shell);
    consent_close(&shell->consent);
    shell_on_answered(shell);
    (void)output_sink_finish(&shell->out);
    (void)output_sink_finish(&shell->err);
    shell->has_cell = false;
    shell->is_held = false;
    if (run->result.error.code != E_NONE) {
        error_copy(&err, &run->result.error);
        shell_fail(shell, &err);
    } else {
        buf_init(&text, SIZE_MAX / 2);
        if (result_cell(run, shell->has_color, &text, NULL) == 0)
            (void)file_write_all(STDERR_FILENO, buf_str(&text), text.len);
        shell->exit_code = run_status_exit(run);
    }
    shell_ask(shell);
}

void shell_run_cell(struct shell *shell)
{
    const struct backend_cell cell = {
        .language = shell->language,
        .code = buf_str(&shell->text),
        .len = shell->text.len,
        .can_ask = shell->consent.terminal >= 0,
        .can_type = editor_is_interactive(shell->editor),
        .on_event = on_event,
        .on_done = on_done,
        .user = shell,
    };
    struct error err = {0};

    shell->is_interrupted = false;
    shell->has_cell = true;
    shell->is_warned = false;
    if (shell->backend->ops->run(shell->backend, &cell, &err) < 0) {
        shell->has_cell = false;
        shell_fail(shell, &err);
        buf_clear(&shell->text);
        shell_ask(shell);
        return;
    }
    shell_learn(shell, buf_str(&shell->text));
    buf_clear(&shell->text);
}

void shell_interrupt(struct shell *shell)
{
    if (shell->is_interrupted)
        shell_say("stopping the cell; its kernel is killed if it does not react");
    shell->is_interrupted = true;
    typed_line_interrupt(&shell->typed);
    shell->backend->ops->interrupt(shell->backend);
}
