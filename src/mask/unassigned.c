/* Places that look like an assignment and are none: prose about an option, a line of a report, a
 * part of a pattern, a value that only repeats its name. */
#include "base/cleanup.h"
#include "mask/sign.h"

/* --user and --password options: prose about both. */
bool sign_is_named_in_prose(const struct masker *s, const struct sign_name *name)
{
    static const char *const words[] = {" and ", " or ", " the "};

    for (size_t i = 0; name->is_flag && i < ARRAY_SIZE(words); i++) {
        size_t n = strlen(words[i]);

        if (name->start >= n && memcmp(masker_view(s, name->start - n), words[i], n) == 0)
            return true;
    }
    return false;
}

/* ://<user>:<password>@host, and (?P<password>...) of a pattern. */
bool sign_is_no_element(const struct masker *s, const struct sign_name *name, size_t at)
{
    size_t open = name->start ? name->start - 1 : 0;

    if (open < 2)
        return false;
    if (masker_at(s, open - 1) == ':')
        return masker_is_in("@\\", masker_at(s, at));
    open -= masker_at(s, open - 1) == 'P';
    return masker_at(s, open - 1) == '?' && open > 1 && masker_at(s, open - 2) == '(';
}

/* The value only repeats the name: KMS_KEY = 'kmsKey'. */
bool sign_is_echo(const struct masker *s, const struct sign_name *name,
                  const struct masker_value *value)
{
    char said[MASKER_WORD_MAX * 2], meant[MASKER_WORD_MAX * 2];
    size_t n = 0, m = 0;

    if (value->end - value->start >= sizeof(said) || name->end - name->start >= sizeof(meant))
        return false;
    for (size_t i = value->start; i < value->end; i++)
        if (masker_is_alnum(masker_at(s, i)))
            said[n++] = (char)(masker_at(s, i) | 32);
        else if (!masker_is_in("_-:&", masker_at(s, i)))
            return false;
    for (size_t i = name->start; i < name->end; i++)
        if (masker_is_alnum(masker_at(s, i)))
            meant[m++] = (char)(masker_at(s, i) | 32);
    masker_charge(s, n + m);
    return n >= 6 && memmem(meant, m, said, n);
}

/* $token->name: what the variable points to. */
bool sign_is_pointer(const struct masker *s, const struct sign_name *name, size_t at)
{
    return name->start && masker_at(s, name->start - 1) == '$' && at >= name->end + 2 &&
           memcmp(masker_view(s, name->end), "->", 2) == 0;
}

/* Does the line before the one at `at` say how a test ended? */
static bool is_below_report(const struct masker *s, size_t at)
{
    static const char *const results[] = {"PASS: ", "FAIL: ",  "XPASS: ",       "XFAIL: ",
                                          "SKIP: ", "ERROR: ", "UNSUPPORTED: ", "UNTESTED: "};
    size_t low = at > 256 ? at - 256 : 0;
    const char *newline;

    if (at < 2 || masker_at(s, at - 1) != '\n')
        return false;
    newline = memrchr(masker_view(s, low), '\n', at - 1 - low);
    if (!newline && low)
        return false;
    low = newline ? (size_t)(newline - s->view.data) + 1 : 0;
    masker_charge(s, at - low);
    for (size_t i = 0; i < ARRAY_SIZE(results); i++)
        if (low + strlen(results[i]) < at &&
            memcmp(masker_view(s, low), results[i], strlen(results[i])) == 0)
            return true;
    return false;
}

/* PASS: test_open_2 */
bool sign_is_report(const struct masker *s, const struct sign_name *name, enum masker_name what,
                    const struct masker_value *value)
{
    if (name->end - name->start != 4 || memcmp(masker_view(s, name->start), "PASS", 4) != 0)
        return false;
    for (size_t i = value->start; i < value->end && i - value->start < MASKER_JUDGE_MAX; i++)
        if (masker_is_in("/.:_-[", masker_at(s, i)))
            return true;
    return !masker_is_strong(s, what, value->start, value->end) || is_below_report(s, name->start);
}

/* One of ours, in text that was masked before: what follows is no value of it. */
bool sign_is_label(const struct masker *s, const struct sign_name *name)
{
    static const char begin[] = "REDACTED_";
    const size_t len = sizeof(begin) - 1;

    return name->start && masker_at(s, name->start - 1) == '[' && name->end - name->start > len &&
           memcmp(masker_view(s, name->start), begin, len) == 0;
}

/* arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf, the address of a secret. */
bool sign_is_address(const struct masker *s, const struct sign_name *name)
{
    return name->start > 1 && masker_at(s, name->start - 1) == ':' &&
           (masker_is_digit(masker_at(s, name->start - 2)) ||
            masker_near(s, name->start, "secretsmanager")) &&
           name->end - name->start == 6 && name->end < s->view.len &&
           masker_at(s, name->end) == ':';
}
