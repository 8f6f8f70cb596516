/* Directories granted for writing: whose changes the write broker records.
 *
 * It records for one run at a time, and lets changes wait while there is none. While a cell runs,
 * all changes are the cell's, as those of its background jobs are. Else they are those of a
 * command: of the first that runs and had no record yet. A record that has ended is not opened
 * again: a command that goes on after a cell changes files with the next record.
 */
#include "engine/box_internal.h"

int box_changes_begin(struct box_command *c, struct error *err)
{
    struct box *b = c->kernel.box;

    if (!b->broker || b->run || b->recorded)
        return 0;
    if (broker_client_begin(b->broker, c->run, err) < 0)
        return -1;
    b->recorded = c;
    c->had_record = true;
    return 0;
}

void box_changes_leave(struct box *b)
{
    if (!b->recorded)
        return;
    broker_client_end(b->broker, b->recorded->run);
    b->recorded = NULL;
}

void box_changes_end(struct box_command *c)
{
    if (c->kernel.box->recorded == c)
        box_changes_leave(c->kernel.box);
}

/* If that fails, its changes wait for the next record. */
void box_changes_pass(struct box *b)
{
    for (uint32_t i = 0; b->broker && i < WIRE_COMMANDS; i++) {
        struct box_command *c = b->commands[i];
        struct error err = {0};

        if (!c || c->had_record || c->has_exited || task_is_under_way(&c->answering))
            continue;
        if (box_changes_begin(c, &err) == 0)
            return;
        error_done(&err);
    }
}
