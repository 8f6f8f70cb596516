#include "vm/door.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"

#define PROC_BYTES 8192

/* belljar-machine, the first process of its namespace, and what that one starts. */
#define DEPTH 3

static bool read_proc(pid_t pid, const char *name, char text[PROC_BYTES])
{
    char path[96];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return file_read(AT_FDCWD, path, text, PROC_BYTES) >= 0;
}

/* 0: it is not there. */
static pid_t find_qemu(pid_t pid, unsigned depth)
{
    char text[PROC_BYTES], name[64];
    pid_t found = 0;

    if (read_proc(pid, "comm", text) && strncmp(text, "qemu-system", 11) == 0)
        return pid;
    (void)snprintf(name, sizeof(name), "task/%d/children", (int)pid);
    if (depth == 0 || !read_proc(pid, name, text))
        return 0;
    for (char *next = text, *end; !found; next = end) {
        long child = strtol(next, &end, 10);

        if (end == next)
            break;
        found = find_qemu((pid_t)child, depth - 1);
    }
    return found;
}

/* Its own memory and that of the guest, as far as it was touched. */
static json_t *resident_json(pid_t qemu)
{
    static const char key[] = "VmRSS:";
    char text[PROC_BYTES];
    const char *line;

    if (!qemu || !read_proc(qemu, "status", text) || !(line = strstr(text, key)))
        return json_null();
    return json_integer((json_int_t)strtoll(line + strlen(key), NULL, 10) * 1024);
}

static json_t *seconds_json(uint64_t ns)
{
    return json_real((double)(ns / 1000000) / 1e3);
}

static json_t *failure_json(const struct keeper_facts *facts, uint64_t now)
{
    return facts->failure ? json_pack("{s:s, s:o, s:o}", "message", error_message(facts->failure),
                                      "hint", json_string_or_null(facts->failure->hint), "ago_s",
                                      seconds_json(now - facts->failure_ns))
                          : json_null();
}

static json_t *number_or_null(int64_t number)
{
    return number ? json_integer((json_int_t)number) : json_null();
}

static json_t *status(void *user)
{
    static const char *const states[] = {"stopped", "starting", "up"};
    uint64_t now = loop_now_ns();
    struct keeper_facts f;
    pid_t qemu;

    keeper_facts(user, &f);
    qemu = f.pid ? find_qemu(f.pid, DEPTH) : 0;
    return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:I, s:I, s:o, s:o}",
                     "state", states[f.state], "kind", f.is_emulated ? "tcg" : "kvm", "server_pid",
                     (int)getpid(), "pid", number_or_null(f.pid), "qemu_pid", number_or_null(qemu),
                     "up_s", f.up_ns ? seconds_json(now - f.up_ns) : json_null(), "boot_s",
                     f.up_ns ? seconds_json(f.boot_ns) : json_null(), "memory_mb",
                     (json_int_t)f.memory_mb, "cpus", (json_int_t)f.cpus, "resident_bytes",
                     resident_json(qemu), "requests", (json_int_t)f.n_runs, "starts",
                     (json_int_t)f.n_starts, "last_failure", failure_json(&f, now), "retry_s",
                     f.retry_ns > now ? seconds_json(f.retry_ns - now) : json_null());
}

static bool stop(void *user)
{
    return keeper_stop(user);
}

static int give_log(void *user, struct buf *out, struct error *err)
{
    return keeper_log(user, out, err);
}

void machine_door_init(struct machine_door *door, struct keeper *keeper)
{
    *door = (struct machine_door){.user = keeper, .status = status, .stop = stop, .log = give_log};
}
