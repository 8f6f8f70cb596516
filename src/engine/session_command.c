/* Commands beside the kernels of a session (engine/box_command.c): when they begin, and what is
 * done with one that runs. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "engine/masking.h"
#include "engine/recorder.h"
#include "engine/session_internal.h"
#include "mask/pseudonyms.h"

/* Bytes of the names of commands in an error. */
#define NAME_BYTES  ((size_t)40)
#define NAMES_BYTES ((size_t)256)

/* The words of the command: what the names of the session stand for. */
static int turn_back(const struct session *s, struct run *run, struct error *err)
{
    for (char **word = s->names ? run->program.args : NULL; word && *word; word++) {
        cleanup(buf_done) struct buf text = BUF_OF(LIMIT_COMMAND_BYTES);
        char *copy;

        if (buf_add(&text, *word, strlen(*word), err) < 0 ||
            pseudonyms_back(s->names, &text, err) < 0)
            return -1;
        copy = strdup(buf_str(&text));
        if (!copy)
            return error_memory(err);
        free(*word);
        *word = copy;
    }
    return 0;
}

void session_submit_command(struct session *s, struct session_cell *command)
{
    if (session_check_here(s, "commands in sessions", &command->run->result.error) < 0 ||
        !session_take(s, command->run) ||
        turn_back(s, command->run, &command->run->result.error) < 0) {
        session_answer(s->table, command);
        return;
    }
    TAILQ_INSERT_TAIL(&s->commands, command, link);
    s->n_commands++;
    session_start_commands(s);
}

static bool can_start(const struct session *s)
{
    return !s->is_closing && s->box && !s->is_paused && !s->fork && !session_copy_holds(s) &&
           (box_state(s->box) == BOX_KEPT || box_state(s->box) == BOX_RUNNING);
}

void session_start_commands(struct session *s)
{
    while (!TAILQ_EMPTY(&s->commands) && can_start(s)) {
        struct session_cell *command = TAILQ_FIRST(&s->commands);
        struct run *run = command->run;

        TAILQ_REMOVE(&s->commands, command, link);
        loop_timer_stop(s->idle);
        s->is_used = true;
        run->box = s->box;
        if (box_command(s->box, run, &run->result.error) == 0) {
            free(command);
            continue;
        }
        run->box = NULL;
        s->n_commands--;
        session_answer(s->table, command);
    }
}

/* Keys come one by one. They are written down in lines, or in pieces of so many bytes. */
#define TYPED_BYTES ((size_t)256)

static bool ends_piece(struct span keys, size_t more)
{
    static const char ends[] = "\r\n\3\4\32";

    if (keys.len + more >= TYPED_BYTES)
        return true;
    for (size_t i = 0; i < keys.len; i++)
        if (memchr(ends, keys.data[i], sizeof(ends) - 1))
            return true;
    return false;
}

static int record_typed(struct session *s, struct run *run, struct error *err)
{
    struct buf *typed = &run->program.typed;
    int r = recorder_input(s->table->recorder, run, (struct span){buf_str(typed), typed->len}, err);

    buf_clear(typed);
    return r;
}

/* Written down as it came: what the names stand for is not for the disk. */
static int record_input(struct session *s, struct run *run, struct span data, struct error *err)
{
    size_t before = run->program.typed.len;

    if (!run->terms.has_terminal)
        return recorder_input(s->table->recorder, run, data, err);
    if (buf_add(&run->program.typed, data.data, data.len, err) < 0)
        return -1;
    return ends_piece(data, before) ? record_typed(s, run, err) : 0;
}

void session_on_command_done(void *owner, struct box *box, struct run *command)
{
    struct session *s = owner;

    cleanup_error struct error ignored = {0};

    (void)box;
    (void)record_typed(s, command, &ignored); /* it has been typed, and had its effect */
    command->box = NULL;
    s->n_commands--;
    if (s->is_closing)
        session_set_ended(s, &command->result.error);
    session_answer_run(s->table, command);
    session_go_on(s);
}

void session_drop_commands(struct session *s)
{
    while (!TAILQ_EMPTY(&s->commands)) {
        struct session_cell *command = TAILQ_FIRST(&s->commands);

        TAILQ_REMOVE(&s->commands, command, link);
        s->n_commands--;
        session_set_ended(s, &command->run->result.error);
        session_answer(s->table, command);
    }
}

int session_input(struct session *s, struct run *run, const char *data, size_t len, bool closes,
                  struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_STDIN_BYTES);

    if (box_command_check_input(run, len, closes, err) < 0 ||
        record_input(s, run, (struct span){data, len}, err) < 0 ||
        buf_add(&text, data, len, err) < 0 ||
        (s->names && pseudonyms_back(s->names, &text, err) < 0))
        return -1;
    return box_command_input(run, buf_str(&text), text.len, closes, err);
}

int session_resize(struct session *s, struct run *run, uint16_t columns, uint16_t rows,
                   struct error *err)
{
    return session_check_awake(s, err) < 0 ? -1 : box_command_resize(run, columns, rows, err);
}

int session_signal(struct session *s, struct run *run, int sig, struct error *err)
{
    if (session_check_awake(s, err) < 0)
        return -1;
    if (!run->command)
        return error_set(err, E_BUSY, "the command has not begun");
    box_command_signal(run, sig);
    return 0;
}

/* The beginning of its line, masked. */
static int add_name(const struct session *s, const struct run *run, struct buf *names)
{
    struct clean_text line = mask_text(
        session_masks(s), (struct span){buf_str(&run->program.code), run->program.code.len});
    size_t len = clean_len(line) < NAME_BYTES ? clean_len(line) : NAME_BYTES;
    const char *end = memchr(clean_data(line), '\n', len);

    if (end)
        len = (size_t)(end - clean_data(line));
    len -= utf8_cut_at_end(clean_data(line), len);
    if (names->len && buf_add_str(names, ", ", NULL) < 0)
        return -1;
    return buf_printf(names, NULL, "`%.*s`", (int)len, clean_data(line));
}

int session_check_commands(const struct session *s, struct error *err)
{
    cleanup(buf_done) struct buf names = BUF_OF(NAMES_BYTES);
    const struct run *run;

    if (!s->n_commands)
        return 0;
    for (size_t i = 0; (run = box_command_at(s->box, i)); i++)
        if (add_name(s, run, &names) < 0)
            break;
    error_set(err, E_INVALID, "%zu command%s in the session: %s", s->n_commands,
              s->n_commands == 1 ? " runs" : "s run", buf_str(&names));
    return error_hint(err, "wait for their end, or kill them; a copy has no running commands");
}
