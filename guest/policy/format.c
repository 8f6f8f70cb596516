/* Templates of str.format(): "{0.__class__}" reads attributes without a dot in the program.
 *
 * The scan follows CPython's own (Objects/stringlib/unicode_format.h): braces nest, "{{" is a
 * brace, a field name ends at "!" or ":", inside brackets everything up to "]" is a key, and a
 * format spec may hold fields again.
 */
#include "guest/policy/internal.h"

#include <string.h>

/* Attributes that lead from an object to globals. */
static const char *const dangerous[] = {
    "__globals__", "__builtins__", "__subclasses__",   "__code__",   "__closure__", "__bases__",
    "__base__",    "__mro__",      "__import__",       "__loader__", "__spec__",    "__init__",
    "__new__",     "__self__",     "__getattribute__", "__func__",   "__dict__",    "__reduce_ex__",
};

static bool is_dangerous(const struct policy *policy, struct span name)
{
    for (size_t i = 0; i < COUNT_OF(dangerous); i++)
        if (span_is(name, dangerous[i]))
            return policy_attribute_refused(policy, name) || policy->flags & POLICY_DUNDER_DENIED;
    return policy_on_list(policy, POLICY_ATTRIBUTE_DENY, name);
}

bool policy_attribute_dangerous(const struct policy *policy, struct span name)
{
    return policy_attribute_refused(policy, name) && is_dangerous(policy, name);
}

typedef bool refuses(const struct policy *policy, struct span name);

/* ".a[b].c" behind the first part of a field name. */
static bool field_refused(const struct policy *policy, struct span field, refuses *is_refused,
                          struct span *ret_name)
{
    size_t at = 0;

    while (at < field.len) {
        size_t start;

        if (field.data[at] == '[') {
            while (at < field.len && field.data[at] != ']')
                at++;
            continue;
        }
        if (field.data[at] != '.') {
            at++;
            continue;
        }
        start = ++at;
        while (at < field.len && field.data[at] != '.' && field.data[at] != '[')
            at++;
        *ret_name = (struct span){field.data + start, at - start};
        /* "{0.__class__.__name__}" says the name of a type. */
        if (span_is(*ret_name, "__class__") && policy_class_is_soft(policy) &&
            span_is((struct span){field.data + at, field.len - at}, ".__name__"))
            return false;
        if (is_refused(policy, *ret_name))
            return true;
    }
    return false;
}

/* The end of a field name that starts at `at`: "!", ":" or a brace, outside of brackets. */
static size_t field_end(struct span text, size_t at)
{
    bool in_brackets = false;

    for (; at < text.len; at++) {
        char c = text.data[at];

        if (c == '[')
            in_brackets = true;
        else if (c == ']')
            in_brackets = false;
        else if (!in_brackets && (c == '!' || c == ':' || c == '{' || c == '}'))
            break;
    }
    return at;
}

static bool template_refused(const struct policy *policy, struct span text, bool is_field,
                             refuses *is_refused, struct span *ret_name)
{
    size_t at = 0;

    if (is_field)
        return field_refused(policy, text, is_refused, ret_name);
    while (at < text.len) {
        const char *brace = memchr(text.data + at, '{', text.len - at);
        size_t end;

        if (!brace)
            return false;
        at = (size_t)(brace - text.data) + 1;
        /* "{{" is text at the top level and a field in a format spec. Reading it as a field too
         * costs nothing: what follows it as text is harmless unless it looks like a refused path.
         */
        if (at < text.len && text.data[at] == '{')
            continue;
        end = field_end(text, at);
        if (field_refused(policy, (struct span){text.data + at, end - at}, is_refused, ret_name))
            return true;
        at = end;
    }
    return false;
}

bool policy_template_refused(const struct policy *policy, struct span text, bool is_field,
                             struct span *ret_name)
{
    return template_refused(policy, text, is_field, policy_attribute_refused, ret_name);
}

bool policy_template_dangerous(const struct policy *policy, struct span text, bool is_field,
                               struct span *ret_name)
{
    return template_refused(policy, text, is_field, is_dangerous, ret_name);
}

bool policy_path_refused(const struct policy *policy, struct span path, struct span *ret_name)
{
    size_t at = 0;

    while (at <= path.len) {
        const char *dot = at < path.len ? memchr(path.data + at, '.', path.len - at) : NULL;
        size_t end = dot ? (size_t)(dot - path.data) : path.len;

        *ret_name = (struct span){path.data + at, end - at};
        if (policy_attribute_refused(policy, *ret_name))
            return true;
        at = end + 1;
    }
    return false;
}
