/* Trees packed into a file and unpacked again. */
#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "wire/archive.h"

static char base[64], source[80], target[80];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int make_trees(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof(base), "/dev/shm/belljar-archive-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    (void)snprintf(source, sizeof(source), "%s/source", base);
    (void)snprintf(target, sizeof(target), "%s/target", base);
    return mkdir(source, 0755) < 0 || mkdir(target, 0755) < 0 || chdir(source) < 0 ? -1 : 0;
}

/* An ordinary user cannot remove anything from a closed directory. */
static int open_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    return type == FTW_D ? chmod(path, st->st_mode | 0700) : 0;
}

static int remove_trees(void **state)
{
    (void)state;
    if (chdir("/") < 0 || nftw(base, open_one, 16, FTW_PHYS) < 0)
        return -1;
    return nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static int pack(size_t size, char why[512])
{
    const char *paths[] = {source};
    int fd = memfd_create("archive", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    if (size) {
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
    }
    if (archive_write(fd, paths, 1, why, 512) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void unpack(int fd)
{
    const char *paths[] = {target};
    char why[512];

    if (archive_read(fd, paths, 1, why, sizeof(why)) < 0)
        fail_msg("%s", why);
    (void)close(fd);
    assert_int_equal(chdir(target), 0);
}

static void assert_text(const char *path, const char *expected)
{
    char text[256] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(read(fd, text, sizeof(text) - 1), (ssize_t)strlen(expected));
    assert_string_equal(text, expected);
    (void)close(fd);
}

TEST_WITH(a_tree_comes_out_as_it_went_in, make_trees, remove_trees)
{
    struct timespec times[2] = {{1000, 5}, {1234567, 890}};
    struct stat st, other;
    char link[64], why[512];

    put("a", "first", 0640);
    put("odd \n\xff name", "second", 0600);
    assert_int_equal(mkdir("d", 0755), 0);
    assert_int_equal(mkdir("d/e", 0755), 0);
    put("d/e/f", "deep", 0755);
    assert_int_equal(linkat(AT_FDCWD, "d/e/f", AT_FDCWD, "same", 0), 0);
    assert_int_equal(symlink("../../etc/passwd", "d/link"), 0);
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    assert_int_equal(utimensat(AT_FDCWD, "a", times, 0), 0);
    assert_int_equal(mkdir("closed", 0700), 0);
    put("closed/x", "y", 0400);
    assert_int_equal(chmod("closed", 0500), 0);
    assert_int_equal(utimensat(AT_FDCWD, "d", times, 0), 0);
    unpack(pack(1 << 20, why));

    assert_text("a", "first");
    assert_text("odd \n\xff name", "second");
    assert_text("d/e/f", "deep");
    assert_text("closed/x", "y");
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0640);
    assert_int_equal(st.st_mtim.tv_sec, 1234567);
    assert_int_equal(st.st_mtim.tv_nsec, 890);
    assert_int_equal(stat("d", &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, 1234567);
    assert_int_equal(stat("closed", &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0500);
    assert_int_equal(stat("same", &st), 0);
    assert_int_equal(stat("d/e/f", &other), 0);
    assert_int_equal(st.st_ino, other.st_ino);
    assert_int_equal(st.st_nlink, 2);
    assert_int_equal(readlink("d/link", link, sizeof(link)), 16);
    assert_memory_equal(link, "../../etc/passwd", 16);
    assert_int_equal(readlink("dangling", link, sizeof(link)), 7);
}

TEST_WITH(holes_stay_holes, make_trees, remove_trees)
{
    struct stat st;
    char why[512];
    int fd = open("sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
    assert_int_equal(pwrite(fd, "end", 3, 1 << 30), 3);
    assert_int_equal(ftruncate(fd, (off_t)2 << 30), 0);
    (void)close(fd);
    unpack(pack(1 << 20, why));
    assert_int_equal(stat("sparse", &st), 0);
    assert_int_equal(st.st_size, (off_t)2 << 30);
    assert_in_range(st.st_blocks, 1, 64);
    fd = open("sparse", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, why, 3, 1 << 30), 3);
    assert_memory_equal(why, "end", 3);
    (void)close(fd);
}

TEST_WITH(what_has_another_side_is_refused_by_name, make_trees, remove_trees)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "sock"};
    char why[512];
    int fd;

    assert_int_equal(mkdir("d", 0755), 0);
    assert_int_equal(mkfifo("d/fifo", 0600), 0);
    assert_int_equal(pack(0, why), -1);
    assert_string_equal(why, "`d/fifo` is a FIFO, which a copy cannot have");
    assert_int_equal(unlink("d/fifo"), 0);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(pack(0, why), -1);
    assert_string_equal(why, "`sock` is a socket, which a copy cannot have");
    (void)close(fd);
}

TEST_WITH(a_file_that_is_too_small_is_said, make_trees, remove_trees)
{
    char why[512], big[8192];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    put("big", big, 0600);
    assert_int_equal(pack(4096, why), -1);
    assert_string_equal(why, "the files are larger than the limit of a copy");
}

TEST_WITH(deep_trees_have_an_end, make_trees, remove_trees)
{
    char why[512];

    for (int i = 0; i < 100; i++)
        if (mkdir("d", 0755) < 0 || chdir("d") < 0)
            fail();
    assert_int_equal(pack(0, why), -1);
    assert_contains(why, "directories are too deep");
}

TEST_WITH(what_is_there_is_not_overwritten, make_trees, remove_trees)
{
    const char *paths[] = {target};
    char why[512], path[128];
    int fd;

    put("a", "new", 0600);
    fd = pack(0, why);
    (void)snprintf(path, sizeof(path), "%s/a", target);
    put(path, "old", 0600);
    assert_int_equal(archive_read(fd, paths, 1, why, sizeof(why)), -1);
    assert_contains(why, "`a` cannot be unpacked");
    assert_text(path, "old");
    (void)close(fd);
}

/* --- upper layers of overlays --- */

static int pack_layer(char why[512])
{
    int fd = memfd_create("archive", MFD_CLOEXEC), dir = open(source, O_PATH | O_CLOEXEC);

    assert_true(fd >= 0 && dir >= 0);
    if (archive_write_overlays(fd, &dir, 1, why, 512) < 0) {
        (void)close(fd);
        fd = -1;
    }
    (void)close(dir);
    return fd;
}

static void unpack_layer(int fd)
{
    const char *paths[] = {target};
    char why[512];

    if (archive_read_overlays(fd, paths, 1, why, sizeof(why)) < 0)
        fail_msg("%s", why);
    (void)close(fd);
    assert_int_equal(chdir(target), 0);
}

static void make_lower(void)
{
    assert_int_equal(chdir(target), 0);
    put("changed", "a longer text than the new one", 0400);
    put("gone", "x", 0600);
    put("stays", "as it is", 0600);
    assert_int_equal(mkdir("tree", 0700), 0);
    assert_int_equal(mkdir("tree/deep", 0700), 0);
    put("tree/deep/x", "x", 0600);
    for (char name[] = "tree/a"; name[5] <= 'z'; name[5]++)
        put(name, "x", 0600);
    assert_int_equal(mkdir("replaced", 0700), 0);
    put("replaced/old", "x", 0600);
    assert_int_equal(mkdir("becomes-file", 0700), 0);
    put("becomes-file/x", "x", 0600);
    put("becomes-dir", "x", 0600);
    assert_int_equal(symlink("/etc/passwd", "link"), 0);
    assert_int_equal(mkdir("closed", 0500), 0);
    assert_int_equal(chdir(source), 0);
}

TEST_WITH(a_layer_replaces_and_deletes_what_is_there, make_trees, remove_trees)
{
    struct stat st;
    char why[512];

    make_lower();
    put("changed", "new", 0640);
    put("link", "no link any more", 0600);
    put("becomes-file", "file", 0600);
    assert_int_equal(mknod("gone", S_IFCHR, makedev(0, 0)), 0);
    assert_int_equal(mknod("tree", S_IFCHR, makedev(0, 0)), 0);
    assert_int_equal(mknod("never-there", S_IFCHR, makedev(0, 0)), 0);
    assert_int_equal(mkdir("becomes-dir", 0750), 0);
    put("becomes-dir/x", "in it", 0600);
    assert_int_equal(mkdir("replaced", 0700), 0);
    put("replaced/new", "new", 0600);
    if (setxattr("replaced", "user.overlay.opaque", "y", 1, 0) < 0)
        skip();
    assert_int_equal(mkdir("closed", 0700), 0);
    put("closed/x", "y", 0600);
    assert_int_equal(chmod("closed", 0500), 0);
    unpack_layer(pack_layer(why));

    assert_text("changed", "new");
    assert_int_equal(stat("changed", &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0640);
    assert_text("stays", "as it is");
    assert_text("link", "no link any more");
    assert_text("becomes-file", "file");
    assert_text("becomes-dir/x", "in it");
    assert_text("replaced/new", "new");
    assert_text("closed/x", "y");
    assert_int_equal(stat("closed", &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0500);
    assert_int_equal(access("replaced/old", F_OK), -1);
    assert_int_equal(access("gone", F_OK), -1);
    assert_int_equal(access("tree", F_OK), -1);
    assert_int_equal(access("never-there", F_OK), -1);
}

/* A layer's mark of a deletion is not for other trees, and a device of any other number is no
 * deletion. */
TEST_WITH(a_deletion_is_of_overlays_alone, make_trees, remove_trees)
{
    const char *paths[] = {target};
    char why[512], path[128];
    int fd;

    assert_int_equal(mknod("a", S_IFCHR, makedev(0, 0)), 0);
    fd = pack_layer(why);
    assert_true(fd >= 0);
    (void)snprintf(path, sizeof(path), "%s/a", target);
    put(path, "stays", 0600);
    assert_int_equal(archive_read(fd, paths, 1, why, sizeof(why)), -1);
    assert_contains(why, "damaged");
    assert_text(path, "stays");
    (void)close(fd);
    assert_int_equal(pack(0, why), -1);
    assert_contains(why, "`a` is a device");
    assert_int_equal(unlink("a"), 0);
    assert_int_equal(mkfifo("a", 0600), 0);
    assert_int_equal(pack_layer(why), -1);
    assert_contains(why, "`a` is a FIFO");
}

UNIT_MAIN()
