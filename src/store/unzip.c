#include "store/unzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "base/cleanup.h"
#include "base/limits.h"

/* Lengths of the fixed parts (APPNOTE.TXT 6.3.10, 4.3.7, 4.3.12 and 4.3.16). */
#define LOCAL_LEN   30
#define CENTRAL_LEN 46
#define END_LEN     22

/* Below this size a large ratio is no bomb: an empty template, a table of zeros. */
#define RATIO_FROM (64 * KIB)

enum { FLAG_ENCRYPTED = 1, FLAG_SIZES_BEHIND = 8, FLAG_STRONG = 0x40, FLAG_HIDDEN = 0x2000 };
enum { METHOD_STORED = 0, METHOD_DEFLATED = 8 };
enum { HOST_UNIX = 3, HOST_MAC = 19 };

struct entry {
    unsigned host, flags, method;
    uint32_t crc, packed, size, attributes, offset;
    struct span name;
};

struct zip {
    struct span bytes;
    size_t directory; /* where it begins, and files end */
    size_t end;       /* of the file that was read last */
};

static unsigned get16(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;

    return b[0] | (unsigned)b[1] << 8;
}

static uint32_t get32(const char *at)
{
    return get16(at) | (uint32_t)get16(at + 2) << 16;
}

static int refuse(struct error *err, const char *why)
{
    error_set(err, E_INVALID, "the ZIP file %s", why);
    return error_hint(err, "pack the folder afresh: `zip -r skill.zip FOLDER`");
}

bool unzip_is_zip(struct span bytes)
{
    return bytes.len >= 4 && memcmp(bytes.data, "PK\3\4", 4) == 0;
}

/* --- the directory --- */

/* The last record reaches to the last byte, its comment included, in which nothing looks like
 * another one. */
static int find_end(struct span bytes, size_t *ret_at, struct error *err)
{
    size_t most = END_LEN + UINT16_MAX;

    for (size_t back = END_LEN; back <= bytes.len && back <= most; back++) {
        const char *at = bytes.data + bytes.len - back;

        if (memcmp(at, "PK\5\6", 4) != 0)
            continue;
        if (get16(at + 20) != back - END_LEN)
            break;
        *ret_at = bytes.len - back;
        return 0;
    }
    return refuse(err, "has no end, or two");
}

static int open_zip(struct span bytes, struct zip *zip, unsigned *ret_count, struct error *err)
{
    size_t at;
    const char *end;

    if (bytes.len > LIMIT_FOLDER_BYTES)
        return error_set(err, E_TOO_LARGE, "a ZIP file of a skill may have %d MiB",
                         (int)(LIMIT_FOLDER_BYTES / MIB));
    if (!unzip_is_zip(bytes))
        return refuse(err, "does not begin with a file");
    if (find_end(bytes, &at, err) < 0)
        return -1;
    end = bytes.data + at;
    *ret_count = get16(end + 10);
    if (get16(end + 4) || get16(end + 6) || get16(end + 8) != *ret_count)
        return refuse(err, "has several parts");
    if (*ret_count > LIMIT_FOLDER_ENTRIES)
        return error_set(err, E_TOO_LARGE, "the ZIP file has more than %d entries",
                         LIMIT_FOLDER_ENTRIES);
    /* The numbers that stand for "see the 64-bit record" are beyond any file that gets here. */
    if (get32(end + 16) > at || get32(end + 12) != at - get32(end + 16))
        return refuse(err, "has a directory at the wrong offset");
    *zip = (struct zip){.bytes = bytes, .directory = get32(end + 16)};
    return 0;
}

/* One row of the directory at *at, which moves on. */
static int read_entry(const struct zip *zip, size_t *at, size_t end, struct entry *e,
                      struct error *err)
{
    const char *row = zip->bytes.data + *at;
    size_t len;

    if (end - *at < CENTRAL_LEN || memcmp(row, "PK\1\2", 4) != 0)
        return refuse(err, "has a directory that is cut off");
    *e = (struct entry){
        .host = get16(row + 4) >> 8,
        .flags = get16(row + 8),
        .method = get16(row + 10),
        .crc = get32(row + 16),
        .packed = get32(row + 20),
        .size = get32(row + 24),
        .attributes = get32(row + 38),
        .offset = get32(row + 42),
        .name = {row + CENTRAL_LEN, get16(row + 28)},
    };
    len = CENTRAL_LEN + e->name.len + get16(row + 30) + get16(row + 32);
    if (end - *at < len)
        return refuse(err, "has a directory that is cut off");
    *at += len;
    return 0;
}

/* --- one file --- */

static bool is_unix(const struct entry *e)
{
    return e->host == HOST_UNIX || e->host == HOST_MAC;
}

static int check_entry(const struct entry *e, struct error *err)
{
    mode_t type = is_unix(e) ? (e->attributes >> 16) & S_IFMT : 0;
    bool is_dir = e->name.len && e->name.data[e->name.len - 1] == '/';

    if (e->flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_HIDDEN))
        return refuse(err, "is encrypted");
    if (e->method != METHOD_STORED && e->method != METHOD_DEFLATED)
        return refuse(err, "uses a compression method other than deflate");
    if (e->method == METHOD_STORED && e->packed != e->size)
        return refuse(err, "has a file with two sizes");
    if (type == S_IFLNK)
        return refuse(err, "has a link in it");
    if (type && type != (is_dir ? S_IFDIR : S_IFREG))
        return refuse(err, "has something in it that is neither file nor directory");
    if (is_dir && e->size)
        return refuse(err, "has a directory with bytes");
    if (e->size > LIMIT_FOLDER_BYTES)
        return error_set(err, E_TOO_LARGE, "a file in the ZIP file is larger than %d MiB",
                         (int)(LIMIT_FOLDER_BYTES / MIB));
    if (e->size > RATIO_FROM && e->size / LIMIT_FOLDER_RATIO > e->packed)
        return error_set(err, E_TOO_LARGE, "a file in the ZIP file is compressed to less than 1/%d",
                         LIMIT_FOLDER_RATIO);
    return 0;
}

/* Finds its bytes. The local header must agree with the directory, and the file must begin at or
 * after the end of the previous one, so that no byte belongs to two files. */
static int find_data(struct zip *zip, const struct entry *e, struct span *ret_data,
                     struct error *err)
{
    const char *head = zip->bytes.data + e->offset;
    size_t room = zip->directory, len;

    if (e->offset < zip->end || e->offset > room || room - e->offset < LOCAL_LEN)
        return refuse(err, "has files that overlap, or are not in order");
    len = LOCAL_LEN + (size_t)get16(head + 26) + get16(head + 28);
    if (memcmp(head, "PK\3\4", 4) != 0 || room - e->offset < len + e->packed)
        return refuse(err, "has a file at the wrong offset");
    if (get16(head + 26) != e->name.len || get16(head + 6) != e->flags ||
        get16(head + 8) != e->method || memcmp(head + LOCAL_LEN, e->name.data, e->name.len) != 0)
        return refuse(err, "has conflicting data about a file");
    if (!(e->flags & FLAG_SIZES_BEHIND) &&
        (get32(head + 14) != e->crc || get32(head + 18) != e->packed ||
         get32(head + 22) != e->size))
        return refuse(err, "has conflicting data about a file");
    *ret_data = (struct span){head + len, e->packed};
    zip->end = e->offset + len + e->packed;
    return 0;
}

static int inflate_all(struct span packed, char *data, size_t size, struct error *err)
{
    z_stream stream = {.next_in = (Bytef *)packed.data,
                       .avail_in = (uInt)packed.len,
                       .next_out = (Bytef *)data,
                       .avail_out = (uInt)size};
    int r;

    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return error_memory(err);
    r = inflate(&stream, Z_FINISH);
    (void)inflateEnd(&stream);
    if (r != Z_STREAM_END || stream.avail_in || stream.avail_out)
        return refuse(err, "has a file that does not unpack to its recorded size");
    return 0;
}

static int unpack_entry(struct zip *zip, const struct entry *e, struct skill_bundle *folder,
                        struct error *err)
{
    bool is_dir = e->name.len && e->name.data[e->name.len - 1] == '/';
    cleanup_free char *data = NULL;
    struct span packed = {0};

    if (check_entry(e, err) < 0 || find_data(zip, e, &packed, err) < 0)
        return -1;
    if (is_dir)
        return skill_bundle_check_path((struct span){e->name.data, e->name.len - 1}, err);
    /* One byte more than its size, so that an empty one has a place, too. */
    data = malloc((size_t)e->size + 1);
    if (!data)
        return error_memory(err);
    if (e->method == METHOD_STORED)
        memcpy(data, packed.data, e->size);
    else if (inflate_all(packed, data, e->size, err) < 0)
        return -1;
    if (crc32(crc32(0, NULL, 0), (const Bytef *)data, e->size) != e->crc)
        return refuse(err, "is damaged: a checksum is wrong");
    return skill_bundle_add(folder, e->name, (struct span){data, e->size},
                            is_unix(e) && (e->attributes >> 16 & S_IXUSR), err);
}

int unzip(struct span bytes, struct skill_bundle *folder, struct error *err)
{
    size_t at = 0, end = 0, total = 0;
    struct entry e;
    struct zip zip = {0};
    unsigned count = 0;

    if (open_zip(bytes, &zip, &count, err) < 0 || find_end(bytes, &end, err) < 0)
        return -1;
    /* All sizes first: nothing is unpacked of what will not fit. */
    at = zip.directory;
    for (unsigned i = 0; i < count; i++) {
        if (read_entry(&zip, &at, end, &e, err) < 0)
            return -1;
        total += e.size;
    }
    if (at != end)
        return refuse(err, "has a directory at the wrong offset");
    if (total > LIMIT_FOLDER_BYTES)
        return error_set(err, E_TOO_LARGE, "the files of a skill may have %d MiB together",
                         (int)(LIMIT_FOLDER_BYTES / MIB));
    at = zip.directory;
    for (unsigned i = 0; i < count; i++)
        if (read_entry(&zip, &at, end, &e, err) < 0 || unpack_entry(&zip, &e, folder, err) < 0)
            return -1;
    return 0;
}
