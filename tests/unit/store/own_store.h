/* An empty store for each test, in a directory that goes with the last of them. */
#pragma once

#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/store.h"

static char dir[] = "/tmp/belljar-state-XXXXXX";
static char path[64];
static struct store *store;

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[96];

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

static int set_up(void **state)
{
    (void)state;
    if (!*path && !mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/state.sqlite", dir);
    remove_files();
    store = store_new(path);
    return store ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    store_free(store);
    remove_files();
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}
