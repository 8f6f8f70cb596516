#include "machine/wall.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/mount.h"
#include "sandbox/ns.h"

/* The new root is made here; what is there on the host is not needed any more. */
#define PLACE "/run"

#define KVM "/dev/kvm"

/* --- who we are --- */

/* Root becomes a user that owns nothing, and who may use KVM where a group may. */
static int leave_root(const struct ns_ids *given, struct error *err)
{
    struct ns_ids ids = *given;
    gid_t groups[1];
    struct stat kvm;
    size_t n = 0;

    if (geteuid() != 0)
        return 0;
    if (!ids.count && ns_pick_ids(&ids, err) < 0)
        return -1;
    if (stat(KVM, &kvm) == 0 && kvm.st_gid != 0)
        groups[n++] = kvm.st_gid;
    if (setgroups(n, groups) < 0 || setresgid(ids.gid_base, ids.gid_base, ids.gid_base) < 0 ||
        setresuid(ids.uid_base, ids.uid_base, ids.uid_base) < 0)
        return error_errno(err, "become an ordinary user");
    /* Or the files of this process in /proc are root's, and it has to write its own maps. */
    if (prctl(PR_SET_DUMPABLE, 1) < 0)
        return error_errno(err, "PR_SET_DUMPABLE");
    return 0;
}

int wall_unshare(const struct ns_ids *ids, struct error *err)
{
    struct ns_map map = {.count = 1, .denies_setgroups = true};

    if (leave_root(ids, err) < 0)
        return -1;
    map.outside_uid = geteuid();
    map.outside_gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWUTS) < 0) {
        error_errno(err, "make namespaces");
        return error_hint(err, "run `belljar doctor`: it says why there are no user namespaces");
    }
    return ns_write_map(0, &map, err);
}

/* --- the root --- */

void wall_share_path(const struct wall_share *share, char path[64])
{
    (void)snprintf(path, 64, "/share/%s", share->tag);
}

static int show(const char *source, const char *inside, uint64_t attrs, struct error *err)
{
    char target[128];
    struct stat st;

    (void)snprintf(target, sizeof(target), PLACE "%s", inside);
    if (stat(source, &st) < 0)
        return error_errno(err, "%s", source);
    if (mount_make_point(target, S_ISDIR(st.st_mode), err) < 0)
        return -1;
    return mount_bind(source, target, attrs, err);
}

static int show_devices(bool has_kvm, struct error *err)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/urandom", KVM};

    if (mount_make_dirs(PLACE "/dev", err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(devices) - !has_kvm; i++)
        if (show(devices[i], devices[i], MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err) < 0)
            return -1;
    return 0;
}

/* The usual links of a root into /usr. */
static int show_system(struct error *err)
{
    static const char *const links[] = {"bin", "sbin", "lib", "lib32", "lib64"};
    char target[64], source[64];

    if (show("/usr", "/usr", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        (void)snprintf(source, sizeof(source), "usr/%s", links[i]);
        (void)snprintf(target, sizeof(target), PLACE "/%s", links[i]);
        if (symlink(source, target) < 0)
            return error_errno(err, "make /%s", links[i]);
    }
    return 0;
}

static int show_shares(const struct wall_options *options, struct error *err)
{
    if (mount_make_dirs(PLACE "/share", err) < 0)
        return -1;
    for (size_t i = 0; i < options->n_shares; i++) {
        char path[64];

        wall_share_path(&options->shares[i], path);
        if (show(options->shares[i].path, path,
                 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err) < 0)
            return -1;
    }
    return options->grants->count ? grants_show(options->grants, PLACE "/share/" GRANTS_TAG, err)
                                  : 0;
}

static int write_image(const struct buf *image, struct error *err)
{
    cleanup_close int fd = open(PLACE WALL_IMAGE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

    if (fd < 0 || file_write_all(fd, image->data, image->len) < 0)
        return error_errno(err, "write the initramfs");
    return 0;
}

int wall_enter(const struct wall_options *options, struct error *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return error_errno(err, "make mounts private");
    if (mount("tmpfs", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=128m") < 0)
        return error_errno(err, "make a root");
    if (show_system(err) < 0 || show_devices(options->has_kvm, err) < 0 ||
        show_shares(options, err) < 0 || mount_make_dirs(PLACE "/run", err) < 0 ||
        mount_make_dirs(PLACE "/tmp", err) < 0 || mount_make_dirs(PLACE "/proc", err) < 0 ||
        show(options->kernel, WALL_KERNEL,
             MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
             err) < 0 ||
        write_image(options->image, err) < 0)
        return -1;
    if (mount("proc", PLACE "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return error_errno(err, "mount /proc");
    return mount_pivot(PLACE, err);
}
