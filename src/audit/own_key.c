#include "audit/own_key.h"

#include <fcntl.h>
#include <stdbool.h>

#include "audit/trail.h"
#include "base/cleanup.h"
#include "base/paths.h"

int own_key_open(const char *trail_dir, struct key_pair **ret_key, struct error *err)
{
    char name[TRAIL_KEY_SIZE];
    cleanup_free char *state = paths_state(".", err);
    cleanup_close int dir = state ? open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct key_pair *key = NULL;
    bool is_new = false;

    if (dir < 0)
        return state ? error_errno(err, "open `%s`", state) : -1;
    trail_key_name(trail_dir, name);
    if (key_open(dir, name, &key, &is_new, err) < 0)
        return -1;
    if (!is_new) {
        *ret_key = key;
        return 0;
    }
    key_free(key);
    return error_set(err, E_NOT_FOUND, "there is no key `%s` in `%s`", name, state);
}

int own_key_read(const char *trail_dir, struct key_public *ret_key, struct error *err)
{
    struct key_pair *key = NULL;

    if (own_key_open(trail_dir, &key, err) < 0)
        return -1;
    *ret_key = *key_public(key);
    key_free(key);
    return 0;
}
