#include "unit.h"

#include "wire/language.h"
#include "wire/message.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define FIND(word) language_find(span_of(word))

TEST(names_and_aliases_are_found_in_any_case)
{
    static const struct {
        const char *word;
        int language;
    } cases[] = {
        {"python", RUN_PYTHON},
        {"py", RUN_PYTHON},
        {"Python", RUN_PYTHON},
        {"bash", RUN_BASH},
        {"sh", RUN_BASH},
        {"shell", RUN_BASH},
        {"javascript", RUN_JAVASCRIPT},
        {"js", RUN_JAVASCRIPT},
        {"node", RUN_JAVASCRIPT},
        {"TypeScript", RUN_TYPESCRIPT},
        {"ts", RUN_TYPESCRIPT},
        {"perl", -1},
        {"", -1},
        {"py python3", -1},
        {"pyt", -1},
        {"pythonx", -1},
        {"command", -1},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(FIND(cases[i].word), cases[i].language);
}

TEST(files_are_told_by_their_suffix)
{
    assert_int_equal(language_of_file("a.py"), RUN_PYTHON);
    assert_int_equal(language_of_file("/x.js/run.bash"), RUN_BASH);
    assert_int_equal(language_of_file("a.test.mjs"), RUN_JAVASCRIPT);
    assert_int_equal(language_of_file("a.TS"), RUN_TYPESCRIPT);
    assert_int_equal(language_of_file("/x.js/run"), -1);
    assert_int_equal(language_of_file("a.jsx"), -1);
    assert_int_equal(language_of_file("js"), -1);
    assert_int_equal(language_of_file("a."), -1);
    assert_int_equal(language_of_file(""), -1);
}

TEST(interpreters_may_have_a_version)
{
    assert_int_equal(language_of_interpreter(span_of("python3.11")), RUN_PYTHON);
    assert_int_equal(language_of_interpreter(span_of("node18")), RUN_JAVASCRIPT);
    assert_int_equal(language_of_interpreter(span_of("sh")), RUN_BASH);
    assert_int_equal(language_of_interpreter(span_of("pythonw")), -1);
    assert_int_equal(language_of_interpreter(span_of("")), -1);
    assert_int_equal(language_of_interpreter((struct span){"node\0.", 6}), -1);
}

/* The rest of the program takes this for granted. */
TEST(every_row_is_whole)
{
    for (int i = 0; i <= RUN_COMMAND; i++) {
        const struct language *l = &languages[i];
        const char *programs = l->programs, *packages = l->packages;

        assert_true(*l->name && *l->title && l->kernel < RUN_LANGUAGES);
        assert_int_equal(languages[l->kernel].kernel, l->kernel);
        while (*programs) {
            assert_true(language_next_word(&programs).len > 0);
            assert_true(language_next_word(&packages).len > 0);
        }
        assert_true(!*packages);
        if (i < RUN_LANGUAGES)
            assert_int_equal(FIND(l->name), i);
    }
    assert_string_equal(LANGUAGE_NAMES, "python,bash,javascript,typescript");
}

TEST(a_program_that_is_not_there_is_missing)
{
    char path[LANGUAGE_PATH_MAX];
    struct span program, package;

    assert_true(language_find_program(span_of("env"), path));
    assert_string_equal(path, "/usr/bin/env");
    assert_false(language_find_program(span_of("no-such-interpreter"), path));
    assert_false(language_find_program(
        span_of("a-name-that-is-longer-than-any-path-that-there-is-room-for-in-the-buffer"), path));
    assert_false(language_missing(RUN_PYTHON, &program, &package));
}

UNIT_MAIN()
