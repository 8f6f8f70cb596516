#include "base/glob.h"

#include <string.h>

struct part {
    const char *at, *end;
};

static bool spend(uint64_t *budget, uint64_t steps)
{
    *budget -= steps < *budget ? steps : *budget;
    return *budget > 0;
}

/* --- one name --- */

/* Returns the end of the class that begins at `[`, past its `]`. NULL: it has no end, so the
 * bracket is a character like any other. */
static const char *class_end(struct part pattern)
{
    const char *at = pattern.at + 1;

    if (at < pattern.end && (*at == '!' || *at == '^'))
        at++;
    if (at < pattern.end && *at == ']') /* the first one is a member */
        at++;
    at = at < pattern.end ? memchr(at, ']', (size_t)(pattern.end - at)) : NULL;
    return at ? at + 1 : NULL;
}

static bool is_in_class(const char *at, const char *end, unsigned char c)
{
    bool is_negated = at[1] == '!' || at[1] == '^', is_member = false;

    end--; /* the closing bracket */
    for (at += 1 + is_negated; at < end; at++) {
        unsigned char low = (unsigned char)at[0], high = low;

        if (end - at > 2 && at[1] == '-') {
            high = (unsigned char)at[2];
            at += 2;
        }
        is_member |= c >= low && c <= high;
    }
    return is_member != is_negated;
}

static const char *after_character(const char *at, const char *end)
{
    bool is_long = (unsigned char)*at >= 0xc0;

    at++;
    while (is_long && at < end && ((unsigned char)*at & 0xc0) == 0x80)
        at++;
    return at;
}

/* Matches the first element of the pattern, no star, with the first character of the name. Both
 * move on when it does. */
static bool match_one(struct part *pattern, struct part *name, uint64_t *budget)
{
    const char *at = pattern->at, *end;

    if (at == pattern->end)
        return false;
    if (*at == '?') {
        pattern->at++;
        name->at = after_character(name->at, name->end);
        return true;
    }
    if (*at == '[') {
        end = class_end(*pattern);
        (void)spend(budget, (uint64_t)((end ? end : pattern->end) - at));
        if (end) {
            if (!is_in_class(at, end, (unsigned char)*name->at))
                return false;
            pattern->at = end;
            name->at++;
            return true;
        }
    }
    if (*at == '\\' && at + 1 < pattern->end)
        at++;
    if (*at != *name->at)
        return false;
    pattern->at = at + 1;
    name->at++;
    return true;
}

/* Most names differ from most patterns in their last character. */
static bool differs_at_end(struct part pattern, struct part name)
{
    char last;

    if (pattern.at == pattern.end)
        return name.at != name.end;
    last = pattern.end[-1];
    return last != '*' && last != '?' && last != ']' &&
           (name.at == name.end || name.end[-1] != last);
}

/* A later star can do whatever an earlier one could by taking more, so only the last one seen is
 * ever tried again. */
static bool match_name(struct part pattern, struct part name, uint64_t *budget)
{
    const char *after_star = NULL, *taken = NULL;

    if (!spend(budget, 1) || differs_at_end(pattern, name))
        return false;
    while (name.at < name.end) {
        if (!spend(budget, 1))
            return false;
        if (pattern.at < pattern.end && *pattern.at == '*') {
            after_star = ++pattern.at;
            taken = name.at;
        } else if (!match_one(&pattern, &name, budget)) {
            if (!after_star)
                return false;
            pattern.at = after_star;
            name.at = ++taken;
        }
    }
    while (pattern.at < pattern.end && *pattern.at == '*')
        pattern.at++;
    return pattern.at == pattern.end;
}

/* --- paths --- */

/* The first part of a path, which moves on behind it. Past the last one there is NULL. */
static struct part take_part(const char **path)
{
    const char *at = *path, *slash = strchr(at, '/');

    *path = slash ? slash + 1 : NULL;
    return (struct part){at, slash ? slash : at + strlen(at)};
}

static bool is_any_directories(const char *pattern)
{
    return strncmp(pattern, "**/", 3) == 0;
}

bool glob_match(const char *pattern, const char *path, uint64_t *budget)
{
    const char *after_any = NULL, *taken = NULL;

    while (path) {
        const char *rest_of_path = path, *rest = pattern;
        struct part name, wanted;

        if (!spend(budget, 1))
            return false;
        if (is_any_directories(pattern)) {
            after_any = pattern = pattern + 3;
            taken = path;
            continue;
        }
        name = take_part(&rest_of_path);
        wanted = take_part(&rest);
        /* Both have to end together. */
        if (!rest == !rest_of_path && match_name(wanted, name, budget)) {
            pattern = rest;
            path = rest_of_path;
            continue;
        }
        if (!after_any || *budget == 0)
            return false;
        pattern = after_any;
        (void)take_part(&taken);
        path = taken;
    }
    return pattern == NULL;
}
