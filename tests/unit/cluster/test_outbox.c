#include "cluster/outbox.h"

#include <stdio.h>

#include "cluster/cluster.h"
#include "unit.h"

/* The messages that have left: "SUBJECT/REPLY=BYTES " for each. */
static char left[4096];
static size_t n_left;

static void on_message(void *user, const char *subject, const char *reply, struct packet *packet)
{
    size_t at = strlen(left);

    assert_ptr_equal(user, left);
    n_left++;
    if (packet->len < 64)
        (void)snprintf(left + at, sizeof(left) - at, "%s/%s=%.*s ", subject, reply,
                       (int)packet->len, packet->data);
}

static void add(struct outbox *outbox, const char *subject, const char *reply, const char *text,
                bool can_wait)
{
    struct packet *packet = packet_copy(text, strlen(text));

    outbox_add(outbox, subject, reply, packet, can_wait);
    packet_unref(packet);
}

static struct outbox *begin(void)
{
    *left = '\0';
    n_left = 0;
    return outbox_new(on_message, left);
}

TEST(frames_to_one_subject_leave_together_and_in_order)
{
    struct outbox *outbox = begin();

    add(outbox, "a", NULL, "1", false);
    add(outbox, "b", "back", "2", false);
    add(outbox, "a", "there", "3", false);
    add(outbox, "a", NULL, "4", false);
    assert_int_equal(n_left, 0);
    outbox_flush(outbox, false);
    assert_string_equal(left, "a/there=134 b/back=2 ");
    outbox_flush(outbox, true);
    assert_int_equal(n_left, 2);
    outbox_free(outbox);
}

TEST(what_can_wait_leaves_with_the_next_one)
{
    struct outbox *outbox = begin();

    add(outbox, "a", NULL, "1", true);
    add(outbox, "b", NULL, "2", true);
    outbox_flush(outbox, false);
    assert_int_equal(n_left, 0);
    add(outbox, "b", "back", "3", false);
    outbox_flush(outbox, false);
    assert_string_equal(left, "b/back=23 ");
    outbox_flush(outbox, true);
    assert_string_equal(left, "b/back=23 a/=1 ");
    outbox_free(outbox);
}

/* The server answers to it if nobody listens. */
TEST(a_message_has_one_reply_subject)
{
    struct outbox *outbox = begin();

    add(outbox, "a", "one", "1", false);
    add(outbox, "a", NULL, "2", false);
    add(outbox, "a", "two", "3", false);
    outbox_flush(outbox, false);
    assert_string_equal(left, "a/one=12 a/two=3 ");
    outbox_free(outbox);
}

TEST(a_message_does_not_grow_without_bound)
{
    static char large[OUTBOX_BYTES];
    struct outbox *outbox = begin();
    struct packet *packet = packet_copy(large, sizeof(large));

    add(outbox, "a", NULL, "1", false);
    outbox_add(outbox, "a", NULL, packet, false);
    add(outbox, "a", NULL, "2", false);
    assert_int_equal(n_left, 2);
    outbox_flush(outbox, false);
    assert_int_equal(n_left, 3);
    for (size_t i = 0; i < 3 * OUTBOX_FRAMES; i++)
        add(outbox, "b", NULL, "x", true);
    assert_int_equal(n_left, 5);
    outbox_flush(outbox, true);
    assert_int_equal(n_left, 6);
    packet_unref(packet);
    outbox_free(outbox);
}

TEST(subjects_do_not_grow_without_bound)
{
    struct outbox *outbox = begin();
    char subject[CLUSTER_SUBJECT_MAX];

    for (size_t i = 0; i < 4 * CLUSTER_NAMES_MAX; i++) {
        (void)snprintf(subject, sizeof(subject), "s%zu", i);
        add(outbox, subject, NULL, "x", true);
    }
    assert_true(n_left >= 2 * CLUSTER_NAMES_MAX);
    outbox_free(outbox); /* what is left in it is freed */
}

UNIT_MAIN()
