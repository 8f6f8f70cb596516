/* Any bytes as what comes over the link of a virtual machine, for both sides: a frame that is taken
 * is within its bounds and written again reads the same, and no side holds more than its windows.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "machine/mux.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define EPOCH 5

static void check_frames(enum link_side from, const char *data, size_t len)
{
    struct link_reader *reader = malloc(sizeof(*reader)), *again = malloc(sizeof(*again));
    char bytes[LINK_FRAME_MAX];
    struct link_frame frame, same;
    int r;

    if (!reader || !again)
        abort();
    link_reader_init(reader, from, from == LINK_MACHINE ? EPOCH : 0);
    while ((r = link_read(reader, &data, &len, &frame)) != 0) {
        const char *at = bytes;
        size_t n;

        if (r < 0)
            continue;
        if (frame.payload.len > LINK_DATA_MAX)
            abort();
        n = link_write(&frame, bytes);
        link_reader_init(again, from, frame.epoch);
        again->is_lost = false;
        if (frame.type != LINK_HELLO &&
            (link_read(again, &at, &n, &same) != 1 || n || same.type != frame.type ||
             same.connection != frame.connection || same.credit != frame.credit))
            abort();
    }
    if (len)
        abort();
    free(reader);
    free(again);
}

static int on_open(void *user)
{
    (void)user;
    return open("/dev/null", O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

static void check_mux(enum link_side side, const char *data, size_t len)
{
    struct pollfd fds[MUX_POLL];
    struct link_frame hello = {.type = LINK_HELLO, .epoch = EPOCH};
    char bytes[LINK_FRAME_MAX];
    struct mux *mux;
    int pair[2];
    size_t n;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
        abort();
    mux = mux_new(
        &(struct mux_options){.side = side, .port = pair[1], .epoch = EPOCH, .on_open = on_open});
    if (!mux)
        abort();
    n = link_write(&hello, bytes);
    if (write(pair[0], bytes, n) != (ssize_t)n)
        abort();
    for (int turn = 0; turn < 64; turn++) {
        ssize_t some = len ? write(pair[0], data, len) : 0;

        if (some > 0) {
            data += some;
            len -= (size_t)some;
        }
        n = mux_prepare(mux, fds);
        if (n > MUX_POLL || poll(fds, n, 0) < 0)
            abort();
        if (mux_handle(mux, fds, n) != MUX_UP)
            break;
        if (side == LINK_HOST && turn < 2) {
            int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

            if (fd >= 0 && mux_add(mux, fd) < 0)
                (void)close(fd);
        }
        while (read(pair[0], bytes, sizeof(bytes)) > 0)
            ;
        if (!len && turn > 4)
            break;
    }
    mux_free(mux);
    (void)close(pair[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    (void)signal(SIGPIPE, SIG_IGN);
    check_frames(LINK_HOST, (const char *)data, len);
    check_frames(LINK_MACHINE, (const char *)data, len);
    check_mux(LINK_HOST, (const char *)data, len);
    check_mux(LINK_MACHINE, (const char *)data, len);
    return 0;
}
