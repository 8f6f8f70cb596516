#include "cli/consent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/terminal_text.h"

/* Bytes of the arguments shown until the user asks for all. */
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
    free(consent->name);
    free(consent->arguments);
    consent->name = consent->arguments = NULL;
    close_fd(&consent->terminal);
}

/* A terminal that takes nothing for so long shows nobody anything. */
#define PATIENCE_MS 10000

static int write_terminal(int fd, const char *text, size_t len)
{
    while (len) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno == EAGAIN && poll(&ready, 1, PATIENCE_MS) > 0)
            continue;
        if (n < 0 && errno != EINTR)
            return -1;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* The beginning of them, or all. What is left out is said, with its size. */
static int add_arguments(const char *arguments, bool is_whole, struct buf *text)
{
    size_t len = strlen(arguments), shown = is_whole || len < SHOWN_BYTES ? len : SHOWN_BYTES;

    while (shown < len && ((uint8_t)arguments[shown] & 0xc0) == 0x80)
        shown--; /* not in the middle of a character */
    if (terminal_exact_line(arguments, shown, text, NULL) < 0)
        return -1;
    if (shown == len)
        return 0;
    return buf_printf(text, NULL, " …\n%zu of %zu bytes are NOT shown: type `all` to see them",
                      len - shown, len);
}

static int add_hidden(const struct consent *consent, struct buf *text)
{
    if (!consent->hidden)
        return 0;
    return buf_printf(text, NULL, "\n%llu bytes of it are HIDDEN: type `hidden` to allow it anyway",
                      (unsigned long long)consent->hidden);
}

static bool is_connect(const char *name)
{
    return strcmp(name, APPROVAL_CONNECT) == 0;
}

static const char *question_of(const struct consent *consent, const char *name, bool is_long)
{
    uint64_t hidden = consent->hidden;

    if (!is_long && !hidden && is_connect(name))
        return consent->can_be_kept ? "\nAllow it for this session? [y/always/N] "
                                    : "\nAllow it for this session? [y/N] ";
    return is_long  ? "\nAllow it this time? [N/all] "
           : hidden ? "\nAllow it this time, including the hidden part? [hidden/N] "
                    : "\nAllow it this time? [y/N] ";
}

static int add_wish(const char *name, struct buf *text)
{
    if (is_connect(name))
        return buf_add_str(
            text, "belljar: the program wants to connect to a host that is not granted, ", NULL);
    if (buf_add_str(text, "belljar: the program wants to call ", NULL) < 0 ||
        terminal_exact_line(name, strlen(name), text, NULL) < 0)
        return -1;
    return buf_add_str(text, " with ", NULL);
}

/* False: it was not, or not as a whole; then no answer is a yes. */
static bool show(const struct consent *consent, const char *name, const char *arguments,
                 bool is_whole)
{
    bool is_long = !is_whole && strlen(arguments) > SHOWN_BYTES;
    const char *question = question_of(consent, name, is_long);
    cleanup(buf_done) struct buf text = {0};

    buf_init(&text, 4 * (strlen(name) + strlen(arguments)) + KIB); /* each byte as \xNN */
    /* On a line of its own, and in no colour that a program left behind. */
    if (buf_add_str(&text, "\033[0m\r\n", NULL) < 0 || add_wish(name, &text) < 0 ||
        add_arguments(arguments, is_whole, &text) < 0 || add_hidden(consent, &text) < 0 ||
        write_terminal(consent->terminal, buf_str(&text), text.len) < 0)
        return false;
    (void)tcflush(consent->terminal, TCIFLUSH); /* what was typed before is no answer to it */
    return write_terminal(consent->terminal, question, strlen(question)) == 0 && !is_long;
}

static bool is_all(const char *line, size_t len)
{
    return len == 3 && strncasecmp(line, "all", 3) == 0;
}

static bool is_always(const struct consent *consent, const char *line, size_t len)
{
    return consent->can_be_kept && !consent->hidden && len == 6 &&
           strncasecmp(line, "always", 6) == 0;
}

/* If something is hidden, `y` and `yes` are not enough: only the word `hidden` approves. */
static bool is_yes(const struct consent *consent, const char *line, size_t len)
{
    if (consent->hidden)
        return len == 6 && strncasecmp(line, "hidden", 6) == 0;
    return is_always(consent, line, len) || (len == 1 && (*line == 'y' || *line == 'Y')) ||
           (len == 3 && strncasecmp(line, "yes", 3) == 0);
}

static void on_typed(void *arg);

static void show_again(struct consent *consent, bool is_whole)
{
    consent->len = 0;
    consent->is_shown = consent->name && consent->arguments &&
                        show(consent, consent->name, consent->arguments, is_whole);
}

static void put(struct consent *consent, struct loop *loop, const struct approval *approval)
{
    memcpy(consent->approval_id, approval->id, sizeof(consent->approval_id));
    consent->approvals = approval->all;
    memcpy(consent->run_id, approval->run->id, sizeof(consent->run_id));
    consent->len = 0;
    free(consent->name);
    free(consent->arguments);
    consent->name = strdup(approval->name);
    consent->arguments =
        strdup(approval->shown ? approval->shown : "arguments that cannot be shown");
    consent->hidden = approval->hidden;
    consent->can_be_kept = approval->can_be_kept;
    show_again(consent, false);
    if (!consent->watch)
        consent->watch = loop_watch_fd(loop, consent->terminal, LOOP_READ, on_typed, consent);
}

static void decide(struct consent *consent)
{
    char approval_id[ID_SIZE];
    struct approval_word word = {.approval_id = approval_id};
    const struct approval *next;

    if (is_all(consent->line, consent->len)) {
        show_again(consent, true);
        return;
    }
    memcpy(approval_id, consent->approval_id, sizeof(approval_id));
    *consent->approval_id = '\0';
    /* Nobody waits for the answer where its time is over. */
    word.is_yes = consent->is_shown && is_yes(consent, consent->line, consent->len);
    word.is_always = is_always(consent, consent->line, consent->len);
    word.accept_hidden = consent->hidden;
    if (approval_answer(consent->approvals, consent->run_id, &word, NULL) < 0 && word.is_yes) {
        word.is_yes = false; /* it could not be shown */
        (void)approval_answer(consent->approvals, consent->run_id, &word, NULL);
    }
    next = approval_first(consent->approvals, consent->run_id);
    if (next && !*consent->approval_id)
        put(consent, NULL, next);
    if (!*consent->approval_id) {
        loop_watch_free(consent->watch);
        consent->watch = NULL;
        if (consent->on_closed)
            consent->on_closed(consent->user);
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
    if (n <= 0 && *consent->approval_id) { /* the end of the input, or of the terminal */
        consent->len = 0;
        decide(consent);
    }
}

void consent_ask(struct consent *consent, struct loop *loop, const struct approval *approval)
{
    if (!*consent->approval_id)
        put(consent, loop, approval);
}

bool consent_is_open(const struct consent *consent)
{
    return *consent->approval_id && approval_first(consent->approvals, consent->run_id);
}

void consent_close(struct consent *consent)
{
    loop_watch_free(consent->watch);
    consent->watch = NULL;
    *consent->approval_id = '\0';
}

/* A line that was typed; -1: none in time. */
static ssize_t read_line(const struct consent *consent, int patience_ms, char *line, size_t size)
{
    struct pollfd typed = {.fd = consent->terminal, .events = POLLIN};
    ssize_t n;

    if (poll(&typed, 1, patience_ms) <= 0)
        return -1;
    n = read(consent->terminal, line, size);
    return n > 0 ? n - (line[n - 1] == '\n') : -1;
}

bool consent_ask_now(struct consent *consent, const json_t *approval)
{
    const char *name = json_string_value(json_object_get(approval, "call"));
    double seconds = json_number_value(json_object_get(approval, "expires_in_s"));
    int patience_ms = seconds < 3600 ? (int)(seconds * 1000) : 3600000;
    cleanup(buf_done) struct buf arguments = BUF_OF(8 * MIB);
    json_int_t hidden = json_integer_value(json_object_get(approval, "hidden_bytes"));
    bool is_whole = false, is_shown = false;
    char line[64] = "";
    ssize_t n = 0;

    consent->hidden = hidden > 0 ? (uint64_t)hidden : 0;
    consent->can_be_kept = false; /* the operator of the server has the file */
    if (!name || json_text_dump(json_object_get(approval, "arguments"), JSON_TEXT_COMPACT,
                                &arguments, NULL) < 0)
        return false;
    /* A person who asks for all of it again and again is too late some day, and the server says
     * so. */
    do {
        is_shown = show(consent, name, buf_str(&arguments), is_whole);
        n = read_line(consent, patience_ms, line, sizeof(line));
        is_whole = n > 0 && is_all(line, (size_t)n);
    } while (is_whole);
    return is_shown && n > 0 && is_yes(consent, line, (size_t)n);
}
