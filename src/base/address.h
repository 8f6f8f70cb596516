/* Hosts as programs spell them, turned into one form: every spelling of an address is that address,
 * every spelling of a name that name, so that whoever judges them sees each only once.
 *
 * Nothing is looked up here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pack.h"

/* An IPv4 address, in the first four bytes, or an IPv6 one. IPv4 in the clothes of IPv6
 * (::ffff:1.2.3.4) does not exist here: it is IPv4. */
struct address {
    bool is_v6;
    uint8_t bytes[16];
};

#define ADDRESS_TEXT 46

void address_text(const struct address *address, char text[static ADDRESS_TEXT]);
bool address_equal(const struct address *a, const struct address *b);

/* Of a struct sockaddr of either family. */
struct sockaddr;
struct sockaddr_storage;
bool address_of_socket(const struct sockaddr *from, struct address *ret_address);
unsigned address_to_socket(const struct address *address, uint16_t port,
                           struct sockaddr_storage *ret_to); /* its length */

/* The kind of an address outside the public Internet ("loopback", "private", …), or NULL. An
 * address that embeds an IPv4 address (6to4, NAT64, Teredo) is never public: we cannot know where
 * it ends up. */
const char *address_range(const struct address *address);
bool address_is_loopback(const struct address *address);

/* 127.0.0.1 and ::1: what `localhost` means, whatever a name server says. */
extern const struct address address_localhost[2];

/* No connection can be meant by it: unspecified (which Linux takes for loopback), multicast,
 * broadcast. */
bool address_is_nobody(const struct address *address);

#define HOST_NAME_MAX_LEN 253

struct host {
    bool is_address;
    struct address address;
    char name[HOST_NAME_MAX_LEN + 1]; /* lower case, without the dot at the end; of an address: its
                                         text, without brackets */
};

/* Reads a host as it stands in a URL, a Host header or a SOCKS request: a name, IPv4 in any
 * spelling that the C library takes (decimal, hexadecimal, octal, short), or IPv6 in brackets
 * (`has_brackets`: or without). Returns NULL, or what is wrong in words. */
const char *host_parse(const char *text, size_t len, bool has_brackets, struct host *ret_host);

bool host_equal(const struct host *a, const struct host *b);

/* Whether connections to it stay on this machine: a loopback address or `localhost`. */
bool host_is_loopback(const struct host *host);

#define HOST_TEXT (HOST_NAME_MAX_LEN + 3)

/* The host as URLs and Host headers have it: IPv6 in brackets. */
void host_text(const struct host *host, char text[static HOST_TEXT]);

/* HOST[:PORT] of a URL without user and password. *ret_port is left alone where none is given. */
const char *host_parse_port(const char *text, size_t len, struct host *ret_host,
                            uint16_t *ret_port);

struct url {
    bool is_tls; /* https */
    struct host host;
    uint16_t port;      /* 0: not given */
    struct span target; /* path and query, as in the text; empty or beginning with `/` or `?` */
};

/* http://HOST[:PORT][/PATH][?QUERY] or https://…, printable ASCII without user, password and
 * fragment. Returns NULL, or what is wrong in words. */
const char *url_parse(const char *text, size_t len, struct url *ret_url);
uint16_t url_port(const struct url *url); /* given, or 80 or 443 */
