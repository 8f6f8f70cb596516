/* Git's configuration files, as somebody may have written them: names come out in lower case,
 * nothing is longer than the text, and the whole is read. */
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "sandbox/git_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *arg, const char *section, const char *subsection, const char *name,
                 const char *value)
{
    size_t size = *(const size_t *)arg;

    assert(strlen(section) <= size && strlen(name) <= size && strlen(value) <= size);
    assert(!subsection || strlen(subsection) <= size);
    for (const char *c = section; *c; c++)
        assert(!isupper((unsigned char)*c));
    for (const char *c = name; *c; c++)
        assert(!isupper((unsigned char)*c));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    (void)git_config_parse((const char *)data, size, take, &size);
    return 0;
}
