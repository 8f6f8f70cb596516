#include "engine/memory_image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/closer.h"

/* The index, and pages that are counted twice while they are written. */
#define MEMORY_EXTRA (64 * MIB)

/* A name and what belongs to it, per file. */
#define FILE_EXTRA 4352

/* A flat image also has pages of earlier ones, which its source never paid for. */
uint64_t image_memory_max(const struct run_limits *limits)
{
    return 2 * limits->memory_bytes + MEMORY_EXTRA;
}

uint64_t image_files_max(const struct run_limits *limits)
{
    return limits->disk_bytes + (uint64_t)limits->inodes * FILE_EXTRA + MIB;
}

/* Of a fixed size from birth: who writes to it cannot make it larger, and where a limit on file
 * sizes keeps it from writing, it can still map it. Holes cost nothing. */
static int make_file(const char *name, uint64_t size, struct error *err)
{
    cleanup_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
        return error_errno(err, "make a file for an image");
    return take_fd(fd);
}

int image_new(const struct run_limits *limits, struct memory_image *origin,
              struct memory_image **ret_image, bool *is_flat, struct error *err)
{
    struct memory_image *image = calloc(1, sizeof(*image));

    if (!image)
        return error_memory(err);
    *image = (struct memory_image){
        .refs = 1, .memory = -1, .files = -1, .overlays = -1, .taken_ns = overlays_now_ns()};
    buf_init(&image->bash, WIRE_BASH_STATE_MAX);
    image->memory = make_file("belljar-image", image_memory_max(limits), err);
    if (image->memory >= 0)
        image->files = make_file("belljar-files", image_files_max(limits), err);
    if (image->files < 0) {
        image_unref(image);
        return -1;
    }
    /* With itself it may be one of as many as a copy takes. */
    *is_flat = origin && (*is_flat || origin->n_parents + 2 > WIRE_IMAGES_MAX);
    if (origin && !*is_flat) {
        for (size_t i = 0; i < origin->n_parents; i++)
            image->parents[image->n_parents++] = image_ref(origin->parents[i]);
        image->parents[image->n_parents++] = image_ref(origin);
    }
    *ret_image = image;
    return 0;
}

int image_add_overlays(struct memory_image *image, const struct run_limits *limits,
                       const struct overlays *overlays, struct error *err)
{
    if (!overlays)
        return 0;
    image->overlays = make_file("belljar-overlays", image_files_max(limits), err);
    return image->overlays < 0 ? -1 : overlays_past(overlays, &image->past, err);
}

struct memory_image *image_ref(struct memory_image *image)
{
    if (image)
        image->refs++;
    return image;
}

void image_unref(struct memory_image *image)
{
    if (!image || --image->refs > 0)
        return;
    for (size_t i = 0; i < image->n_parents; i++)
        image_unref(image->parents[i]);
    buf_done(&image->bash);
    closer_close_file(&image->memory);
    closer_close_file(&image->files);
    if (image->overlays >= 0)
        closer_close_file(&image->overlays);
    overlays_unref(image->past);
    free(image);
}

int image_seal(struct memory_image *image, struct error *err)
{
    int seals = F_SEAL_WRITE | F_SEAL_SEAL;

    if (fcntl(image->memory, F_ADD_SEALS, seals) < 0 ||
        fcntl(image->files, F_ADD_SEALS, seals) < 0 ||
        (image->overlays >= 0 && fcntl(image->overlays, F_ADD_SEALS, seals) < 0))
        return error_errno(err, "seal the image");
    return 0;
}

static uint64_t bytes_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

uint64_t image_bytes(const struct memory_image *image)
{
    return bytes_of(image->memory) + bytes_of(image->files) + bytes_of(image->overlays);
}

uint64_t image_count(struct memory_image *image, uint64_t mark)
{
    uint64_t bytes = 0;

    if (!image || image->mark == mark)
        return 0;
    image->mark = mark;
    bytes = image_bytes(image);
    for (size_t i = 0; i < image->n_parents; i++)
        bytes += image_count(image->parents[i], mark);
    return bytes;
}
