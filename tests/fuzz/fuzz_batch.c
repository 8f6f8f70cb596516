/* Any bytes as what gateways and nodes say of a batch: a share has runs of the batch, each once; a
 * line that is taken is one object of JSON that can be passed on; and whatever nodes answer and
 * whenever they are lost, each run is answered once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/batch_part.h"
#include "base/cleanup.h"
#include "cluster/batch_line.h"
#include "cluster/batch_plan.h"

#define RUNS 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_part(struct span text)
{
    bool is_in[RUNS] = {false};
    struct batch_part part;
    size_t n = 0;

    if (batch_part_read(text, RUNS, is_in, &part, NULL) < 0)
        return;
    for (size_t i = 0; i < RUNS; i++)
        n += is_in[i];
    if (n != part.total || n == 0)
        abort();
}

/* A line that is taken can stand between others in an answer. */
static void check_line(struct span line)
{
    static const struct json_text_limits limits = {
        .bytes = BATCH_LINE_BYTES, .depth = 2049, .allows_nul = true};
    cleanup(buf_done) struct buf text = BUF_OF(BATCH_LINE_BYTES);
    cleanup_json json_t *list = NULL;
    char verdict[BATCH_VERDICT_MAX];
    size_t run;

    if (batch_line_read(line, &run, verdict) != BATCH_LINE_RUN)
        return;
    if (buf_add_str(&text, "[", NULL) < 0 || buf_add(&text, line.data, line.len, NULL) < 0 ||
        buf_add_str(&text, "]", NULL) < 0)
        return;
    if (json_text_load(buf_str(&text), text.len, &limits, &list, NULL) < 0 ||
        json_array_size(list) != 1 || !*verdict)
        abort();
}

/* Each byte is something that happens: two bits say what, the others to which node and run. */
static void check_plan(const uint8_t *data, size_t len)
{
    static struct batch_plan plan;
    bool is_in[RUNS];
    struct batch_part part;
    char text[64];
    size_t run, answered = 0;

    batch_plan_init(&plan, RUNS);
    for (size_t i = 0; i < len; i++) {
        uint16_t owner = data[i] >> 2 & 3;

        switch (data[i] & 3) {
        case 0:
            memset(is_in, 0, sizeof(is_in));
            run = batch_plan_give(&plan, owner, data[i] >> 4, text, sizeof(text));
            if (run &&
                (batch_part_read((struct span){text, strlen(text)}, RUNS, is_in, &part, NULL) < 0 ||
                 part.total != run))
                abort(); /* an engine would refuse it */
            break;
        case 1:
            answered += batch_plan_answer(&plan, owner, (size_t)(data[i] >> 4) + i % RUNS);
            break;
        case 2:
            batch_plan_lose(&plan, owner);
            break;
        default:
            answered += batch_plan_give_up(&plan, data[i] >> 4 == 0, &run);
        }
        if (plan.n_answered != answered || answered > RUNS || plan.n_waiting > RUNS - answered)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct span text = {(const char *)data, len};

    check_part(text);
    check_line(text);
    check_plan(data, len);
    return 0;
}
