#include "machine/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/cleanup.h"
#include "machine/image.h"
#include "sandbox/caps.h"
#include "wire/machine.h"

#define WORDS_MAX      96
#define CPUINFO_BYTES  16384
#define DESCRIPTOR_LOW 3

/* Debian 12 has the one in C, later releases that in Rust. */
static const char *const daemons[] = {"/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd"};

static const char *find_daemon(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(daemons); i++)
        if (access(daemons[i], X_OK) == 0)
            return daemons[i];
    return NULL;
}

static int check_qemu(char found[MONITOR_TEXT], struct error *err)
{
    if (access(MONITOR_QEMU, X_OK) < 0) {
        error_set(err, E_UNSUPPORTED, "there is no " MONITOR_QEMU);
        return error_hint(err, "install qemu-system-x86");
    }
    (void)snprintf(found, MONITOR_TEXT, MONITOR_QEMU);
    return 0;
}

static int check_daemon(char found[MONITOR_TEXT], struct error *err)
{
    const char *daemon = find_daemon();

    if (!daemon) {
        error_set(err, E_UNSUPPORTED, "there is no virtiofsd");
        return error_hint(err, "install qemu-system-common, or virtiofsd");
    }
    (void)snprintf(found, MONITOR_TEXT, "%s", daemon);
    return 0;
}

/* QEMU is never root: a device that only root may open is of no use (machine/wall.c). */
static bool is_roots_alone(const struct stat *st)
{
    return geteuid() == 0 && (st->st_mode & 0006) != 0006 &&
           ((st->st_mode & 0060) != 0060 || st->st_gid == 0);
}

/* A device that opens may still make no machines: where Belljar is in a virtual machine itself. */
static int check_kvm(char found[MONITOR_TEXT], struct error *err)
{
    static const char nested[] = "load the module kvm_intel or kvm_amd; in a virtual machine, have "
                                 "its host allow nested ones";
    cleanup_close int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), machine = -1;
    struct stat st;

    if (kvm < 0 && (errno == ENOENT || errno == ENODEV || errno == ENXIO)) {
        error_set(err, E_UNSUPPORTED, "there is no /dev/kvm");
        return error_hint(err, "%s", nested);
    }
    if (kvm < 0) {
        error_set(err, E_UNSUPPORTED, "/dev/kvm cannot be used: %s", strerror(errno));
        return error_hint(err, "add this user to the group kvm");
    }
    if (fstat(kvm, &st) < 0 || is_roots_alone(&st)) {
        error_set(err, E_UNSUPPORTED,
                  "/dev/kvm can be used by root alone, and QEMU does not run "
                  "as root");
        return error_hint(err, "`chgrp kvm /dev/kvm && chmod 660 /dev/kvm`");
    }
    machine = ioctl(kvm, KVM_CREATE_VM, 0);
    if (machine < 0) {
        error_set(err, E_UNSUPPORTED, "KVM cannot create a virtual machine: %s", strerror(errno));
        return error_hint(err, "%s", nested);
    }
    (void)snprintf(found, MONITOR_TEXT, "/dev/kvm can create virtual machines");
    return 0;
}

const struct monitor_part monitor_parts[MONITOR_PARTS] = {
    {"QEMU", check_qemu, false}, {"virtiofsd", check_daemon, false}, {"KVM", check_kvm, true}};

int monitor_check(bool is_emulated, struct error *err)
{
    char found[MONITOR_TEXT];

    for (size_t i = 0; i < MONITOR_PARTS; i++)
        if (!(is_emulated && monitor_parts[i].is_for_kvm) && monitor_parts[i].check(found, err) < 0)
            return -1;
    return 0;
}

/* --- words of a command --- */

struct words {
    char *list[WORDS_MAX + 1];
    size_t n;
    bool failed;
};

static void words_done(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->list[i]);
}

static __attribute__((format(printf, 2, 3))) void add(struct words *w, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (w->n == WORDS_MAX || vasprintf(&w->list[w->n], fmt, args) < 0)
        w->failed = true;
    else
        w->n++;
    va_end(args);
}

/* Of the host's processor; 0: it does not say. A machine whose instructions are translated cannot
 * find out how fast its clock goes, and would wait for a timer that it does not have. */
static unsigned clock_khz(void)
{
    static const char key[] = "cpu MHz";
    char text[CPUINFO_BYTES];
    cleanup_close int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    const char *line;

    if (n < 0)
        return 0;
    text[n] = '\0';
    line = strstr(text, key);
    line = line ? strchr(line, ':') : NULL;
    return line ? (unsigned)(strtod(line + 1, NULL) * 1000) : 0;
}

static void add_kernel_line(const struct monitor_options *o, struct words *w)
{
    char timer[160] = "";

    if (o->is_emulated)
        (void)snprintf(timer, sizeof(timer),
                       " tsc_early_khz=%u tsc=reliable lpj=4000000 no_timer_check mitigations=off",
                       clock_khz() ? clock_khz() : 2000000);
    add(w, "-append");
    add(w, "console=ttyS0 quiet loglevel=4 pci=off panic=-1 reboot=t random.trust_cpu=on%s", timer);
}

static void add_share(const char *tag, struct words *w)
{
    add(w, "-chardev");
    add(w, "socket,id=%s,path=/run/%s", tag, tag);
    add(w, "-device");
    add(w, "vhost-user-fs-device,chardev=%s,tag=%s", tag, tag);
}

static void add_devices(const struct monitor_options *o, int link, struct words *w)
{
    static const char *const fixed[] = {
        "-global",  "virtio-mmio.force-legacy=false", "-device", "virtio-rng-device",
        "-chardev", "stdio,id=console,signal=off",    "-serial", "chardev:console",
        "-device",  "virtio-serial-device",
    };

    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
        add(w, "%s", fixed[i]);
    add(w, "-chardev");
    add(w, "socket,id=link,fd=%d", link);
    add(w, "-device");
    add(w, "virtserialport,chardev=link,name=" MACHINE_PORT);
    for (size_t i = 0; i < o->n_shares; i++)
        add_share(o->shares[i].tag, w);
    if (o->has_grants)
        add_share(GRANTS_TAG, w);
}

static void add_qemu(const struct monitor_options *o, int link, struct words *w)
{
    static const char *const fixed[] = {
        MONITOR_QEMU,
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-nographic",
        "-monitor",
        "none",
        "-nic",
        "none",
        "-name",
        "belljar",
        "-sandbox",
        "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
        "-kernel",
        WALL_KERNEL,
        "-initrd",
        WALL_IMAGE,
    };

    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
        add(w, "%s", fixed[i]);
    add(w, "-M");
    add(w, "microvm,accel=%s,memory-backend=memory", o->is_emulated ? "tcg" : "kvm");
    add(w, "-cpu");
    add(w, "%s", o->is_emulated ? "max" : "host");
    add(w, "-smp");
    add(w, "%u", o->cpus);
    add(w, "-m");
    add(w, "%u", o->memory_mb);
    /* Shared with the daemons of the shares. */
    add(w, "-object");
    add(w, "memory-backend-memfd,id=memory,size=%uM,share=on", o->memory_mb);
    add_kernel_line(o, w);
    add_devices(o, link, w);
}

/* --- processes --- */

/* virtiofsd wants to lose its further groups, and ends when it cannot; a user namespace without
 * privileges allows nobody to. It is told that it has. What it could reach by a group is what the
 * user who started us can read of the share. */
static int pretend_setgroups(void)
{
    static struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setgroups, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {ARRAY_SIZE(filter), filter};

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Whose privileges a program has: none, all that this process has in its namespaces, or those of
 * MACHINE_OWNER in a user namespace of its own, in which he is the only user. */
enum rights { RIGHTS_NONE, RIGHTS_OURS, RIGHTS_OWNER };

/* Files of who owns the granted directories are MACHINE_OWNER's then, for virtiofsd and for the
 * guest. */
static int become_owner(void)
{
    const struct ns_map map = {.uid = MACHINE_OWNER,
                               .gid = MACHINE_OWNER,
                               .outside_uid = geteuid(),
                               .outside_gid = getegid(),
                               .count = 1,
                               .denies_setgroups = true};

    return unshare(CLONE_NEWUSER) < 0 || ns_write_map(0, &map, NULL) < 0 ? -1
                                                                         : caps_keep_on_exec(NULL);
}

static int take_rights(enum rights rights)
{
    if (rights == RIGHTS_NONE)
        return caps_drop_all(NULL) < 0 ? -1 : caps_no_new_privs(NULL);
    return rights == RIGHTS_OWNER && become_owner() < 0 ? -1 : pretend_setgroups();
}

/* It inherits standard input, output and error, and `fd` as the next one; -1: nothing. */
static pid_t start(const struct words *w, int console, int fd, enum rights rights,
                   struct error *err)
{
    static char *const environment[] = {"PATH=/usr/bin:/usr/sbin", "LANG=C", NULL};
    cleanup_close int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t pid;

    if (w->failed)
        return error_memory(err);
    pid = nothing < 0 ? -1 : fork();
    if (pid < 0)
        return error_errno(err, "start %s", w->list[0]);
    if (pid > 0)
        return pid;
    child_reset_signals();
    if (dup2(nothing, 0) < 0 || dup2(console, 1) < 0 || dup2(console, 2) < 0 ||
        (fd >= 0 && (dup2(fd, DESCRIPTOR_LOW) < 0 || fcntl(DESCRIPTOR_LOW, F_SETFD, 0) < 0)) ||
        close_range(fd >= 0 ? DESCRIPTOR_LOW + 1 : DESCRIPTOR_LOW, ~0U, 0) < 0 ||
        take_rights(rights) < 0) {
        (void)dprintf(STDERR_FILENO, IMAGE_SAYS "prepare %s: %s\n", w->list[0], strerror(errno));
        _exit(126);
    }
    (void)execve(w->list[0], w->list, environment);
    (void)dprintf(STDERR_FILENO, IMAGE_SAYS "%s: %s\n", w->list[0], strerror(errno));
    _exit(127);
}

/* A socket that QEMU finds by its path. */
static int listen_at(const char *tag, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/run/%s", tag);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, 1) < 0)
        return error_errno(err, "listen for %s", tag);
    return take_fd(fd);
}

static int start_daemon(const struct wall_share *share, int console, enum rights rights,
                        struct monitor *monitor, struct error *err)
{
    cleanup_close int fd = listen_at(share->tag, err);
    cleanup(words_done) struct words w = {0};
    char path[64];
    pid_t pid;

    if (fd < 0)
        return -1;
    wall_share_path(share, path);
    add(&w, "%s", find_daemon());
    add(&w, "--fd=%d", DESCRIPTOR_LOW);
    if (strcmp(w.list[0], daemons[0]) == 0) {
        add(&w, "-o");
        add(&w, "source=%s", path);
        add(&w, "-o");
        add(&w, "sandbox=namespace");
        add(&w, "-o");
        add(&w, "log_level=err");
    } else {
        add(&w, "--shared-dir=%s", path);
        add(&w, "--log-level=error");
    }
    pid = start(&w, console, fd, rights, err);
    if (pid < 0)
        return -1;
    monitor->daemons[monitor->n_daemons++] = pid;
    return 0;
}

int monitor_start(const struct monitor_options *options, struct monitor *ret_monitor,
                  struct error *err)
{
    cleanup(words_done) struct words w = {0};
    struct monitor monitor = {0};

    for (size_t i = 0; i < options->n_shares; i++)
        if (start_daemon(&options->shares[i], options->console, RIGHTS_OURS, &monitor, err) < 0)
            return -1;
    if (options->has_grants && start_daemon(&(struct wall_share){.tag = GRANTS_TAG},
                                            options->console, RIGHTS_OWNER, &monitor, err) < 0)
        return -1;
    add_qemu(options, DESCRIPTOR_LOW, &w);
    monitor.qemu = start(&w, options->console, options->link, RIGHTS_NONE, err);
    if (monitor.qemu < 0)
        return -1;
    *ret_monitor = monitor;
    return 0;
}
