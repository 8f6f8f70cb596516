/* Any bytes as the lists that nodes answer: what comes out is an object or an array with at most so
 * many items, the newest first, and can be written. The first byte cuts the rest into answers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cluster/list_merge.h"
#include "cluster/route.h"

#define LIMIT 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(json_t *merged)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * MIB);
    const json_t *list = json_is_array(merged) ? merged : json_object_get(merged, "runs");

    if (!json_is_array(list) || json_array_size(list) > LIMIT ||
        json_text_dump(merged, JSON_TEXT_COMPACT, &text, NULL) < 0)
        abort();
    for (size_t i = 1; i < json_array_size(list); i++) {
        const char *newer = json_get_text(json_array_get(list, i - 1), "id");
        const char *older = json_get_text(json_array_get(list, i), "id");
        char node[13];

        if (json_object_size(json_array_get(list, i - 1)) == 1 &&
            json_object_size(json_array_get(list, i)) == 1 &&
            route_node_of((struct span){newer, strlen(newer)}, node) &&
            route_node_of((struct span){older, strlen(older)}, node) &&
            strcmp(newer + 4, older + 4) < 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const nodes[] = {"a1", "a2", "a3"};
    cleanup(list_merge_done) struct list_merge all = {0};
    cleanup_json json_t *merged = NULL;
    const char *at = (const char *)data;
    char cut;

    (void)list_merge_limit((struct span){at, len}, 0);
    if (!len || list_merge_init(&all, "runs") < 0)
        return 0;
    cut = *at++;
    len--;
    for (size_t i = 0; i < 3; i++) {
        const char *end = i < 2 && len ? memchr(at, cut, len) : NULL;
        size_t n = end ? (size_t)(end - at) : len;

        list_merge_add(&all, nodes[i], at, n);
        n += end != NULL;
        at += n;
        len -= n;
    }
    merged = list_merge_end(&all, LIMIT);
    check(merged);
    return 0;
}
