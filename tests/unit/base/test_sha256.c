#include "unit.h"

#include "base/cleanup.h"
#include "base/sha256.h"

/* Of FIPS 180-4's examples, and of every length around a block. */
static const struct {
    const char *text, *digest;
} known[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

TEST(digests_are_those_of_the_standard)
{
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        sha256(known[i].text, strlen(known[i].text), digest);
        sha256_to_hex(digest, hex);
        assert_string_equal(hex, known[i].digest);
    }
}

/* The digest of the digests of 0 to 200 bytes `a`: found with another implementation. */
TEST(every_length_around_a_block_is_padded_right)
{
    uint8_t all[201 * SHA256_BYTES], digest[SHA256_BYTES];
    char text[200], hex[2 * SHA256_BYTES + 1];

    memset(text, 'a', sizeof(text));
    for (size_t len = 0; len <= sizeof(text); len++)
        sha256(text, len, all + len * SHA256_BYTES);
    sha256(all, sizeof(all), digest);
    sha256_to_hex(digest, hex);
    assert_string_equal(hex, "1be2d7d291484baf4c78d463a65b40a26c255b1946e5205eac8edad606a76fdd");
}

TEST(hex_is_read_back_and_nothing_else_is)
{
    uint8_t digest[SHA256_BYTES], back[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    sha256("x", 1, digest);
    sha256_to_hex(digest, hex);
    assert_int_equal(sha256_from_hex(hex, back), 0);
    assert_false(sha256_differs(digest, back));
    back[31] ^= 1;
    assert_true(sha256_differs(digest, back));
    hex[63] = 'g';
    assert_int_equal(sha256_from_hex(hex, back), -1);
    hex[63] = '\0';
    assert_int_equal(sha256_from_hex(hex, back), -1);
    assert_int_equal(sha256_from_hex("", back), -1);
}

UNIT_MAIN()
