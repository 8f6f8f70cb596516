#include "engine/fingerprint.h"

#include <dirent.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"

/* The first line of that file that begins with the word. Nothing where there is none. */
static int add_line(struct buf *text, const char *path, const char *word, struct error *err)
{
    FILE *file = fopen(path, "re");
    char line[512];
    int r = 0;

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, word, strlen(word)) == 0) {
            r = buf_add_str(text, line, err);
            break;
        }
    if (file)
        (void)fclose(file);
    return r;
}

static int is_package(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && (strcmp(dot, ".dist-info") == 0 || strcmp(dot, ".egg-info") == 0);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Their names hold their versions. */
static int add_packages(struct buf *text, const char *directory, struct error *err)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_package, by_bytes), r = 0;

    for (int i = 0; i < count; i++) {
        if (r == 0)
            r = buf_printf(text, err, "%s\n", entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return r;
}

static int add_environment(struct buf *text, const struct environment *e, struct error *err)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < e->n_binds; i++) {
        (void)snprintf(path, sizeof(path), "%s/lib/python%s/site-packages", e->binds[i],
                       e->version);
        if (add_packages(text, path, err) < 0)
            return -1;
    }
    return add_packages(text, "/usr/lib/python3/dist-packages", err);
}

int fingerprint_of(const struct environment *environment, const char *python_version,
                   char ret_text[FINGERPRINT_TEXT], struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    uint8_t digest[SHA256_BYTES];
    struct utsname host;

    if (uname(&host) < 0)
        return error_errno(err, "uname");
    if (buf_printf(&text, err, "belljar %s\npython %s\nmachine %s\nlibc %s\n", BELLJAR_VERSION,
                   python_version, host.machine, gnu_get_libc_version()) < 0 ||
        add_line(&text, "/proc/cpuinfo", "model name", err) < 0 ||
        add_line(&text, "/proc/cpuinfo", "flags", err) < 0 ||
        add_environment(&text, environment, err) < 0)
        return -1;
    sha256(buf_str(&text), text.len, digest);
    sha256_to_hex(digest, ret_text);
    return 0;
}
