/* Feeds every file of a corpus to a fuzz target, so that what a fuzzer once found stays an ordinary
 * test. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int feed(int dirfd, const char *name)
{
    cleanup_error struct error err = {0};
    cleanup_close int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
    cleanup(buf_done) struct buf input = {0};

    buf_init(&input, 16 * MIB);
    if (fd < 0 || buf_read_fd(&input, fd, &err) < 0) {
        (void)fprintf(stderr, "cannot read %s\n", name);
        return -1;
    }
    /* The name comes first: when the target crashes, it is the last thing seen. */
    (void)printf("%s\n", name);
    (void)fflush(stdout);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&input), input.len);
    return 0;
}

int main(int argc, char **argv)
{
    cleanup_closedir DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    unsigned fed = 0;

    if (!dir) {
        (void)fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
        return 1;
    }
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        if (feed(dirfd(dir), entry->d_name) < 0)
            return 1;
        fed++;
    }
    (void)printf("%u files\n", fed);
    /* An empty corpus would be a test that cannot fail. */
    return fed ? 0 : 1;
}
