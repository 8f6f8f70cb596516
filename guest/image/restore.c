/* Becoming a copy, first half: everything that can fail is tried while there is a way back. The
 * second half is image_take_over.c. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/image/internal.h"

/* Below are numbers of ours. */
#define FIRST_SPARE_FD 64

/* --- descriptors --- */

static bool is_target(int number)
{
    const struct image_index *index = &image_stub->index;

    for (uint32_t i = 0; i < index->head.n_fds; i++)
        if (index->fds[i].number == (uint32_t)number)
            return true;
    return false;
}

static bool is_own(uint32_t number)
{
    for (uint32_t i = 0; i < image_stub->n_own; i++)
        if (image_stub->own[i].fd == (int)number)
            return true;
    return false;
}

/* A second descriptor of the same, at a number the program does not use. */
static int set_aside(int fd)
{
    int from = FIRST_SPARE_FD, spare;

    while ((spare = fcntl(fd, F_DUPFD_CLOEXEC, from)) >= 0 && is_target(spare)) {
        (void)close(spare);
        from = spare + 1;
    }
    return spare;
}

/* The images, newest last, and for each one the index refers to, which it is. */
static int take_images(const struct image_source *source, struct image_refusal *why)
{
    struct image_stub *s = image_stub;
    const struct image_head *head = &s->index.head;

    s->newest = set_aside(source->images[source->n_images - 1]);
    if (s->newest < 0)
        return image_refuse(why, "no descriptor is left for the image");
    for (uint32_t i = 0; i < head->n_images; i++) {
        s->image_fds[i] = -1;
        for (size_t k = 0; k < source->n_images; k++) {
            struct stat st;

            if (fstat(source->images[k], &st) == 0 && st.st_ino == head->images[i].ino &&
                st.st_dev == head->images[i].dev)
                s->image_fds[i] = set_aside(source->images[k]);
        }
        if (s->image_fds[i] < 0)
            return image_refuse(why, "an image that this one builds upon is missing");
    }
    return 0;
}

/* A copy sees a granted directory through an overlay of its own: the files have the names of the
 * source's, and other numbers. */
static bool is_on_own_overlay(int fd, const struct stat *st, uint64_t source_dev)
{
    struct statfs fs;

    return st->st_dev != source_dev && fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

static int check_opened(int fd, const struct image_fd *want, const char *name,
                        struct image_refusal *why)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return image_refuse(why, "`%.200s` cannot be examined", name);
    if ((st.st_mode & S_IFMT) != (want->mode & S_IFMT))
        return image_refuse(why, "`%.200s` has changed", name);
    if (S_ISREG(st.st_mode) && !want->is_of_tree &&
        (st.st_ino != want->file.ino || st.st_dev != want->file.dev) &&
        !is_on_own_overlay(fd, &st, want->file.dev))
        return image_refuse(why, "`%.200s` was replaced by another file", name);
    return 0;
}

static int open_again(const struct image_fd *want, struct image_refusal *why)
{
    const char *name = image_stub->index.text + want->name;
    int flags = (int)want->flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_TMPFILE | O_NONBLOCK);
    int fd, placed;

    if ((int)want->flags & O_DIRECTORY)
        flags |= O_DIRECTORY;
    fd = open(name, flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return image_refuse(why, "`%.200s` cannot be opened again: %s", name, strerror(errno));
    if (check_opened(fd, want, name, why) < 0) {
        (void)close(fd);
        return -1;
    }
    (void)lseek(fd, (off_t)want->offset, SEEK_SET);
    if (!(flags & O_PATH))
        (void)fcntl(fd, F_SETFL, (int)want->flags);
    if (fd == (int)want->number)
        return fcntl(fd, F_SETFD, want->is_cloexec ? FD_CLOEXEC : 0);
    placed = dup3(fd, (int)want->number, want->is_cloexec ? O_CLOEXEC : 0);
    (void)close(fd);
    return placed < 0 ? image_refuse(why, "descriptor %u cannot be used here", want->number) : 0;
}

static int place_own(const struct image_fd *want, struct image_refusal *why)
{
    if (!is_own(want->own))
        return image_refuse(why, "descriptor %u is not ours", want->own);
    if (dup3((int)want->own, (int)want->number, want->is_cloexec ? O_CLOEXEC : 0) < 0)
        return image_refuse(why, "descriptor %u cannot be used here", want->number);
    return 0;
}

/* Copies of ours first: what they are copies of may be replaced, or closed, after that. */
static int place_fds(struct image_refusal *why)
{
    const struct image_index *index = &image_stub->index;
    uint32_t n = index->head.n_fds;

    for (uint32_t i = 0; i < n; i++) {
        if (index->fds[i].number == IMAGE_PAGEMAP_FD)
            return image_refuse(why, "descriptor %d is not the program's", IMAGE_PAGEMAP_FD);
        if (index->fds[i].kind == IMAGE_FD_OWN && place_own(&index->fds[i], why) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        if (index->fds[i].kind == IMAGE_FD_PATH && open_again(&index->fds[i], why) < 0)
            return -1;
    for (uint32_t i = 0; i < n; i++)
        if (index->fds[i].kind == IMAGE_FD_CLOSED)
            (void)close((int)index->fds[i].number);
    return 0;
}

/* A refusal leaves nothing open, but what was ours and was replaced is gone: that sandbox is not
 * used again. */
static void drop_fds(void)
{
    struct image_stub *s = image_stub;

    for (uint32_t i = 0; i < s->index.head.n_fds && i < IMAGE_FDS_MAX; i++)
        if (!is_own(s->index.fds[i].number) && s->index.fds[i].number != IMAGE_PAGEMAP_FD)
            (void)close((int)s->index.fds[i].number);
    for (uint32_t i = 0; i < s->index.head.n_images && i < IMAGE_CHAIN_MAX; i++)
        if (s->image_fds[i] >= 0)
            (void)close(s->image_fds[i]);
    if (s->newest >= 0)
        (void)close(s->newest);
}

/* --- mappings --- */

/* Files that are mapped in the source and not here are looked for by name. */
static int check_file(const struct image_map *map, struct image_refusal *why)
{
    const char *name = image_stub->index.text + map->name;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_same, is_own;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        if (fd >= 0)
            (void)close(fd);
        return image_refuse(why, "`%.200s` cannot be mapped again: %s", name, strerror(errno));
    }
    is_own = (map->is_shared && image_is_of_tree(st.st_dev)) ||
             is_on_own_overlay(fd, &st, map->stat.dev);
    (void)close(fd);
    is_same = st.st_ino == map->stat.ino && st.st_dev == map->stat.dev;
    if (!S_ISREG(st.st_mode) || (!is_same && !is_own))
        return image_refuse(why, "`%.200s` was replaced by another file", name);
    return 0;
}

static int check_map(const struct image_map *map, struct image_refusal *why)
{
    uint64_t start, end;

    image_stub_range(&start, &end);
    if (map->start < end && map->end > start)
        return image_refuse(why, "the image needs memory that Belljar uses");
    if (map->kind == IMAGE_MAP_IMAGE && image_fd_of(image_stub, &map->file) < 0)
        return image_refuse(why, "an image that this one builds upon is missing");
    if (image_covering(image_stub, map))
        return 0;
    if (map->kind == IMAGE_MAP_BASE)
        return image_refuse(why, "memory of the zygote is missing here");
    return map->kind == IMAGE_MAP_FILE ? check_file(map, why) : 0;
}

/* Addresses that Linux uses itself: the clock's page and the like. */
static int check_kernel_maps(struct image_refusal *why)
{
    const struct image_index *index = &image_stub->index;

    for (uint32_t k = 0; k < image_stub->n_maps; k++) {
        const struct image_map *own = &image_stub->maps[k];

        for (uint32_t i = 0; own->kind == IMAGE_MAP_KERNEL && i < index->head.n_maps; i++)
            if (index->maps[i].start < own->end && index->maps[i].end > own->start)
                return image_refuse(why, "the image needs memory of the Linux kernel");
    }
    return 0;
}

static int check_maps(struct image_refusal *why)
{
    struct image_stub *s = image_stub;
    unsigned stacks = 0;

    if (check_kernel_maps(why) < 0)
        return -1;

    for (uint32_t i = 0; i < s->index.head.n_maps; i++) {
        if (check_map(&s->index.maps[i], why) < 0)
            return -1;
        stacks += s->index.maps[i].kind == IMAGE_MAP_STACK;
    }
    return stacks == 1 ? 0 : image_refuse(why, "the image has no stack");
}

static int read_own_maps(struct image_refusal *why)
{
    struct image_stub *s = image_stub;
    long n = image_read_maps(s->maps, IMAGE_MAPS_MAX, s->text, sizeof(s->text));

    if (n < 0)
        return image_refuse(why, "our own memory cannot be listed");
    s->n_maps = (uint32_t)n;
    return 0;
}

/* --- all together --- */

static int try_all(const struct image_source *source, struct image_refusal *why)
{
    struct image_stub *s = image_stub;

    if (image_index_read(source->images[source->n_images - 1], s->zygote, &s->index, why) < 0 ||
        take_images(source, why) < 0 || read_own_maps(why) < 0 || check_maps(why) < 0)
        return -1;
    if (chdir(s->index.text + s->index.head.cwd) < 0)
        return image_refuse(why, "the working directory `%.200s` does not exist",
                            s->index.text + s->index.head.cwd);
    return place_fds(why);
}

/* The images that this process becomes a copy of: those that the image refers to, and the image. */
static int remember_images(struct image_refusal *why)
{
    struct image_stub *s = image_stub;
    uint32_t n = s->index.head.n_images;
    struct stat st;

    if (n + 1 > IMAGE_CHAIN_MAX || fstat(s->newest, &st) < 0)
        return image_refuse(why, "the image builds upon too many others");
    memcpy(s->images, s->index.head.images, sizeof(s->images));
    s->images[n] = (struct image_file){st.st_dev, st.st_ino};
    s->n_images = n + 1;
    return 0;
}

int image_restore(const struct image_source *source, struct image_refusal *why)
{
    struct image_stub *s = image_stub;
    uint64_t all = ~UINT64_C(0);

    if (!s)
        return image_refuse(why, "this sandbox was not made for copies: its zygote is not warm");
    if (source->n_images < 1 || source->n_images > IMAGE_CHAIN_MAX || s->n_images)
        return image_refuse(why, "no image was given, or too many");
    memset(&s->index.head, 0, sizeof(s->index.head));
    s->newest = -1;
    s->note = source->note;
    for (size_t i = 0; i < IMAGE_CHAIN_MAX; i++)
        s->image_fds[i] = -1;
    if (try_all(source, why) < 0 || remember_images(why) < 0) {
        drop_fds();
        image_stub_clear();
        return -1;
    }
    /* The caller's descriptors of the images are closed with everything else that is not in the
     * table. */
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
    image_switch_stack(s->stack + sizeof(s->stack), image_take_over, s);
}

/* --- in the copy --- */

/* The beginning of memory that came with images, above the heap. */
static uint64_t lowest_mapped(void)
{
    const struct image_index *index = &image_stub->index;
    uint64_t lowest = IMAGE_ADDRESS_END;

    for (uint32_t i = 0; i < index->head.n_runs; i++)
        if (index->runs[i].start >= index->head.brk && index->runs[i].start < lowest)
            lowest = index->runs[i].start;
    for (uint32_t i = 0; i < index->head.n_maps; i++)
        if (index->maps[i].kind == IMAGE_MAP_IMAGE && index->maps[i].start >= index->head.brk &&
            index->maps[i].start < lowest)
            lowest = index->maps[i].start;
    return lowest;
}

/* realloc(3) enlarges a large block with mremap(2). Blocks of a copy lie in the image, and would
 * grow into what happens to follow there, or beyond its end. Refused, realloc(3) copies the block
 * to fresh memory, which lies below everything that came with the image and may grow. */
static int forbid_growth(void)
{
    uint64_t lowest = lowest_mapped();
    uint32_t high = (uint32_t)(lowest >> 32), low = (uint32_t)lowest;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]) + 4),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, high, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* OpenSSL looks at the process's number to know that it is another one, and in every sandbox it is
 * the same. Each of its generators gets bytes from the kernel itself: without the filter of a
 * sandbox, getrandom() of glibc 2.41 draws from memory that copies share. -1: a generator has no
 * seed of its own. */
static int reseed_crypto(void)
{
    static const char *const generators[] = {"RAND_get0_primary", "RAND_get0_public",
                                             "RAND_get0_private"};
    void *library = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_NOLOAD);
    int (*reseed)(void *generator, int is_fresh, const uint8_t *, size_t, const uint8_t *more,
                  size_t more_len);
    uint8_t bytes[32];
    int r = 0;

    if (!library)
        return 0;
    *(void **)&reseed = dlsym(library, "EVP_RAND_reseed");
    for (size_t i = 0; i < sizeof(generators) / sizeof(*generators); i++) {
        void *(*get)(void *context);

        *(void **)&get = dlsym(library, generators[i]);
        if (!reseed || !get ||
            syscall(SYS_getrandom, bytes, sizeof(bytes), 0) != (long)sizeof(bytes) ||
            reseed(get(NULL), 1, NULL, 0, bytes, sizeof(bytes)) != 1)
            r = -1;
    }
    explicit_bzero(bytes, sizeof(bytes));
    (void)dlclose(library);
    return r;
}

int image_awake(uint32_t *ret_note)
{
    int r = forbid_growth();

    *ret_note = image_stub->note;
    image_stub_clear();
    return reseed_crypto() < 0 ? -1 : r;
}
