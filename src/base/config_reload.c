/* Settings that a running server reads again. */
#include "base/config_internal.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"

static size_t size_of(const struct config_option *option)
{
    switch (option->type) {
    case CONFIG_LIST:
        return sizeof(struct config_list);
    case CONFIG_REAL:
        return sizeof(double);
    case CONFIG_INT:
    case CONFIG_SIZE:
        return sizeof(int64_t);
    default:
        return sizeof(char *);
    }
}

/* Values that flags have set stay as they are. */
static int copy_flags(const struct config *from, struct config *to, struct error *err)
{
    size_t count;
    const struct config_option *options = config_options(&count);

    for (size_t i = 0; i < count; i++) {
        cleanup_json json_t *value = NULL;

        if (from->sources[i].origin != CONFIG_FLAG)
            continue;
        value = config_value(from, &options[i]);
        if (!value)
            return error_memory(err);
        if (config_set_json(to, &options[i], &from->sources[i], value, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_equal(const struct config *a, const struct config *b,
                     const struct config_option *option)
{
    cleanup_json json_t *of_a = config_value(a, option);
    cleanup_json json_t *of_b = config_value(b, option);

    return of_a && of_b && json_equal(of_a, of_b);
}

static void exchange(struct config *a, struct config *b, size_t row,
                     const struct config_option *option)
{
    char kept[sizeof(struct config_list)];
    struct config_source source = a->sources[row];
    size_t size = size_of(option);

    memcpy(kept, config_field(a, option), size);
    memcpy(config_field(a, option), config_field(b, option), size);
    memcpy(config_field(b, option), kept, size);
    a->sources[row] = b->sources[row];
    b->sources[row] = source;
}

static int add_name(struct buf *names, const char *name, struct error *err)
{
    return buf_printf(names, err, "%s%s", names->len ? ", " : "", name);
}

int config_read_again(const struct config *config, const char *path, struct config **ret_config,
                      struct error *err)
{
    cleanup(config_free_p) struct config *next = config_new();

    if (!next)
        return error_memory(err);
    if (copy_flags(config, next, err) < 0 || config_load(next, path, err) < 0)
        return -1;
    *ret_config = take_ptr(next);
    return 0;
}

int config_take_over(struct config *config, struct config *next, struct buf *taken,
                     struct buf *left, struct error *err)
{
    size_t count;
    const struct config_option *options = config_options(&count);
    int r = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_equal(config, next, &options[i]))
            continue;
        if (options[i].is_reloadable)
            exchange(config, next, i, &options[i]);
        if (r == 0)
            r = add_name(options[i].is_reloadable ? taken : left, options[i].name, err);
    }
    next->older = config->older;
    config->older = next;
    return r;
}
