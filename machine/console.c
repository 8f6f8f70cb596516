#include "machine/console.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/image.h"

static int map_log(struct console *console, struct error *err)
{
    struct stat st;
    void *log;

    if (fstat(MACHINE_LOG, &st) < 0 || st.st_size != sizeof(*console->log))
        return error_set(err, E_INVALID, "descriptor %d is not a log", MACHINE_LOG);
    log = mmap(NULL, sizeof(*console->log), PROT_READ | PROT_WRITE, MAP_SHARED, MACHINE_LOG, 0);
    if (log == MAP_FAILED)
        return error_errno(err, "map the log");
    console->log = log;
    (void)close(MACHINE_LOG);
    return 0;
}

int console_open(struct console *console, bool is_loud, bool has_log, int *ret_end,
                 struct error *err)
{
    int pipes[2];

    *console = (struct console){.is_loud = is_loud};
    if (has_log && map_log(console, err) < 0)
        return -1;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return error_errno(err, "make a console");
    console->fd = pipes[0];
    *ret_end = pipes[1];
    return 0;
}

static void keep(struct console *console, const char *bytes, size_t n)
{
    size_t gone;

    if (n > sizeof(console->tail)) {
        bytes += n - sizeof(console->tail);
        n = sizeof(console->tail);
    }
    gone = console->n_tail + n > sizeof(console->tail) ? console->n_tail + n - sizeof(console->tail)
                                                       : 0;
    memmove(console->tail, console->tail + gone, console->n_tail - gone);
    console->n_tail -= gone;
    memcpy(console->tail + console->n_tail, bytes, n);
    console->n_tail += n;
}

static void log_bytes(struct machine_log *log, const char *bytes, size_t n)
{
    uint64_t total = log->total;

    for (size_t i = 0; i < n; i++)
        log->ring[(total + i) % MACHINE_LOG_BYTES] = bytes[i];
    __atomic_store_n(&log->total, total + n, __ATOMIC_RELEASE);
}

bool console_take(struct console *console)
{
    char bytes[4096];
    ssize_t n = read(console->fd, bytes, sizeof(bytes));

    if (n <= 0)
        return false;
    if (console->is_loud)
        (void)!write(STDERR_FILENO, bytes, (size_t)n);
    if (console->log)
        log_bytes(console->log, bytes, (size_t)n);
    keep(console, bytes, (size_t)n);
    return true;
}

/* One line, without what is not printable. Returns where it starts. */
static size_t line_before(const struct console *console, size_t end, char line[CONSOLE_LINE])
{
    size_t start, n = 0;

    while (end && (unsigned char)console->tail[end - 1] <= ' ')
        end--;
    for (start = end; start && console->tail[start - 1] != '\n'; start--)
        ;
    for (size_t i = start; i < end && n < CONSOLE_LINE - 1; i++)
        if (console->tail[i] >= ' ' && console->tail[i] <= '~')
            line[n++] = console->tail[i];
    line[n] = '\0';
    return start;
}

/* A reason of QEMU's. Daemons complain after it, because it is gone. */
static bool is_complaint(const char *line)
{
    static const char name[] = "qemu-system-";

    return strncmp(line, name, strlen(name)) == 0 && !strstr(line, ": warning: ");
}

bool console_has_complaint(const struct console *console)
{
    char line[CONSOLE_LINE];

    for (size_t end = console->n_tail; end;) {
        end = line_before(console, end, line);
        if (is_complaint(line))
            return true;
    }
    return false;
}

void console_last_words(const struct console *console, bool was_up, char line[CONSOLE_LINE])
{
    static const char ready[] = IMAGE_SAYS IMAGE_READY;
    char complaint[CONSOLE_LINE] = "";
    size_t end = console->n_tail;

    while (end) {
        end = line_before(console, end, line);
        if (strncmp(line, IMAGE_SAYS, strlen(IMAGE_SAYS)) == 0 && strcmp(line, ready) != 0) {
            memmove(line, line + strlen(IMAGE_SAYS), CONSOLE_LINE - strlen(IMAGE_SAYS));
            return;
        }
        if (is_complaint(line)) /* the first one is the cause */
            memcpy(complaint, line, sizeof(complaint));
    }
    if (*complaint)
        memcpy(line, complaint, sizeof(complaint));
    else
        (void)line_before(console, console->n_tail, line);
    if (was_up && !*complaint && *line != '[')
        *line = '\0';
}
