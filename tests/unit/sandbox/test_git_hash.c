/* Git's digests against another implementation, at every length around the ends of blocks. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "sandbox/git_hash.h"
#include "sandbox/git_object.h"

static void assert_same(unsigned bytes, const EVP_MD *md, const uint8_t *data, size_t len,
                        size_t step)
{
    uint8_t ours[GIT_HASH_MAX], theirs[EVP_MAX_MD_SIZE];
    struct git_hash hash;

    git_hash_begin(&hash, bytes);
    for (size_t at = 0; at < len; at += step)
        git_hash_feed(&hash, data + at, len - at < step ? len - at : step);
    git_hash_end(&hash, ours);
    assert_int_equal(EVP_Digest(data, len, theirs, NULL, md, NULL), 1);
    assert_memory_equal(ours, theirs, bytes);
}

TEST(digests_are_those_of_another_implementation)
{
    static const size_t steps[] = {1, 7, 63, 64, 65, 1000};
    uint8_t data[300];

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + i / 13);
    for (size_t len = 0; len <= sizeof(data); len++)
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
            assert_same(GIT_SHA1_BYTES, EVP_sha1(), data, len, steps[i]);
            assert_same(GIT_SHA256_BYTES, EVP_sha256(), data, len, steps[i]);
        }
}

TEST(names_of_objects_are_read)
{
    uint8_t id[GIT_HASH_MAX];
    unsigned bytes = 0;

    assert_true(git_object_name("ab", "0123456789012345678901234567890123456f", id, &bytes));
    assert_int_equal(bytes, 20);
    assert_int_equal(id[0], 0xab);
    assert_int_equal(id[19], 0x6f);
    assert_false(git_object_name("AB", "0123456789012345678901234567890123456f", id, &bytes));
    assert_false(git_object_name("ab", "0123456789012345678901234567890123456", id, &bytes));
    assert_false(git_object_name("ab", "0123456789012345678901234567890123456g", id, &bytes));
}

/* A file that begins with `header`, goes on with so many zeros, and is cut before its end: whoever
 * unpacks all of it says that it cannot be unpacked. */
static const char *check_zeros(const char *header, size_t zeros)
{
    static uint8_t block[1 << 20];
    const uint8_t id[GIT_SHA1_BYTES] = {0};
    size_t size = zeros / 500 + 4096;
    cleanup_free uint8_t *packed = malloc(size);
    z_stream z = {.next_out = packed, .avail_out = (uInt)size};
    const char *why;

    assert_non_null(packed);
    assert_int_equal(deflateInit(&z, 9), Z_OK);
    z.next_in = (uint8_t *)(uintptr_t)header;
    z.avail_in = (uInt)strlen(header) + 1;
    assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
    while (zeros) {
        z.avail_in = (uInt)(zeros < sizeof(block) ? zeros : sizeof(block));
        zeros -= z.avail_in;
        z.next_in = block;
        assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
        assert_int_equal(z.avail_in, 0);
    }
    assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
    why = git_object_check(packed, size - z.avail_out, id, sizeof(id));
    (void)deflateEnd(&z);
    assert_non_null(why);
    return why;
}

TEST(work_stops_at_the_header_of_a_bomb)
{
    const size_t many = (size_t)64 << 20;

    assert_non_null(strstr(check_zeros("blob 67108864", many), "too many times its size"));
    assert_non_null(strstr(check_zeros("blob 134217729", many), "too large"));
    assert_non_null(strstr(check_zeros("blob 1342177280", many), "too large"));
    assert_non_null(strstr(check_zeros("blob 99999999999999999999999999", many), "too large"));
    assert_non_null(strstr(check_zeros("blob 100000", many), "its size does not match"));
    assert_non_null(strstr(check_zeros("blob 8388608", 8388608), "cannot be unpacked"));
}

UNIT_MAIN()
