#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hint.h"
#include "base/limits.h"

static bool has_timeout(const void *user, const char *name, size_t len)
{
    (void)user;
    return len == 9 && memcmp(name, "timeout_s", 9) == 0;
}

static bool is_tool(const char *word, size_t len)
{
    static const char *const tools[] = {"list_skills", "read_file"};

    for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
        if (strlen(tools[i]) == len && memcmp(tools[i], word, len) == 0)
            return true;
    return false;
}

static void check(enum hint_reader reader, const char *hint, const char *expected)
{
    const struct hint_view view = {reader, has_timeout, NULL};
    struct buf out;

    buf_init(&out, KIB);
    assert_int_equal(hint_add(&view, hint, &out), 0);
    assert_string_equal(buf_str(&out), expected);
    buf_done(&out);
}

TEST(each_reader_gets_what_it_can_do)
{
    static const struct {
        const char *hint, *cli, *http, *model;
    } cases[] = {
        {"raise `timeout_s` (`--timeout`), or do less at a time",
         "raise `--timeout`, or do less at a time", "raise `timeout_s`, or do less at a time",
         "raise `timeout_s`, or do less at a time"},
        {"raise `memory_mb` (`--memory`), or work on the data in pieces",
         "raise `--memory`, or work on the data in pieces",
         "raise `memory_mb`, or work on the data in pieces", "work on the data in pieces"},
        {"`--net a.test` allows it; \"a.test\" in `net` of the request allows it",
         "`--net a.test` allows it", "\"a.test\" in `net` of the request allows it",
         "code reaches only hosts that the operator granted; do without it, or ask the user"},
        {"`belljar skills list` lists them; list_skills lists them",
         "`belljar skills list` lists them", "`belljar skills list` lists them",
         "list_skills lists them"},
        {"it is not there; `--allow DIR` grants one; ask the user for it",
         "it is not there; `--allow DIR` grants one", "it is not there",
         "it is not there; ask the user for it"},
        {"create a token for that with `belljar token add --grants`",
         "create a token for that with `belljar token add --grants`",
         "create a token for that with `belljar token add --grants`",
         "only the operator can change this; do without it, or ask the user"},
        {"write the line `!command` in the cell, or run Bash", "run Bash",
         "write the line `!command` in the cell, or run Bash",
         "write the line `!command` in the cell, or run Bash"},
        {"it was Python; `belljar run -l bash` runs Bash; pass `timeout_s` 5",
         "it was Python; `belljar run -l bash` runs Bash", "it was Python; pass `timeout_s` 5",
         "it was Python; pass `timeout_s` 5"},
        {"did you mean `x`?", "did you mean `x`?", "did you mean `x`?", "did you mean `x`?"},
        {"call api.filesystem.read_file(path)", "call api.filesystem.read_file(path)",
         "call api.filesystem.read_file(path)", "call api.filesystem.read_file(path)"},
        {"input() has nothing to read: write the value into the code, or pass `stdin` (`--stdin "
         "FILE`)",
         "input() has nothing to read: write the value into the code, or pass `--stdin FILE`",
         "input() has nothing to read: write the value into the code, or pass `stdin`",
         "input() has nothing to read: write the value into the code"},
        {"name a directory in `read_file`, or `/srv/read_file`; look at /srv/read_file/x",
         "name a directory in `read_file`, or `/srv/read_file`; look at /srv/read_file/x",
         "name a directory in `read_file`, or `/srv/read_file`; look at /srv/read_file/x",
         "name a directory in `read_file`, or `/srv/read_file`; look at /srv/read_file/x"},
        {"read_file reads `/srv/a; b, or c`", "read_file reads `/srv/a; b, or c`",
         "read_file reads `/srv/a; b, or c`", "read_file reads `/srv/a; b, or c`"},
        {"paths begin in `/srv/the operator --net x; GET /`, or elsewhere",
         "paths begin in `/srv/the operator --net x; GET /`, or elsewhere",
         "paths begin in `/srv/the operator --net x; GET /`, or elsewhere",
         "paths begin in `/srv/the operator --net x; GET /`, or elsewhere"},
        {"", "", "", "only the operator can change this; do without it, or ask the user"},
        {"` (`--x`)", "` (`--x`)", "` (`--x`)",
         "only the operator can change this; do without it, or ask the user"},
    };

    hint_know_tools(is_tool);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        check(HINT_FOR_ALL, cases[i].hint, cases[i].hint);
        check(HINT_FOR_CLI, cases[i].hint, cases[i].cli);
        check(HINT_FOR_HTTP, cases[i].hint, cases[i].http);
        check(HINT_FOR_MODEL, cases[i].hint, cases[i].model);
    }
}

TEST(no_hint_is_no_text)
{
    char *text = hint_text(HINT_FOR_CLI, NULL);

    assert_null(text);
    text = hint_text(HINT_FOR_CLI, "try again");
    assert_string_equal(text, "try again");
    free(text);
}

UNIT_MAIN()
