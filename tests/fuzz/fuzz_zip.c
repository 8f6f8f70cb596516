/* Any bytes as a ZIP file of a skill. What is accepted is within the limits, and each file has a
 * path that means one place inside the folder. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "store/unzip.h"
#include "wire/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct skill_bundle *folder)
{
    size_t bytes = 0;

    if (folder->count > LIMIT_FOLDER_FILES)
        abort();
    for (size_t i = 0; i < folder->count; i++) {
        const struct skill_bundle_file *file = &folder->files[i];

        if (!*file->path || *file->path == '/' || strstr(file->path, "..") == file->path ||
            strstr(file->path, "/../") || strchr(file->path, '\\') || file->data[file->len])
            abort();
        if (skill_bundle_find(folder, file->path) != file)
            abort();
        bytes += file->len;
    }
    if (bytes != folder->bytes || bytes > LIMIT_FOLDER_BYTES)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    struct error err = {0};

    if (unzip((struct span){(const char *)data, len}, &folder, &err) == 0) {
        check(&folder);
        (void)skill_bundle_finish(&folder, &err);
    } else if ((err.code != E_INVALID && err.code != E_TOO_LARGE) || !err.message) {
        abort();
    }
    error_done(&err);
    return 0;
}
