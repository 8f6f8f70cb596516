#include "cluster/job_seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static struct job_seal load(const char *text, int expected)
{
    char path[] = "/tmp/belljar-seal-XXXXXX";
    struct job_seal seal = {{0}};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    assert_int_equal(job_seal_load(path, &seal, NULL), expected);
    (void)unlink(path);
    return seal;
}

#define DIGITS "00112233445566778899aabbccddeeff"

TEST(what_was_sealed_for_a_place_is_read_there_alone)
{
    struct job_seal seal = load(DIGITS DIGITS "\n", 0), other = load(DIGITS DIGITS, 0);
    cleanup(buf_done) struct buf sealed = BUF_OF(1024), text = BUF_OF(1024);
    cleanup_error struct error err = {0};
    struct span whole;

    assert_int_equal(job_seal_close(&seal, "here", (struct span){"secret", 6}, &sealed, NULL), 0);
    whole = (struct span){buf_str(&sealed), sealed.len};
    assert_int_equal(sealed.len, 6 + SEAL_EXTRA);
    assert_null(memmem(whole.data, whole.len, "secret", 6));
    assert_int_equal(job_seal_open(&seal, "here", whole, &text, NULL), 0);
    assert_int_equal(text.len, 6);
    assert_memory_equal(buf_str(&text), "secret", 6);
    assert_int_equal(job_seal_open(&seal, "there", whole, &text, &err), -1);
    assert_int_equal(err.code, E_DENIED);
    other.key[3] ^= 1;
    assert_int_equal(job_seal_open(&other, "here", whole, &text, NULL), -1);
    for (size_t i = 0; i < sealed.len; i++) {
        sealed.data[i] ^= 1;
        assert_int_equal(job_seal_open(&seal, "here", whole, &text, NULL), -1);
        sealed.data[i] ^= 1;
    }
    for (size_t len = 0; len < whole.len; len++)
        assert_int_equal(job_seal_open(&seal, "here", (struct span){whole.data, len}, &text, NULL),
                         -1);
    assert_int_equal(text.len, 6);
}

TEST(a_file_that_is_no_key_is_refused)
{
    static const char *const texts[] = {"", DIGITS, DIGITS DIGITS "0", DIGITS "x" DIGITS};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        (void)load(texts[i], -1);
}

UNIT_MAIN()
