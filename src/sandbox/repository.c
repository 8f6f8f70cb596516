#include "sandbox/repository.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* HEAD may be a link, and so may the directories. What HEAD says is not looked at: it can be
 * written later. */
bool repository_is_bare(int dir)
{
    static const char *const parts[] = {"HEAD", "objects", "refs"};
    struct stat st;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (fstatat(dir, parts[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
            return false;
    return true;
}
