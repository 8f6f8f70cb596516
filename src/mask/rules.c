/* Rules of the operator: expressions that are looked for line by line. While there are any, a line
 * that has not ended waits, up to MASKER_HOLD_MAX bytes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pattern.h"
#include "mask/internal.h"

#define RULES_MAX 64

/* Of a line that is too long to wait for, so much waits nevertheless: what begins before it is seen
 * to its end. */
#define OVERLAP ((size_t)1024)

/* One rule finds so many things in one line; the rest of a line with more of them goes as a whole.
 * An expression may read to the end of the line for each of them. */
#define FINDS_MAX 1024

struct rule {
    char *name, *label, *text, *context;
    struct pattern *pattern;
};

struct masker_rules {
    struct rule items[RULES_MAX];
    unsigned count;
};

struct masker_rules *masker_rules_new(void)
{
    return calloc(1, sizeof(struct masker_rules));
}

void masker_rules_free(struct masker_rules *rules)
{
    if (!rules)
        return;
    for (unsigned i = 0; i < rules->count; i++) {
        struct rule *rule = &rules->items[i];

        free(rule->name);
        free(rule->label);
        free(rule->text);
        free(rule->context);
        pattern_free(rule->pattern);
    }
    free(rules);
}

const char *masker_rules_name(const struct masker_rules *rules, unsigned index)
{
    return rules->items[index].name;
}

const char *masker_rules_label(const struct masker_rules *rules, unsigned index)
{
    return rules->items[index].label;
}

const char *masker_rules_pattern(const struct masker_rules *rules, unsigned index)
{
    return rules->items[index].text;
}

static bool is_rule_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

    return len && len <= 40 && !name[len];
}

static char *label_of(const char *name)
{
    char *label = NULL;

    if (asprintf(&label, "[REDACTED_%s]", name) < 0)
        return NULL;
    for (char *at = label; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return label;
}

int masker_rules_add(struct masker_rules *rules, const char *name, const char *pattern,
                     const char *context, struct error *err)
{
    struct rule *rule = &rules->items[rules->count];
    size_t start, end;

    if (rules->count == RULES_MAX)
        return error_set(err, E_TOO_LARGE, "at most %d rules of your own", RULES_MAX);
    if (!is_rule_name(name)) {
        error_set(err, E_INVALID, "`%s` cannot be the name of a rule", name);
        return error_hint(err, "up to 40 lower-case letters, digits and underscores");
    }
    *rule = (struct rule){0};
    if (pattern_new(pattern, strlen(pattern), false, &rule->pattern, err) < 0)
        return error_wrap(err, "rule `%s`", name);
    if (pattern_find(rule->pattern, "", 0, &start, &end)) {
        pattern_free(rule->pattern);
        error_set(err, E_INVALID, "rule `%s` matches the empty text", name);
        return error_hint(err, "make it match at least one character");
    }
    rule->name = strdup(name);
    rule->label = label_of(name);
    rule->text = strdup(pattern);
    rule->context = context && *context ? strdup(context) : NULL;
    rules->count++; /* from here on masker_rules_free() has it */
    if (!rule->name || !rule->label || !rule->text || (context && *context && !rule->context)) {
        rules->count--;
        free(rule->name);
        free(rule->label);
        free(rule->text);
        pattern_free(rule->pattern);
        return error_memory(err);
    }
    return 0;
}

/* From `from` to `stop`; what begins at `to` or behind is for the next look. */
static void match_rule(struct masker *s, unsigned index, size_t from, size_t stop, size_t to)
{
    const struct rule *rule = &s->options.rules->items[index];
    size_t at = from, start, end;
    unsigned finds = 0;

    masker_charge(s, stop - from);
    while (at < stop && pattern_find(rule->pattern, masker_view(s, at), stop - at, &start, &end) &&
           end > start && at + start < to) {
        masker_charge(s, end);
        if (++finds > FINDS_MAX) {
            masker_found(s, MASKER_KIND_RULE + index, from, at + start, stop);
            return;
        }
        if (!rule->context || masker_near(s, at + start, rule->context))
            masker_found(s, MASKER_KIND_RULE + index, from, at + start, at + end);
        at += end;
    }
}

/* The end of the text that the rules may examine now (*ret_seen), and the place before which their
 * findings must begin.
 */
static size_t find_limit(struct masker *s, size_t *ret_seen)
{
    size_t len = s->view.len, from = s->rules_done, to;
    const char *newline;

    s->rules_cut = false;
    if (s->pem != SIZE_MAX) { /* behind it is for the next look */
        *ret_seen = s->pem + OVERLAP < len ? s->pem + OVERLAP : len;
        return s->pem;
    }
    newline = len > from ? memrchr(masker_view(s, from), '\n', len - from) : NULL;
    to = newline ? (size_t)(newline - s->view.data) + 1 : from;
    masker_charge(s, len - to);
    s->rules_cut = !s->is_final && len - to > MASKER_HOLD_MAX - OVERLAP;
    *ret_seen = s->is_final || s->rules_cut ? len : to;
    return s->rules_cut ? len - OVERLAP : *ret_seen;
}

void masker_rules_scan(struct masker *s)
{
    size_t seen, from = s->rules_done, to = find_limit(s, &seen);

    while (from < to && from <= s->hold && s->over == SIZE_MAX) {
        const char *end = memchr(masker_view(s, from), '\n', seen - from);
        size_t stop = end ? (size_t)(end - s->view.data) : seen;

        for (unsigned i = 0; i < s->options.rules->count; i++)
            match_rule(s, i, from, stop, to);
        from = stop + 1;
        masker_check_work(s, from < s->view.len ? from : s->view.len);
    }
    to = from < to ? from : to;
    s->rules_to = to;
    if (to < s->view.len)
        masker_wait(s, MASKER_KIND_RULE, to, to);
}

/* Lines that came out as a whole are done with, and of one that is too long, what came out. */
void masker_rules_settle(struct masker *s)
{
    const char *newline;

    if (s->emitted >= s->rules_to) {
        s->rules_done = s->rules_to;
        return;
    }
    if (s->emitted <= s->rules_done)
        return;
    newline = memrchr(masker_view(s, s->rules_done), '\n', s->emitted - s->rules_done);
    if (newline)
        s->rules_done = (size_t)(newline - s->view.data) + 1;
    if (s->rules_cut && !memchr(masker_view(s, s->emitted), '\n', s->view.len - s->emitted))
        s->rules_done = s->emitted;
}
