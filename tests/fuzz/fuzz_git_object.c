/* Objects of git, as a program may write them: the first 20 bytes are the name that is claimed. */
#include <assert.h>
#include <string.h>

#include "sandbox/git_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t other[20];

    if (size < 20 || size > 1 << 16)
        return 0;
    memcpy(other, data, sizeof(other));
    other[7] ^= 1;
    if (!git_object_check(data + 20, size - 20, data, 20))
        assert(git_object_check(data + 20, size - 20, other, 20));
    return 0;
}
