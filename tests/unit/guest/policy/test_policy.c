/* The source before it is parsed, the rules as they are asked, and the report. */
#include "unit.h"

#include "guest/policy/internal.h"
#include "guest/program.h"

static struct policy *strict;

static int start(void **state)
{
    (void)state;
    if (program_start(NULL, 0) < 0)
        return -1;
    strict = program_policy("strict");
    return 0;
}

static struct policy_report check_bytes(const char *data, size_t len)
{
    struct policy_report report = {0};

    assert_int_equal(policy_check_source(strict, (struct span){data, len}, &report), 0);
    return report;
}

static void assert_source_refused(const char *data, size_t len, const char *name, unsigned line)
{
    struct policy_report report = check_bytes(data, len);

    assert_int_equal(report.count, 1);
    assert_string_equal(report.items[0].rule, "source");
    assert_string_equal(report.items[0].name, name);
    assert_int_equal(report.items[0].line, line);
    assert_non_null(report.items[0].hint);
    policy_report_done(&report);
}

static void assert_source_fine(const char *text)
{
    struct policy_report report = check_bytes(text, strlen(text));

    assert_int_equal(report.count, 0);
    policy_report_done(&report);
}

TEST(a_nul_byte_is_refused_with_its_line)
{
    assert_source_refused("a\nb\0c", 5, "NUL", 2);
    assert_source_refused("\0", 1, "NUL", 1);
    assert_source_refused("a\r\nb\rc\0", 7, "NUL", 3);
}

TEST(what_is_not_utf8_is_refused)
{
    static const char *const bad[] = {
        "x = '\xff'",   "\x80",         "\xc0\xaf",      "\xc1\xbf",
        "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80x", "\xf4\x90\x80\x80",
        "\xf5\x80xx",   "caf\xe9",      "\xe2\x82",      "\xc3",
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_source_refused(bad[i], strlen(bad[i]), "UTF-8", 1);
}

TEST(what_is_utf8_is_fine)
{
    assert_source_fine("");
    assert_source_fine("\xef\xbb\xbfprint(1)");
    assert_source_fine("x = 'é € 𝄞 \xef\xbf\xbf \xf4\x8f\xbf\xbf'");
    assert_source_fine("# coding: utf-8\n");
    assert_source_fine("#!/usr/bin/python\n# -*- coding: UTF-8 -*-\n");
    assert_source_fine("# vim: set fileencoding=utf_8 :\n");
    assert_source_fine("\n\n# coding: latin-1\n");
    assert_source_fine("x = 'coding: latin-1'\n");
}

TEST(other_coding_cookies_are_refused)
{
    static const struct {
        const char *source, *name;
        unsigned line;
    } cases[] = {
        {"# coding: utf-7\n", "utf-7", 1},
        {"\n#coding=latin-1\n", "latin-1", 2},
        {"\xef\xbb\xbf \t\f# vim: fileencoding=koi8-r\n", "koi8-r", 1},
        {"#!x\r# encoding: rot13\r", "rot13", 2},
        {"# coding: utf-8-sig-rot13\n", "utf-8-sig-rot13", 1},
        {"# codingcoding: utf7", "utf7", 1},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_source_refused(cases[i].source, strlen(cases[i].source), cases[i].name,
                              cases[i].line);
}

TEST(a_source_that_is_too_long_is_refused)
{
    struct policy_report report = {0};
    struct policy *cms = program_policy("cms");
    size_t len = (1 << 20) + 1;
    char *text = malloc(len);

    memset(text, '\n', len);
    assert_source_refused(text, len, "size", 0);
    assert_int_equal(policy_check_source(cms, (struct span){text, 1000}, &report), 0);
    assert_int_equal(report.count, 0);
    assert_int_equal(policy_check_source(cms, (struct span){text, 1001}, &report), 0);
    assert_int_equal(report.count, 1);
    assert_string_equal(report.items[0].name, "lines");
    policy_report_done(&report);
    policy_free(cms);
    free(text);
}

TEST(bytes_that_are_no_policy_are_refused)
{
    assert_null(policy_load((struct span){"", 0}));
    assert_null(policy_load((struct span){"garbage", 7}));
}

static struct span text(const char *s)
{
    return (struct span){s, strlen(s)};
}

TEST(a_package_stands_for_what_is_in_it)
{
    static const char *const allowed[] = {"collections",  "collections.abc", "numpy.linalg.x",
                                          "urllib.parse", "pandas",          "code_helpers"};
    static const char *const refused[] = {"os",     "posix",           "urllib", "urllib.request",
                                          "_io",    "subprocess",      "",       "_thread",
                                          "numpy.", "numpy.f2py.main", "skills", "numpy.testing"};

    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        assert_true(policy_module_allowed(strict, text(allowed[i])));
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (strcmp(refused[i], "numpy.") != 0)
            assert_false(policy_module_allowed(strict, text(refused[i])));
    assert_true(policy_module_granular(strict, text("io")));
    assert_true(policy_import_allowed(strict, text("io"), text("BytesIO")));
    assert_false(policy_import_allowed(strict, text("io"), text("FileIO")));
    assert_false(policy_import_allowed(strict, text("io"), text("*")));
    assert_true(policy_import_allowed(strict, text("io"), text("")));
}

TEST(dunder_attributes_are_refused_unless_listed)
{
    static const char *const refused[] = {"__class__",          "__globals__", "__x__",
                                          "gi_frame",           "f_back",      "co_code",
                                          "__array_interface__"};
    static const char *const allowed[] = {"__name__", "__init__", "_private", "__mangled",
                                          "x",        "____",     "__",       "frame"};

    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_true(policy_attribute_refused(strict, text(refused[i])));
    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        assert_false(policy_attribute_refused(strict, text(allowed[i])));
}

TEST(hints_of_a_package_serve_its_parts)
{
    struct span hint = policy_hint(strict, "import", text("os.path"));

    assert_true(hint.len > 0);
    assert_int_equal(policy_hint(strict, "builtin", text("os")).len, 0);
    assert_int_equal(policy_hint(strict, "import", text("nobody.knows")).len, 0);
}

TEST(fields_of_templates_are_read_as_python_reads_them)
{
    static const char *const refused[] = {
        "{0.__class__}",        "{.__class__}",      "{a.b.__class__.c}",
        "{a[x].__class__}",     "{{}}{0.__class__}", "{0:{1.__class__}}",
        "{0!r:>{a.__class__}}", "{a[{].__class__}",  "{0.__class__.__name__.__class__}",
        "text {0.gi_frame",
    };
    static const char *const fine[] = {
        "{}",
        "{0:.2f}",
        "{a.b}",
        "{a[__class__]}",
        "{{0.__class__}",
        "__class__",
        "{0!r:.__class__}",
        "{0.__class__.__name__}",
        ".__class__ {0}",
    };
    struct span name;

    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (!policy_template_refused(strict, text(refused[i]), false, &name))
            fail_msg("%s is let through", refused[i]);
    for (size_t i = 0; i < COUNT_OF(fine); i++)
        if (policy_template_refused(strict, text(fine[i]), false, &name) &&
            strcmp(fine[i], "{{0.__class__}") != 0)
            fail_msg("%s is refused", fine[i]);
    assert_true(policy_template_refused(strict, text("0.__class__"), true, &name));
    assert_int_equal(name.len, 9);
    assert_true(policy_path_refused(strict, text("a.__class__.b"), &name));
    assert_true(policy_path_refused(strict, text("__class__"), &name));
    assert_false(policy_path_refused(strict, text("a..b."), &name));
}

TEST(a_long_list_of_findings_is_cut_and_counted)
{
    struct policy_report report = {0};
    char source[20 * 150 + 1];
    size_t len = 0;

    for (int i = 0; i < 150; i++)
        len += (size_t)snprintf(source + len, sizeof(source) - len, "import pty.x%d\n", i);
    assert_int_equal(program_check(strict, source, &report), 0);
    assert_int_equal(report.count, POLICY_VIOLATIONS_MAX);
    assert_int_equal(report.more, 50);
    assert_int_equal(report.items[0].line, 1);
    assert_int_equal(report.items[99].line, 100);
    policy_report_done(&report);
    assert_null(report.items);
}

TEST(names_in_the_report_hold_no_control_characters)
{
    struct policy_report report = {0};

    assert_int_equal(policy_report_add(&report, "import", text("a\x1b[2J\n"), 1, 0, text(""), "x"),
                     0);
    assert_string_equal(report.items[0].name, "a?[2J?");
    assert_null(report.items[0].hint);
    policy_report_done(&report);
}

UNIT_MAIN_WITH(start, NULL)
