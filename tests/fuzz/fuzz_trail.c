/* Files of a trail, as somebody may have left them: whatever is in them, they are read, verified
 * and mended, and what was mended is whole.
 *
 * The first byte says whether the input is a file of records, a head, or a receipt. */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/index.h"
#include "audit/receipt.h"
#include "audit/signed_head.h"
#include "audit/trail.h"
#include "audit/verify.h"
#include "base/cleanup.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory: a disk would be waited for with every input. */
static char dir[] = "/dev/shm/bj-fuzz-trail-XXXXXX";
static char key_dir[] = "/dev/shm/bj-fuzz-key-XXXXXX";

static void clear(int fd)
{
    cleanup_closedir DIR *entries = file_open_dir(fd, ".");
    struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        if (*entry->d_name != '.')
            (void)unlinkat(fd, entry->d_name, 0);
}

static void at_end(void)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int keys = open(key_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    clear(fd);
    clear(keys);
    (void)close(fd);
    (void)close(keys);
    (void)rmdir(dir);
    (void)rmdir(key_dir);
}

static struct trail *open_trail(void)
{
    const struct trail_options options = {.dir = dir, .key_dir = key_dir, .file_bytes = 1 << 20};
    struct trail *trail = NULL;

    assert(trail_open(&options, &trail, NULL) == 0);
    return trail;
}

static void put(int fd, const char *name, const uint8_t *data, size_t size)
{
    cleanup_close int file = openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert(file >= 0 && file_write_all(file, data, size) == 0);
}

static uint64_t verify(void)
{
    cleanup_close int keys = open(key_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct key_pair *key = NULL;
    struct verify_options options = {.n_keys = 1};
    struct verify_result result = {0};
    struct error err = {0};
    bool is_new;

    assert(key_open(keys, TRAIL_KEY_NAME, &key, &is_new, NULL) == 0 && !is_new);
    options.keys = key_public(key);
    options.secret = key_mac(key);
    assert(verify_trail(dir, &options, &result, &err) == 0);
    key_free(key);
    return result.problems;
}

static int count_row(void *user, const struct index_row *row, const struct buf *line,
                     const struct buf *start, struct error *err)
{
    (void)start;
    (void)err;
    assert(row->time && row->kind && line->len);
    ++*(size_t *)user;
    return 0;
}

static void find_all(void)
{
    const struct index_filter filter = {.text = "a", .has_starts = true};
    struct index *index = NULL;
    size_t count = 0;

    assert(index_open(dir, &index, NULL) == 0);
    assert(index_find(index, &filter, count_row, &count, NULL) == 0);
    index_close(index);
}

/* Bytes behind a good trail: they are set aside, or are records of somebody else, and that is
 * noticed. Then one more record, and nothing new is wrong. */
static void as_records(int fd, const uint8_t *data, size_t size)
{
    cleanup(record_done) struct record record = {0};
    cleanup_close int file = -1;
    struct trail *trail;
    uint64_t problems;

    trail_close(open_trail());
    file = openat(fd, "0000000000000001.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);
    assert(file >= 0 && file_write_all(file, data, size) == 0);
    problems = verify();
    assert(problems || !size);
    find_all();
    record_init(&record, "test");
    trail = open_trail();
    assert(trail_append(trail, &record, TRAIL_EVENT, NULL, NULL) == 0);
    trail_close(trail);
    assert(verify() <= problems + 1);
    find_all();
}

static void as_head(int fd, const uint8_t *data, size_t size)
{
    struct signed_head head;

    trail_close(open_trail());
    put(fd, SIGNED_HEAD_NAME, data, size);
    (void)verify();
    if (signed_head_parse((const char *)data, size, &head, NULL) == 0) {
        char text[SIGNED_HEAD_TEXT_SIZE];

        signed_head_text(&head, text);
    }
    trail_close(open_trail());
    (void)verify();
}

static void as_receipt(const uint8_t *data, size_t size)
{
    static const struct key_public nobody;
    struct receipt receipt;
    struct record_mark mark;

    if (receipt_parse((const char *)data, size, &receipt, NULL) < 0)
        return;
    (void)receipt_mark(&receipt, &mark, NULL);
    assert(receipt_check(&receipt, &nobody, NULL) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;

    if (fd < 0) {
        assert(mkdtemp(dir) && mkdtemp(key_dir));
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert(fd >= 0 && atexit(at_end) == 0);
    }
    clear(fd);
    {
        cleanup_close int keys = open(key_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        clear(keys); /* a trail without files and with a key was taken away */
    }
    if (!size)
        return 0;
    if (data[0] == 'h')
        as_head(fd, data + 1, size - 1);
    else if (data[0] == 'k')
        as_receipt(data + 1, size - 1);
    else
        as_records(fd, data + 1, size - 1);
    return 0;
}
