#include "cluster/list_merge.h"

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "unit.h"

#define SESSIONS 150
#define MANY     4000

/* Sessions of a node: of all of them together, every second one. */
static void add(struct list_merge *merge, const char *node, unsigned first)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);

    buf_add_str(&text, "{\"sessions\":[", NULL);
    for (unsigned i = 0; i < SESSIONS; i++)
        buf_printf(&text, NULL, "%s{\"session_id\":\"ses_%026u-%s\"}", i ? "," : "",
                   2 * (SESSIONS - i) + first, node);
    buf_add_str(&text, "]}", NULL);
    list_merge_add(merge, node, buf_str(&text), text.len);
}

static size_t merge_with(struct span query, size_t fallback)
{
    cleanup(list_merge_done) struct list_merge merge;
    cleanup_json json_t *merged = NULL;
    const json_t *list;
    char newest[64];

    assert_int_equal(list_merge_init(&merge, "sessions"), 0);
    add(&merge, "a1", 0);
    add(&merge, "b2", 1);
    merged = list_merge_end(&merge, list_merge_limit(query, fallback));
    list = json_object_get(merged, "sessions");
    (void)snprintf(newest, sizeof(newest), "ses_%026u-b2", 2 * SESSIONS + 1);
    assert_string_equal(json_get_text(json_array_get(list, 0), "session_id"), newest);
    return json_array_size(list);
}

TEST(all_of_a_list_is_there_unless_it_has_pages)
{
    assert_int_equal(merge_with((struct span){"", 0}, 0), 2 * SESSIONS);
    assert_int_equal(merge_with((struct span){"", 0}, 100), 100);
    assert_int_equal(merge_with((struct span){"a=b&limit=7", 11}, 100), 7);
    assert_int_equal(merge_with((struct span){"limit=1000", 10}, 100), 2 * SESSIONS);
    assert_int_equal(merge_with((struct span){"limit=", 6}, 100), 100);
}

/* As many as three machines of ten thousand sessions have each; a session has some twenty members.
 */
TEST(a_long_list_of_a_node_is_read)
{
    cleanup(list_merge_done) struct list_merge merge;
    cleanup(buf_done) struct buf text = BUF_OF(8 * MIB);

    assert_int_equal(list_merge_init(&merge, "sessions"), 0);
    buf_add_str(&text, "{\"sessions\":[", NULL);
    for (unsigned i = 0; i < MANY; i++) {
        buf_printf(&text, NULL, "%s{\"session_id\":\"ses_%026u-a1\"", i ? "," : "", i);
        for (unsigned member = 0; member < 20; member++)
            buf_printf(&text, NULL, ",\"member%u\":%u", member, i);
        buf_add_str(&text, "}", NULL);
    }
    buf_add_str(&text, "]}", NULL);
    list_merge_add(&merge, "a1", buf_str(&text), text.len);
    assert_int_equal(json_array_size(merge.lost), 0);
    assert_int_equal(json_array_size(merge.all), MANY);
    for (unsigned i = 0; i < LIST_ALL_BYTES / text.len + 1; i++)
        list_merge_add(&merge, "b2", buf_str(&text), text.len);
    assert_true(json_array_size(merge.lost) > 0); /* all together are bounded */
}

UNIT_MAIN()
