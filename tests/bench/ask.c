/* ask: one HTTP request again and again on one connection, and how long each answer takes.
 *
 *     ask PORT COUNT [PAUSE_MS] < REQUEST
 *
 * The request is sent as it is, head and body; after each answer the client pauses, so that a
 * server that prepares the next one has done so, and the latency is not that of a full queue. An
 * answer has a Content-Length and the status 200; anything else counts as failed. One line of JSON
 * comes out: the time of each answer, and what the answer says the engine took of it (`start_ms`
 * and `wall_ms`):
 *
 *     {"failed": 0, "ms": […], "engine_ms": […]}
 *
 * In C because the subject is tenths of milliseconds, and an interpreter would measure itself.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_MAX (1 << 16)
#define ANSWER_MAX  (1 << 20)
#define COUNT_MAX   1000000

static char request[REQUEST_MAX], answer[ANSWER_MAX + 1];

static void __attribute__((noreturn)) die(const char *what)
{
    perror(what);
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int open_connection(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        die("connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* The head and all of the body are there. */
static bool is_complete(size_t len)
{
    const char *body, *length;

    answer[len] = '\0';
    body = strstr(answer, "\r\n\r\n");
    length = strcasestr(answer, "\r\nContent-Length:");
    if (!body)
        return false;
    if (!length || length > body)
        return true; /* an answer that has none is a failed one */
    return len >= (size_t)(body + 4 - answer) + strtoul(length + 17, NULL, 10);
}

static double number_of(const char *name)
{
    const char *at = strstr(answer, name);

    return at ? strtod(at + strlen(name), NULL) : 0;
}

/* Returns whether it succeeded. */
static bool ask(int fd, size_t len)
{
    size_t got = 0;

    if (write(fd, request, len) != (ssize_t)len)
        die("write");
    do {
        ssize_t n = read(fd, answer + got, ANSWER_MAX - got);

        if (n <= 0)
            die("read");
        got += (size_t)n;
    } while (!is_complete(got));
    return strncmp(answer, "HTTP/1.1 200 ", 13) == 0;
}

static void pause_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    int count = argc == 3 || argc == 4 ? (int)strtol(argv[2], NULL, 10) : 0, failed = 0, fd;
    long pause = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    size_t len = fread(request, 1, sizeof(request), stdin);
    double *times, *engine;

    if (count < 1 || count > COUNT_MAX || len == 0 || len == sizeof(request)) {
        (void)fputs("usage: ask PORT COUNT [PAUSE_MS] < REQUEST\n", stderr);
        return 64;
    }
    times = calloc((size_t)count, sizeof(*times));
    engine = calloc((size_t)count, sizeof(*engine));
    if (!times || !engine)
        die("calloc");
    fd = open_connection((int)strtol(argv[1], NULL, 10));
    for (int i = 0; i < count; i++) {
        double began = now_ms();

        failed += !ask(fd, len);
        times[i] = now_ms() - began;
        engine[i] = number_of("\"start_ms\":") + number_of("\"wall_ms\":");
        if (pause > 0)
            pause_ms(pause);
    }
    (void)printf("{\"failed\": %d, \"ms\": [", failed);
    for (int i = 0; i < count; i++)
        (void)printf("%s%.4f", i ? ", " : "", times[i]);
    (void)printf("], \"engine_ms\": [");
    for (int i = 0; i < count; i++)
        (void)printf("%s%.4f", i ? ", " : "", engine[i]);
    (void)printf("]}\n");
    return 0;
}
