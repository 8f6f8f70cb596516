#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/* --- addresses --- */

static bool is_mapped(const uint8_t bytes[16])
{
    static const uint8_t head[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(bytes, head, sizeof(head)) == 0;
}

static struct address from_v6(const uint8_t bytes[16])
{
    struct address a = {.is_v6 = !is_mapped(bytes)};

    if (a.is_v6)
        memcpy(a.bytes, bytes, 16);
    else
        memcpy(a.bytes, bytes + 12, 4);
    return a;
}

static struct address from_v4(uint32_t value)
{
    return (struct address){.bytes = {(uint8_t)(value >> 24), (uint8_t)(value >> 16),
                                      (uint8_t)(value >> 8), (uint8_t)value}};
}

void address_text(const struct address *a, char text[static ADDRESS_TEXT])
{
    if (!inet_ntop(a->is_v6 ? AF_INET6 : AF_INET, a->bytes, text, ADDRESS_TEXT))
        *text = '\0';
}

bool address_equal(const struct address *a, const struct address *b)
{
    return a->is_v6 == b->is_v6 && memcmp(a->bytes, b->bytes, a->is_v6 ? 16 : 4) == 0;
}

bool address_of_socket(const struct sockaddr *from, struct address *ret_address)
{
    if (from->sa_family == AF_INET) {
        *ret_address = (struct address){0};
        memcpy(ret_address->bytes, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    *ret_address = from_v6(((const struct sockaddr_in6 *)(const void *)from)->sin6_addr.s6_addr);
    return true;
}

unsigned address_to_socket(const struct address *a, uint16_t port, struct sockaddr_storage *to)
{
    *to = (struct sockaddr_storage){.ss_family = a->is_v6 ? AF_INET6 : AF_INET};
    if (a->is_v6) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)to;

        six->sin6_port = htons(port);
        memcpy(&six->sin6_addr, a->bytes, 16);
        return sizeof(*six);
    }
    ((struct sockaddr_in *)(void *)to)->sin_port = htons(port);
    memcpy(&((struct sockaddr_in *)(void *)to)->sin_addr, a->bytes, 4);
    return sizeof(struct sockaddr_in);
}

struct range {
    uint8_t bytes[16];
    uint8_t bits;
    const char *name;
};

static bool is_in(const uint8_t *bytes, const struct range *range)
{
    unsigned whole = range->bits / 8, rest = range->bits % 8;
    uint8_t mask = (uint8_t)(0xff00u >> rest);

    return memcmp(bytes, range->bytes, whole) == 0 &&
           (!rest || ((bytes[whole] ^ range->bytes[whole]) & mask) == 0);
}

/* IANA's special-purpose registries; what is not globally reachable by them is named here. */
/* clang-format off */
static const struct range ranges_v4[] = {
    {{0},                 8, "this network"},
    {{10},                8, "private"},
    {{100, 64},          10, "shared by carriers"},
    {{127},               8, "loopback"},
    {{169, 254},         16, "link-local, where clouds keep their metadata"},
    {{172, 16},          12, "private"},
    {{192, 0, 0},        24, "reserved"},
    {{192, 0, 2},        24, "for examples"},
    {{192, 88, 99},      24, "6to4"},
    {{192, 168},         16, "private"},
    {{198, 18},          15, "for measurements"},
    {{198, 51, 100},     24, "for examples"},
    {{203, 0, 113},      24, "for examples"},
    {{224},               4, "multicast"},
    {{255, 255, 255, 255}, 32, "broadcast"},
    {{240},               4, "reserved"},
    /* Of a cloud, whose machines find services of its own there. */
    {{168, 63, 129, 16}, 32, "where a cloud keeps its metadata"},
};

static const struct range ranges_v6[] = {
    {{[15] = 0},                         128, "unspecified"},
    {{[15] = 1},                         128, "loopback"},
    {{0x00, 0x64, 0xff, 0x9b},            32, "NAT64"},
    {{0xfe, 0x80},                        10, "link-local"},
    {{0xfe, 0xc0},                        10, "private"},
    {{0xfc},                               7, "private"},
    {{0xff},                               8, "multicast"},
    {{0x20, 0x01, 0x00, 0x00},            32, "Teredo"},
    {{0x20, 0x01, 0x00},                  23, "reserved"},
    {{0x20, 0x01, 0x0d, 0xb8},            32, "for examples"},
    {{0x20, 0x02},                        16, "6to4"},
    {{0x3f, 0xff},                        20, "for examples"},
};
/* clang-format on */

const char *address_range(const struct address *a)
{
    static const struct range global = {{0x20}, 3, NULL};
    const struct range *ranges = a->is_v6 ? ranges_v6 : ranges_v4;
    size_t count = a->is_v6 ? ARRAY_SIZE(ranges_v6) : ARRAY_SIZE(ranges_v4);

    for (size_t i = 0; i < count; i++)
        if (is_in(a->bytes, &ranges[i]))
            return ranges[i].name;
    return a->is_v6 && !is_in(a->bytes, &global) ? "reserved" : NULL;
}

bool address_is_loopback(const struct address *a)
{
    const char *range = address_range(a);

    return range && strcmp(range, "loopback") == 0;
}

const struct address address_localhost[2] = {
    {.bytes = {127, 0, 0, 1}},
    {.is_v6 = true, .bytes = {[15] = 1}},
};

bool address_is_nobody(const struct address *a)
{
    static const struct address none_v6 = {.is_v6 = true};

    if (a->is_v6)
        return a->bytes[0] == 0xff || address_equal(a, &none_v6);
    return a->bytes[0] == 0 || (a->bytes[0] & 0xf0) == 0xe0 ||
           memcmp(a->bytes, "\xff\xff\xff\xff", 4) == 0;
}

/* --- hosts --- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* A number as inet_aton() reads it: 0x1f, 037, 31. False: it is none, or has more than 32 bits. */
static bool read_number(const char *text, size_t len, uint64_t *ret_value)
{
    int base = 10;
    uint64_t value = 0;

    if (len >= 2 && text[0] == '0' && text[1] == 'x') {
        base = 16;
        text += 2;
        len -= 2;
    } else if (len >= 2 && text[0] == '0') {
        base = 8;
    }
    if (len > 64)
        return false;
    for (size_t i = 0; i < len; i++) {
        int digit = digit_of(text[i]);

        if (digit >= base)
            return false;
        value = value * (uint64_t)base + (uint64_t)digit;
        if (value > UINT32_MAX)
            return false;
    }
    *ret_value = value;
    return true;
}

/* Whether a name ends like an address: browsers and C libraries take it for one then, so a
 * resolver never sees it. */
static bool ends_in_number(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;

    if (last[0] == '0' && last[1] == 'x')
        return !last[2 + strspn(last + 2, "0123456789abcdef")];
    return !last[strspn(last, "0123456789")];
}

static bool read_v4(const char *name, struct address *ret_address)
{
    uint64_t parts[4], value;
    size_t count = 0;
    const char *at = name;

    for (;;) {
        size_t len = strcspn(at, ".");

        if (count == 4 || len == 0 || !read_number(at, len, &parts[count++]))
            return false;
        at += len;
        if (!*at)
            break;
        at++;
    }
    value = parts[count - 1];
    if (value >= UINT64_C(1) << (8 * (5 - count)))
        return false;
    for (size_t i = 0; i + 1 < count; i++) {
        if (parts[i] > 255)
            return false;
        value |= parts[i] << (24 - 8 * i);
    }
    *ret_address = from_v4((uint32_t)value);
    return true;
}

/* Labels of letters, digits, hyphens and underscores, which some names of services have. */
static const char *check_name(const char *name)
{
    size_t label = 0;

    for (const char *at = name; *at; at++) {
        if (*at == '.') {
            if (label == 0)
                return "a name with an empty part";
            label = 0;
            continue;
        }
        if (label == 0 && *at == '-')
            return "a name with a part that begins with a hyphen";
        if (++label > 63)
            return "a name with a part of more than 63 characters";
    }
    return label ? NULL : "an empty name";
}

static const char *copy_name(const char *text, size_t len, char *name)
{
    if (len && text[len - 1] == '.')
        len--;
    if (len == 0 || len > HOST_NAME_MAX_LEN)
        return len ? "a name of more than 253 characters" : "an empty name";
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'))
            return c & 0x80 ? "a name that is not in ASCII (write it as xn--…)"
                            : "a character that is invalid in a host name";
        name[i] = c;
    }
    name[len] = '\0';
    return NULL;
}

static const char *parse_v6(const char *text, size_t len, struct host *host)
{
    char copy[ADDRESS_TEXT];
    uint8_t bytes[16];

    if (len >= sizeof(copy) || memchr(text, '\0', len))
        return "an invalid IPv6 address";
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (inet_pton(AF_INET6, copy, bytes) != 1)
        return "an invalid IPv6 address"; /* with a zone, too: that is a link of the host's */
    host->is_address = true;
    host->address = from_v6(bytes);
    return NULL;
}

const char *host_parse(const char *text, size_t len, bool has_brackets, struct host *ret_host)
{
    struct host host = {0};
    const char *why = NULL;

    if (len >= 2 && text[0] == '[' && text[len - 1] == ']')
        why = parse_v6(text + 1, len - 2, &host);
    else if (!has_brackets && memchr(text, ':', len))
        why = parse_v6(text, len, &host);
    else
        why = copy_name(text, len, host.name);
    if (!why && !host.is_address && ends_in_number(host.name)) {
        host.is_address = read_v4(host.name, &host.address);
        why = host.is_address ? NULL : "an invalid IPv4 address";
    } else if (!why && !host.is_address) {
        why = check_name(host.name);
    }
    if (why)
        return why;
    if (host.is_address)
        address_text(&host.address, host.name);
    *ret_host = host;
    return NULL;
}

bool host_equal(const struct host *a, const struct host *b)
{
    if (a->is_address != b->is_address)
        return false;
    return a->is_address ? address_equal(&a->address, &b->address) : strcmp(a->name, b->name) == 0;
}

bool host_is_loopback(const struct host *host)
{
    return host->is_address ? address_is_loopback(&host->address)
                            : strcmp(host->name, "localhost") == 0;
}

void host_text(const struct host *host, char text[static HOST_TEXT])
{
    bool is_v6 = host->is_address && host->address.is_v6;

    (void)snprintf(text, HOST_TEXT, is_v6 ? "[%s]" : "%s", host->name);
}

static bool read_port(const char *text, size_t len, uint16_t *ret_port)
{
    uint32_t value = 0;

    if (len == 0 || len > 5)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    if (value == 0 || value > UINT16_MAX)
        return false;
    *ret_port = (uint16_t)value;
    return true;
}

const char *host_parse_port(const char *text, size_t len, struct host *ret_host, uint16_t *ret_port)
{
    const char *colon = memrchr(text, ':', len), *bracket = memrchr(text, ']', len);
    size_t host_len = len;

    if (memchr(text, '@', len))
        return "a user or password before the host";
    if (colon && (!bracket || colon > bracket)) {
        host_len = (size_t)(colon - text);
        if (!read_port(colon + 1, len - host_len - 1, ret_port))
            return "an invalid port";
    }
    return host_parse(text, host_len, true, ret_host);
}

/* --- URLs --- */

const char *url_parse(const char *text, size_t len, struct url *ret_url)
{
    struct url url = {.is_tls = len > 8 && strncasecmp(text, "https://", 8) == 0};
    size_t at = url.is_tls ? 8 : 7, end;
    const char *why;

    if (!url.is_tls && (len <= 7 || strncasecmp(text, "http://", 7) != 0))
        return "not a URL of the form http://HOST/PATH";
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '#')
            return text[i] == '#' ? "a URL with a fragment"
                                  : "a character that is invalid in a URL";
    for (end = at; end < len && text[end] != '/' && text[end] != '?';)
        end++;
    why = host_parse_port(text + at, end - at, &url.host, &url.port);
    if (why)
        return why;
    url.target = (struct span){text + end, len - end};
    *ret_url = url;
    return NULL;
}

uint16_t url_port(const struct url *url)
{
    return url->port ? url->port : url->is_tls ? 443 : 80;
}
