#include "cmd/consent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "front/terminal.h"

/* Of the arguments, on a screen. */
#define SHOWN_BYTES 2000

void consent_open(struct consent *consent)
{
    *consent = (struct consent){.terminal = -1};
    if (isatty(STDERR_FILENO))
        consent->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

void consent_done(struct consent *consent)
{
    loop_watch_free(consent->watch);
    consent->watch = NULL;
    close_fd(&consent->terminal);
}

static void show(const struct consent *consent, const char *name, const char *arguments)
{
    cleanup(buf_done) struct buf text = {0};
    size_t len = strlen(arguments);

    buf_init(&text, 16 * KIB);
    if (buf_add_str(&text, "belljar: the program wants to call ", NULL) == 0 &&
        terminal_exact_line(name, strlen(name), &text, NULL) == 0 &&
        buf_add_str(&text, " with ", NULL) == 0 &&
        terminal_exact_line(arguments, len < SHOWN_BYTES ? len : SHOWN_BYTES, &text, NULL) == 0 &&
        buf_add_str(&text, len > SHOWN_BYTES ? " …" : "", NULL) == 0 &&
        buf_add_str(&text, "\nAllow it this time? [y/N] ", NULL) == 0) {
        (void)tcflush(consent->terminal, TCIFLUSH); /* what was typed before is no answer to it */
        (void)file_write_all(consent->terminal, buf_str(&text), text.len);
    }
}

static bool is_yes(const char *line, size_t len)
{
    return (len == 1 && (*line == 'y' || *line == 'Y')) ||
           (len == 3 && strncasecmp(line, "yes", 3) == 0);
}

static void on_typed(void *arg);

static void put(struct consent *consent, struct loop *loop, const struct approval *approval)
{
    memcpy(consent->approval_id, approval->id, sizeof(consent->approval_id));
    memcpy(consent->run_id, approval->run->id, sizeof(consent->run_id));
    consent->len = 0;
    show(consent, approval->name,
         approval->shown ? approval->shown : "arguments that are not shown");
    if (!consent->watch)
        consent->watch = loop_watch_fd(loop, consent->terminal, LOOP_READ, on_typed, consent);
}

static void decide(struct consent *consent)
{
    char approval_id[32];
    const struct approval *next;

    memcpy(approval_id, consent->approval_id, sizeof(approval_id));
    *consent->approval_id = '\0';
    /* Nobody waits for the answer where its time is over. */
    (void)approval_answer(consent->run_id, approval_id, is_yes(consent->line, consent->len), NULL);
    next = approval_first(consent->run_id);
    if (next && !*consent->approval_id)
        put(consent, NULL, next);
    if (!*consent->approval_id) {
        loop_watch_free(consent->watch);
        consent->watch = NULL;
    }
}

static void on_typed(void *arg)
{
    struct consent *consent = arg;
    char text[64];
    ssize_t n = read(consent->terminal, text, sizeof(text));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    for (ssize_t i = 0; i < n && *consent->approval_id; i++) {
        if (text[i] == '\n')
            decide(consent);
        else if (consent->len < sizeof(consent->line))
            consent->line[consent->len++] = text[i];
    }
    if (n <= 0 && *consent->approval_id) /* the end of the input, or of the terminal */
        decide(consent);
}

void consent_ask(struct consent *consent, struct loop *loop, const struct approval *approval)
{
    if (!*consent->approval_id)
        put(consent, loop, approval);
}

bool consent_ask_now(const struct consent *consent, const json_t *approval)
{
    const char *name = json_string_value(json_object_get(approval, "call"));
    double seconds = json_number_value(json_object_get(approval, "expires_in_s"));
    struct pollfd typed = {.fd = consent->terminal, .events = POLLIN};
    cleanup(buf_done) struct buf arguments = {0};
    char text[64];
    ssize_t n;

    buf_init(&arguments, MIB);
    if (!name || json_text_dump(json_object_get(approval, "arguments"), JSON_TEXT_COMPACT,
                                &arguments, NULL) < 0)
        return false;
    show(consent, name, buf_str(&arguments));
    if (poll(&typed, 1, seconds < 3600 ? (int)(seconds * 1000) : 3600000) <= 0)
        return false;
    n = read(consent->terminal, text, sizeof(text));
    return n > 0 && is_yes(text, (size_t)n - (text[n - 1] == '\n'));
}
