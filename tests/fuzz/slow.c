#include "slow.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/loop.h"

#define INPUT_MAX (64 * KIB)
#define BEST_MAX  24

/* Shorter inputs are judged as if they had so many bytes: what each call costs is no matter. */
#define BYTES_MIN 256

/* CPU time of one input: no turn of the server's loop may take longer. */
#define BOUND_NS ((uint64_t)50000000)
#define TRIES    3

struct input {
    uint8_t *data;
    size_t len;
    double cost; /* for each byte */
};

static struct input best[BEST_MAX];
static size_t n_best;
static uint64_t chance;
static int counter = -1;
static target_fn *target;

/* --- measuring --- */

static void open_counter(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};

    counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t count(void)
{
    uint64_t value = 0;

    if (counter < 0 || read(counter, &value, sizeof(value)) != (ssize_t)sizeof(value))
        return loop_cpu_ns();
    return value;
}

static double measure(struct input *input, uint64_t *ret_ns)
{
    uint64_t from_ns = loop_cpu_ns(), from = count();
    size_t len = input->len > BYTES_MIN ? input->len : BYTES_MIN;

    (void)target(input->data, input->len);
    input->cost = (double)(count() - from) / (double)len;
    *ret_ns = loop_cpu_ns() - from_ns;
    return input->cost;
}

/* --- changing --- */

static size_t below(size_t n)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return n ? (size_t)(chance % n) : 0;
}

/* Puts `n` bytes of `from`, `times` over, at a place of the input. */
static void insert(struct input *to, const uint8_t *from, size_t n, size_t times)
{
    size_t at = below(to->len + 1), room = INPUT_MAX - to->len;

    while (n && n * times > room)
        times /= 2;
    if (!n || !times)
        return;
    memmove(to->data + at + n * times, to->data + at, to->len - at);
    for (size_t i = 0; i < times; i++)
        memcpy(to->data + at + i * n, from, n);
    to->len += n * times;
}

static void change(struct input *input, const struct input *other)
{
    static const uint8_t bytes[] =
        "\0\n\r\t \"'\\:;,.=-+/*?[]{}()<>|&%#@~^$_019azAZ\x1b\x7f\x80\xff";
    uint8_t piece[64];
    size_t n = below(sizeof(piece)) + 1, at;

    switch (below(6)) {
    case 0: /* one byte */
        if (input->len)
            input->data[below(input->len)] =
                below(2) ? bytes[below(sizeof(bytes) - 1)] : (uint8_t)below(256);
        break;
    case 1: /* a piece of its own, again and again */
    case 2:
        at = below(input->len);
        n = n < input->len - at ? n : input->len - at;
        memcpy(piece, input->data + at, n);
        insert(input, piece, n, (size_t)1 << below(11));
        break;
    case 3: /* a piece of another */
        at = below(other->len);
        n = n < other->len - at ? n : other->len - at;
        insert(input, other->data + at, n, 1);
        break;
    case 4: /* a piece less */
        at = below(input->len);
        n = below(2) ? n : below(input->len);
        n = n < input->len - at ? n : input->len - at;
        memmove(input->data + at, input->data + at + n, input->len - at - n);
        input->len -= n;
        break;
    default: /* some byte, many times */
        piece[0] = bytes[below(sizeof(bytes) - 1)];
        insert(input, piece, 1, (size_t)1 << below(13));
    }
}

/* --- keeping --- */

static bool keep(const struct input *input)
{
    struct input *worst = &best[0];

    if (n_best == BEST_MAX) {
        for (size_t i = 1; i < n_best; i++)
            worst = best[i].cost < worst->cost ? &best[i] : worst;
        if (worst->cost >= input->cost)
            return true;
        free(worst->data);
    } else {
        worst = &best[n_best++];
    }
    *worst = *input;
    worst->data = malloc(INPUT_MAX);
    if (worst->data)
        memcpy(worst->data, input->data, input->len);
    return worst->data != NULL;
}

static void save(const char *directory, const char *name, const struct input *input)
{
    char path[4096];
    cleanup_close int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, input->data, input->len) != (ssize_t)input->len)
        (void)fprintf(stderr, "cannot write %s\n", path);
}

static bool load(DIR *dir, uint8_t *data)
{
    for (struct dirent *entry; (entry = readdir(dir));) {
        cleanup_close int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        struct input input = {.data = data};
        ssize_t n = entry->d_name[0] == '.' || fd < 0 ? -1 : read(fd, data, INPUT_MAX);
        uint64_t ns;

        if (n < 0)
            continue;
        input.len = (size_t)n;
        (void)measure(&input, &ns);
        if (!keep(&input))
            return false;
    }
    return n_best > 0;
}

/* True: it takes too long each time. */
static bool is_slow(struct input *input, uint64_t ns)
{
    for (int i = 1; i < TRIES && ns > BOUND_NS; i++)
        (void)measure(input, &ns);
    return ns > BOUND_NS;
}

static int by_cost(const void *a, const void *b)
{
    double x = ((const struct input *)a)->cost, y = ((const struct input *)b)->cost;

    return x < y ? 1 : x > y ? -1 : 0;
}

static int search(const char *out, uint64_t seconds)
{
    uint64_t end_ns = loop_now_ns() + seconds * 1000000000, rounds = 0, ns;
    static uint8_t data[INPUT_MAX];

    for (; loop_now_ns() < end_ns; rounds++) {
        const struct input *from = &best[below(n_best)];
        struct input input = {.data = data, .len = from->len};

        memcpy(data, from->data, from->len);
        for (size_t times = below(4) + 1; times; times--)
            change(&input, &best[below(n_best)]);
        (void)measure(&input, &ns);
        if (is_slow(&input, ns)) {
            (void)fprintf(stderr, "%zu bytes take %.1f ms of CPU time\n", input.len,
                          (double)ns / 1e6);
            save(out, "too-slow", &input);
            return 1;
        }
        if (!keep(&input))
            return 1;
    }
    qsort(best, n_best, sizeof(best[0]), by_cost);
    (void)printf("%llu inputs; the most expensive: %.1f %s for each byte, %zu bytes\n",
                 (unsigned long long)rounds, best[0].cost, counter < 0 ? "ns" : "instructions",
                 best[0].len);
    for (size_t i = 0; i < 3 && i < n_best; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "slow-%zu", i + 1);
        save(out, name, &best[i]);
    }
    return 0;
}

int slow_search(target_fn *fn, DIR *corpus, uint64_t seconds, const char *out, uint64_t seed)
{
    static uint8_t data[INPUT_MAX];

    target = fn;
    chance = seed ? seed : 88172645463325252u;
    open_counter();
    if (!load(corpus, data)) {
        (void)fprintf(stderr, "the corpus is empty\n");
        return 1;
    }
    return search(out, seconds);
}
