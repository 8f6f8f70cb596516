/* Extended attributes of what is there.
 *
 * Attributes of users (`user.*`) are set and kept. An access list that says no more than a mode
 * does is that mode: so tools copy the permissions of a directory. Others are left to Linux,
 * which answers that the mount is read-only.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "broker/calls.h"

#define NAME_BYTES  256   /* XATTR_NAME_MAX, and a NUL */
#define VALUE_BYTES 65536 /* XATTR_SIZE_MAX */

#define ACL_ACCESS  "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"

/* As Linux has it, in little endian. */
struct acl {
    uint32_t version;
    struct {
        uint16_t tag;
        uint16_t rights;
        uint32_t id;
    } entries[3];
};

#define ACL_VERSION    2
#define ACL_OF_OWNER   0x01
#define ACL_OF_GROUP   0x04
#define ACL_OF_OTHERS  0x20
#define ACL_RIGHTS_MAX 7

/* An attribute that is to be set, or removed. */
struct attribute {
    char name[NAME_BYTES];
    bool is_removed;
    int flags; /* XATTR_CREATE, XATTR_REPLACE */
    size_t len;
    void *value;
};

/* The mode that an access list without further users and groups stands for. */
static bool mode_of_acl(const struct attribute *a, mode_t *ret_mode)
{
    static const struct {
        uint16_t tag;
        int shift;
    } places[] = {{ACL_OF_OWNER, 6}, {ACL_OF_GROUP, 3}, {ACL_OF_OTHERS, 0}};
    mode_t mode = 0;
    struct acl acl;

    if (a->len != sizeof(acl))
        return false;
    memcpy(&acl, a->value, sizeof(acl));
    if (le32toh(acl.version) != ACL_VERSION)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        uint16_t rights = le16toh(acl.entries[i].rights);

        if (le16toh(acl.entries[i].tag) != places[i].tag || rights > ACL_RIGHTS_MAX)
            return false;
        mode |= (mode_t)rights << places[i].shift;
    }
    *ret_mode = mode;
    return true;
}

static bool is_acl(const char *name)
{
    return strcmp(name, ACL_ACCESS) == 0 || strcmp(name, ACL_DEFAULT) == 0;
}

static bool is_users(const char *name)
{
    return strncmp(name, "user.", 5) == 0;
}

/* A descriptor's path, for calls that have none for a descriptor with O_PATH. */
static int open_object(const struct place *p, char path[64])
{
    int fd = openat(p->parent, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static long change_acl(struct held_call *c, struct place *p, const struct attribute *a)
{
    char path[64];
    cleanup_close int fd = open_object(p, path);
    mode_t mode;

    if (fd < 0)
        return -errno;
    if (a->is_removed && getxattr(path, a->name, NULL, 0) < 0 && errno == ENODATA)
        return 0;
    if (a->is_removed || strcmp(a->name, ACL_ACCESS) != 0 || !mode_of_acl(a, &mode) ||
        getxattr(path, ACL_ACCESS, NULL, 0) >= 0)
        return -EOPNOTSUPP;
    return call_set_mode(c, p, mode | (p->st.st_mode & S_ISVTX));
}

static long change_attribute(struct held_call *c, struct place *p, const struct attribute *a)
{
    char path[64];
    cleanup_close int fd = open_object(p, path);
    long r;

    if (fd < 0)
        return -errno;
    if (!S_ISREG(p->st.st_mode) && !S_ISDIR(p->st.st_mode))
        return -EPERM; /* as Linux has it */
    r = keep_attributes(c->b, p);
    if (r != 0)
        return r;
    if ((a->is_removed ? removexattr(path, a->name)
                       : setxattr(path, a->name, a->value, a->len, a->flags)) < 0)
        return keep_undone(c->b, -errno);
    c->b->report->changed++;
    return 0;
}

static long read_name(struct held_call *c, uint64_t address, char name[NAME_BYTES])
{
    char text[PATH_MAX];

    if (target_path(c->pid, address, text) < 0)
        return -EFAULT;
    if (*text == '\0' || strlen(text) >= NAME_BYTES)
        return -ERANGE;
    memcpy(name, text, strlen(text) + 1);
    return 0;
}

static long read_value(struct held_call *c, uint64_t address, uint64_t len, struct attribute *a)
{
    if (len > VALUE_BYTES)
        return -E2BIG;
    a->value = malloc(len + 1);
    a->len = len;
    if (!a->value)
        return -ENOMEM;
    return len && target_read(c->pid, address, a->value, len) < 0 ? -EFAULT : 0;
}

static long do_xattr(struct held_call *c, int dirfd, uint64_t path, int flags, struct attribute *a)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r;

    if (!is_acl(a->name) && !is_users(a->name))
        return ANSWER_CONTINUE;
    r = call_find_object(c, dirfd, path, flags, &p);
    if (r == 0)
        r = judge(c->b, &p, JUDGE_CHANGE);
    if (r != 0)
        return r;
    return is_acl(a->name) ? change_acl(c, &p, a) : change_attribute(c, &p, a);
}

static long do_set(struct held_call *c, int dirfd, uint64_t path, int flags)
{
    struct attribute a = {.flags = (int)c->args[4]};
    long r = read_name(c, c->args[1], a.name);

    if (r == 0)
        r = read_value(c, c->args[2], c->args[3], &a);
    if (r == 0)
        r = do_xattr(c, dirfd, path, flags, &a);
    free(a.value);
    return r;
}

static long do_remove(struct held_call *c, int dirfd, uint64_t path, int flags)
{
    struct attribute a = {.is_removed = true};
    long r = read_name(c, c->args[1], a.name);

    return r == 0 ? do_xattr(c, dirfd, path, flags, &a) : r;
}

long call_setxattr(struct held_call *c)
{
    return do_set(c, AT_FDCWD, c->args[0], 0);
}

long call_lsetxattr(struct held_call *c)
{
    return do_set(c, AT_FDCWD, c->args[0], AT_SYMLINK_NOFOLLOW);
}

long call_fsetxattr(struct held_call *c)
{
    return do_set(c, dirfd_of(c->args[0]), 0, 0);
}

long call_removexattr(struct held_call *c)
{
    return do_remove(c, AT_FDCWD, c->args[0], 0);
}

long call_lremovexattr(struct held_call *c)
{
    return do_remove(c, AT_FDCWD, c->args[0], AT_SYMLINK_NOFOLLOW);
}

long call_fremovexattr(struct held_call *c)
{
    return do_remove(c, dirfd_of(c->args[0]), 0, 0);
}
