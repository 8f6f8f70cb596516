#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Debian 12's headers stop at ABI 3, Linux does not: the ABI is written down here. */
#define FS_EXECUTE      (UINT64_C(1) << 0)
#define FS_WRITE_FILE   (UINT64_C(1) << 1)
#define FS_READ_FILE    (UINT64_C(1) << 2)
#define FS_READ_DIR     (UINT64_C(1) << 3)
#define FS_MAKE_CHAR    (UINT64_C(1) << 6)
#define FS_MAKE_BLOCK   (UINT64_C(1) << 11)
#define FS_REFER        (UINT64_C(1) << 13) /* ABI 2, Linux 5.19 */
#define FS_TRUNCATE     (UINT64_C(1) << 14) /* ABI 3, Linux 6.2 */
#define FS_IOCTL_DEV    (UINT64_C(1) << 15) /* ABI 5, Linux 6.10 */
#define FS_ALL_ABI_1    (FS_REFER - 1)
#define FS_OF_A_FILE    (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define NET_BIND_TCP    (UINT64_C(1) << 0) /* ABI 4, Linux 6.7 */
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT  (UINT64_C(1) << 0) /* ABI 6, Linux 6.12 */
#define SCOPE_SIGNAL    (UINT64_C(1) << 1)

#define RULE_PATH_BENEATH   1
#define CREATE_FLAG_VERSION 1

/* Linux takes a longer struct than it knows as long as the rest is zero. */
struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

static const uint64_t access_rights[] = {
    [LANDLOCK_READ] = FS_READ_FILE | FS_READ_DIR,
    [LANDLOCK_READ_EXEC] = FS_READ_FILE | FS_READ_DIR | FS_EXECUTE,
    [LANDLOCK_WRITE] =
        (FS_ALL_ABI_1 | FS_REFER | FS_TRUNCATE) & ~(FS_EXECUTE | FS_MAKE_CHAR | FS_MAKE_BLOCK),
    [LANDLOCK_WRITE_EXEC] =
        (FS_ALL_ABI_1 | FS_REFER | FS_TRUNCATE) & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK),
    [LANDLOCK_DEVICE] = FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE,
    [LANDLOCK_TERMINAL] = FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
};

static uint64_t rights_of_abi(int abi)
{
    uint64_t rights = FS_ALL_ABI_1;

    if (abi >= 2)
        rights |= FS_REFER;
    if (abi >= 3)
        rights |= FS_TRUNCATE;
    if (abi >= 5)
        rights |= FS_IOCTL_DEV;
    return rights;
}

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_FLAG_VERSION);

    return abi < 0 ? 0 : (int)abi;
}

static int add_path(int ruleset, const struct landlock_path *path, uint64_t handled,
                    struct error *err)
{
    cleanup_close int fd = open(path->path, O_PATH | O_CLOEXEC);
    struct path_beneath_attr rule = {0};
    struct stat st;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "landlock: open `%s`", path->path);

    rule.parent_fd = fd;
    rule.allowed_access = access_rights[path->access] & handled;
    if (!S_ISDIR(st.st_mode))
        rule.allowed_access &= FS_OF_A_FILE;
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0)
        return error_errno(err, "landlock: allow `%s`", path->path);
    return 0;
}

static int restrict_self(const struct ruleset_attr *attr, const struct landlock_path *paths,
                         size_t count, struct error *err)
{
    cleanup_close int ruleset = (int)syscall(SYS_landlock_create_ruleset, attr, sizeof(*attr), 0);

    if (ruleset < 0)
        return error_errno(err, "landlock: create the ruleset");
    for (size_t i = 0; i < count; i++) {
        int r = add_path(ruleset, &paths[i], attr->handled_access_fs, err);

        if (r < 0)
            return r;
    }
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        return error_errno(err, "landlock: restrict this process");
    return 0;
}

int landlock_restrict(const struct landlock_path *paths, size_t count, struct error *err)
{
    int abi = landlock_abi();
    struct ruleset_attr attr = {0};

    if (abi == 0) {
        error_set(err, E_UNSUPPORTED, "this kernel has no Landlock");
        return error_hint(err, "it needs Linux 5.13 with `landlock` in the `lsm=` boot parameter");
    }

    attr.handled_access_fs = rights_of_abi(abi);
    if (abi >= LANDLOCK_ISOLATES)
        attr.scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL;
    return restrict_self(&attr, paths, count, err);
}

static int need_scopes(struct error *err)
{
    int abi = landlock_abi();

    if (abi >= LANDLOCK_ISOLATES)
        return 0;
    error_set(err, E_UNSUPPORTED,
              "isolation `process` needs Landlock ABI %d (Linux 6.12), and this kernel has %d",
              LANDLOCK_ISOLATES, abi);
    return error_hint(err, "boot a newer kernel with `landlock` in the `lsm=` boot parameter, or "
                           "run where user namespaces are allowed");
}

int landlock_isolate(const struct landlock_path *paths, size_t count, struct error *err)
{
    struct ruleset_attr attr = {
        .handled_access_net = NET_BIND_TCP | NET_CONNECT_TCP,
        .scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL,
    };

    if (need_scopes(err) < 0)
        return -1;
    attr.handled_access_fs = rights_of_abi(landlock_abi());
    return restrict_self(&attr, paths, count, err);
}

int landlock_scope(struct error *err)
{
    const struct ruleset_attr attr = {.scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL};

    return need_scopes(err) < 0 ? -1 : restrict_self(&attr, NULL, 0, err);
}
