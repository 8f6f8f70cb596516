#include "place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "mask/masker.h"

char place[] = "/tmp/bj-trail-XXXXXX";
char place_key[] = "/tmp/bj-trailkey-XXXXXX";
char place_notes[1024];

static void empty(const char *dir)
{
    cleanup_closedir DIR *entries = opendir(dir);
    struct dirent *entry;

    assert_non_null(entries);
    while ((entry = readdir(entries)))
        if (*entry->d_name != '.')
            assert_int_equal(unlinkat(dirfd(entries), entry->d_name, 0), 0);
}

int place_make(void **state)
{
    (void)state;
    return mkdtemp(place) && mkdtemp(place_key) ? 0 : -1;
}

int place_remove(void **state)
{
    (void)state;
    place_clear();
    return rmdir(place) + rmdir(place_key);
}

void place_clear(void)
{
    empty(place);
    empty(place_key);
}

static void on_note(void *user, const char *text)
{
    size_t len = strlen(place_notes);

    (void)user;
    (void)snprintf(place_notes + len, sizeof(place_notes) - len, "%s\n", text);
}

struct trail *place_open(uint64_t file_bytes)
{
    const struct trail_options options = {
        .dir = place, .key_dir = place_key, .file_bytes = file_bytes, .on_note = on_note};
    struct trail *trail = NULL;
    struct error err = {0};

    *place_notes = '\0';
    if (trail_open(&options, &trail, &err) < 0)
        fail_msg("%s", err.message);
    return trail;
}

int place_append(struct trail *trail, const char *text, struct record_mark *ret_mark,
                 struct error *err)
{
    cleanup(record_done) struct record record = {0};

    record_init(&record, "test");
    record_text(&record, "text", masker_pass_unmasked(text, strlen(text)));
    return trail_append(trail, &record, TRAIL_EVENT, ret_mark, err);
}

void place_fill(size_t count, uint64_t file_bytes)
{
    struct trail *trail;
    char text[64];

    place_clear();
    trail = place_open(file_bytes);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(text, sizeof(text), "number %zu", i);
        assert_int_equal(place_append(trail, text, NULL, NULL), 0);
    }
    trail_close(trail);
}

void place_path(const char *name, char path[256])
{
    (void)snprintf(path, 256, "%s/%s", place, name);
}

void place_read(const char *name, struct buf *out)
{
    char path[256];
    cleanup_close int fd = -1;

    place_path(name, path);
    buf_init(out, SIZE_MAX / 2);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(buf_read_fd(out, fd, NULL), 0);
}

void place_write(const char *name, const void *data, size_t len)
{
    char path[256];
    cleanup_close int fd = -1;

    place_path(name, path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, data, len), 0);
}

static void on_finding(void *user, bool is_problem, const char *text)
{
    assert_int_equal(buf_printf(user, NULL, "%s %s\n", is_problem ? "problem" : "note", text), 0);
}

uint64_t place_verify_against(const struct record_mark *against, struct buf *ret_text,
                              struct verify_result *ret_result)
{
    cleanup_close int dir = open(place_key, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct key_pair *key = NULL;
    struct verify_options options = {.n_keys = 1, .on_finding = on_finding, .user = ret_text};
    struct verify_result result;
    struct error err = {0};
    bool is_new;

    assert_int_equal(key_open(dir, TRAIL_KEY_NAME, &key, &is_new, NULL), 0);
    options.keys = key_public(key);
    options.secret = key_mac(key);
    if (against)
        options.against = *against;
    buf_clear(ret_text);
    if (verify_trail(place, &options, &result, &err) < 0)
        fail_msg("%s", err.message);
    if (ret_result)
        *ret_result = result;
    key_free(key);
    return result.problems;
}

uint64_t place_verify(struct buf *ret_text, struct verify_result *ret_result)
{
    return place_verify_against(NULL, ret_text, ret_result);
}
