#include "unit.h"

#include <stdio.h>

#include <zlib.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "store/unzip.h"
#include "wire/message.h"

/* --- a writer that can lie --- */

struct made {
    const char *name;
    const char *data;
    size_t len;
    bool deflates;
    unsigned flags; /* in both places */
    uint32_t mode;  /* of Unix; 0: a file */
    int size_off;   /* added to the size that is said */
    uint32_t crc_off;
    const char *other_name; /* in front of the bytes */
};

static char zip[8 * MIB];
static size_t zip_len;

static void put16(unsigned value)
{
    zip[zip_len++] = (char)(value & 0xff);
    zip[zip_len++] = (char)(value >> 8);
}

static void put32(uint32_t value)
{
    put16(value & 0xffff);
    put16(value >> 16);
}

static void put(const void *data, size_t len)
{
    memcpy(zip + zip_len, data, len);
    zip_len += len;
}

static size_t pack(const struct made *m, char *out, size_t size)
{
    z_stream stream = {.next_in = (Bytef *)m->data,
                       .avail_in = (uInt)m->len,
                       .next_out = (Bytef *)out,
                       .avail_out = (uInt)size};

    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    (void)deflateEnd(&stream);
    return size - stream.avail_out;
}

static void put_middle(const struct made *m, size_t packed)
{
    put16(m->flags);
    put16(m->deflates ? 8 : 0);
    put32(0); /* when */
    put32((uint32_t)crc32(0, (const Bytef *)m->data, (uInt)m->len) + m->crc_off);
    put32((uint32_t)packed);
    put32((uint32_t)m->len + (uint32_t)m->size_off);
}

static void make(const struct made *files, size_t count)
{
    static char packed[5 * MIB];
    size_t offsets[600], lens[600], directory;

    zip_len = 0;
    for (size_t i = 0; i < count; i++) {
        const struct made *m = &files[i];
        const char *name = m->other_name ? m->other_name : m->name;

        offsets[i] = zip_len;
        lens[i] = m->deflates ? pack(m, packed, sizeof(packed)) : m->len;
        put("PK\3\4", 4);
        put16(20);
        put_middle(m, lens[i]);
        put16((unsigned)strlen(name));
        put16(0);
        put(name, strlen(name));
        put(m->deflates ? packed : m->data, lens[i]);
    }
    directory = zip_len;
    for (size_t i = 0; i < count; i++) {
        const struct made *m = &files[i];

        put("PK\1\2", 4);
        put16(3 << 8 | 20);
        put16(20);
        put_middle(m, lens[i]);
        put16((unsigned)strlen(m->name));
        put32(0);
        put32(0);
        put32((m->mode ? m->mode : 0100644) << 16);
        put32((uint32_t)offsets[i]);
        put(m->name, strlen(m->name));
    }
    put("PK\5\6", 4);
    put32(0);
    put16((unsigned)count);
    put16((unsigned)count);
    put32((uint32_t)(zip_len - directory - 12));
    put32((uint32_t)directory);
    put16(0);
}

static void refuse(enum error_code code, const char *why)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    struct error err = {0};

    assert_int_equal(unzip((struct span){zip, zip_len}, &folder, &err), -1);
    assert_error(&err, code, why);
}

static void refuse_one(const struct made *m, enum error_code code, const char *why)
{
    make(m, 1);
    refuse(code, why);
}

/* --- --- */

TEST(files_come_out_as_they_went_in)
{
    const struct made files[] = {
        {.name = "top/", .data = "", .mode = 040755},
        {.name = "top/SKILL.md", .data = "hello", .len = 5},
        {.name = "top/run.sh",
         .data = "aaaaaaaaaaaaaaaa",
         .len = 16,
         .deflates = true,
         .mode = 0100755},
        {.name = "top/empty", .data = "", .deflates = true},
    };
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    struct error err = {0};

    make(files, ARRAY_SIZE(files));
    if (unzip((struct span){zip, zip_len}, &folder, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(folder.count, 3);
    assert_string_equal(skill_bundle_find(&folder, "top/SKILL.md")->data, "hello");
    assert_string_equal(skill_bundle_find(&folder, "top/run.sh")->data, "aaaaaaaaaaaaaaaa");
    assert_true(skill_bundle_find(&folder, "top/run.sh")->is_executable);
    assert_int_equal(skill_bundle_find(&folder, "top/empty")->len, 0);
}

TEST(names_that_leave_the_folder_are_refused)
{
    static const char *const names[] = {"../x",  "/etc/passwd", "a/../../x", "..\\x", "c:\\x",
                                        "a\xff", "../x/",       "a\nb",      ""};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct made m = {.name = names[i], .data = ""};

        if (*names[i] && names[i][strlen(names[i]) - 1] == '/')
            m.mode = 040755;
        refuse_one(&m, E_INVALID, "");
    }
}

TEST(what_is_no_file_is_refused)
{
    refuse_one(&(struct made){.name = "x", .data = "/etc", .len = 4, .mode = 0120777}, E_INVALID,
               "link");
    refuse_one(&(struct made){.name = "x", .data = "", .mode = 010644}, E_INVALID, "neither");
    refuse_one(&(struct made){.name = "x", .data = "", .flags = 1}, E_INVALID, "encrypted");
    refuse_one(&(struct made){.name = "x/", .data = "a", .len = 1, .mode = 040755}, E_INVALID,
               "directory with bytes");
}

TEST(bombs_are_refused_before_they_go_off)
{
    static char zeros[5 * MIB];
    static struct made many[LIMIT_FOLDER_ENTRIES + 1];
    static char names[LIMIT_FOLDER_ENTRIES + 1][16];

    refuse_one(&(struct made){.name = "x", .data = zeros, .len = MIB, .deflates = true},
               E_TOO_LARGE, "compressed to less");
    refuse_one(&(struct made){.name = "x", .data = zeros, .len = 5 * MIB, .deflates = true},
               E_TOO_LARGE, "MiB");
    for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
        (void)snprintf(names[i], sizeof(names[i]), "d%zu/", i);
        many[i] = (struct made){.name = names[i], .data = "", .mode = 040755};
    }
    make(many, ARRAY_SIZE(many));
    refuse(E_TOO_LARGE, "entries");
}

TEST(what_says_two_things_is_refused)
{
    const struct made twice[] = {{.name = "x", .data = "1", .len = 1},
                                 {.name = "X", .data = "2", .len = 1}};

    refuse_one(&(struct made){.name = "x", .data = "", .other_name = "y"}, E_INVALID,
               "conflicting data");
    refuse_one(&(struct made){.name = "x", .data = "abc", .len = 3, .size_off = 1}, E_INVALID,
               "two sizes");
    refuse_one(
        &(struct made){.name = "x", .data = "abc", .len = 3, .size_off = 1, .deflates = true},
        E_INVALID, "does not unpack");
    refuse_one(
        &(struct made){.name = "x", .data = "abc", .len = 3, .size_off = -1, .deflates = true},
        E_INVALID, "does not unpack");
    refuse_one(&(struct made){.name = "x", .data = "abc", .len = 3, .crc_off = 1}, E_INVALID,
               "checksum");
    make(twice, 2);
    refuse(E_INVALID, "two files");
}

/* The second entry is made to point to the bytes of the first. */
TEST(files_that_overlap_are_refused)
{
    const struct made files[] = {{.name = "x", .data = "1", .len = 1},
                                 {.name = "y", .data = "2", .len = 1}};

    make(files, 2);
    memset(zip + zip_len - 22 - 47 + 42, 0, 4);
    refuse(E_INVALID, "overlap");
}

TEST(a_file_that_is_cut_or_longer_is_refused)
{
    const struct made files[] = {{.name = "x", .data = "1", .len = 1}};
    size_t whole;

    make(files, 1);
    whole = zip_len;
    for (zip_len = 0; zip_len < whole; zip_len++)
        refuse(E_INVALID, "the ZIP file");
    zip[whole] = 'x';
    zip_len = whole + 1;
    refuse(E_INVALID, "no end");
}

UNIT_MAIN()
