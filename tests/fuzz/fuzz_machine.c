/* Any bytes as the answer of the engine in a virtual machine: a status byte, then the body. What is
 * taken into a result is within its bounds, can be written, and always says that there was a
 * machine.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/result.h"
#include "base/cleanup.h"
#include "base/layer.h"
#include "base/stream.h"
#include "engine/masking.h"
#include "vm/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct run *run)
{
    json_t *object = NULL;

    if (run->result.n_files > LIMIT_FILES_NAMED || run->result.n_displays > LIMIT_DISPLAYS ||
        run->result.n_collected > LIMIT_FILES_COLLECTED ||
        run->result.collected_bytes > LIMIT_COLLECTED_BYTES ||
        run->result.out.head.len + run->result.out.tail.len > run->terms.limits.output_bytes)
        abort();
    if (run->result.error.code != E_NONE)
        return;
    if (!(run->result.layers & RUN_LAYER_MACHINE) || run->result.traffic ||
        !(run->result.usage.cpu_ms >= 0 &&
          run->result.usage.cpu_ms <= 2 * (double)run->result.ended_ns / 1e6) ||
        result_json(run, HINT_FOR_HTTP, &object, NULL) < 0)
        abort();
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct masks *masks;
    struct inside_live live = {.cpus = 2};
    struct run *run = run_new();

    if (!masks)
        masks = masks_new(NULL, NULL, NULL);
    if (!run || !masks)
        abort();
    run->masks = masks;
    run->terms.profile = "standard";
    run->terms.limits.output_bytes = 64;
    run_stream_done(&run->result.out);
    run_stream_done(&run->result.err);
    run_stream_init(&run->result.out, 64);
    run_stream_init(&run->result.err, 64);
    run->program.collect = calloc(2, sizeof(char *));
    if (!run->program.collect || !(run->program.collect[0] = strdup("*")))
        abort();
    if (len) {
        inside_take_answer(run, &live, data[0] == '2' ? 200 : 500, (const char *)data + 1, len - 1);
        check(run);
    }
    inside_live_done(&live);
    run_free(run);
    return 0;
}
