#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guest/image/internal.h"

/* Of /proc/self/pagemap. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)

/* Debian 12's headers are older than the call (Linux 6.7). */
struct scan_request {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_CALL    _IOWR('f', 16, struct scan_request)
#define SCAN_FILE    (UINT64_C(1) << 2)
#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_SWAPPED (UINT64_C(1) << 4)
#define SCAN_ZERO    (UINT64_C(1) << 5)

#define ALIGN_UP(n, to) (((n) + (to)-1) / (to) * (to))
#define STUB_SIZE       ALIGN_UP(sizeof(struct image_stub), IMAGE_PAGE)

struct image_stub *image_stub;

int image_refuse(struct image_refusal *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return -1;
}

void image_stub_range(uint64_t *ret_start, uint64_t *ret_end)
{
    *ret_start = (uint64_t)(uintptr_t)image_stub - IMAGE_PAGE;
    *ret_end = (uint64_t)(uintptr_t)image_stub + STUB_SIZE + IMAGE_PAGE;
}

void image_stub_clear(void)
{
    char *work = (char *)&image_stub->index;

    (void)madvise(work, (size_t)((char *)image_stub + STUB_SIZE - work), MADV_DONTNEED);
}

/* --- /proc/self/maps --- */

long image_read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = 1;
    int saved;

    if (fd < 0)
        return -errno;
    while (n > 0 && len < size - 1) {
        n = read(fd, text + len, size - 1 - len);
        if (n > 0)
            len += (size_t)n;
    }
    saved = errno;
    (void)close(fd);
    if (n < 0)
        return -saved;
    if (len == size - 1)
        return -E2BIG;
    text[len] = '\0';
    return (long)len;
}

static uint64_t take_number(char **at, unsigned base)
{
    uint64_t value = 0;

    for (;; (*at)++) {
        unsigned char c = (unsigned char)**at;
        unsigned digit = base;

        if (c >= '0' && c <= '9')
            digit = c - (unsigned)'0';
        else if (c >= 'a' && c <= 'f')
            digit = c - (unsigned)'a' + 10;

        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

static enum image_map_kind kind_of(const struct image_map *map, const char *name)
{
    if (map->file.ino == 0) {
        if (name[0] == '\0' || strcmp(name, "[heap]") == 0 || strncmp(name, "[anon", 5) == 0)
            return IMAGE_MAP_ANON;
        return strcmp(name, "[stack]") == 0 ? IMAGE_MAP_STACK : IMAGE_MAP_KERNEL;
    }
    if (is_same_file(&map->file, &image_stub->base))
        return IMAGE_MAP_BASE;
    for (uint32_t i = 0; i < image_stub->n_images; i++)
        if (is_same_file(&map->file, &image_stub->images[i]))
            return IMAGE_MAP_IMAGE;
    return IMAGE_MAP_FILE;
}

/* "start-end rwxp offset major:minor inode   name" */
static void parse_line(char *line, const char *text, struct image_map *map)
{
    char *at = line;
    uint64_t major, minor;

    memset(map, 0, sizeof(*map));
    map->start = take_number(&at, 16);
    at++;
    map->end = take_number(&at, 16);
    map->prot = (uint32_t)((at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) |
                           (at[3] == 'x' ? PROT_EXEC : 0));
    map->is_shared = at[4] == 's';
    at += 6;
    map->offset = take_number(&at, 16);
    at++;
    major = take_number(&at, 16);
    at++;
    minor = take_number(&at, 16);
    at++;
    map->file.ino = take_number(&at, 10);
    if (map->file.ino)
        map->file.dev = makedev((unsigned)major, (unsigned)minor);
    while (*at == ' ')
        at++;
    map->name = (uint32_t)(at - text);
    map->kind = kind_of(map, at);
}

/* Our guards may have merged with a neighbour that has no rights either. */
static size_t cut_out_stub(struct image_map *map)
{
    struct image_map *after = map + 1;
    uint64_t start, end;
    size_t n = 0;

    image_stub_range(&start, &end);
    if (map->end <= start || map->start >= end)
        return 1;
    *after = *map;
    if (map->start < start) {
        map->end = start;
        n = 1;
    }
    if (after->end > end) {
        after->start = end;
        map[n++] = *after;
    }
    return n;
}

long image_read_maps(struct image_map *maps, size_t max, char *text, size_t text_size)
{
    long len = image_read_file("/proc/self/maps", text, text_size);
    size_t n = 0;

    if (len < 0)
        return len;
    for (char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + len - line)));
         line = end + 1) {
        *end = '\0';
        if (n + 2 > max)
            return -E2BIG;
        parse_line(line, text, &maps[n]);
        if (maps[n].start < IMAGE_ADDRESS_END)
            n += cut_out_stub(&maps[n]);
    }
    return (long)n;
}

bool image_is_of_tree(uint64_t dev)
{
    for (uint32_t i = 0; i < image_stub->n_trees; i++)
        if (image_stub->trees[i] == dev)
            return true;
    return false;
}

uint32_t image_add_text(struct image_index *index, const char *text)
{
    size_t len = strlen(text) + 1;
    uint32_t at = index->head.n_text;

    if (len > IMAGE_TEXT_MAX - at)
        return 0;
    memcpy(index->text + at, text, len);
    index->head.n_text += (uint32_t)len;
    return at;
}

/* --- the pages that are our own --- */

static int add_region(uint64_t start, uint64_t end)
{
    struct image_stub *s = image_stub;

    if (s->n_regions == IMAGE_RUNS_MAX)
        return -E2BIG;
    s->regions[s->n_regions++] = (struct image_region){start, end, 0};
    return 0;
}

/* Before Linux 6.7: a word per page, asked for mapping by mapping. */
static int scan_words(int pagemap, const struct image_map *map)
{
    uint64_t words[512], start = 0;

    for (uint64_t at = map->start; at < map->end;) {
        uint64_t want = (map->end - at) / IMAGE_PAGE;
        ssize_t n;

        want = want < 512 ? want : 512;
        n = pread(pagemap, words, want * 8, (off_t)(at / IMAGE_PAGE * 8));
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        for (size_t i = 0; i < (size_t)n / 8; i++, at += IMAGE_PAGE) {
            bool is_own = (words[i] & (PAGE_PRESENT | PAGE_SWAPPED)) && !(words[i] & PAGE_OF_FILE);

            if (is_own && !start)
                start = at;
            if (!is_own && start && add_region(start, at) < 0)
                return -E2BIG;
            if (!is_own)
                start = 0;
        }
    }
    return start ? add_region(start, map->end) : 0;
}

/* That all was looked at shows in the room that is left: `walk_end` is wrong once the kernel has
 * emptied its own buffer on the way (seen in 6.18). */
static int scan_at_once(int pagemap)
{
    struct image_stub *s = image_stub;
    struct scan_request request = {
        .size = sizeof(request),
        .end = IMAGE_ADDRESS_END - IMAGE_PAGE,
        .vec = (uint64_t)(uintptr_t)s->regions,
        .vec_len = IMAGE_RUNS_MAX,
        .category_inverted = SCAN_FILE | SCAN_ZERO,
        .category_mask = SCAN_FILE | SCAN_ZERO,
        .category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
    };
    int n = ioctl(pagemap, SCAN_CALL, &request);

    if (n < 0)
        return -errno;
    if (n == IMAGE_RUNS_MAX)
        return -E2BIG;
    s->n_regions = (uint32_t)n;
    return 0;
}

int image_scan(int pagemap)
{
    struct image_stub *s = image_stub;
    int r = scan_at_once(pagemap);

    if (r != -ENOTTY && r != -EINVAL)
        return r;
    s->n_regions = 0;
    r = 0;
    for (uint32_t i = 0; i < s->n_maps && r == 0; i++)
        if (s->maps[i].kind != IMAGE_MAP_KERNEL && !s->maps[i].is_shared)
            r = scan_words(pagemap, &s->maps[i]);
    return r;
}

/* --- setting up --- */

bool image_is_known(const struct image_file *file)
{
    for (uint32_t i = image_stub->n_files; i > 0; i--)
        if (is_same_file(&image_stub->files[i - 1], file))
            return true;
    return false;
}

static int remember_files(const void *base)
{
    struct image_stub *s = image_stub;
    long n = image_read_maps(s->maps, IMAGE_MAPS_MAX, s->text, sizeof(s->text));

    if (n < 0)
        return (int)n;
    for (long i = 0; i < n; i++)
        if (s->maps[i].start <= (uintptr_t)base && s->maps[i].end > (uintptr_t)base)
            s->base = s->maps[i].file;
    for (long i = 0; i < n; i++) {
        if (s->maps[i].file.ino == 0 || image_is_known(&s->maps[i].file))
            continue;
        if (s->n_files == IMAGE_FILES_MAX)
            return -E2BIG;
        s->files[s->n_files++] = s->maps[i].file;
    }
    return s->base.ino ? 0 : -EINVAL;
}

int image_prepare(const void *base)
{
    size_t size = STUB_SIZE + 2 * (size_t)IMAGE_PAGE;
    char *area = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int r;

    if (area == MAP_FAILED)
        return -errno;
    if (mprotect(area + IMAGE_PAGE, STUB_SIZE, PROT_READ | PROT_WRITE) < 0) {
        r = -errno;
        (void)munmap(area, size);
        return r;
    }
    image_stub = (struct image_stub *)(area + IMAGE_PAGE);
    r = remember_files(base);
    image_stub_clear();
    if (r == 0 && getrandom(image_stub->zygote, sizeof(image_stub->zygote), 0) !=
                      (ssize_t)sizeof(image_stub->zygote))
        r = -EIO;
    /* The place where the C library keeps its thread's number, which Linux knows. */
    if (r == 0 && prctl(PR_GET_TID_ADDRESS, &image_stub->tid_address) < 0)
        r = -errno;
    if (r < 0) {
        image_stub = NULL;
        (void)munmap(area, size);
    }
    return r;
}

static int move_fd(int fd, int number)
{
    int r = 0;

    if (fd < 0)
        return -errno;
    if (fd != number) {
        r = dup3(fd, number, O_CLOEXEC) < 0 ? -errno : 0;
        (void)close(fd);
    }
    return r;
}

int image_enrol(const struct image_kernel *kernel)
{
    struct image_stub *s = image_stub;
    struct stat st;

    if (!s)
        return -ENOTSUP;
    if (kernel->n_own > IMAGE_OWN_MAX || kernel->n_trees > IMAGE_TREES_MAX)
        return -EINVAL;
    for (size_t i = 0; i < kernel->n_own; i++) {
        if (fstat(kernel->own[i], &st) < 0)
            return -errno;
        s->own[i].fd = kernel->own[i];
        s->own[i].file = (struct image_file){st.st_dev, st.st_ino};
    }
    s->n_own = (uint32_t)kernel->n_own;
    for (size_t i = 0; i < kernel->n_trees; i++) {
        if (stat(kernel->trees[i], &st) < 0)
            return -errno;
        s->trees[i] = st.st_dev;
    }
    s->n_trees = (uint32_t)kernel->n_trees;
    return 0;
}

int image_open_pagemap(void)
{
    if (!image_stub)
        return 0;
    return move_fd(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), IMAGE_PAGEMAP_FD);
}
