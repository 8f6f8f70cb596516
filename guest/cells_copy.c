#include "guest/cells_copy.h"

#include <Python.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest/helper.h"
#include "wire/archive.h"

#define EXIT_FAILED 125

static const char *const trees[] = {"/workspace", "/tmp", "/dev/shm"};

#define N_TREES (sizeof(trees) / sizeof(trees[0]))

static int take_fds(struct frame_decoder *decoder, int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((fds[i] = frame_take_fd(decoder)) < 0)
            return -1;
    return 0;
}

static void close_fds(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

static void refuse(int status, const struct image_refusal *why)
{
    char line[sizeof(why->text) + 1];
    int n = snprintf(line, sizeof(line), "%c%s", WIRE_IMAGE_REFUSED, why->text);

    (void)!write(status, line, (size_t)n);
}

/* Everything but what came with the message. */
static void fill_request(const struct wire_image *message, const int *fds,
                         struct image_request *request)
{
    *request = (struct image_request){
        .memory = fds[0],
        .files = fds[1],
        .status = fds[2],
        .n_join = message->joins,
        .n_leave = message->leaves,
        .is_flat = message->flags & WIRE_IMAGE_FLAT,
        .is_sandboxed = true,
        .kernels = message->flags,
        .no_fork = message->flags & WIRE_IMAGE_NO_FORK,
        .pack = trees,
        .n_pack = N_TREES,
    };
    memcpy(request->join, fds + WIRE_IMAGE_FDS, message->joins * sizeof(int));
    memcpy(request->leave, fds + WIRE_IMAGE_FDS + message->joins, message->leaves * sizeof(int));
}

/* Leftovers of libraries, and garbage. It may be the program's code that runs here: it has
 * this process in its power anyway. */
static int tidy_and_check(const struct image_request *request, struct image_refusal *why)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *objects = gc ? PyObject_CallMethod(gc, "get_objects", NULL) : NULL, *done;

    PyErr_Clear();
    if (!objects)
        objects = PyList_New(0);
    done = objects ? helper_call("tidy", "(OO)", PyImport_GetModuleDict(), objects) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(objects);
    Py_XDECREF(gc);
    PyErr_Clear();
    (void)PyGC_Collect();
    (void)fflush(NULL);
    return image_check(request, why);
}

bool cells_write_image(const struct frame *frame, struct frame_decoder *decoder,
                       uint32_t *ret_flags)
{
    int fds[WIRE_IMAGE_FDS + 2 * WIRE_ATTACH_MAX];
    enum image_outcome outcome = IMAGE_REFUSED;
    struct image_refusal why = {""};
    struct image_request request;
    struct wire_image message;
    struct unpack u;
    size_t count;

    unpack_init(&u, frame->body, frame->len);
    if (!wire_unpack_image(&u, &message))
        _exit(EXIT_FAILED);
    count = WIRE_IMAGE_FDS + message.joins + message.leaves;
    if (take_fds(decoder, fds, count) < 0)
        _exit(EXIT_FAILED);
    fill_request(&message, fds, &request);
    (void)fflush(NULL);
    if (image_check(&request, &why) == 0 || tidy_and_check(&request, &why) == 0)
        outcome = image_write(&request, &why);
    if (outcome == IMAGE_IS_COPY) {
        if (image_awake(ret_flags) < 0)
            _exit(EXIT_FAILED);
        return true;
    }
    if (outcome == IMAGE_REFUSED && why.text[0])
        refuse(request.status, &why);
    close_fds(fds, count);
    return false;
}

/* Changes of the source in its copy-on-write grants. */
static int unpack_overlays(struct frame_decoder *decoder, const struct wire_strings *overlays,
                           struct image_refusal *why)
{
    static char places[WIRE_COW_MAX][PATH_MAX];
    const char *paths[WIRE_COW_MAX];
    int file, r;

    if (!overlays->count)
        return 0;
    for (size_t i = 0; i < overlays->count; i++) {
        const struct span *path = &overlays->items[i];

        if (path->len >= PATH_MAX)
            _exit(EXIT_FAILED);
        memcpy(places[i], path->data, path->len);
        places[i][path->len] = '\0';
        paths[i] = places[i];
    }
    if (take_fds(decoder, &file, 1) < 0)
        _exit(EXIT_FAILED);
    r = archive_read_overlays(file, paths, overlays->count, why->text, sizeof(why->text));
    (void)close(file);
    return r;
}

void cells_restore(const struct frame *frame, struct frame_decoder *decoder,
                   struct image_refusal *why)
{
    struct image_source source;
    struct wire_restore message;
    struct unpack u;
    int files;

    unpack_init(&u, frame->body, frame->len);
    if (!wire_unpack_restore(&u, &message))
        _exit(EXIT_FAILED);
    source = (struct image_source){.n_images = message.images, .note = message.flags};
    if (take_fds(decoder, &files, 1) < 0 || take_fds(decoder, source.images, message.images) < 0)
        _exit(EXIT_FAILED);
    if (archive_read(files, trees, N_TREES, why->text, sizeof(why->text)) < 0 ||
        unpack_overlays(decoder, &message.overlays, why) < 0)
        return;
    (void)close(files);
    (void)image_restore(&source, why);
}
