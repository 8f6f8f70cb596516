#include "cluster/metrics_merge.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define NAME_MAX_BYTES 96
#define HELP_MAX_BYTES 256
#define FIGURES_DEPTH  8

/* Lines with HELP or TYPE that one node may have: it cannot use up the names of all. */
#define ABOUT_MAX 256

struct metric {
    char *name, *help, *type;
    struct buf series;
};

struct metrics_merge {
    struct metric metrics[METRICS_NAMES_MAX];
    size_t count, bytes;
};

struct metrics_merge *metrics_merge_new(void)
{
    return calloc(1, sizeof(struct metrics_merge));
}

void metrics_merge_free(struct metrics_merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++) {
        free(m->metrics[i].name);
        free(m->metrics[i].help);
        free(m->metrics[i].type);
        buf_done(&m->metrics[i].series);
    }
    free(m);
}

/* --- the format --- */

static struct span cut(struct span *rest, size_t len)
{
    struct span piece = {rest->data, len};

    rest->data += len;
    rest->len -= len;
    return piece;
}

static bool skip(struct span *rest, const char *text)
{
    if (!span_starts_with(*rest, text))
        return false;
    (void)cut(rest, strlen(text));
    return true;
}

/* Letters, digits and underlines. Empty: it is no name. */
static struct span take_word(struct span *rest)
{
    size_t len = 0;

    while (len < rest->len && (isalnum((unsigned char)rest->data[len]) || rest->data[len] == '_'))
        len++;
    if (len > NAME_MAX_BYTES || (len && isdigit((unsigned char)*rest->data)))
        len = 0;
    return cut(rest, len);
}

static struct span take_name(struct span *rest)
{
    struct span name = take_word(rest);
    bool is_of_nodes = span_starts_with(name, "belljar_") &&
                       !span_starts_with(name, "belljar_gateway_") &&
                       !span_starts_with(name, "belljar_cluster_");

    return is_of_nodes ? name : (struct span){"", 0};
}

/* With its quotes. */
static bool skip_value(struct span *rest)
{
    if (!skip(rest, "\""))
        return false;
    while (rest->len && *rest->data != '"') {
        unsigned char c = (unsigned char)*rest->data;

        if (c < ' ' || c == 0x7f)
            return false;
        (void)cut(rest, 1);
        if (c == '\\' && !skip(rest, "\\") && !skip(rest, "\"") && !skip(rest, "n"))
            return false;
    }
    return skip(rest, "\"");
}

/* Between the braces. */
static bool take_labels(struct span *rest, struct span *ret_labels)
{
    const char *begin = rest->data;

    do {
        struct span name = take_word(rest);

        if (!name.len || span_is(name, "node") || !skip(rest, "=") || !skip_value(rest))
            return false;
    } while (skip(rest, ","));
    *ret_labels = (struct span){begin, (size_t)(rest->data - begin)};
    return skip(rest, "}");
}

static bool is_number(struct span text)
{
    size_t len = 0;

    while (len < text.len && (isalnum((unsigned char)text.data[len]) || text.data[len] == '.' ||
                              text.data[len] == '-' || text.data[len] == '+'))
        len++;
    return len && len == text.len && len <= 32;
}

static bool is_plain(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            return false;
    return true;
}

/* --- lines --- */

static struct metric *find(struct metrics_merge *m, struct span name)
{
    for (size_t i = 0; i < m->count; i++)
        if (span_is(name, m->metrics[i].name))
            return &m->metrics[i];
    return NULL;
}

static struct metric *find_or_add(struct metrics_merge *m, struct span name)
{
    struct metric *metric = find(m, name);

    if (metric || m->count == METRICS_NAMES_MAX)
        return metric;
    metric = &m->metrics[m->count];
    metric->name = strndup(name.data, name.len);
    buf_init(&metric->series, METRICS_ALL_BYTES);
    m->count += metric->name != NULL;
    return metric->name ? metric : NULL;
}

/* Of one node: its lines are read twice, so that nothing is taken of a text that is broken. */
struct reading {
    struct metrics_merge *m; /* NULL: they are only checked */
    const char *node;
    struct span name; /* of the last TYPE: series that follow are of it */
    size_t n_about;
};

static int take_about(struct reading *r, struct span line, bool is_type)
{
    struct span name = take_name(&line);
    struct metric *metric;
    char **place;

    if (++r->n_about > ABOUT_MAX || !name.len || !skip(&line, " ") || line.len > HELP_MAX_BYTES ||
        !is_plain(line) ||
        (is_type && !span_is(line, "counter") && !span_is(line, "gauge") &&
         !span_is(line, "histogram")))
        return -1;
    if (is_type)
        r->name = name;
    metric = r->m ? find_or_add(r->m, name) : NULL;
    if (!metric)
        return r->m ? -1 : 0;
    place = is_type ? &metric->type : &metric->help;
    if (!*place)
        *place = strndup(line.data, line.len);
    return *place ? 0 : -1;
}

/* "_sum" and such behind the name of a histogram. */
static bool is_of(struct span series, struct span name)
{
    static const char *const ends[] = {"", "_bucket", "_sum", "_count"};

    if (series.len < name.len || memcmp(series.data, name.data, name.len) != 0)
        return false;
    (void)cut(&series, name.len);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (span_is(series, ends[i]))
            return true;
    return false;
}

static int take_series(struct reading *r, struct span line)
{
    struct span name = take_name(&line), labels = {"", 0};
    struct metric *metric;

    if (!name.len || !r->name.len || !is_of(name, r->name) ||
        (skip(&line, "{") && !take_labels(&line, &labels)) || !skip(&line, " ") || !is_number(line))
        return -1;
    metric = r->m ? find(r->m, r->name) : NULL;
    if (!metric)
        return r->m ? -1 : 0;
    return buf_printf(&metric->series, NULL, "%.*s{node=\"%s\"%s%.*s} %.*s\n", (int)name.len,
                      name.data, r->node, labels.len ? "," : "", (int)labels.len, labels.data,
                      (int)line.len, line.data);
}

static int read_lines(struct reading *r, struct span rest)
{
    while (rest.len) {
        struct span line = cut(&rest, span_until(rest, "\n"));
        int result;

        if (!skip(&rest, "\n"))
            return -1;
        if (skip(&line, "# HELP "))
            result = take_about(r, line, false);
        else if (skip(&line, "# TYPE "))
            result = take_about(r, line, true);
        else
            result = take_series(r, line);
        if (result < 0)
            return -1;
    }
    return 0;
}

int metrics_merge_add(struct metrics_merge *m, const char *node, struct span text,
                      struct error *err)
{
    struct reading r = {.node = node};

    if (!text.len || text.len > METRICS_NODE_BYTES || memchr(text.data, '\0', text.len) ||
        read_lines(&r, text) < 0)
        return error_set(err, E_INVALID, "`%s` has sent no metrics", node);
    r = (struct reading){.m = m, .node = node};
    return read_lines(&r, text) < 0 ? error_memory(err) : 0;
}

int metrics_merge_write(const struct metrics_merge *m, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct metric *metric = &m->metrics[i];

        if (!metric->series.len)
            continue;
        if ((metric->help &&
             buf_printf(out, err, "# HELP %s %s\n", metric->name, metric->help) < 0) ||
            (metric->type &&
             buf_printf(out, err, "# TYPE %s %s\n", metric->name, metric->type) < 0) ||
            buf_add(out, metric->series.data, metric->series.len, err) < 0)
            return -1;
    }
    return 0;
}

/* --- objects --- */

static json_t *find_named(const json_t *list, const char *name)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (*name && strcmp(json_get_text(item, "name"), name) == 0)
            return item;
    }
    return NULL;
}

static void add_at(json_t *to, const json_t *from, unsigned depth);

static void add_list(json_t *to, const json_t *from, unsigned depth)
{
    json_t *item;
    size_t i;

    json_array_foreach(from, i, item)
    {
        json_t *same = find_named(to, json_get_text(item, "name"));

        if (same)
            add_at(same, item, depth);
        else if (json_is_object(item))
            (void)json_array_append_new(to, json_deep_copy(item));
    }
}

/* NULL: these two are not to be added. */
static json_t *sum(const json_t *a, const json_t *b)
{
    json_int_t whole;

    if (!json_is_number(a) || !json_is_number(b))
        return NULL;
    if (json_is_integer(a) && json_is_integer(b) &&
        !__builtin_add_overflow(json_integer_value(a), json_integer_value(b), &whole))
        return json_integer(whole);
    return json_real(json_number_value(a) + json_number_value(b)); /* NULL: beyond all numbers */
}

static void add_at(json_t *to, const json_t *from, unsigned depth)
{
    const char *name;
    json_t *value;

    if (depth == 0)
        return;
    json_object_foreach((json_t *)from, name, value)
    {
        json_t *mine = json_object_get(to, name), *both = sum(mine, value);

        if (both)
            json_set(to, name, both);
        else if (!mine)
            json_set(to, name, json_deep_copy(value));
        else if (json_is_object(mine) && json_is_object(value))
            add_at(mine, value, depth - 1);
        else if (json_is_array(mine) && json_is_array(value))
            add_list(mine, value, depth - 1);
    }
}

void figures_add(json_t *to, const json_t *from)
{
    add_at(to, from, FIGURES_DEPTH);
}
