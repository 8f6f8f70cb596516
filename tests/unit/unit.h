/* What every unit test needs: cmocka with the headers it wants before it, and a short way to list
 * tests.
 *
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = {
 *             cmocka_unit_test(wrap_keeps_the_code_and_adds_context),
 *         };
 *         return UNIT_RUN(tests);
 *     }
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

#define UNIT_RUN(tests) UNIT_RUN_WITH(tests, NULL, NULL)

/* The same with a set-up and a tear-down around the whole. TAP also where a test has emptied the
 * environment, which is where cmocka looks for its format. */
#define UNIT_RUN_WITH(tests, setup, teardown)                                                      \
    (cmocka_set_message_output(CM_OUTPUT_TAP), cmocka_run_group_tests(tests, setup, teardown))

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
