#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "wire/fds.h"

static int pair[2];

static int open_pair(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
    (void)state;
    return close(pair[0]) + close(pair[1]);
}

static void send_with(const int *fds, size_t count)
{
    char control[FDS_SPACE(4)], byte = 'x';
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    fds_put(&msg, control, fds, count);
    assert_int_equal(sendmsg(pair[0], &msg, 0), 1);
}

static size_t receive(int *fds, size_t room)
{
    char control[FDS_SPACE(4)], byte;
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};

    assert_int_equal(recvmsg(pair[1], &msg, MSG_CMSG_CLOEXEC), 1);
    return fds_take(&msg, fds, room);
}

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

TEST_WITH(what_is_put_arrives_in_order, open_pair, close_pair)
{
    int pipes[2], got[4];
    char byte;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    send_with(pipes, 2);
    assert_int_equal(receive(got, 4), 2);
    assert_int_equal(write(got[1], "y", 1), 1);
    assert_int_equal(read(got[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    for (int i = 0; i < 2; i++) {
        assert_int_equal(close(pipes[i]), 0);
        assert_int_equal(close(got[i]), 0);
    }
}

TEST_WITH(a_message_may_have_none, open_pair, close_pair)
{
    int got[4];

    send_with(NULL, 0);
    assert_int_equal(receive(got, 4), 0);
}

TEST_WITH(those_without_room_are_closed, open_pair, close_pair)
{
    const int fds[] = {0, 0, 0};
    size_t before = open_descriptors();
    int got[4];

    send_with(fds, 3);
    assert_int_equal(receive(got, 1), 1);
    assert_int_equal(open_descriptors(), before + 1);
    assert_int_equal(close(got[0]), 0);
    send_with(fds, 3);
    assert_int_equal(receive(got, 0), 0);
    assert_int_equal(open_descriptors(), before);
}

UNIT_MAIN()
