#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "cli/setup/toml_edit.h"

static const struct toml_table_name table = {"mcp_servers", "belljar"};

#define TABLE "[mcp_servers.belljar]\ncommand = \"/b\"\nargs = [\"mcp\", \"x\"]\n"

static json_t *entry(void)
{
    return json_pack("{s:s, s:[s,s]}", "command", "/b", "args", "mcp", "x");
}

static void check(const char *before, const char *after, const char *again)
{
    cleanup(buf_done) struct buf out = {0}, back = {0};
    struct error err = {0};
    json_t *value = entry();

    buf_init(&out, MIB);
    buf_init(&back, MIB);
    if (toml_edit_put(before, strlen(before), &table, value, &out, &err) < 0)
        fail_msg("%s: %s", before, err.message);
    assert_string_equal(buf_str(&out), after);
    if (toml_edit_remove(buf_str(&out), out.len, &table, &back, &err) < 0)
        fail_msg("%s: %s", after, err.message);
    assert_string_equal(buf_str(&back), again ? again : before);
    assert_int_equal(toml_edit_put(after, strlen(after), &table, value, &out, &err), 0);
    assert_string_equal(buf_str(&out), after);
    json_decref(value);
}

TEST(a_table_is_added_at_the_end)
{
    check("", TABLE, NULL);
    check("# mine\nmodel = \"m\" # of all\n", "# mine\nmodel = \"m\" # of all\n\n" TABLE, NULL);
    check("a = 1", "a = 1\n\n" TABLE, "a = 1\n");
    check("[mcp_servers.x]\ncommand = \"x\"\n", "[mcp_servers.x]\ncommand = \"x\"\n\n" TABLE, NULL);
    check("s = '''\n[mcp_servers.belljar]\n'''\n", "s = '''\n[mcp_servers.belljar]\n'''\n\n" TABLE,
          NULL);
}

TEST(line_ends_are_those_of_the_file)
{
    check("a = 1\r\n",
          "a = 1\r\n\r\n[mcp_servers.belljar]\r\ncommand = \"/b\"\r\nargs = [\"mcp\", \"x\"]\r\n",
          NULL);
}

TEST(keys_are_changed_in_their_place)
{
    check("[mcp_servers.\"belljar\"] # ours\n# c\nargs = [\n  \"old\", # ]\n] # x\nfast = "
          "true\n[z]\n",
          "[mcp_servers.\"belljar\"] # ours\ncommand = \"/b\"\n# c\nargs = [\"mcp\", \"x\"] # x\n"
          "fast = true\n[z]\n",
          "[z]\n");
}

TEST(tables_below_go_with_it)
{
    static const char text[] = "a = 1\n\n" TABLE "[mcp_servers.belljar.env]\nX = \"1\"\n\n# of y\n"
                               "[y]\n[[y.z]]\n\n[mcp_servers.belljar.more]\n";
    cleanup(buf_done) struct buf out = {0};
    struct error err = {0};

    buf_init(&out, MIB);
    assert_int_equal(toml_edit_remove(text, strlen(text), &table, &out, &err), 0);
    assert_string_equal(buf_str(&out), "a = 1\n\n# of y\n[y]\n[[y.z]]\n");
}

TEST(other_spellings_are_left_to_their_author)
{
    static const char *const texts[] = {
        "[mcp_servers]\nbelljar = { command = \"old\" }\n",
        "mcp_servers.belljar.command = \"old\"\n",
        "mcp_servers = { x = { command = \"x\" } }\n",
    };
    cleanup(buf_done) struct buf out = {0};
    json_t *value = entry();

    buf_init(&out, MIB);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = {0};

        assert_true(toml_edit_put(texts[i], strlen(texts[i]), &table, value, &out, &err) < 0);
        assert_int_equal(err.code, E_UNSUPPORTED);
        assert_non_null(err.hint);
        error_done(&err);
    }
    json_decref(value);
}

TEST(what_cannot_be_read_is_refused)
{
    static const char *const texts[] = {"a = ", "[x\n", "a = 1\na = 2\n", "mcp_servers = 3\n",
                                        "[mcp_servers]\nbelljar = 3\n"};
    cleanup(buf_done) struct buf out = {0};
    json_t *value = entry();

    buf_init(&out, MIB);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = {0};

        assert_true(toml_edit_put(texts[i], strlen(texts[i]), &table, value, &out, &err) < 0);
        assert_int_equal(err.code, E_INVALID);
        error_done(&err);
    }
    json_decref(value);
}

UNIT_MAIN()
