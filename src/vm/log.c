#include "vm/log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/machine.h"

struct part {
    int fd; /* -1: there was no machine */
    const struct machine_log *map;
};

struct vm_log {
    struct part before, now;
};

static void part_done(struct part *part)
{
    if (part->map)
        (void)munmap((void *)part->map, sizeof(*part->map));
    part->map = NULL;
    close_fd(&part->fd);
}

/* Nobody can make it smaller, so that reading it never fails. */
static int part_open(struct part *part, struct error *err)
{
    cleanup_close int fd = memfd_create("log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *map;

    if (fd < 0 || ftruncate(fd, sizeof(*part->map)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return error_errno(err, "make a log");
    map = mmap(NULL, sizeof(*part->map), PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error_errno(err, "map a log");
    *part = (struct part){take_fd(fd), map};
    return 0;
}

struct vm_log *vm_log_new(void)
{
    struct vm_log *log = calloc(1, sizeof(*log));

    if (log)
        *log = (struct vm_log){{.fd = -1}, {.fd = -1}};
    return log;
}

void vm_log_free(struct vm_log *log)
{
    if (!log)
        return;
    part_done(&log->before);
    part_done(&log->now);
    free(log);
}

int vm_log_begin(struct vm_log *log, struct error *err)
{
    struct part part = {.fd = -1};

    if (part_open(&part, err) < 0)
        return -1;
    part_done(&log->before);
    log->before = log->now;
    log->now = part;
    return 0;
}

int vm_log_fd(const struct vm_log *log)
{
    return log->now.fd;
}

/* The number is not believed: whatever it is, no more than the ring is read. Lines may end with a
 * carriage return; a line that was cut at the start of the ring is left out. */
static int add_part(const struct part *part, struct buf *out, struct error *err)
{
    uint64_t total = part->map ? __atomic_load_n(&part->map->total, __ATOMIC_ACQUIRE) : 0;
    size_t len = total < MACHINE_LOG_BYTES ? (size_t)total : MACHINE_LOG_BYTES;
    bool is_cut = total > MACHINE_LOG_BYTES, ends_line = true;

    for (size_t i = 0; i < len; i++) {
        char c = part->map->ring[(total - len + i) % MACHINE_LOG_BYTES];

        if (is_cut || c == '\r') {
            is_cut = is_cut && c != '\n';
            continue;
        }
        if (c != '\n' && c != '\t' && (c < ' ' || c > '~'))
            c = '?';
        if (buf_add(out, &c, 1, err) < 0)
            return -1;
        ends_line = c == '\n';
    }
    return ends_line ? 0 : buf_add_str(out, "\n", err);
}

int vm_log_text(const struct vm_log *log, struct buf *out, struct error *err)
{
    if (add_part(&log->before, out, err) < 0)
        return -1;
    if (log->before.map && buf_add_str(out, "--- the next machine ---\n", err) < 0)
        return -1;
    return add_part(&log->now, out, err);
}
