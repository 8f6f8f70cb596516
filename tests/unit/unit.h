/* Needed by every unit test: cmocka with the headers it wants before it, and a short way to write
 * tests. They run in the order in which they stand in the file, and their names are sentences:
 *
 *     TEST(wrap_keeps_the_code_and_adds_context)
 *     {
 *         assert_int_equal(...);
 *     }
 *
 *     UNIT_MAIN()
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

#define UNIT_TESTS_MAX 128

static struct CMUnitTest unit_tests[UNIT_TESTS_MAX]; /* of this file, as they stand in it */
static size_t n_unit_tests;

static inline void unit_add(struct CMUnitTest test)
{
    if (n_unit_tests == UNIT_TESTS_MAX)
        abort();
    unit_tests[n_unit_tests++] = test;
}

/* Runs the tests of this file. TAP also where a test has emptied the environment, which is where
 * cmocka looks for its format. */
static inline int unit_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return _cmocka_run_group_tests("tests", unit_tests, n_unit_tests, setup, teardown);
}

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test with a set-up and a tear-down of its own, which may be NULL. */
#define TEST_WITH(name, setup, teardown)                                                           \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void unit_add_##name(void)                                 \
    {                                                                                              \
        unit_add((struct CMUnitTest){#name, name, setup, teardown, NULL});                         \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

/* main(), with a set-up and a tear-down around all tests. */
#define UNIT_MAIN() UNIT_MAIN_WITH(NULL, NULL)
#define UNIT_MAIN_WITH(setup, teardown)                                                            \
    int main(void)                                                                                 \
    {                                                                                              \
        return unit_run(setup, teardown);                                                          \
    }

/* Fails unless `text` contains `part`; shows both. */
#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        const char *text_ = (text);                                                                \
        if (!text_ || !strstr(text_, (part)))                                                      \
            fail_msg("\"%s\" does not contain \"%s\"", text_ ? text_ : "(null)", (part));          \
    } while (0)

/* The call failed with this code and this message (a part of it); the error is emptied. */
#define assert_error(err, expected_code, part)                                                     \
    do {                                                                                           \
        assert_string_equal(error_code_name((err)->code), error_code_name(expected_code));         \
        assert_contains((err)->message, (part));                                                   \
        error_done(err);                                                                           \
    } while (0)
