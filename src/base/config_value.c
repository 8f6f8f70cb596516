/* Values of options: read from text and from JSON, checked, described and given back. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/config_internal.h"
#include "base/limits.h"
#include "base/suggest.h"

/* Messages quote what was read, but not a whole file given instead of a number. */
#define READ_MAX 60

/* Items of one list: --allow has its own, lower limit where the mounts are made. */
#define LIST_MAX 256

/* Choices of one option, and their text. */
#define CHOICES_MAX   8
#define CHOICES_BYTES 128

int config_list_add(struct config_list *list, const char *text, size_t len, struct error *err)
{
    char **grown;

    if (list->count >= LIST_MAX)
        return error_set(err, E_TOO_LARGE, "more than %d items in a list", LIST_MAX);
    grown = realloc(list->items, (list->count + 1) * sizeof(char *));
    if (!grown)
        return error_memory(err);
    list->items = grown;
    list->items[list->count] = strndup(text, len);
    if (!list->items[list->count])
        return error_memory(err);
    list->count++;
    return 0;
}

void config_list_done(struct config_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct config_list){0};
}

/* ---- words ---- */

/* Fills ret_items with pointers into `copy`; returns their number. */
static size_t split_choices(const struct config_option *option, char copy[CHOICES_BYTES],
                            const char *ret_items[CHOICES_MAX])
{
    size_t count = 0;
    char *at = copy;

    (void)snprintf(copy, CHOICES_BYTES, "%s", option->choices);
    while (at && count < CHOICES_MAX)
        ret_items[count++] = strsep(&at, ",");
    return count;
}

static int add_variable(const struct config_option *option, const struct config_source *source,
                        struct buf *out, struct error *err)
{
    char variable[64];

    config_variable(option, variable, sizeof(variable));
    return buf_add_str(out, source->name ? source->name : variable, err);
}

/* The text before ": read …" in a message. */
static int add_subject(const struct config_option *option, const struct config_source *source,
                       struct buf *out, struct error *err)
{
    switch (source->origin) {
    case CONFIG_FILE:
        return buf_printf(out, err, "%s:%d: `%s`", source->file, source->line, option->name);
    case CONFIG_ENVIRONMENT:
        if (buf_add_str(out, "environment variable `", err) < 0 ||
            add_variable(option, source, out, err) < 0)
            return -1;
        return buf_add_str(out, "`", err);
    case CONFIG_FLAG:
        return buf_printf(out, err, "`--%s`", source->name);
    default:
        return buf_printf(out, err, "default of `%s`", option->name);
    }
}

static double ceiling_of(const struct config *config, const struct config_option *option)
{
    const struct config_option *ceiling = config_ceiling(option);

    return ceiling && config ? config_number(config, ceiling) : option->max;
}

static int add_choices(const struct config_option *option, struct buf *out, struct error *err)
{
    const char *items[CHOICES_MAX];
    char copy[CHOICES_BYTES];
    size_t count = split_choices(option, copy, items);

    for (size_t i = 0; i < count; i++)
        if (buf_printf(out, err, "%s`%s`", i ? ", " : "one of ", items[i]) < 0)
            return -1;
    return 0;
}

int config_describe(const struct config *config, const struct config_option *option,
                    struct buf *out, struct error *err)
{
    const char *unit = option->unit ? option->unit : "";
    const char *space = option->unit ? " " : "";

    switch (option->type) {
    case CONFIG_INT:
    case CONFIG_SIZE:
        return buf_printf(out, err, "a whole number from %.0f to %.0f%s%s", option->min,
                          ceiling_of(config, option), space, unit);
    case CONFIG_REAL:
        return buf_printf(out, err, "a number from %.15g to %.15g%s%s", option->min,
                          ceiling_of(config, option), space, unit);
    case CONFIG_CHOICE:
        return add_choices(option, out, err);
    case CONFIG_LIST:
        return buf_printf(out, err, "a list of text");
    default:
        if (option->expected)
            return buf_add_str(out, option->expected, err);
        return buf_add_str(out, *option->fallback ? "text that is not empty" : "text", err);
    }
}

int config_mistake(const struct config *config, const struct config_option *option,
                   const struct config_source *source, const char *read, struct error *err)
{
    cleanup(buf_done) struct buf words = BUF_OF(64 * KIB);
    int shown = (int)strnlen(read, READ_MAX + 1);

    if (add_subject(option, source, &words, err) < 0 ||
        buf_printf(&words, err, ": read `%.*s%s`, expected ", shown > READ_MAX ? READ_MAX : shown,
                   read, shown > READ_MAX ? "…" : "") < 0 ||
        config_describe(config, option, &words, err) < 0)
        return -1;
    return error_set(err, E_INVALID, "%s", buf_str(&words));
}

/* ---- numbers ---- */

void config_put_number(const struct config *config, const struct config_option *option,
                       double number)
{
    void *field = config_field(config, option);

    if (option->type == CONFIG_REAL)
        *(double *)field = number;
    else
        *(int64_t *)field = (int64_t)number;
}

double config_number(const struct config *config, const struct config_option *option)
{
    const void *field = config_field(config, option);

    return option->type == CONFIG_REAL ? *(const double *)field : (double)*(const int64_t *)field;
}

/* Without libm, which a start of the program would have to load for this alone. Only for numbers in
 * some range. */
static bool is_whole(double number)
{
    return number == (double)(int64_t)number;
}

/* The range of the table; the ceiling of another option is looked at when all sources have been
 * read. All bounds are far below 2^53, so a double holds every whole number exactly. */
static bool in_range(const struct config_option *option, double number)
{
    return isfinite(number) && number >= option->min && number <= option->max &&
           (option->type == CONFIG_REAL || is_whole(number));
}

/* K, M or G, then perhaps iB or B; NULL when it is something else. */
static const char *parse_suffix(const char *text, double *ret_factor)
{
    static const char letters[] = "kmg";
    const char *letter = *text ? strchr(letters, *text | 0x20) : NULL;
    double factor = 1;

    if (letter) {
        for (const char *c = letters; c <= letter; c++)
            factor *= 1024;
        text++;
        if (*text == 'i' && text[1] == 'B')
            text++;
    }
    if (*text == 'B')
        text++;
    *ret_factor = factor;
    return *text == '\0' ? text : NULL;
}

/* Seconds of `90s`, `5m`, `2h` or `1d`; 0 when it is something else. */
static double seconds_of(const char *unit)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (unit[0] == units[i].letter && !unit[1])
            return units[i].seconds;
    return 0;
}

/* Only decimal digits begin a number here: strtod() alone would take spaces, `inf`, `nan` and
 * hexadecimals. */
static bool parse_number(const struct config_option *option, const char *text, double *ret_number)
{
    const char *digits = text + (*text == '-');
    char *end = NULL;
    double number, factor;

    if (!(*digits >= '0' && *digits <= '9') || (digits[0] == '0' && (digits[1] | 0x20) == 'x'))
        return false;
    errno = 0;
    number = strtod(text, &end);
    if (errno == ERANGE)
        return false;
    if (option->type == CONFIG_SIZE && *end) {
        if (!parse_suffix(end, &factor))
            return false;
        number = number * factor / (double)option->unit_bytes;
        end += strlen(end);
    }
    if (option->unit && strcmp(option->unit, "seconds") == 0 && seconds_of(end) > 0) {
        number *= seconds_of(end);
        end++;
    }
    *ret_number = number;
    return *end == '\0';
}

static int hint_at_ceiling(const struct config_option *ceiling, struct error *err)
{
    char variable[64];

    config_variable(ceiling, variable, sizeof(variable));
    return error_hint(err, "the operator may raise the ceiling: `%s` in the configuration, or %s",
                      ceiling->name, variable);
}

int config_check_ceiling(struct config *config, const struct config_option *option,
                         struct error *err)
{
    const struct config_source *source = config_source_of(config, option);
    const struct config_option *ceiling = config_ceiling(option);
    double number, max;
    bool is_none;
    char read[32];

    if (!ceiling)
        return 0;
    number = config_number(config, option);
    max = config_number(config, ceiling);
    /* A user's own run without a time limit is above every ceiling that somebody has set. */
    is_none = number == 0 && option->min > 0 &&
              config_source_of(config, ceiling)->origin != CONFIG_DEFAULT;
    if (number <= max && !is_none)
        return 0;
    if (source->origin == CONFIG_DEFAULT) {
        config_put_number(config, option, max);
        return 0;
    }
    (void)snprintf(read, sizeof(read), "%.15g", number);
    config_mistake(config, option, source, read, err);
    return max < ceiling->max ? hint_at_ceiling(ceiling, err) : -1;
}

/* ---- choices ---- */

static int set_choice(struct config *config, const struct config_option *option,
                      const struct config_source *source, const char *text, struct error *err)
{
    const char *items[CHOICES_MAX];
    char copy[CHOICES_BYTES];
    size_t count = split_choices(option, copy, items);
    const char *nearest;

    for (size_t i = 0; i < count; i++) {
        char *value;

        if (strcasecmp(items[i], text) != 0)
            continue;
        value = strdup(items[i]);
        if (!value)
            return error_memory(err);
        free(*(char **)config_field(config, option));
        *(char **)config_field(config, option) = value;
        return 0;
    }
    config_mistake(config, option, source, text, err);
    nearest = suggest_nearest(text, items, count);
    return nearest ? error_hint(err, "did you mean `%s`?", nearest) : -1;
}

/* ---- setting ---- */

static int set_number(struct config *config, const struct config_option *option,
                      const struct config_source *source, double number, const char *read,
                      struct error *err)
{
    const struct config_option *ceiling;

    if (in_range(option, number)) {
        config_put_number(config, option, number);
        return 0;
    }
    ceiling = config_ceiling(option);
    config_mistake(config, option, source, read, err);
    return ceiling && number > option->max ? hint_at_ceiling(ceiling, err) : -1;
}

static int set_string(struct config *config, const struct config_option *option,
                      const struct config_source *source, const char *text, struct error *err)
{
    char **field = config_field(config, option);
    char *value;

    /* Only an option whose default is empty has a meaning for it. */
    if ((!*text && *option->fallback) || (option->accepts && !option->accepts(text)))
        return config_mistake(config, option, source, text, err);
    value = strdup(text);
    if (!value)
        return error_memory(err);
    free(*field);
    *field = value;
    return 0;
}

/* A weaker source's list is replaced, the same source's grows: that is how --allow is repeated. */
static struct config_list *fresh_list(struct config *config, const struct config_option *option,
                                      const struct config_source *source)
{
    struct config_list *list = config_field(config, option);

    if (source->origin != CONFIG_FLAG || config_source_of(config, option)->origin != CONFIG_FLAG)
        config_list_done(list);
    return list;
}

static int wrap_subject(const struct config_option *option, const struct config_source *source,
                        struct error *err)
{
    cleanup(buf_done) struct buf subject = BUF_OF(KIB);

    if (add_subject(option, source, &subject, NULL) == 0)
        error_wrap(err, "%s", buf_str(&subject));
    return -1;
}

static int add_host(struct config_list *list, const struct config_option *option,
                    const struct config_source *source, const json_t *item, struct error *err)
{
    cleanup_free char *text = config_net_text(item, err);

    if (!text)
        return wrap_subject(option, source, err);
    return config_list_add(list, text, strlen(text), err);
}

static int add_item(struct config_list *list, const struct config_option *option,
                    const struct config_source *source, const char *text, size_t len,
                    struct error *err)
{
    json_t *item;
    int r;

    if (!option->is_net)
        return config_list_add(list, text, len, err);
    item = json_stringn(text, len);
    if (!item)
        return error_set(err, E_INVALID, "a host that is not UTF-8");
    r = add_host(list, option, source, item, err);
    json_decref(item);
    return r;
}

static int set_list_text(struct config *config, const struct config_option *option,
                         const struct config_source *source, const char *text, struct error *err)
{
    struct config_list *list = fresh_list(config, option, source);

    /* A flag is one item, whatever its letters: a directory may have a comma in its name. */
    if (source->origin == CONFIG_FLAG)
        return add_item(list, option, source, text, strlen(text), err);
    while (*text) {
        size_t len;

        text += strspn(text, ", \t");
        len = strcspn(text, ",");
        while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
            len--;
        if (len && add_item(list, option, source, text, len, err) < 0)
            return -1;
        text += strcspn(text, ",");
    }
    return 0;
}

static bool is_weaker(const struct config *config, const struct config_option *option,
                      const struct config_source *source)
{
    return source->origin < config_source_of(config, option)->origin;
}

int config_set_text(struct config *config, const struct config_option *option,
                    const struct config_source *source, const char *text, struct error *err)
{
    double number = 0;
    int r;

    switch (option->type) {
    case CONFIG_INT:
    case CONFIG_REAL:
    case CONFIG_SIZE:
        if (!parse_number(option, text, &number))
            return config_mistake(config, option, source, text, err);
        if (is_weaker(config, option, source))
            return 0;
        r = set_number(config, option, source, number, text, err);
        break;
    case CONFIG_CHOICE:
        r = is_weaker(config, option, source) ? 0 : set_choice(config, option, source, text, err);
        break;
    case CONFIG_LIST:
        r = is_weaker(config, option, source) ? 0
                                              : set_list_text(config, option, source, text, err);
        break;
    default:
        r = is_weaker(config, option, source) ? 0 : set_string(config, option, source, text, err);
        break;
    }
    if (r == 0 && !is_weaker(config, option, source))
        *config_source_of(config, option) = *source;
    return r;
}

static int set_list_json(struct config *config, const struct config_option *option,
                         const struct config_source *source, const json_t *value, struct error *err)
{
    struct config_list *list = fresh_list(config, option, source);
    const json_t *item;
    size_t i;

    if (json_is_object(value))
        return add_host(list, option, source, value, err);
    json_array_foreach(value, i, item)
    {
        int r = option->is_net
                    ? add_host(list, option, source, item, err)
                    : config_list_add(list, json_string_value(item), json_string_length(item), err);

        if (r < 0)
            return -1;
    }
    return 0;
}

/* Strings, or for hosts tables, of which one may stand by itself. */
static bool is_list(const struct config_option *option, const json_t *value)
{
    const json_t *item;
    size_t i;

    if (option->is_net && json_is_object(value))
        return true;
    if (!json_is_array(value))
        return false;
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item) && !(option->is_net && json_is_object(item)))
            return false;
    }
    return true;
}

/* A file states types, and a wrong one is a mistake; only sizes may be text, for the sake of "1G".
 */
static bool fits(const struct config_option *option, const json_t *value)
{
    switch (option->type) {
    case CONFIG_INT:
        return json_is_integer(value);
    case CONFIG_REAL:
        return json_is_number(value);
    case CONFIG_SIZE:
        return json_is_integer(value) || json_is_string(value);
    case CONFIG_LIST:
        return is_list(option, value);
    case CONFIG_CHOICE:
        return json_is_string(value) ||
               (json_is_boolean(value) && strstr(option->choices, "true,false"));
    default:
        return json_is_string(value);
    }
}

int config_set_json(struct config *config, const struct config_option *option,
                    const struct config_source *source, const json_t *value, struct error *err)
{
    cleanup_free char *read = NULL;
    int r;

    if (fits(option, value) && json_is_string(value))
        return config_set_text(config, option, source, json_string_value(value), err);
    if (fits(option, value) && json_is_boolean(value))
        return config_set_text(config, option, source, json_is_true(value) ? "yes" : "no", err);

    read = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!read)
        return error_memory(err);
    if (!fits(option, value))
        return config_mistake(config, option, source, read, err);
    if (is_weaker(config, option, source))
        return 0;
    if (option->type == CONFIG_LIST)
        r = set_list_json(config, option, source, value, err);
    else
        r = set_number(config, option, source, json_number_value(value), read, err);
    if (r == 0)
        *config_source_of(config, option) = *source;
    return r;
}

/* ---- giving back ---- */

json_t *config_value(const struct config *config, const struct config_option *option)
{
    const void *field = config_field(config, option);
    const struct config_list *list = field;
    json_t *array;

    switch (option->type) {
    case CONFIG_INT:
    case CONFIG_SIZE:
        return json_integer(*(const int64_t *)field);
    case CONFIG_REAL:
        if (is_whole(*(const double *)field))
            return json_integer((json_int_t) * (const double *)field);
        return json_real(*(const double *)field);
    case CONFIG_LIST:
        array = json_array();
        for (size_t i = 0; array && i < list->count; i++)
            if (json_array_append_new(array, json_string(list->items[i])) < 0) {
                json_decref(array);
                return NULL;
            }
        return array;
    default:
        return json_string(*(char *const *)field);
    }
}

static int add_source(const struct config_option *option, const struct config_source *source,
                      struct buf *out, struct error *err)
{
    switch (source->origin) {
    case CONFIG_FILE:
        return buf_printf(out, err, "%s:%d", source->file, source->line);
    case CONFIG_ENVIRONMENT:
        return buf_add_str(out, "environment ", err) < 0 ? -1
                                                         : add_variable(option, source, out, err);
    case CONFIG_FLAG:
        return buf_printf(out, err, "flag --%s", source->name);
    case CONFIG_COMPAT:
        return buf_printf(out, err, "rule of `%s`, by mcp_compat", source->name);
    default:
        return buf_add_str(out, "default", err);
    }
}

char *config_source_text(const struct config *config, const struct config_option *option)
{
    struct buf out;

    buf_init(&out, 64 * KIB);
    if (add_source(option, config_source_of(config, option), &out, NULL) < 0)
        buf_done(&out);
    return out.data;
}
