/* Files that claim to be packed files, unpacked into a directory: whatever they say, nothing is
 * made or changed outside of it. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static unsigned count_entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned n = 0;

    must(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

/* Beside the tree lies a file, and nothing else ever does. */
static void check_outside(const char *base, const char *canary)
{
    char text[8] = "";
    int fd = open(canary, O_RDONLY | O_CLOEXEC);
    struct stat st;

    must(count_entries(base) == 4);
    must(fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 1 && (st.st_mode & 07777) == 0600);
    must(read(fd, text, sizeof(text)) == 6 && memcmp(text, "canary", 6) == 0);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char base[] = "/dev/shm/belljar-fuzz-XXXXXX", tree[64], canary[64], why[512];
    const char *paths[] = {tree};
    int fd = memfd_create("archive", MFD_CLOEXEC), file;

    (void)signal(SIGXFSZ, SIG_IGN); /* as in a kernel */
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 24, RLIM_INFINITY});
    must(fd >= 0 && write(fd, data, len) == (ssize_t)len && mkdtemp(base));
    (void)snprintf(tree, sizeof(tree), "%s/tree", base);
    (void)snprintf(canary, sizeof(canary), "%s/canary", base);
    file = open(canary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    must(file >= 0 && write(file, "canary", 6) == 6 && mkdir(tree, 0700) == 0);
    (void)close(file);
    if (archive_read(fd, paths, 1, why, sizeof(why)) < 0)
        must(why[0]);
    check_outside(base, canary);
    /* As a layer, over what is there by now. */
    if (archive_read_overlays(fd, paths, 1, why, sizeof(why)) < 0)
        must(why[0]);
    check_outside(base, canary);
    (void)close(fd);
    (void)nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
