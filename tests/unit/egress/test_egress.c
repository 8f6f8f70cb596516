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
    unsigned n_refused, n_asked;
    enum egress_consent says;
    char asked[EGRESS_GRANT_TEXT];
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

static int turns = 20;

static void spin(void)
{
    for (int i = 0; i < turns; i++) {
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

static enum egress_consent on_ask(void *user, const char *grant, const char **ret_why)
{
    struct gate *gate = user;

    gate->n_asked++;
    (void)snprintf(gate->asked, sizeof(gate->asked), "%s", grant);
    if (gate->says == EGRESS_NO)
        *ret_why = "nobody is there";
    return gate->says;
}

static void say(struct gate *gate, size_t client, const char *text)
{
    assert_int_equal(send(gate->clients[client], text, strlen(text), 0), strlen(text));
    spin();
}

static const char *heard(struct gate *gate, size_t client)
{
    static char answer[512];
    ssize_t n = recv(gate->clients[client], answer, sizeof(answer) - 1, MSG_DONTWAIT);

    answer[n > 0 ? n : 0] = '\0';
    return answer;
}

#define CONNECT(host) "CONNECT " host " HTTP/1.1\r\nHost: " host "\r\n\r\n"

static void open_asking(struct gate *gate, size_t n)
{
    struct net *net = net_new();
    socklen_t len = sizeof(gate->at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *gate = (struct gate){.at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
                          .says = EGRESS_LATER};
    assert_int_equal(bind(fd, (const struct sockaddr *)&gate->at, sizeof(gate->at)), 0);
    assert_int_equal(listen(fd, 256), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&gate->at, &len), 0);
    assert_int_equal(net_add(net, NET_ASK, NULL), 0);
    assert_int_equal(egress_new(&settings, loop, fd, net, on_note, gate, &gate->egress, NULL), 0);
    egress_set_ask(gate->egress, on_ask);
    net_unref(net);
    enter(gate, n);
}

TEST(clients_of_one_host_wait_for_one_answer)
{
    struct gate *gate = &gates[0];

    loop = loop_new(NULL);
    timer = loop_timer(loop, stop, NULL);
    open_asking(gate, 6);
    for (size_t i = 0; i < 3; i++)
        say(gate, i, CONNECT("a.test:443"));
    assert_true(gate->n_asked == 1 && gate->n_refused == 0 && is_let_in(gate, 2));
    assert_string_equal(gate->asked, "a.test");
    say(gate, 3, CONNECT("[2606:2800:220:1::1]:8443"));
    assert_string_equal(gate->asked, "[2606:2800:220:1::1]:8443");
    say(gate, 4, CONNECT("127.0.0.1:1"));
    assert_true(gate->n_asked == 2 && gate->n_refused == 1);
    assert_non_null(strstr(heard(gate, 4), "403"));

    egress_answer(gate->egress, "b.test", EGRESS_YES); /* nobody asked for it */
    egress_answer(gate->egress, "a.test", EGRESS_NO);
    spin();
    for (size_t i = 0; i < 3; i++)
        assert_non_null(strstr(heard(gate, i), "said no"));
    assert_true(gate->n_refused == 4 && is_let_in(gate, 3));
    say(gate, 5, CONNECT("a.test:80")); /* it is remembered */
    assert_non_null(strstr(heard(gate, 5), "said no"));
    assert_int_equal(gate->n_asked, 2);
    leave(gate, 6); /* one still waits */
    loop_watch_free(timer);
    loop_free(loop);
}

TEST(whoever_gets_no_answer_is_judged_again)
{
    struct gate *gate = &gates[0];
    char host[64];

    loop = loop_new(NULL);
    timer = loop_timer(loop, stop, NULL);
    open_asking(gate, 4);
    say(gate, 0, CONNECT("a.test:443"));
    gate->says = EGRESS_NO;
    egress_answer(gate->egress, "a.test", EGRESS_LATER);
    spin();
    assert_int_equal(gate->n_asked, 2);
    assert_non_null(strstr(heard(gate, 0), "nobody is there"));
    /* Such a no is not remembered. The number of hosts is bounded. */
    gate->says = EGRESS_LATER;
    say(gate, 1, CONNECT("a.test:443"));
    assert_int_equal(gate->n_asked, 3);
    (void)close(gate->clients[3]);
    turns = 4; /* everything is there when a turn begins */
    for (unsigned i = 0; i < LIMIT_NET_ASKED; i++) {
        gate->clients[3] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(
            connect(gate->clients[3], (const struct sockaddr *)&gate->at, sizeof(gate->at)), 0);
        (void)snprintf(host, sizeof(host), CONNECT("h%u.test:443"), i, i);
        say(gate, 3, host);
        if (i + 1 < LIMIT_NET_ASKED) {
            (void)snprintf(host, sizeof(host), "h%u.test", i);
            egress_answer(gate->egress, host, EGRESS_NO);
            (void)close(gate->clients[3]);
            spin();
        }
    }
    turns = 20;
    assert_int_equal(gate->n_asked, 3 + LIMIT_NET_ASKED - 1);
    assert_non_null(strstr(heard(gate, 3), "too many hosts"));
    leave(gate, 4);
    loop_watch_free(timer);
    loop_free(loop);
}

UNIT_MAIN()
