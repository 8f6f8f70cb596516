/* Shared by the parts of the memory image: the file's format and the work space. */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#include "guest/image/image.h"

#define IMAGE_PAGE 4096u

#define IMAGE_MAPS_MAX  16384 /* the kernel allows a process 65,530 mappings */
#define IMAGE_RUNS_MAX  32768
#define IMAGE_FDS_MAX   1024
#define IMAGE_TEXT_MAX  ((size_t)1 << 20)
#define IMAGE_FILES_MAX 4096 /* distinct files the zygote maps */

#define IMAGE_SIGNALS 64

/* First address that is not a program's. */
#define IMAGE_ADDRESS_END (UINT64_C(1) << 47)

/* A run of at most this many pages is copied, a longer one mapped. */
#define IMAGE_COPY_MAX 4

struct image_file {
    uint64_t dev, ino;
};

enum image_map_kind {
    IMAGE_MAP_ANON, /* also what was a file of the source's own: all its bytes are in the image */
    IMAGE_MAP_STACK,
    IMAGE_MAP_FILE,  /* by name */
    IMAGE_MAP_BASE,  /* the zygote's memory */
    IMAGE_MAP_IMAGE, /* an earlier image */
    IMAGE_MAP_KINDS,
    IMAGE_MAP_KERNEL, /* vdso and the like: never in an index */
};

struct image_map {
    uint64_t start, end;
    uint64_t offset;
    struct image_file file; /* as /proc/self/maps says */
    struct image_file stat; /* as stat(2) says of the name */
    uint32_t kind;
    uint32_t prot;
    uint32_t name; /* in the text */
    uint32_t is_shared;
};

/* Consecutive pages of one mapping, and where they are in the image. */
struct image_run {
    uint64_t start;
    uint64_t offset;
    uint32_t pages;
    uint32_t map;
};

enum image_fd_kind {
    IMAGE_FD_PATH,   /* opened again by its name */
    IMAGE_FD_OWN,    /* a second one of ours: number `own` */
    IMAGE_FD_CLOSED, /* one of ours that the program has closed */
    IMAGE_FD_KINDS,
};

struct image_fd {
    uint32_t number;
    uint32_t kind;
    uint32_t flags; /* of open(2) */
    uint32_t is_cloexec;
    uint32_t own;
    uint32_t name; /* in the text */
    uint32_t mode; /* st_mode: its type */
    uint32_t is_of_tree;
    uint64_t offset;
    struct image_file file;
};

/* Registers that a function preserves for its caller, in the order of the assembly. */
struct image_context {
    uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
    uint32_t mxcsr;
    uint16_t x87;
    uint16_t unused;
};

/* As rt_sigaction(2) has it. */
struct image_signal {
    uint64_t handler, flags, restorer, mask;
};

struct image_head {
    uint8_t magic[8];
    uint8_t zygote[16];
    uint64_t index_offset; /* also the end of the pages */
    uint32_t n_maps, n_runs, n_fds, n_text;
    uint32_t n_images;
    uint32_t umask;
    struct image_file images[IMAGE_CHAIN_MAX]; /* those it refers to */
    uint64_t brk;
    uint64_t mask; /* blocked signals */
    struct image_context context;
    struct image_signal signals[IMAGE_SIGNALS];
    uint64_t alt_stack, alt_size;
    uint32_t alt_flags;
    uint32_t cwd; /* in the text */
    struct itimerval timers[3];
    char comm[16];
};

#define IMAGE_MAGIC     "BJIMAGE\1"
#define IMAGE_HEAD_SIZE 4096u

_Static_assert(sizeof(struct image_head) <= IMAGE_HEAD_SIZE, "the head has a page");

struct image_index {
    struct image_head head;
    struct image_map maps[IMAGE_MAPS_MAX];
    struct image_run runs[IMAGE_RUNS_MAX];
    struct image_fd fds[IMAGE_FDS_MAX];
    char text[IMAGE_TEXT_MAX]; /* strings, each with its NUL */
};

/* As ioctl(PAGEMAP_SCAN) has it. */
struct image_region {
    uint64_t start, end, categories;
};

/* One per process, at the same address in all of a zygote's. Never in an image and never unmapped,
 * so that a process that replaces all its memory has a place to stand on. */
struct image_stub {
    /* Stays for the life of the process. */
    uint8_t zygote[16];
    uint64_t tid_address;
    struct image_file base;
    struct image_file files[IMAGE_FILES_MAX]; /* mapped in the zygote */
    uint32_t n_files;
    struct image_file images[IMAGE_CHAIN_MAX]; /* this process is a copy of */
    uint32_t n_images;
    struct {
        int fd;
        struct image_file file;
    } own[IMAGE_OWN_MAX];
    uint32_t n_own;
    uint64_t trees[IMAGE_TREES_MAX]; /* st_dev */
    uint32_t n_trees;
    uint32_t note; /* a copy got from whoever made it */

    /* For one image or one restore. */
    struct image_index index __attribute__((aligned(IMAGE_PAGE)));
    struct image_map maps[IMAGE_MAPS_MAX]; /* of this process */
    uint32_t n_maps;
    struct image_region regions[IMAGE_RUNS_MAX];
    uint32_t n_regions;
    int image_fds[IMAGE_CHAIN_MAX]; /* of index.head.images */
    int newest;
    char text[(size_t)4 << 20]; /* of /proc/self/maps */
    char stack[256 << 10] __attribute__((aligned(64)));
};

static inline bool is_same_file(const struct image_file *a, const struct image_file *b)
{
    return a->ino == b->ino && a->dev == b->dev;
}

/* NULL in a zygote that does not offer images. */
extern struct image_stub *image_stub;

/* Its address range with the guards around it. */
void image_stub_range(uint64_t *ret_start, uint64_t *ret_end);

/* Gives the work space back. */
void image_stub_clear(void);

/* One line, -1. */
int __attribute__((format(printf, 2, 3)))
image_refuse(struct image_refusal *why, const char *format, ...);

/* Reads /proc/self/maps into `maps`, without the stub. Names go to `text`. Allocates nothing.
 * Returns their number or -errno. */
long image_read_maps(struct image_map *maps, size_t max, char *text, size_t text_size);

/* Was the file mapped in the zygote already? */
bool image_is_known(const struct image_file *file);

/* Is a file of that st_dev the sandbox's own? */
bool image_is_of_tree(uint64_t dev);

/* Puts a string into the index; 0 (the empty one) if there is no room. */
uint32_t image_add_text(struct image_index *index, const char *text);

/* A whole file into memory with a NUL behind it. Its length, or -errno (E2BIG: it does not fit). */
long image_read_file(const char *path, char *text, size_t size);

/* The changed pages of this process, in the stub. 0 or -errno. */
int image_scan(int pagemap);

/* Reads head and tables of an image and holds them against their format: every number is safe to
 * use afterwards. 0, or -1 and why. */
int image_index_read(int fd, const uint8_t zygote[16], struct image_index *index,
                     struct image_refusal *why);

/* Like setjmp(3), without the C library's secrets in it. */
int image_context_save(struct image_context *context) __attribute__((returns_twice));
void image_context_load(const struct image_context *context) __attribute__((noreturn));

/* Goes on with `function` on another stack. */
void image_switch_stack(void *top, void (*function)(void *), void *data) __attribute__((noreturn));

/* A mapping of this process that holds all of this one, from the same place of the same file; or
 * NULL. */
const struct image_map *image_covering(const struct image_stub *s, const struct image_map *map);

/* The descriptor of an image the index refers to, or -1. */
int image_fd_of(const struct image_stub *s, const struct image_file *file);

/* The second half of a restore: on the stub's stack, without the C library. */
void image_take_over(void *stub) __attribute__((noreturn));
