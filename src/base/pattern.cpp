/* RE2 behind a C interface. Linked statically, like all of C++ here: a shared libstdc++ would cost
 * every start of the program more than the rest of it. */
#include "base/pattern.h"

#include <new>

#include <re2/re2.h>

extern "C" {
#include "base/limits.h"
}

struct pattern {
    re2::RE2 re;

    pattern(const char *text, size_t len, const re2::RE2::Options &options)
        : re(re2::StringPiece(text, len), options)
    {
    }
};

int pattern_new(const char *text, size_t len, bool ignores_case, struct pattern **ret_pattern,
                struct error *err)
{
    if (len > LIMIT_PATTERN_BYTES)
        return error_set(err, E_INVALID, "the expression is longer than %zu bytes",
                         (size_t)LIMIT_PATTERN_BYTES);
    try {
        re2::RE2::Options options;
        struct pattern *made;

        options.set_log_errors(false);
        options.set_case_sensitive(!ignores_case);
        options.set_max_mem(LIMIT_PATTERN_MEMORY);
        made = new pattern(text, len, options);
        if (!made->re.ok()) {
            error_set(err, E_INVALID, "not a regular expression: %s", made->re.error().c_str());
            delete made;
            return error_hint(err, "the syntax is RE2's: no back-references, no look-around");
        }
        *ret_pattern = made;
        return 0;
    } catch (const std::bad_alloc &) {
        return error_memory(err);
    }
}

void pattern_free(struct pattern *pattern)
{
    delete pattern;
}

bool pattern_find(const struct pattern *pattern, const char *text, size_t len, size_t *ret_start,
                  size_t *ret_end)
{
    try {
        re2::StringPiece found;

        if (!pattern->re.Match(re2::StringPiece(text, len), 0, len, re2::RE2::UNANCHORED, &found,
                               1))
            return false;
        *ret_start = (size_t)(found.data() - text);
        *ret_end = *ret_start + found.size();
        return true;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

size_t pattern_cost(const struct pattern *pattern)
{
    int size = pattern->re.ProgramSize();

    return size > 0 ? (size_t)size : 1;
}
