/* The n-th allocation fails, for every n: each of these either succeeds or says that it did not,
 * and nothing leaks or is used half-built. (Leaks are seen by the build with the address checker.)
 */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>

#include "admit/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "base/run.h"
#include "base/stream.h"
#include "mask/masker.h"
#include "wire/frame.h"
#include "wire/policy.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/* How many allocations still succeed; -1: all. */
static int countdown = -1;
static bool has_failed;

static bool fails(void)
{
    if (countdown < 0 || countdown-- > 0)
        return false;
    countdown = -1; /* one failure, then memory is back: the way out has to work, too */
    has_failed = true;
    return true;
}

#define WRAP(type, name, parameters, arguments, failure)                                           \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails() ? (failure) : __real_##name arguments;                                      \
    }

WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL)
WRAP(void *, realloc, (void *p, size_t size), (p, size), NULL)
WRAP(char *, strdup, (const char *s), (s), NULL)
WRAP(char *, strndup, (const char *s, size_t n), (s, n), NULL)

/* The compiler may call the checked ones instead. They print through the C library's own, which is
 * not wrapped. */
int __wrap_vasprintf(char **ret, const char *fmt, va_list args);
int __wrap___vasprintf_chk(char **ret, int flag, const char *fmt, va_list args);
int __wrap_asprintf(char **ret, const char *fmt, ...);
int __wrap___asprintf_chk(char **ret, int flag, const char *fmt, ...);

static int print(char **ret, const char *fmt, va_list args)
{
    va_list again;
    int len;

    *ret = NULL;
    if (fails())
        return -1;
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    *ret = len < 0 ? NULL : __real_malloc((size_t)len + 1);
    return *ret ? vsnprintf(*ret, (size_t)len + 1, fmt, args) : -1;
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list args)
{
    return print(ret, fmt, args);
}

int __wrap___vasprintf_chk(char **ret, int flag, const char *fmt, va_list args)
{
    (void)flag;
    return print(ret, fmt, args);
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = print(ret, fmt, args);
    va_end(args);
    return n;
}

int __wrap___asprintf_chk(char **ret, int flag, const char *fmt, ...)
{
    va_list args;
    int n;

    (void)flag;
    va_start(args, fmt);
    n = print(ret, fmt, args);
    va_end(args);
    return n;
}

/* Runs `body` with the first, second, ... allocation failing, until none fails any more. `body`
 * returns whether it succeeded. */
static void torture(bool (*body)(void))
{
    int n = 0;

    do {
        bool ok;

        assert_true(n < 5000);
        has_failed = false;
        countdown = n++;
        ok = body();
        countdown = -1;
        if (!has_failed)
            assert_true(ok);
    } while (has_failed);
    assert_true(n > 1); /* else it allocates nothing and this is no test */
}

/* --- bodies --- */

static bool use_pack(void)
{
    struct pack p;
    bool ok;

    pack_init(&p, 65536);
    for (int i = 0; i < 500; i++)
        pack_str(&p, "some text");
    ok = !p.failed;
    if (ok)
        assert_int_equal(p.len, 500 * 13);
    pack_done(&p);
    return ok;
}

static bool use_frame(void)
{
    uint8_t bytes[2 * (FRAME_HEADER + 16)] = {0};
    struct frame_decoder d;
    size_t at = 0, frames = 0, used;
    struct frame f;
    int r = 0;

    frame_header(bytes, WIRE_RESULT, 16);
    frame_header(bytes + FRAME_HEADER + 16, WIRE_RESULT, 16);
    frame_decoder_init(&d);
    while (at < sizeof(bytes) && r >= 0) {
        r = frame_feed(&d, bytes + at, sizeof(bytes) - at, &used, &f);
        at += used;
        frames += r == 1;
    }
    if (r < 0) /* for good, also when there is memory again */
        assert_int_equal(frame_feed(&d, bytes, sizeof(bytes), &used, &f), -1);
    frame_decoder_done(&d);
    return frames == 2;
}

static bool use_buf(void)
{
    struct error err = {0};
    struct buf b;
    bool ok = true;

    buf_init(&b, 100000);
    for (int i = 0; i < 300 && ok; i++) {
        size_t before = b.len;

        ok = buf_add(&b, "0123456789", 10, &err) == 0 && buf_printf(&b, &err, "%d\n", i) == 0;
        if (!ok)
            assert_true(b.len >= before);
    }
    assert_int_equal(strlen(buf_str(&b)), b.len);
    if (!ok)
        assert_int_not_equal(err.code, E_NONE);
    error_done(&err);
    buf_done(&b);
    return ok;
}

/* An error about a lack of memory must not need any: the code stays right even where the words are
 * lost. */
static bool use_error(void)
{
    struct error err = {0};
    bool has_words;

    assert_int_equal(error_set(&err, E_DENIED, "no %s", "entry"), -1);
    assert_int_equal(err.code, E_DENIED);
    (void)error_wrap(&err, "while %d", 1);
    (void)error_hint(&err, "knock");
    assert_int_equal(err.code, E_DENIED);
    has_words = err.message && err.hint && strcmp(err.message, "while 1: no entry") == 0;
    error_done(&err);
    return has_words;
}

static bool use_run(void)
{
    struct error err = {0};
    struct run *run = run_new();
    bool ok = run && buf_add_str(&run->program.code, "print(1)", &err) == 0 &&
              run_stream_add(&run->result.out, masker_pass_unmasked("text", 4), &err) == 0;

    run_free(run);
    error_done(&err);
    return ok;
}

static bool use_policy(void)
{
    static uint8_t encoded[4096];
    static size_t len;
    struct wire_policy got = {0};

    if (!len) { /* once, while memory is there */
        struct policy_row rows[] = {
            {POLICY_IMPORT_ALLOW, span_of("math"), span_of("")},
            {POLICY_HINT, span_of("import:os"), span_of("no")},
        };
        struct wire_policy policy = {
            .profile = span_of("p"), .max_bytes = 10, .max_lines = 10, .rows = rows, .n_rows = 2};
        int kept = countdown;
        struct pack p;

        countdown = -1;
        pack_init(&p, sizeof(encoded));
        wire_policy_encode(&policy, &p);
        assert_false(p.failed);
        memcpy(encoded, p.data, p.len);
        len = p.len;
        pack_done(&p);
        countdown = kept;
    }
    if (wire_policy_decode((struct span){(const char *)encoded, len}, &got) < 0) {
        assert_null(got.rows);
        return false;
    }
    wire_policy_done(&got);
    return true;
}

/* Length of the rules of `strict`, read while memory is there. */
static size_t whole_profile;

static bool use_profile(void)
{
    struct profile *profile = NULL;
    struct error err = {0};
    int r = profile_load("strict", POLICIES_DIR, &profile, &err);

    if (r < 0) {
        assert_null(profile);
        assert_int_not_equal(err.code, E_NONE);
    } else if (whole_profile) { /* one that lost a rule on the way would be a hole */
        assert_int_equal(profile_encoded(profile).len, whole_profile);
    } else {
        whole_profile = profile_encoded(profile).len;
    }
    profile_free(profile);
    error_done(&err);
    return r == 0;
}

static void nothing(void *arg)
{
    (void)arg;
}

static bool use_loop(void)
{
    struct error err = {0};
    struct loop *loop = loop_new(&err);
    struct loop_watch *timer = loop ? loop_timer(loop, nothing, NULL) : NULL;
    bool ok = timer != NULL;

    loop_watch_free(timer);
    loop_free(loop);
    error_done(&err);
    return ok;
}

#define TORTURE(name, body)                                                                        \
    TEST(name)                                                                                     \
    {                                                                                              \
        torture(body);                                                                             \
    }

TORTURE(a_message_that_cannot_be_packed_says_so, use_pack)
TORTURE(a_frame_there_is_no_room_for_breaks_its_stream, use_frame)
TORTURE(a_buffer_that_cannot_grow_keeps_what_it_has, use_buf)
TORTURE(an_error_keeps_its_code_without_words, use_error)
TORTURE(a_run_is_made_whole_or_not_at_all, use_run)
TORTURE(a_policy_is_read_whole_or_not_at_all, use_policy)

TEST(a_profile_is_read_whole_or_not_at_all)
{
    assert_true(use_profile());
    torture(use_profile);
}

TORTURE(a_loop_is_made_whole_or_not_at_all, use_loop)

UNIT_MAIN()
