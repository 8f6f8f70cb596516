#include "base/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static const struct {
    const char *name;
    const char *in_checkout; /* from the build directory */
} data_dirs[] = {
    {"policies", "../policies"},
    {"escape", "../tests/escape/corpus"},
    {"skills", "../skills"},
};

/* The directory of the running program, without the final slash. */
static int program_dir(char dir[PATH_MAX], struct error *err)
{
    ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
    char *slash;

    if (n < 0) {
        error_errno(err, "find the program's own directory");
        return error_hint(err, "/proc must be mounted");
    }
    dir[n] = '\0';
    slash = strrchr(dir, '/');
    if (slash)
        *slash = '\0';
    return 0;
}

static char *join(const char *dir, const char *name, struct error *err)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        error_memory(err);
        return NULL;
    }
    return path;
}

int paths_in_prefix(const char *inside, char **ret_path, struct error *err)
{
    char dir[PATH_MAX], *path;
    size_t len, bin = strlen("/" BELLJAR_BIN);

    if (program_dir(dir, err) < 0)
        return -1;
    len = strlen(dir);
    if (len < bin || strcmp(dir + len - bin, "/" BELLJAR_BIN) != 0)
        return 0;
    dir[len - bin] = '\0';
    path = join(dir, inside, err);
    if (!path)
        return -1;
    *ret_path = path;
    return 1;
}

/* Refuses what somebody else may have put there. Who can change the program itself gains nothing
 * here, so its owner and root are trusted, and groups that a directory was given to on purpose. */
static int check_owner(const char *path, struct error *err)
{
    struct stat program, st;

    if (stat("/proc/self/exe", &program) < 0 || stat(*path ? path : "/", &st) < 0)
        return error_errno(err, "look at `%s`", path);
    if ((st.st_uid == 0 || st.st_uid == program.st_uid) && (st.st_mode & S_IWOTH) == 0)
        return 0;
    error_set(err, E_DENIED, "`%s` is not taken as a part of Belljar: others can change it", path);
    return error_hint(err, "make it the program's owner's with `chown`, and `chmod o-w` it");
}

/* `path`, which ends with `inside`, and each directory from the prefix on. */
static int check_owners(char *path, const char *inside, struct error *err)
{
    char *slash = path + strlen(path) - strlen(inside) - 1;

    for (; slash; slash = strchr(slash + 1, '/')) {
        int r;

        *slash = '\0';
        r = check_owner(path, err);
        *slash = '/';
        if (r < 0)
            return -1;
    }
    return check_owner(path, err);
}

/* Finds a file that was moved together with the program, else where it was installed. */
static char *find(const char *dir_inside, const char *dir_installed, const char *name,
                  struct error *err)
{
    cleanup_free char *inside = join(dir_inside, name, err);
    cleanup_free char *moved = NULL;

    if (!inside || paths_in_prefix(inside, &moved, err) < 0)
        return NULL;
    if (!moved || access(moved, F_OK) < 0)
        return join(dir_installed, name, err);
    return check_owners(moved, inside, err) < 0 ? NULL : take_ptr(moved);
}

char *paths_program(const char *name, struct error *err)
{
    cleanup_free char *beside = NULL;
    char dir[PATH_MAX];

    if (program_dir(dir, err) < 0)
        return NULL;
    beside = join(dir, name, err);
    if (!beside || access(beside, X_OK) == 0)
        return take_ptr(beside);
    return find(BELLJAR_LIBEXEC, BELLJAR_LIBEXECDIR, name, err);
}

/* A build directory is known by the zygote beside the program. */
char *paths_data(const char *name, struct error *err)
{
    cleanup_free char *beside = NULL;
    char dir[PATH_MAX];

    if (program_dir(dir, err) < 0)
        return NULL;
    beside = join(dir, "belljar-zygote", err);
    if (!beside)
        return NULL;
    for (size_t i = 0; access(beside, X_OK) == 0 && i < ARRAY_SIZE(data_dirs); i++)
        if (strcmp(data_dirs[i].name, name) == 0)
            return join(dir, data_dirs[i].in_checkout, err);
    return find(BELLJAR_SHARE, BELLJAR_DATADIR, name, err);
}

static int make_private(const char *dir, struct error *err)
{
    if (mkdir(dir, S_IRWXU) < 0 && errno != EEXIST)
        return error_errno(err, "make `%s`", dir);
    return 0;
}

/* With those above it, as XDG's variables want it. */
static int make_private_path(char *dir, struct error *err)
{
    for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        int r;

        *slash = '\0';
        r = make_private(dir, err);
        *slash = '/';
        if (r < 0)
            return -1;
    }
    return make_private(dir, err);
}

/* The directory that a variable of XDG's names, or the one below HOME, and `belljar` in it. Each
 * directory on the way that is ours to make: those of the user's home may be missing, too. */
static char *own_dir(const char *variable, const char *const below_home[2], const char *name,
                     struct error *err)
{
    const char *base = getenv(variable), *home = getenv("HOME");
    char dir[PATH_MAX];
    int r = 0;

    if (base && *base == '/') {
        (void)snprintf(dir, sizeof(dir), "%s", base);
        r = make_private_path(dir, err);
    } else if (home && *home == '/') {
        for (size_t i = 0; i < 2 && r == 0; i++) {
            (void)snprintf(dir, sizeof(dir), "%s%s", home, below_home[i]);
            r = make_private(dir, err);
        }
    } else {
        error_set(err, E_NOT_FOUND,
                  "cannot choose a directory for `%s`: neither %s nor HOME is set", name, variable);
        return NULL;
    }
    if (r == 0) {
        cleanup_free char *ours = join(dir, "belljar", err);

        if (ours && make_private(ours, err) == 0)
            return join(ours, name, err);
    }
    return NULL;
}

char *paths_state(const char *name, struct error *err)
{
    return own_dir("XDG_STATE_HOME", (const char *const[]){"/.local", "/.local/state"}, name, err);
}

char *paths_made(const char *name, struct error *err)
{
    const char *base = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool has_base = base && *base == '/';
    char *path = NULL;
    int r;

    if (!has_base && geteuid() == 0)
        r = asprintf(&path, "/var/lib/belljar/%s", name);
    else if (!has_base && (!home || *home != '/'))
        r = error_set(err, E_NOT_FOUND, "cannot find `%s`: neither XDG_DATA_HOME nor HOME is set",
                      name);
    else
        r = asprintf(&path, "%s%s/belljar/%s", has_base ? base : home,
                     has_base ? "" : "/.local/share", name);
    if (r >= 0)
        return path;
    if (err && err->code == E_NONE)
        error_memory(err);
    return NULL;
}

static int check_private(const char *dir, struct error *err)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return error_errno(err, "directory `%s`", dir);
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0)
        return 0;
    error_set(err, E_DENIED, "`%s` is not a directory that you alone can write to", dir);
    return error_hint(err, "make it yours: chown and chmod 700");
}

char *paths_runtime(const char *name, struct error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char dir[PATH_MAX];

    if (!runtime || *runtime != '/')
        runtime = geteuid() == 0 ? "/run" : NULL;
    if (!runtime)
        return paths_state(name, err);
    (void)snprintf(dir, sizeof(dir), "%s/belljar", runtime);
    if (make_private(dir, err) < 0 || check_private(dir, err) < 0)
        return NULL;
    return join(dir, name, err);
}
