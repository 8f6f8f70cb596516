#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "http/peer.h"

static struct http_peers peers;

static struct http_peer *join_address(const struct sockaddr *address, uid_t uid)
{
    uint8_t key[HTTP_PEER_KEY];

    http_peer_key(address, uid, key);
    return http_peer_join(&peers, key);
}

static struct http_peer *join(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return join_address((const struct sockaddr *)(const void *)&v4, 0);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return join_address((const struct sockaddr *)(const void *)&v6, 0);
}

TEST(connections_of_one_place_are_counted_together)
{
    static const char *const same[][2] = {
        {"192.0.2.1", "192.0.2.1"},
        {"192.0.2.1", "::ffff:192.0.2.1"},
        {"2001:db8::1", "2001:db8::ffff:2"},
    };
    static const char *const other[][2] = {
        {"192.0.2.1", "192.0.2.2"},
        {"2001:db8::1", "2001:db8:0:1::1"},
        {"::1", "127.0.0.1"},
    };

    for (size_t i = 0; i < 3; i++) {
        struct http_peer *a = join(same[i][0]), *b = join(same[i][1]);

        assert_ptr_equal(a, b);
        assert_int_equal(a->count, 2);
        http_peer_leave(a);
        assert_int_equal(b->count, 1);
        http_peer_leave(b);
    }
    for (size_t i = 0; i < 3; i++) {
        struct http_peer *a = join(other[i][0]), *b = join(other[i][1]);

        assert_ptr_not_equal(a, b);
        http_peer_leave(a);
        http_peer_leave(b);
    }
}

TEST(users_of_a_socket_are_places_of_their_own)
{
    const struct sockaddr local = {.sa_family = AF_UNIX};
    struct http_peer *a = join_address(&local, 1000);
    struct http_peer *b = join_address(&local, 1001);

    assert_ptr_not_equal(a, b);
    assert_ptr_equal(join_address(&local, 1000), a);
    http_peer_leave(a);
    http_peer_leave(a);
    http_peer_leave(b);
}

TEST(nothing_is_left_of_those_who_went)
{
    struct http_peer *all[5000];

    for (size_t i = 0; i < 5000; i++) {
        char text[32];

        (void)snprintf(text, sizeof(text), "10.0.%zu.%zu", i / 256, i % 256);
        all[i] = join(text);
        assert_int_equal(all[i]->count, 1);
    }
    for (size_t i = 0; i < 5000; i++)
        http_peer_leave(all[(i * 7) % 5000]);
    http_peer_leave(NULL);
    for (size_t i = 0; i < HTTP_PEER_BUCKETS; i++)
        assert_true(LIST_EMPTY(&peers.buckets[i]));
}

UNIT_MAIN()
