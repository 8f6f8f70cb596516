/* Any bytes as what another machine has put on the bus: the description of an item, or a content.
 * The first byte says which kind. A description that is accepted is written again, and read as the
 * same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/replica_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct replica_item *item)
{
    cleanup(replica_item_done) struct replica_item again = {0};
    cleanup(buf_done) struct buf first = BUF_OF(4 * REPLICA_ITEM_BYTES),
                                 second = BUF_OF(4 * REPLICA_ITEM_BYTES);

    for (size_t i = 0; i < item->count; i++)
        if (item->versions[i].pieces < 1 ||
            item->versions[i].pieces > REPLICA_CONTENT_BYTES / REPLICA_PIECE ||
            (i && item->versions[i].version >= item->versions[i - 1].version))
            abort();
    if (replica_item_write(item, &first, NULL) < 0)
        abort();
    if (first.len > REPLICA_ITEM_BYTES)
        return; /* escapes make it longer than it was */
    if (replica_item_parse(item->kind, item->name, (struct span){buf_str(&first), first.len},
                           &again, NULL) < 0 ||
        replica_item_write(&again, &second, NULL) < 0 ||
        strcmp(buf_str(&first), buf_str(&second)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    cleanup(replica_item_done) struct replica_item item = {0};
    enum replica_kind kind = len && (data[0] & 1) ? REPLICA_SKILL : REPLICA_STATE;
    struct span text = {len ? (const char *)data + 1 : "", len ? len - 1 : 0};

    if (len && (data[0] & 2))
        (void)replica_item_check(kind, text, NULL);
    else if (replica_item_parse(kind, "name", text, &item, NULL) == 0)
        check(&item);
    return 0;
}
