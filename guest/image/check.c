/* The quiet point: what a process must not have when it is copied, each with its reason in words.
 * On the way it writes down what a copy needs to open again. */
#include <Python.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/image/internal.h"
#include "guest/versions.h"

/* For threads and processes that are about to be gone: 40 ms in all. */
#define PATIENCE_TRIES 20
#define PATIENCE_NS    2000000

#define NAMED_MAX 4 /* threads, children, maps named in one message; the rest is a number */

static void __attribute__((format(printf, 2, 3)))
complain(struct image_refusal *why, const char *format, ...)
{
    size_t len = strlen(why->text);
    va_list args;

    if (len + 3 >= sizeof(why->text))
        return;
    if (len) {
        memcpy(why->text + len, "; ", 3);
        len += 2;
    }
    va_start(args, format);
    (void)vsnprintf(why->text + len, sizeof(why->text) - len, format, args);
    va_end(args);
}

/* Calls `visit` for every numeric name of a directory of /proc. No allocation. */
static int for_each_number(const char *path, void (*visit)(int dir, int number, void *data),
                           void *data)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char buffer[4096] __attribute__((aligned(8)));
    long n;

    if (dir < 0)
        return -errno;
    while ((n = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            char *end;
            long number = strtol(entry->d_name, &end, 10);

            at += entry->d_reclen;
            if (*end == '\0' && end != entry->d_name)
                visit(dir, (int)number, data);
        }
    }
    (void)close(dir);
    return n < 0 ? -errno : 0;
}

/* Linux cuts names there, and the masker does not recognise a secret that was cut. */
#define COMM_MAX 15

static void read_comm(long pid, char *name, size_t size)
{
    char path[64];
    long n;

    (void)snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    n = image_read_file(path, name, size);
    if (n > 0 && name[n - 1] == '\n')
        name[n - 1] = '\0';
    if (n <= 0)
        name[0] = '\0';
    if (strlen(name) == COMM_MAX)
        (void)snprintf(name, size, "a long name");
}

/* The masker does not recognise a secret that was cut, so a name that does not fit is left out. */
#define THREAD_NAME_MAX 80

/* --- threads and children --- */

static void count_one(int dir, int number, void *data)
{
    (void)dir;
    (void)number;
    ++*(int *)data;
}

/* The remedy for a thread, by the names that the standard library gives. */
static const char *remedy_of(const char *name)
{
    if (strncmp(name, "ThreadPoolExecutor", strlen("ThreadPoolExecutor")) == 0)
        return "call `shutdown()` of its executor";
    if (strstr(name, "(_handle_"))
        return "call `close()` and `join()` of its pool";
    if (strncmp(name, "QueueFeederThread", strlen("QueueFeederThread")) == 0)
        return "call `close()` and `join_thread()` of its queue";
    return "end it and call its `join()`";
}

static void complain_of_thread(struct image_refusal *why, const char *name)
{
    if (strlen(name) <= THREAD_NAME_MAX)
        complain(why, "thread `%s` is running: %s", name, remedy_of(name));
    else
        complain(why, "a thread with a long name is running: end it and call its `join()`");
}

/* The names of Python's threads. Only plain objects are examined: no code of the program runs. */
static void name_threads(struct image_refusal *why)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "threading");
    PyObject *dict = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    PyObject *active = dict ? PyDict_GetItemString(dict, "_active") : NULL;
    PyObject *main_thread = dict ? PyDict_GetItemString(dict, "_main_thread") : NULL;
    PyObject *key, *thread;
    Py_ssize_t at = 0;
    int named = 0;

    while (active && PyDict_Check(active) && PyDict_Next(active, &at, &key, &thread)) {
        PyObject *fields = thread == main_thread ? NULL : object_attributes(thread);
        PyObject *name = fields ? PyDict_GetItemString(fields, "_name") : NULL;
        const char *text = name && PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8(name) : NULL;

        if (text && named++ < NAMED_MAX)
            complain_of_thread(why, text);
    }
    PyErr_Clear();
}

static void check_threads(struct image_refusal *why)
{
    size_t before = strlen(why->text);
    int count = 0;

    /* A thread that was joined may take a moment to be gone. */
    for (int try = 0; try < PATIENCE_TRIES; try++) {
        count = 0;
        if (for_each_number("/proc/self/task", count_one, &count) < 0) {
            complain(why, "the threads cannot be counted");
            return;
        }
        if (count <= 1)
            return;
        (void)nanosleep(&(struct timespec){.tv_nsec = PATIENCE_NS}, NULL);
    }
    if (Py_IsInitialized())
        name_threads(why);
    if (strlen(why->text) == before)
        complain(why, "%d threads that a library started are running", count - 1);
}

static void check_children(struct image_refusal *why)
{
    char list[256], name[64], *at, *end;
    siginfo_t info = {0};

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD)
        return;
    if (info.si_pid) {
        complain(why, "child process %d has ended and nobody has waited for it: call its `wait()`",
                 info.si_pid);
        return;
    }
    if (image_read_file("/proc/thread-self/children", list, sizeof(list)) <= 0) {
        complain(why, "a child process is running");
        return;
    }
    for (at = list; *at; at = end) {
        long pid = strtol(at, &end, 10);

        if (end == at)
            break;
        read_comm(pid, name, sizeof(name));
        complain(why, "child process %ld (%s) is running: end it and wait for it", pid, name);
        while (*end == ' ')
            end++;
    }
}

/* Whatever else runs in the sandbox: jobs of other kernels, and what left its parent. */
struct process_check {
    struct image_refusal *why;
    uint32_t kernels;
    unsigned named;
};

#define EXITING 4 /* PF_EXITING of Linux, in the ninth field of /proc/PID/stat */

static bool is_killed(int pid)
{
    char path[64], text[4096], *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    if (image_read_file(path, text, sizeof(text)) <= 0)
        return true;
    at = strstr(text, "\nShdPnd:\t"); /* a name has no line breaks here */
    return at && strtoull(at + strlen("\nShdPnd:\t"), NULL, 16) & 1U << (SIGKILL - 1);
}

/* Its parent, or -1 when nothing of it runs any more: it has ended, is on the way, or SIGKILL waits
 * for it. */
static long parent_of(int pid)
{
    char path[64], text[512], *end, state;
    unsigned flags;
    long parent;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (image_read_file(path, text, sizeof(text)) <= 0 || !(end = strrchr(text, ')')) ||
        sscanf(end, ") %c %ld %*d %*d %*d %*d %u", &state, &parent, &flags) != 3)
        return -1;
    return state == 'Z' || state == 'X' || flags & EXITING || is_killed(pid) ? -1 : parent;
}

/* Whether it is one of our kernels, by its name: each counts once. */
static bool take_kernel(struct process_check *check, const char *name)
{
    for (unsigned i = 0; i < RUN_LANGUAGES; i++) {
        const char *programs = i == RUN_BASH ? "bash" : languages[i].programs;
        struct span program = language_next_word(&programs);

        if (check->kernels & WIRE_IMAGE_KERNEL(i) && strlen(name) == program.len &&
            memcmp(name, program.data, program.len) == 0) {
            check->kernels &= ~WIRE_IMAGE_KERNEL(i);
            return true;
        }
    }
    return false;
}

static void visit_process(int dir, int pid, void *data)
{
    struct process_check *check = data;
    char name[64];
    long parent;

    (void)dir;
    if (pid == 1 || pid == getpid())
        return;
    parent = parent_of(pid);
    if (parent < 0 || parent == getpid()) /* it has just ended; or it was named as our child */
        return;
    read_comm(pid, name, sizeof(name));
    if (parent == 1 && take_kernel(check, name))
        return;
    if (check->named++ < NAMED_MAX)
        complain(check->why, "process %d (%s) is running", pid, name);
}

/* One that was killed a moment ago, and that pid 1 is about to reap, is waited for. */
static void check_processes(const struct image_request *request, struct image_refusal *why)
{
    size_t len = strlen(why->text);

    for (int try = 0; try < PATIENCE_TRIES; try++) {
        struct process_check check = {why, request->kernels, 0};

        why->text[len] = '\0';
        if (for_each_number("/proc", visit_process, &check) < 0)
            complain(why, "the processes cannot be listed");
        if (!check.named)
            return;
        (void)nanosleep(&(struct timespec){.tv_nsec = PATIENCE_NS}, NULL);
    }
}

/* --- memory --- */

static void check_map(const struct image_map *map, struct image_refusal *why)
{
    const char *name = image_stub->text + map->name;
    struct stat st;

    if (!map->is_shared)
        return;
    if (map->prot & PROT_WRITE) {
        complain(why, "memory is shared for writing (%.100s)%s", name,
                 strncmp(name, "/dev/shm/sem.", strlen("/dev/shm/sem.")) == 0 && !why->has_advice++
                     ? ": `close()` and `del` the queues, locks and pools of multiprocessing"
                     : "");
        return;
    }
    if (image_is_known(&map->file))
        return;
    if (stat(name, &st) < 0 || st.st_ino != map->file.ino)
        complain(why, "a deleted file is mapped (%.100s)", name);
}

static void check_maps(struct image_refusal *why)
{
    struct image_stub *s = image_stub;
    long n = image_read_maps(s->maps, IMAGE_MAPS_MAX, s->text, sizeof(s->text));
    size_t before = strlen(why->text);
    unsigned refused = 0;

    if (n < 0) {
        complain(why, n == -E2BIG ? "memory has too many mappings" : "memory cannot be listed");
        return;
    }
    s->n_maps = (uint32_t)n;
    for (long i = 0; i < n && refused < NAMED_MAX; i++) {
        check_map(&s->maps[i], why);
        refused += strlen(why->text) != before;
        before = strlen(why->text);
    }
}

/* --- descriptors --- */

struct fd_check {
    const struct image_request *request;
    struct image_refusal *why;
    int epoll;      /* one of them, or -1 */
    char loop[128]; /* numbers of what an event loop consists of */
};

static bool is_ignored(const struct image_request *r, int number)
{
    if (number == IMAGE_PAGEMAP_FD)
        return true;
    if (!r)
        return false;
    for (size_t i = 0; i < r->n_join; i++)
        if (number == r->join[i])
            return true;
    for (size_t i = 0; i < r->n_leave; i++)
        if (number == r->leave[i])
            return true;
    return number == r->memory || number == r->files || number == r->status;
}

static const char *kind_of_link(const char *link)
{
    static const struct {
        const char *prefix;
        const char *kind;
    } kinds[] = {
        {"pipe:", "a pipe"},
        {"socket:", "a socket"},
        {"/memfd:", "a file in memory"},
        {"anon_inode:[eventpoll]", "an epoll"},
        {"anon_inode:[eventfd]", "an eventfd"},
        {"anon_inode:[timerfd]", "a timerfd"},
        {"anon_inode:[signalfd]", "a signalfd"},
        {"anon_inode:inotify", "an inotify"},
        {"anon_inode:[pidfd]", "a pidfd"},
        {"pidfd:", "a pidfd"},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(link, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
            return kinds[i].kind;
    return NULL;
}

static bool is_python_module(const char *name)
{
    return Py_IsInitialized() && PyDict_GetItemString(PyImport_GetModuleDict(), name);
}

/* Parts of a loop that asyncio left open are gathered, and named as one thing at the end. */
static bool is_part_of_loop(struct fd_check *check, int number, const char *link)
{
    size_t len = strlen(check->loop);
    bool is_epoll = strcmp(link, "anon_inode:[eventpoll]") == 0;

    if (!is_epoll && (check->epoll < 0 || strncmp(link, "socket:", 7) != 0))
        return false;
    if (!is_python_module("asyncio"))
        return false;
    if (is_epoll)
        check->epoll = number;
    (void)snprintf(check->loop + len, sizeof(check->loop) - len, "%s%d", len ? ", " : "", number);
    return true;
}

static void complain_fd(struct fd_check *check, int number, const char *link)
{
    const char *kind = kind_of_link(link);

    if (is_part_of_loop(check, number, link))
        return;
    if (kind)
        complain(check->why, "descriptor %d is %s", number, kind);
    else
        complain(check->why, "descriptor %d is of a kind that cannot be opened again (%.100s)",
                 number, link);
}

static bool has_lock(int number)
{
    char path[64], text[1024];

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", number);
    return image_read_file(path, text, sizeof(text)) < 0 || strstr(text, "\nlock:");
}

static bool has_name(const char *link, const struct stat *st)
{
    struct stat named;

    return link[0] == '/' && stat(link, &named) == 0 && named.st_dev == st->st_dev &&
           named.st_ino == st->st_ino;
}

/* Spaces and the like are written as three octal digits. */
static void decode_octal(char *text)
{
    char *to = text;

    for (const char *at = text; *at; to++) {
        unsigned value;

        if (*at == '\\' && sscanf(at + 1, "%3o", &value) == 1) {
            *to = (char)value;
            at += 4;
        } else {
            *to = *at++;
        }
    }
    *to = '\0';
}

/* The mount point in one line of mountinfo, and whether it is of that device. */
static bool read_mount(const char *line, dev_t dev, char point[PATH_MAX])
{
    unsigned major, minor;

    if (sscanf(line, "%*u %*u %u:%u %*s %4095s", &major, &minor, point) != 3 ||
        makedev(major, minor) != dev)
        return false;
    decode_octal(point);
    return true;
}

/* A file that the write broker opened is on a mount of its own, and its path begins there. Which of
 * our mounts that is, its device and inode say. */
static void find_granted_name(char link[PATH_MAX], const struct stat *st)
{
    FILE *mounts = has_name(link, st) ? NULL : fopen("/proc/self/mountinfo", "re");
    char line[3 * PATH_MAX], point[PATH_MAX], path[2 * PATH_MAX];

    while (mounts && fgets(line, sizeof(line), mounts)) {
        if (!read_mount(line, st->st_dev, point))
            continue;
        (void)snprintf(path, sizeof(path), "%s%s", point, link);
        if (strlen(path) < PATH_MAX && has_name(path, st)) {
            memcpy(link, path, strlen(path) + 1);
            break;
        }
    }
    if (mounts)
        (void)fclose(mounts);
}

/* Can it be opened again by its name? */
static bool check_file(struct fd_check *check, int number, const char *link, const struct stat *st)
{
    struct statfs fs;

    bool has_path = strncmp(link, "/memfd:", 7) != 0 && link[0] == '/';

    if (!has_path || (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && !S_ISCHR(st->st_mode))) {
        complain_fd(check, number, link);
    } else if (st->st_nlink == 0 || !has_name(link, st)) {
        complain(check->why, "descriptor %d is a file without a name (%.100s): close it", number,
                 link);
    } else if (fstatfs(number, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC) {
        complain(check->why, "descriptor %d is of /proc (%.100s)", number, link);
    } else if (has_lock(number)) {
        complain(check->why, "descriptor %d holds a lock (%.100s)", number, link);
    } else {
        return true;
    }
    return false;
}

static struct image_fd *add_fd(struct image_refusal *why, int number)
{
    struct image_index *index = &image_stub->index;
    struct image_fd *fd;

    if (index->head.n_fds == IMAGE_FDS_MAX) {
        complain(why, "too many descriptors are open");
        return NULL;
    }
    fd = &index->fds[index->head.n_fds++];
    *fd = (struct image_fd){.number = (uint32_t)number};
    return fd;
}

/* The number of ours that this is, or a second descriptor of; -1: it is the program's. */
static int find_own(int number, const struct stat *st)
{
    const struct image_file file = {st->st_dev, st->st_ino};
    int found = -1;

    for (uint32_t i = 0; i < image_stub->n_own; i++)
        if (is_same_file(&image_stub->own[i].file, &file) && found != number)
            found = image_stub->own[i].fd;
    return found;
}

static void record_path(struct fd_check *check, int number, const char *link, const struct stat *st)
{
    struct image_fd *fd;
    off_t offset = lseek(number, 0, SEEK_CUR);

    if (!check_file(check, number, link, st) || !(fd = add_fd(check->why, number)))
        return;
    fd->kind = IMAGE_FD_PATH;
    fd->flags = (uint32_t)fcntl(number, F_GETFL) & ~(uint32_t)(O_CREAT | O_EXCL | O_TRUNC);
    fd->is_cloexec = fcntl(number, F_GETFD) & FD_CLOEXEC;
    fd->offset = offset < 0 ? 0 : (uint64_t)offset;
    fd->mode = st->st_mode;
    fd->file = (struct image_file){st->st_dev, st->st_ino};
    fd->is_of_tree = image_is_of_tree(st->st_dev);
    fd->name = image_add_text(&image_stub->index, link);
    if (!fd->name)
        complain(check->why, "the names of open files are too long");
}

/* The end of a pipe from which nothing can come any more reads like /dev/null. */
static bool is_spent_pipe(int number, const char *link)
{
    struct pollfd end = {.fd = number, .events = POLLIN};

    return strncmp(link, "pipe:", 5) == 0 && (fcntl(number, F_GETFL) & O_ACCMODE) == O_RDONLY &&
           poll(&end, 1, 0) == 1 && end.revents == POLLHUP;
}

static void record_spent_pipe(struct image_refusal *why, int number)
{
    struct image_fd *fd = add_fd(why, number);

    if (!fd)
        return;
    fd->kind = IMAGE_FD_PATH;
    fd->flags = (uint32_t)fcntl(number, F_GETFL);
    fd->is_cloexec = fcntl(number, F_GETFD) & FD_CLOEXEC;
    fd->mode = S_IFCHR;
    fd->name = image_add_text(&image_stub->index, "/dev/null");
    if (!fd->name)
        complain(why, "the names of open files are too long");
}

static void visit_fd(int dir, int number, void *data)
{
    struct fd_check *check = data;
    char name[16], link[PATH_MAX];
    struct image_fd *fd;
    struct stat st;
    ssize_t n;
    int own;

    if (number == dir || is_ignored(check->request, number))
        return;
    (void)snprintf(name, sizeof(name), "%d", number);
    n = readlinkat(dir, name, link, sizeof(link) - 1);
    if (n < 0 || fstat(number, &st) < 0) {
        complain(check->why, "descriptor %d cannot be examined", number);
        return;
    }
    link[n] = '\0';
    own = find_own(number, &st);
    if (own < 0 && is_spent_pipe(number, link)) {
        record_spent_pipe(check->why, number);
    } else if (own < 0) {
        find_granted_name(link, &st);
        record_path(check, number, link, &st);
    } else if (own != number && (fd = add_fd(check->why, number))) {
        fd->kind = IMAGE_FD_OWN;
        fd->own = (uint32_t)own;
        fd->is_cloexec = fcntl(number, F_GETFD) & FD_CLOEXEC;
    }
}

/* The request's own descriptors may have come to stand where one was closed. */
static bool is_open(const struct image_request *request, int number)
{
    return !is_ignored(request, number) && fcntl(number, F_GETFD) >= 0;
}

/* A program may have closed what we gave it. The table is sorted by number. */
static void record_closed(const struct image_request *request, struct image_refusal *why)
{
    struct image_index *index = &image_stub->index;

    for (uint32_t i = 0; i < image_stub->n_own; i++) {
        uint32_t at = index->head.n_fds;
        struct image_fd *fd;

        if (is_open(request, image_stub->own[i].fd) || !add_fd(why, image_stub->own[i].fd))
            continue;
        for (fd = index->fds; at > 0 && fd[at - 1].number > fd[at].number; at--) {
            struct image_fd closed = fd[at];

            fd[at] = fd[at - 1];
            fd[at - 1] = closed;
        }
        fd[at].kind = IMAGE_FD_CLOSED;
    }
}

static void check_fds(const struct image_request *request, struct image_refusal *why)
{
    struct fd_check check = {.request = request, .why = why, .epoll = -1};

    if (for_each_number("/proc/self/fd", visit_fd, &check) < 0)
        complain(why, "the open descriptors cannot be listed");
    record_closed(request, why);
    if (check.epoll >= 0)
        complain(why,
                 "an event loop of asyncio is open (descriptors %s): close it with `loop.close()`",
                 check.loop);
}

/* --- the rest --- */

static void check_timers(struct image_refusal *why)
{
    char text[64];
    long n = image_read_file("/proc/self/timers", text, sizeof(text));

    if (n > 0 || n == -E2BIG)
        complain(why, "a timer of timer_create(2) is set");
    else if (n < 0)
        complain(why, "the timers cannot be listed");
}

static void check_signals(struct image_refusal *why)
{
    sigset_t pending;

    if (sigpending(&pending) < 0)
        return;
    for (int sig = 1; sig < IMAGE_SIGNALS; sig++)
        if (sigismember(&pending, sig) == 1)
            complain(why, "signal %d waits to be delivered", sig);
}

static void record_cwd(struct image_refusal *why)
{
    struct image_index *index = &image_stub->index;
    char path[PATH_MAX];

    if (!getcwd(path, sizeof(path)) || path[0] != '/')
        complain(why, "the working directory no longer exists");
    else
        index->head.cwd = image_add_text(index, path);
}

int image_check(const struct image_request *request, struct image_refusal *why)
{
    *why = (struct image_refusal){0};
    if (!image_stub)
        return image_refuse(why, "this sandbox was not made for copies: its zygote is not warm");
    memset(&image_stub->index.head, 0, sizeof(image_stub->index.head));
    (void)image_add_text(&image_stub->index, "");
    check_threads(why);
    check_children(why);
    if (request && request->is_sandboxed)
        check_processes(request, why);
    check_maps(why);
    check_fds(request, why);
    check_timers(why);
    check_signals(why);
    record_cwd(why);
    if (why->text[0])
        image_stub_clear();
    return why->text[0] ? -1 : 0;
}
