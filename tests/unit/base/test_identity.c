/* Names and addresses for commits, as people write them. */
#include "unit.h"

#include <stdio.h>

#include "base/identity.h"

static const char *split(const char *text)
{
    static char both[2 * IDENTITY_PART_BYTES + 4];
    char name[IDENTITY_PART_BYTES], email[IDENTITY_PART_BYTES];

    if (!identity_split(text, name, email))
        return NULL;
    (void)snprintf(both, sizeof(both), "%s|%s", name, email);
    return both;
}

TEST(an_identity_has_a_name_and_an_address)
{
    assert_string_equal(split("Ada <ada@example.org>"), "Ada|ada@example.org");
    assert_string_equal(split("  Ada  King  <a@b> "), "Ada  King|a@b");
    assert_string_equal(split("Zo\xc3\xab \"Z\" <z@b>"), "Zo\xc3\xab \"Z\"|z@b");
}

TEST(anything_else_is_none)
{
    static const char *const texts[] = {
        "",
        "Ada",
        "<a@b>",
        " <a@b>",
        "Ada <>",
        "Ada <a b>",
        "Ada <a@b> x",
        "Ada <a@b",
        "Ada\n<a@b>",
        "Ada <a@b>\n",
        "A<b>a <c>",
        "A\x1b[1m <a>",
        "A\xff <a@b>",
        ("\xe2\x80\xae"
         "A <a@b>"),
        "Ada >a@b<",
    };
    char text[2 * IDENTITY_PART_BYTES];

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (split(texts[i]))
            fail_msg("%zu: %s", i, split(texts[i]));
    memset(text, 'a', sizeof(text));
    (void)snprintf(text + IDENTITY_PART_BYTES, 8, " <a@b>");
    assert_null(split(text));
    assert_non_null(split(text + 1));
}

TEST(the_setting_has_two_words_of_its_own)
{
    assert_true(identity_is_setting("host") && identity_is_setting("off"));
    assert_true(identity_is_setting("Ada <ada@example.org>"));
    assert_false(identity_is_setting("") || identity_is_setting("on") ||
                 identity_is_setting("Ada"));
}

UNIT_MAIN()
