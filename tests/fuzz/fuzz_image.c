/* Files that claim to be memory images: refused, or every number in head and tables is one that the
 * copy can use without looking again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/image/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct image_index index_;

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* It begins within the text, and so does its end. */
static void check_text(uint32_t at)
{
    must(at < index_.head.n_text);
    must(memchr(index_.text + at, 0, index_.head.n_text - at));
}

static void check_maps(void)
{
    for (uint32_t i = 0; i < index_.head.n_maps; i++) {
        const struct image_map *m = &index_.maps[i];

        must(m->start < m->end && m->end < IMAGE_ADDRESS_END && m->kind < IMAGE_MAP_KINDS);
        must(i == 0 || index_.maps[i - 1].end <= m->start);
        check_text(m->name);
    }
}

static void check_runs(uint64_t file_size)
{
    for (uint32_t i = 0; i < index_.head.n_runs; i++) {
        const struct image_run *r = &index_.runs[i];
        uint64_t len = (uint64_t)r->pages * IMAGE_PAGE;

        must(r->map < index_.head.n_maps && r->pages);
        must(r->start >= index_.maps[r->map].start && r->start + len <= index_.maps[r->map].end);
        must(r->offset + len <= file_size && r->offset + len > r->offset);
        must(!index_.maps[r->map].is_shared);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct image_refusal why = {""};
    uint8_t zygote[16] = {0};
    int fd = memfd_create("image", MFD_CLOEXEC);

    must(fd >= 0);
    if (len >= 24)
        memcpy(zygote, data + 8, sizeof(zygote)); /* its own: the rest is to be looked at */
    must(write(fd, data, len) == (ssize_t)len);
    if (image_index_read(fd, zygote, &index_, &why) == 0) {
        check_maps();
        check_runs(len);
        for (uint32_t i = 0; i < index_.head.n_fds; i++)
            check_text(index_.fds[i].name);
        check_text(index_.head.cwd);
        must(index_.head.n_images <= IMAGE_CHAIN_MAX);
    } else {
        must(why.text[0]);
    }
    (void)close(fd);
    return 0;
}
