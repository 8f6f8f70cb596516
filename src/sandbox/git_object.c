#include "sandbox/git_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/cleanup.h"
#include "sandbox/git_hash.h"

#define CHUNK      65536u
#define HEADER_MAX 64u /* "commit 12345\0" */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static bool read_hex(const char *text, size_t digits, uint8_t *out)
{
    for (size_t i = 0; i < digits; i++) {
        int value = digit(text[i]);

        if (value < 0)
            return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | value : value << 4);
    }
    return true;
}

bool git_object_name(const char *directory, const char *name, uint8_t ret_id[32],
                     unsigned *ret_bytes)
{
    size_t len = strlen(name);

    if (strlen(directory) != 2 || (len != 38 && len != 62))
        return false;
    *ret_bytes = (unsigned)(len + 2) / 2;
    return read_hex(directory, 2, ret_id) && read_hex(name, len, ret_id + 1);
}

/* "blob 12" and a NUL. *ret_size is the size that it says; -1: it is something else. */
static int read_header(const uint8_t *data, size_t len, size_t *ret_header, uint64_t *ret_size)
{
    static const char *const types[] = {"blob ", "tree ", "commit ", "tag "};
    const uint8_t *end = memchr(data, '\0', len < HEADER_MAX ? len : HEADER_MAX);
    uint64_t size = 0;

    if (!end)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        size_t n = strlen(types[i]);

        if ((size_t)(end - data) <= n || memcmp(data, types[i], n) != 0)
            continue;
        for (const uint8_t *p = data + n; p < end; p++) {
            if (*p < '0' || *p > '9')
                return -1;
            if (size <= GIT_OBJECT_BYTES) /* otherwise it is too large already */
                size = size * 10 + (uint64_t)(*p - '0');
        }
        *ret_header = (size_t)(end - data) + 1;
        *ret_size = size;
        return 0;
    }
    return -1;
}

/* The most bytes that a file of this length may unpack to. */
static uint64_t most_unpacked(size_t len)
{
    uint64_t most = GIT_OBJECT_FREE + (uint64_t)len * GIT_OBJECT_RATIO;

    return most < GIT_OBJECT_BYTES ? most : GIT_OBJECT_BYTES;
}

/* Unpacks everything into the digest. The header is in the first part, and says the size: work
 * stops there when that is too large, and later at the first byte beyond it. */
static const char *unpack(z_stream *z, struct git_hash *hash, uint8_t *room)
{
    const uint64_t most = most_unpacked(z->avail_in);
    uint64_t size = 0, total = 0;
    size_t header = 0;
    bool is_first = true;
    int r = Z_OK;

    while (r == Z_OK) {
        size_t n;

        z->next_out = room;
        z->avail_out = CHUNK;
        r = inflate(z, Z_NO_FLUSH);
        n = CHUNK - z->avail_out;
        if (r != Z_OK && r != Z_STREAM_END)
            return "it is not a git object: it cannot be unpacked";
        if (is_first && read_header(room, n, &header, &size) < 0)
            return "it is not a git object: its first line is not one of git's";
        if (size > GIT_OBJECT_BYTES)
            return "the git object is too large to be checked";
        if (size > most)
            return "the git object unpacks to too many times its size to be checked";
        is_first = false;
        total += n;
        if (total > header + size)
            return "it is not a git object: its size does not match";
        git_hash_feed(hash, room, n);
    }
    if (z->avail_in)
        return "it is not a git object: something follows it";
    return total == header + size ? NULL : "it is not a git object: its size does not match";
}

const char *git_object_check(const uint8_t *data, size_t len, const uint8_t *id, unsigned id_bytes)
{
    cleanup_free uint8_t *room = malloc(CHUNK);
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)data, .avail_in = (uInt)len};
    uint8_t digest[GIT_HASH_MAX];
    struct git_hash hash;
    const char *why;

    if (len > GIT_OBJECT_BYTES)
        return "the git object is too large to be checked";
    if (!room || inflateInit(&z) != Z_OK)
        return "there is not enough memory to check it";
    git_hash_begin(&hash, id_bytes);
    why = unpack(&z, &hash, room);
    (void)inflateEnd(&z);
    if (why)
        return why;
    git_hash_end(&hash, digest);
    return memcmp(digest, id, id_bytes) == 0
               ? NULL
               : "its content is not that of the git object with this name";
}
