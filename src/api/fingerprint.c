#include "api/fingerprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/sha256.h"
#include "base/span.h"
#include "http/multipart.h"

/* Compared between two looks at the clock. */
#define PAUSE_COMPARED 1024

struct print {
    struct sha256_stream *hash;
    size_t n_compared;
};

/* A length in front of all bytes: no two values are written alike. */
static void feed(struct print *print, char kind, const void *data, size_t len)
{
    char head[1 + sizeof(uint64_t)] = {kind};
    uint64_t n = len;

    memcpy(head + 1, &n, sizeof(n));
    sha256_feed(print->hash, head, sizeof(head));
    sha256_feed_slowly(print->hash, data, len);
}

static int compare_keys(const void *a, const void *b, void *arg)
{
    struct print *print = arg;

    if (++print->n_compared % PAUSE_COMPARED == 0)
        fiber_pause();
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int feed_value(struct print *print, const json_t *value, struct error *err);

static int feed_object(struct print *print, const json_t *object, struct error *err)
{
    size_t count = json_object_size(object), n = 0;
    cleanup_free const char **keys = calloc(count + 1, sizeof(*keys));
    const char *key;
    json_t *value;

    if (!keys)
        return error_memory(err);
    json_object_foreach((json_t *)object, key, value) keys[n++] = key;
    qsort_r(keys, count, sizeof(*keys), compare_keys, print);
    feed(print, '{', NULL, 0);
    sha256_feed(print->hash, &count, sizeof(count));
    for (size_t i = 0; i < count; i++) {
        feed(print, 'k', keys[i], strlen(keys[i]));
        if (feed_value(print, json_object_get(object, keys[i]), err) < 0)
            return -1;
    }
    return 0;
}

static int feed_array(struct print *print, const json_t *array, struct error *err)
{
    size_t count = json_array_size(array);

    feed(print, '[', NULL, 0);
    sha256_feed(print->hash, &count, sizeof(count));
    for (size_t i = 0; i < count; i++)
        if (feed_value(print, json_array_get(array, i), err) < 0)
            return -1;
    return 0;
}

static int feed_value(struct print *print, const json_t *value, struct error *err)
{
    json_int_t integer = json_integer_value(value);
    double real = json_real_value(value);

    fiber_pause();
    if (fiber_is_cancelled())
        return error_set(err, E_BUSY, "the request is no longer wanted");
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return feed_object(print, value, err);
    case JSON_ARRAY:
        return feed_array(print, value, err);
    case JSON_STRING:
        feed(print, 's', json_string_value(value), json_string_length(value));
        return 0;
    case JSON_INTEGER:
        feed(print, 'i', &integer, sizeof(integer));
        return 0;
    case JSON_REAL:
        feed(print, 'r', &real, sizeof(real));
        return 0;
    default:
        feed(print, json_is_true(value) ? 't' : json_is_false(value) ? 'f' : 'n', NULL, 0);
        return 0;
    }
}

static void feed_files(struct print *print, const struct multipart *parts)
{
    for (size_t i = 0; parts && i < parts->count; i++) {
        const struct multipart_part *part = &parts->parts[i];

        if (!span_is(part->name, "files"))
            continue;
        feed(print, 'p', part->filename.data, part->filename.len);
        if (part->has_digest)
            feed(print, 'd', part->digest, sizeof(part->digest));
        else
            feed(print, 'c', part->content.data, part->content.len);
    }
}

int fingerprint_read(struct request *request, struct error *err)
{
    struct print print = {.hash = sha256_begin()};
    int r = 0;

    if (!print.hash)
        return error_memory(err);
    feed(&print, '/', request->head.path.data, request->head.path.len);
    if (request->json)
        r = feed_value(&print, request->json, err);
    if (r == 0)
        feed_files(&print, request->parts);
    sha256_end(print.hash, request->idempotency.body);
    request->idempotency.has_body = r == 0;
    return r;
}
