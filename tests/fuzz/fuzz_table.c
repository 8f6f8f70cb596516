/* A table of any bytes: the first line tells its columns, the rest is CSV. What is accepted is an
 * object of lists, all of one length where no two have one name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "compat/e2b_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(json_t *table, size_t columns)
{
    size_t rows = SIZE_MAX;
    const char *name;
    json_t *list;

    if (!json_is_object(table) || json_object_size(table) > columns)
        abort();
    json_object_foreach(table, name, list)
    {
        if (!json_is_array(list) || json_array_size(list) > 1000)
            abort();
        if (rows != SIZE_MAX && json_array_size(list) != rows)
            abort();
        rows = json_array_size(list);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const char *text = (const char *)data, *line = len ? memchr(text, '\n', len) : NULL;
    json_t *about, *table;

    if (!line)
        return 0;
    about = json_loadb(text, (size_t)(line - text), JSON_DECODE_ANY, NULL);
    table = e2b_table_json((struct span){line + 1, len - (size_t)(line - text) - 1}, about);
    if (table)
        check(table, json_array_size(json_object_get(about, "columns")));
    json_decref(table);
    json_decref(about);
    return 0;
}
