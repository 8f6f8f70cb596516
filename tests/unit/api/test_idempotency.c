#include "unit.h"

#include <stdio.h>

#include "api/idempotency.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000)

static struct idempotency_key key_of(const char *owner, const char *text)
{
    struct idempotency_key key = {0};
    struct error err = {0};

    assert_int_equal(idempotency_key_read(&key, owner, (struct span){text, strlen(text)}, &err), 0);
    assert_true(key.is_set);
    return key;
}

static struct idempotency *table(void)
{
    struct idempotency *keys = NULL;
    struct error err = {0};

    assert_int_equal(idempotency_new(&keys, &err), 0);
    return keys;
}

static void add(struct idempotency *keys, const char *owner, const char *text, uint64_t now_ns)
{
    struct idempotency_key key = key_of(owner, text);
    struct error err = {0};

    assert_int_equal(idempotency_add(keys, owner, &key, text, now_ns, &err), 0);
}

static bool is_there(struct idempotency *keys, const char *owner, const char *text, uint64_t now_ns)
{
    struct idempotency_key key = key_of(owner, text);
    const struct idempotency_entry *entry = idempotency_find(keys, &key, now_ns);

    return entry && strcmp(entry->run, text) == 0;
}

TEST(a_key_is_visible_and_short)
{
    static const char *const bad[] = {"", "a b", "a\tb", "\x7f", "\xc3\xa9", "\x01"};
    char long_one[257];
    struct idempotency_key key = {0};
    struct error err = {0};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(
            idempotency_key_read(&key, "ann", (struct span){bad[i], strlen(bad[i])}, &err), -1);
        assert_error(&err, E_INVALID, "Idempotency-Key is not a key");
    }
    memset(long_one, 'k', sizeof(long_one));
    assert_int_equal(idempotency_key_read(&key, "ann", (struct span){long_one, 256}, &err), -1);
    assert_error(&err, E_INVALID, "is not a key");
    assert_false(key.is_set);
    assert_int_equal(idempotency_key_read(&key, "ann", (struct span){long_one, 255}, &err), 0);
}

TEST(a_key_belongs_to_its_owner)
{
    struct idempotency *keys = table();

    add(keys, "ann", "k", 0);
    assert_true(is_there(keys, "ann", "k", 0));
    assert_false(is_there(keys, "bob", "k", 0));
    assert_false(is_there(keys, "an", "nk", 0)); /* not the same text in another place */
    idempotency_forget(keys, "ann");
    assert_false(is_there(keys, "ann", "k", 0));
    assert_int_equal(idempotency_count(keys), 0);
    idempotency_forget(keys, "nobody");
    idempotency_free(keys);
}

TEST(a_key_is_good_for_an_hour)
{
    struct idempotency *keys = table();

    add(keys, "ann", "k", 5);
    assert_true(is_there(keys, "ann", "k", HOUR_NS));
    assert_false(is_there(keys, "ann", "k", HOUR_NS + 5));
    add(keys, "ann", "other", HOUR_NS + 5); /* which throws out what is old */
    assert_int_equal(idempotency_count(keys), 1);
    idempotency_free(keys);
}

TEST(of_an_owner_the_last_ones_stay)
{
    struct idempotency *keys = table();
    char text[16];

    add(keys, "bob", "b", 0);
    for (int i = 0; i <= IDEMPOTENCY_KEPT; i++) {
        (void)snprintf(text, sizeof(text), "k%d", i);
        add(keys, "ann", text, 0);
    }
    assert_false(is_there(keys, "ann", "k0", 0));
    assert_true(is_there(keys, "ann", "k1", 0));
    assert_true(is_there(keys, "ann", text, 0));
    assert_true(is_there(keys, "bob", "b", 0));
    assert_int_equal(idempotency_count(keys), IDEMPOTENCY_KEPT + 1);
    idempotency_free(keys);
}

TEST(what_had_no_effect_is_dropped)
{
    struct idempotency *keys = table();
    struct idempotency_key b = key_of("ann", "b");

    add(keys, "ann", "a", 0);
    add(keys, "ann", "b", 0);
    add(keys, "ann", "c", 0);
    idempotency_drop(keys, &b);
    idempotency_drop(keys, &b);
    assert_true(is_there(keys, "ann", "a", 0));
    assert_false(is_there(keys, "ann", "b", 0));
    assert_true(is_there(keys, "ann", "c", 0));
    idempotency_free(keys);
}

TEST(an_answer_is_kept_with_its_key)
{
    struct idempotency *keys = table();
    struct idempotency_key key = key_of("ann", "k"), none = key_of("ann", "none");

    add(keys, "ann", "k", 0);
    idempotency_keep(keys, &key, "first", 5);
    idempotency_keep(keys, &key, "second\n", 7);
    idempotency_keep(keys, &none, "x", 1);
    assert_string_equal(idempotency_find(keys, &key, 0)->answer, "second\n");
    assert_int_equal(idempotency_find(keys, &key, 0)->len, 7);
    assert_null(idempotency_find(keys, &none, 0));
    idempotency_free(keys);
}

TEST(each_of_many_has_a_key_of_its_own)
{
    struct idempotency_key all = key_of("ann", "k"), first, second, again;

    idempotency_key_of(&all, 0, &first);
    idempotency_key_of(&all, 1, &second);
    idempotency_key_of(&all, 0, &again);
    assert_memory_not_equal(first.name, all.name, SHA256_BYTES);
    assert_memory_not_equal(first.name, second.name, SHA256_BYTES);
    assert_memory_equal(first.name, again.name, SHA256_BYTES);
    assert_memory_equal(first.body, all.body, SHA256_BYTES);
}

/* Answers of one owner have a bound of their own. */
TEST(answers_of_an_owner_are_bounded)
{
    static char text[64 * 1024];
    struct idempotency *keys = table();
    char name[16];

    add(keys, "quiet", "mine", 0);
    idempotency_keep(keys, &(struct idempotency_key){0}, text, 0); /* of no key: nothing happens */
    for (int i = 0; i < 400; i++) {
        struct idempotency_key key;

        (void)snprintf(name, sizeof(name), "k%d", i);
        add(keys, "loud", name, 0);
        key = key_of("loud", name);
        idempotency_keep(keys, &key, text, sizeof(text));
    }
    assert_true(is_there(keys, "quiet", "mine", 0));
    assert_true(is_there(keys, "loud", "k399", 0));
    assert_false(is_there(keys, "loud", "k0", 0));
    assert_in_range(idempotency_count(keys), 2, 1 + IDEMPOTENCY_BYTES / sizeof(text));
    idempotency_free(keys);
}

UNIT_MAIN()
