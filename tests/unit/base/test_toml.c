#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/toml.h"

static json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *tree = NULL;

    if (toml_parse("t.toml", text, strlen(text), &tree, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return tree;
}

/* Parses what must fail and gives back the error. */
static struct error refused(const char *text, size_t len)
{
    struct error err = {0};
    json_t *tree = NULL;

    assert_true(toml_parse("t.toml", text, len, &tree, NULL, &err) < 0);
    assert_null(tree);
    return err;
}

TEST(tables_arrays_and_scalars_become_json)
{
    json_t *tree = parse("name = \"x\"\n[a]\nb = [1, 2]\nc.d = 1.5\n[[z]]\nq = true\n");
    char *text = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(
        text, "{\"a\":{\"b\":[1,2],\"c\":{\"d\":1.5}},\"name\":\"x\",\"z\":[{\"q\":true}]}");
    free(text);
    json_decref(tree);
}

TEST(an_empty_file_is_an_empty_table)
{
    json_t *tree = parse("# nothing here\n");

    assert_true(json_is_object(tree));
    assert_int_equal(json_object_size(tree), 0);
    json_decref(tree);
}

TEST(a_mistake_names_file_and_line_and_both_sides)
{
    struct error err = refused("a = 1\nb = 30s\n", 14);

    assert_contains(err.message, "t.toml:2: ");
    assert_contains(err.message, "expected digit, saw 's'");
    assert_null(err.hint);
    assert_error(&err, E_INVALID, "t.toml:2:");
}

TEST(a_word_without_quotes_gets_a_hint)
{
    static const char *const texts[] = {"b = no", "a = 1\nb = yes\n", "a = 1\n\nb =strict # c\n"};

    for (size_t i = 0; i < 3; i++) {
        struct error err = refused(texts[i], strlen(texts[i]));

        assert_contains(err.hint, "quotes");
        error_done(&err);
    }
}

TEST(control_characters_are_refused_before_parsing)
{
    struct error err;

    err = refused("a = 1\n[\0bj= ", 12);
    assert_error(&err, E_INVALID, "t.toml:2: read the control character 0x00, expected text");
    err = refused("\n [\r12", 6);
    assert_error(&err, E_INVALID, "t.toml:2: read the control character 0x0d, expected text");
    err = refused("a = \"\033[2J\"", 11);
    assert_error(&err, E_INVALID, "t.toml:1: read the control character 0x1b, expected text");
    json_decref(parse("a = 1\r\nb\t= 2\r\n"));
}

TEST(letters_of_all_scripts_are_text)
{
    const char *text = "a = 1\n\xef\xb9\xbf = 0\n";
    struct error err = refused(text, strlen(text));
    json_t *tree = parse("\xef\xbb\xbf# é\n\"é\" = 'ü'\nb = \"\"\"x\\\n \xef\xbb\xaf é\"\"\"\n");

    assert_error(&err, E_INVALID, "t.toml:2: ");
    assert_string_equal(json_string_value(json_object_get(tree, "é")), "ü");
    assert_string_equal(json_string_value(json_object_get(tree, "b")), "x\xef\xbb\xaf é");
    json_decref(tree);
}

TEST(a_mistake_inside_an_array_ends_in_an_error)
{
    const char *text = "x = 1\na = {b = {c = [}]} \ny = 2\n";
    struct error err = refused(text, strlen(text));

    assert_error(&err, E_INVALID, "t.toml:2: read something out of place, expected a value");
}

TEST(a_repeated_key_is_a_mistake)
{
    struct error err = refused("a = 1\na = 2\n", 12);

    assert_error(&err, E_INVALID, "t.toml:2:");
}

TEST(values_that_json_lacks_are_refused)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"\na = 1979-05-27", "t.toml:2: `a`: read a date"},
        {"a = nan", "`a`: read `inf` or `nan`"},
        {"a = inf", "`a`: read `inf` or `nan`"},
        {"a = \"x\\u0000y\"", "`a`: read a NUL"},
        {"\"x\\u0000\" = 1", "a NUL in a key"},
        {"b = [1, 07:32:00]", "`b[1]`: read a date"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = refused(cases[i].text, strlen(cases[i].text));

        assert_error(&err, E_INVALID, cases[i].part);
    }
}

TEST(bytes_that_are_not_utf8_are_refused)
{
    struct error err = refused("a = \"\xff\"\n", 8);

    assert_error(&err, E_INVALID, "t.toml:1:");
}

/* `unit` repeated, between two texts. */
static struct error refused_repeat(const char *before, const char *unit, size_t times,
                                   const char *after)
{
    struct buf text;
    struct error err = {0};

    buf_init(&text, 4 * MIB);
    assert_int_equal(buf_add_str(&text, before, NULL), 0);
    for (size_t i = 0; i < times; i++)
        assert_int_equal(buf_add_str(&text, unit, NULL), 0);
    assert_int_equal(buf_add_str(&text, after, NULL), 0);
    err = refused(buf_str(&text), text.len);
    buf_done(&text);
    return err;
}

TEST(deep_nesting_ends_in_an_error_and_not_the_stack)
{
    struct error err;

    err = refused_repeat("", "a.", 400000, "a = 1\n");
    assert_error(&err, E_INVALID, "t.toml:1: read a key of many parts");
    err = refused_repeat("\n[", "a.", 400000, "a]\n");
    assert_error(&err, E_INVALID, "t.toml:2: read a key of many parts");
    err = refused_repeat("x = {", "\"a\" . ", 100000, "a = 1}\n");
    assert_error(&err, E_INVALID, "read a key of many parts");
    err = refused_repeat("x = ", "[", 400000, "\n");
    assert_error(&err, E_INVALID, "t.toml:1:");
    err = refused_repeat("x = ", "{a=", 400000, "\n");
    assert_error(&err, E_INVALID, "t.toml:1:");
}

TEST(levels_of_header_and_value_add_up)
{
    struct error err =
        refused_repeat("[a.b.c.d.e.f.g.h.i.j]\nx = ", "[", 30, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n");

    assert_error(&err, E_INVALID, "too many levels");
}

TEST(dots_in_strings_and_comments_are_only_text)
{
    json_t *tree =
        parse("a = \"................................................\" # "
              "................................................\n"
              "b = '''\n..................................................'\n'''\n"
              "c = \"\"\"\\\"\"\" ................................................\"\"\"\n"
              "d = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3,\n"
              " 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3]\n");

    assert_int_equal(json_object_size(tree), 4);
    json_decref(tree);
}

TEST(lines_of_keys_and_items_are_known)
{
    const char *text = "a = 1\n\n[b]\nc = [\"x\",\n  \"y\"]\nd.e = 2\n[[f]]\ng = 1\n";
    struct error err = {0};
    json_t *tree = NULL, *lines = NULL;

    assert_int_equal(toml_parse("t.toml", text, strlen(text), &tree, &lines, &err), 0);
    assert_int_equal(toml_line(lines, "a"), 1);
    assert_int_equal(toml_line(lines, "b"), 3);
    assert_int_equal(toml_line(lines, "b.c"), 4);
    assert_int_equal(toml_line(lines, "b.c[1]"), 5);
    assert_int_equal(toml_line(lines, "b.d.e"), 6);
    assert_int_equal(toml_line(lines, "f[0].g"), 8);
    assert_int_equal(toml_line(lines, "nothing"), 0);
    assert_int_equal(toml_line(NULL, "a"), 0);
    json_decref(lines);
    json_decref(tree);
}

TEST(only_readable_regular_files_are_loaded)
{
    char dir[] = "/tmp/belljar-toml-XXXXXX";
    char path[64];
    struct error err = {0};
    json_t *tree = NULL;
    int fd;

    assert_non_null(mkdtemp(dir));
    assert_true(toml_load(dir, &tree, &err) < 0);
    assert_error(&err, E_INVALID, "a directory, expected a regular file");

    (void)snprintf(path, sizeof(path), "%s/f", dir);
    assert_true(toml_load(path, &tree, &err) < 0);
    assert_error(&err, E_NOT_FOUND, "no such file");

    /* A FIFO without a writer would block an ordinary open() for ever. */
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(toml_load(path, &tree, &err) < 0);
    assert_error(&err, E_INVALID, "a special file, expected a regular file");
    assert_int_equal(unlink(path), 0);

    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x = 5\n", 6), 6);
    assert_int_equal(toml_load(path, &tree, &err), 0);
    assert_int_equal(json_integer_value(json_object_get(tree, "x")), 5);
    json_decref(tree);
    tree = NULL;

    assert_int_equal(ftruncate(fd, (off_t)LIMIT_CONFIG_BYTES + 1), 0);
    assert_true(toml_load(path, &tree, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "more than 1048576 bytes");
    assert_null(tree);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

UNIT_MAIN()
