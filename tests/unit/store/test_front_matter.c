#include "unit.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "store/front_matter.h"

static void expect(const char *text, const char *name, const char *description)
{
    struct error err = {0};
    struct front_matter matter = {0};

    if (front_matter_read((struct span){text, strlen(text)}, &matter, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    assert_string_equal(matter.name, name);
    assert_string_equal(matter.description, description);
    free(matter.name);
    free(matter.description);
}

static void refuse(const char *text, const char *why)
{
    struct error err = {0};
    struct front_matter matter = {0};

    if (front_matter_read((struct span){text, strlen(text)}, &matter, &err) == 0)
        fail_msg("accepted: %s", text);
    assert_null(matter.name);
    assert_error(&err, E_INVALID, why);
}

TEST(values_are_read_as_yaml_has_them)
{
    expect("---\nname: pdf\ndescription: Reads: pages # and no more\n---\nbody", "pdf",
           "Reads: pages");
    expect("---\r\nname: a-1\r\ndescription: 'It''s: \"x\"'\r\n---\r\n", "a-1", "It's: \"x\"");
    expect("---\nname: \"a_b\"\ndescription: \"tab\\tand \\\"quote\\\"\" # c\n---\n", "a_b",
           "tab\tand \"quote\"");
    expect("---\ndescription: first\n  and second\n  third\nname: x\n---\n", "x",
           "first and second third");
    expect("---\nname: x\ndescription: >-\n  one\n  two\n\n---\n", "x", "one two");
    expect("---\nname: x\ndescription: |\n  one\n    two\n---\n", "x", "one\n  two");
    expect("\xef\xbb\xbf---\nname: x\ndescription: y\n---", "x", "y");
}

TEST(other_keys_are_passed_over)
{
    expect("---\n# words\nlicense: Apache-2.0\nallowed-tools:\n  - Bash\nmetadata:\n  name: no\n"
           "  description: no\nlist:\n- a\n- b\nname: x\ndescription: y\nempty:\n---\nname: z\n",
           "x", "y");
}

TEST(what_is_not_a_head_is_refused)
{
    refuse("", "does not begin");
    refuse("# title\n", "does not begin");
    refuse("---\nname: x\ndescription: y\n", "does not end");
    refuse("---\nname: x\nname: y\ndescription: y\n---\n", "duplicate key");
    refuse("---\nname: x\n---\n", "`description`");
    refuse("---\ndescription: x\n---\n", "`name`");
    refuse("---\nname: &a x\ndescription: y\n---\n", "plain or quoted");
    refuse("---\nname: x\ndescription: [a, b]\n---\n", "plain or quoted");
    refuse("---\nname: x\ndescription: !!str y\n---\n", "plain or quoted");
    refuse("---\nname: x\ndescription: \"y\\x41\"\n---\n", "escape");
    refuse("---\nname: x\ndescription: \"y\n---\n", "is not closed in its line");
    refuse("---\nname: x\ndescription: 'y' z\n---\n", "after the quote");
    refuse("---\nname: x\ndescription: |\n\ty\n---\n", "tab");
    refuse("---\nname x\ndescription: y\n---\n", "key: value");
    refuse("---\n  name: x\ndescription: y\n---\n", "key: value");
    refuse("---\nname: x\ndescription: y\x01\n---\n", "control");
    refuse("---\nname: x\ndescription: \xff\n---\n", "UTF-8");
}

TEST(names_are_those_of_skills)
{
    static const char *const names[] = {"X", "1a", "-a", "a b", "../a", "a/b", "a.b", "\xc3\xa9"};
    char text[128];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(text, sizeof(text), "---\nname: %s\ndescription: y\n---\n", names[i]);
        refuse(text, "`name`");
    }
}

TEST(a_long_head_is_refused)
{
    static char text[40 * KIB];
    struct error err = {0};
    struct front_matter matter = {0};

    memset(text, '\n', sizeof(text));
    memcpy(text, "---\nname: x\ndescription: y", 26);
    memcpy(text + sizeof(text) - 5, "\n---\n", 5);
    assert_int_equal(front_matter_read((struct span){text, sizeof(text)}, &matter, &err), -1);
    assert_error(&err, E_INVALID, "does not end");
}

UNIT_MAIN()
