/* Connections and their owners: against gates whose listening sockets are the test's own. */
#include "unit.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "egress/egress.h"

/* As many gates as fill a token's share of all connections. */
#define GATES (LIMIT_NET_OPEN_ALL / 2 / LIMIT_NET_OPEN)

struct gate {
    struct egress *egress;
    struct sockaddr_in at;
    unsigned n_refused;
    char why[80];
    int clients[LIMIT_NET_OPEN];
};

static struct egress_settings settings = {.bytes = UINT64_MAX};
static struct loop *loop;
static struct loop_watch *timer;
static struct gate gates[GATES + 2];

static void on_note(void *user, const struct egress_note *note)
{
    struct gate *gate = user;

    if (!note->why)
        return;
    gate->n_refused++;
    (void)snprintf(gate->why, sizeof(gate->why), "%s", note->why);
}

static void stop(void *arg)
{
    (void)arg;
    loop_stop(loop);
}

static void spin(void)
{
    for (int i = 0; i < 20; i++) {
        loop_timer_start(timer, 5);
        assert_int_equal(loop_run(loop, NULL), 0);
    }
}

static void open_gate(struct gate *gate, const char *owner)
{
    socklen_t len = sizeof(gate->at);
    struct net *net = net_new();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *gate = (struct gate){.at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (const struct sockaddr *)&gate->at, sizeof(gate->at)), 0);
    assert_int_equal(listen(fd, 256), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&gate->at, &len), 0);
    assert_int_equal(egress_new(&settings, loop, fd, net, on_note, gate, &gate->egress, NULL), 0);
    net_unref(net);
    egress_set_owner(gate->egress, owner);
}

static void enter(struct gate *gate, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        gate->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(
            connect(gate->clients[i], (const struct sockaddr *)&gate->at, sizeof(gate->at)), 0);
    }
    spin();
}

static void leave(struct gate *gate, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)close(gate->clients[i]);
    egress_free(gate->egress);
}

static bool is_let_in(struct gate *gate, size_t client)
{
    struct pollfd poll_fd = {.fd = gate->clients[client], .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 0; /* nothing is said, and nothing is closed */
}

TEST(one_token_leaves_connections_for_another)
{
    struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
    struct gate *last = &gates[GATES], *other = &gates[GATES + 1];
    char answer[256] = "";

    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        skip();
    loop = loop_new(NULL);
    timer = loop_timer(loop, stop, NULL);
    for (size_t i = 0; i < GATES; i++) {
        open_gate(&gates[i], "loud");
        enter(&gates[i], LIMIT_NET_OPEN);
        assert_int_equal(gates[i].n_refused, 0);
        assert_true(is_let_in(&gates[i], LIMIT_NET_OPEN - 1));
    }
    /* Another sandbox of the same token: each is refused, said, and told. */
    open_gate(last, "loud");
    enter(last, 3);
    assert_int_equal(last->n_refused, 3);
    assert_non_null(strstr(last->why, "share"));
    assert_true(recv(last->clients[0], answer, sizeof(answer) - 1, MSG_DONTWAIT) > 0);
    assert_non_null(strstr(answer, "HTTP/1.1 503"));
    /* The other token gets in, and so does the first when it has left some. */
    open_gate(other, "quiet");
    enter(other, LIMIT_NET_OPEN);
    assert_int_equal(other->n_refused, 0);
    assert_true(is_let_in(other, LIMIT_NET_OPEN - 1));
    leave(other, LIMIT_NET_OPEN);
    leave(last, 3);
    leave(&gates[0], LIMIT_NET_OPEN);
    open_gate(last, "loud");
    enter(last, 1);
    assert_true(is_let_in(last, 0));
    leave(last, 1);
    for (size_t i = 1; i < GATES; i++)
        leave(&gates[i], LIMIT_NET_OPEN);
    loop_watch_free(timer);
    loop_free(loop);
}

UNIT_MAIN()
