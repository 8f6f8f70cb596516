#include "guest/driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/kernel.h"
#include "guest/report.h"
#include "sandbox/places.h"
#include "wire/frame.h"

#define EXIT_FAILED 125

/* Drivers know these numbers. */
_Static_assert(WIRE_VERSION == 1 && WIRE_STARTED == 13 && WIRE_RESULT == 14 &&
                   WIRE_EXCEPTION == 15 && WIRE_CELL == 21 && WIRE_DONE == 22 && WIRE_CALL == 28 &&
                   WIRE_REPLY == 29,
               "numbers of messages");
_Static_assert(WIRE_RUN_AUTO_PRINT == 2 && WIRE_RUN_STDIN == 8 && WIRE_RUN_AS_PRINT == 16 &&
                   WIRE_RUN_CHECK_ONLY == 512 && WIRE_RUN_TYPED == 4096,
               "flags of cells");
_Static_assert(KERNEL_CONTROL_FD == 63 && KERNEL_REPORT_FD == 62 && KERNEL_REPLY_FD == 58,
               "descriptors");

extern char **environ;
extern const struct driver drivers[]; /* made of guest/drivers/ at build time */

static const struct driver *driver_for(const struct language *language)
{
    const struct driver *d = drivers;

    while (d->name && strcmp(d->name, language->name) != 0)
        d++;
    return d->name ? d : NULL;
}

/* --- the command --- */

/* "--heap=MEMORY" as "--heap=256". */
static char *filled_in(struct span word, const struct wire_run *run)
{
    static const char memory[] = "MEMORY", seed[] = "SEED";
    size_t memory_at = word.len - strlen(memory), seed_at = word.len - strlen(seed);
    char *text = NULL;
    int n;

    if (word.len > strlen(memory) && memcmp(word.data + memory_at, memory, strlen(memory)) == 0)
        n = asprintf(&text, "%.*s%u", (int)memory_at, word.data, run->memory_mb);
    else if (word.len > strlen(seed) && memcmp(word.data + seed_at, seed, strlen(seed)) == 0)
        n = asprintf(&text, "%.*s%u", (int)seed_at, word.data,
                     run->flags & WIRE_RUN_SEED ? (unsigned)(run->seed & 0x7fffffff) + 1 : 0);
    else
        n = asprintf(&text, "%.*s", (int)word.len, word.data);
    return n < 0 ? NULL : text;
}

#define WORDS_MAX 16

struct command {
    char path[LANGUAGE_PATH_MAX];
    char *argv[WORDS_MAX + WIRE_STRINGS_MAX];
    size_t count;
};

static int add(struct command *c, char *word)
{
    if (!word)
        return -1;
    c->argv[c->count++] = word;
    return 0;
}

static int fill(struct command *c, const struct wire_run *run, const char *mode)
{
    const struct language *language = &languages[languages[run->language].kernel];
    const struct driver *driver = driver_for(language);
    const char *programs = language->programs, *arguments = language->arguments;
    struct span program = language_next_word(&programs);
    int r;

    if (!driver || !language_find_program(program, c->path))
        return -1;
    r = add(c, strndup(program.data, program.len));
    while (r == 0 && *arguments && c->count < WORDS_MAX - 5)
        r = add(c, filled_in(language_next_word(&arguments), run));
    if (r < 0 || add(c, strndup((const char *)driver->text, driver->len)) < 0 ||
        add(c, strdup(mode)) < 0 ||
        add(c, run->args.count ? strndup(run->args.items[0].data, run->args.items[0].len)
                               : strdup("")) < 0 ||
        add(c, strndup(run->script.data, run->script.len)) < 0)
        return -1;
    for (uint32_t i = 1; i < run->args.count; i++)
        if (add(c, strndup(run->args.items[i].data, run->args.items[i].len)) < 0)
            return -1;
    c->argv[c->count] = NULL;
    return 0;
}

/* It keeps these descriptors of ours; in a session that of replies, too. */
static int become(struct command *c, int cells, int report)
{
    if (fcntl(cells, F_SETFD, 0) < 0 || fcntl(report, F_SETFD, 0) < 0)
        return EXIT_FAILED;
    (void)execve(c->path, c->argv, environ);
    perror(c->path);
    return 127;
}

/* --- what it is to run --- */

static int unnamed_file(void)
{
    int fd = memfd_create("program", MFD_CLOEXEC);

    /* There are no memfds where no cgroup counts memory. */
    return fd >= 0 ? fd : open(places_tmp(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n <= 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* The whole program as a file with one cell, on descriptor 63. */
static int put_cell(const struct wire_run *run)
{
    const struct wire_cell cell = {.flags = run->flags,
                                   .number = 1,
                                   .code = run->code,
                                   .language = span_of(languages[run->language].name)};
    uint8_t head[FRAME_HEADER];
    struct pack p;
    int fd = unnamed_file(), r = -1;

    pack_init(&p, wire_type_max(WIRE_CELL));
    wire_pack_cell(&p, &cell);
    frame_header(head, WIRE_CELL, (uint32_t)p.len);
    if (fd >= 0 && !p.failed && write_all(fd, head, sizeof(head)) == 0 &&
        write_all(fd, p.data, p.len) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        r = dup3(fd, KERNEL_CONTROL_FD, O_CLOEXEC);
    pack_done(&p);
    if (fd >= 0)
        (void)close(fd);
    return r;
}

static int failed(const struct wire_run *run, int report)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "the program could not be handed to %s",
                   languages[run->language].name);
    (void)report_failed(report, text);
    return EXIT_FAILED;
}

int driver_run(const struct wire_run *run, int report)
{
    static struct command c;

    if (fill(&c, run, "run") < 0 || put_cell(run) < 0)
        return failed(run, report);
    if (report_started(report) < 0)
        return EXIT_FAILED;
    return become(&c, KERNEL_CONTROL_FD, report);
}

int driver_session(const struct wire_run *run, int cells, int report, int replies)
{
    static struct command c;

    if (fill(&c, run, "session") < 0 || fcntl(replies, F_SETFD, 0) < 0)
        return failed(run, report);
    return become(&c, cells, report);
}
