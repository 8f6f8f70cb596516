/* TOML in, a jansson tree or a worded error out; never both, never neither. */
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct error err = {0};
    json_t *tree = NULL, *lines = NULL;
    int r = toml_parse("fuzz", (const char *)data, len, &tree, &lines, &err);

    if (r == 0 && (!json_is_object(tree) || !json_is_object(lines) || err.code != E_NONE))
        abort();
    if (r < 0 && (tree || lines || err.code == E_NONE || err.code == E_INTERNAL || !err.message))
        abort();
    json_decref(tree);
    json_decref(lines);
    error_done(&err);
    return 0;
}
