/* Indexes of git, as a program may write them. What is accepted is again accepted, as it is, and
 * has no path that leads out of the worktree. The first byte chooses the digest. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/git_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *judge(void *arg, const char *path, uint32_t mode, const uint8_t *id)
{
    const size_t *size = arg;

    assert(strlen(path) > 0 && strlen(path) < *size && path[0] != '/');
    assert(strncmp(path, "../", 3) != 0 && !strstr(path, "/../") && !strstr(path, "//"));
    assert(strncmp(path, ".git/", 5) != 0 && !strstr(path, "/.git/"));
    assert(mode && id);
    return strcmp(path, "refused") == 0 ? "refused" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct git_index_check check = {.judge = judge, .arg = &size};
    cleanup(buf_done) struct buf once = {0}, again = {0};

    if (size < 1 || size > 1 << 16)
        return 0;
    size *= 4096; /* of version 4 a path may be longer than the file */
    check.id_bytes = data[0] & 1 ? 32 : 20;
    buf_init(&once, GIT_INDEX_BYTES);
    buf_init(&again, GIT_INDEX_BYTES);
    if (git_index_check(&check, data + 1, size / 4096 - 1, NULL, 0, &once) < 0) {
        assert(check.why);
        return 0;
    }
    assert(git_index_check(&check, once.data, once.len, once.data, once.len, &again) == 0);
    assert(once.len == again.len && memcmp(once.data, again.data, once.len) == 0);
    return 0;
}
