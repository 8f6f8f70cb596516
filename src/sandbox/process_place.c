#include "sandbox/process_place.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/janitor.h"
#include "sandbox/landlock.h"
#include "sandbox/remove_tree.h"

/* Sandboxes of a supervisor that was killed end at about the time when the janitor begins. */
#define REMOVE_TIMES    100
#define REMOVE_PAUSE_MS 100

/* Both are places that the policy of Python takes for a program's own (guest/policy/caller.c). */
static const char *const parents[] = {"/tmp", "/var/tmp"};

static struct {
    char path[64];
    struct ns_ids ids;
    pid_t janitor;
    unsigned users;
} place;

/* The directory itself is in one that is not ours to change: it is left to the caller. */
static bool empty_place(void)
{
    cleanup_closedir DIR *dir = opendir(place.path);
    struct dirent *entry;
    bool is_empty = dir != NULL;

    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            is_empty = remove_tree(dirfd(dir), entry->d_name) == 0 && is_empty;
    return is_empty;
}

/* Programs made everything in there: it is removed as their user, and nothing else can be. */
static void __attribute__((noreturn)) remove_confined(void)
{
    const struct landlock_path inside = {place.path, LANDLOCK_WRITE};

    if (geteuid() == 0 &&
        (setgroups(0, NULL) < 0 ||
         setresgid(place.ids.gid_base, place.ids.gid_base, place.ids.gid_base) < 0 ||
         setresuid(place.ids.uid_base, place.ids.uid_base, place.ids.uid_base) < 0))
        _exit(1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_restrict(&inside, 1, NULL) < 0)
        _exit(1);
    for (int i = 0; i < REMOVE_TIMES; i++) {
        if (empty_place())
            _exit(0);
        (void)poll(NULL, 0, REMOVE_PAUSE_MS);
    }
    _exit(1);
}

static void remove_place(void *unused)
{
    pid_t pid = fork();

    (void)unused;
    if (pid == 0)
        remove_confined();
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    (void)rmdir(place.path);
}

static int make(struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
        /* The name tells the supervisor. */
        (void)snprintf(place.path, sizeof(place.path), "%s/belljar-%d-XXXXXX", parents[i],
                       (int)getpid());
        if (!mkdtemp(place.path))
            continue;
        if (geteuid() != 0 || chown(place.path, place.ids.uid_base, place.ids.gid_base) == 0)
            return 0;
        (void)rmdir(place.path);
        break;
    }
    error_errno(err, "make a directory in /tmp or /var/tmp");
    return error_hint(err, "isolation `process` keeps the files of programs there: make one of "
                           "them writable, for example as a volume in memory");
}

int process_place_open(const struct ns_ids *ids, const char **ret_directory, struct error *err)
{
    if (place.users == 0) {
        place.ids = *ids;
        if (make(err) < 0)
            return -1;
        place.janitor = janitor_start(NULL, remove_place, NULL, err);
        if (place.janitor < 0) {
            (void)rmdir(place.path);
            return -1;
        }
    }
    place.users++;
    *ret_directory = place.path;
    return 0;
}

void process_place_close(void)
{
    if (place.users == 0 || --place.users > 0)
        return;
    remove_place(NULL);
    janitor_stop(place.janitor);
}
