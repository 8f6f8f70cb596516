/* Paths of any bytes: judged without a fault, and what is below a protected place is protected
 * unless git writes there. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/fold.h"
#include "sandbox/protected.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[4096], folded[FOLD_MAX];

    size = strnlen((const char *)data, size);
    if (size == 0 || size > sizeof(path) - 8)
        return 0;
    path[0] = '/';
    memcpy(path + 1, data, size);
    path[size + 1] = '\0';
    (void)protected_judge(-1, path);
    (void)protected_judge_link(-1, path);
    (void)protected_judge_own(path);
    assert(fold_name((const char *)data, size > 255 ? 255 : size, folded) <= FOLD_MAX);
    /* With a protected name behind it, it is protected, whatever it is. */
    memcpy(path + size + 1, "/.envrc", 8);
    assert(protected_judge(-1, path));
    return 0;
}
