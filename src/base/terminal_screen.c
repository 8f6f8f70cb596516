#include "base/terminal_screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/utf8.h"

#define CANCEL     '\030'
#define SUBSTITUTE '\032'
#define ESCAPE     '\033'
#define DELETE     '\177'

#define REPLACEMENT "\xef\xbf\xbd"

/* A string that goes on for longer has no end: what follows is shown again. */
#define STRING_MAX MIB

/* Numbers of one sequence, and the largest: no screen is wider. */
#define NUMBERS_MAX 32
#define NUMBER_MAX  99999

/* --- what is passed on --- */

/* Modes, in the order in which they are undone. */
static const struct mode {
    unsigned number;
    bool is_on;       /* at first */
    bool has_reports; /* the terminal types by itself while it is set */
    bool is_moment;   /* it does something once, and there is nothing to undo */
    bool is_saved;    /* with the cursor: it may come back after it was reset */
} modes[] = {
    {1049, .is_on = false},               /* the other screen, */
    {1047, .is_on = false},               /* */
    {47, .is_on = false},                 /* */
    {1048, .is_moment = true},            /* and the cursor's place */
    {1, .is_on = false},                  /* cursor keys */
    {5, .is_on = false},                  /* reverse video */
    {6, .is_saved = true},                /* origin */
    {7, .is_on = true, .is_saved = true}, /* lines wrap */
    {12, .is_on = false},                 /* the cursor blinks */
    {25, .is_on = true},                  /* the cursor is seen */
    {1000, .has_reports = true},          /* the mouse: clicks, */
    {1002, .has_reports = true},          /* and dragging, */
    {1003, .has_reports = true},          /* and moving; */
    {1006, .is_on = false},               /* in this form, */
    {1015, .is_on = false},               /* or that */
    {1004, .has_reports = true},          /* the window is looked at */
    {2004, .is_on = false},               /* pasted text is marked */
};

/* Others, and how they are undone. Setting the region moves the cursor. */
enum {
    CHANGED_STYLE,
    CHANGED_CHARSET,
    CHANGED_REGION,
    CHANGED_KEYPAD,
    CHANGED_INSERT,
    CHANGED_CURSOR
};

static const char *const undone[] = {
    [CHANGED_STYLE] = "\033[0m",           [CHANGED_CHARSET] = "\017\033(B\033)B",
    [CHANGED_REGION] = "\0337\033[r\0338", [CHANGED_KEYPAD] = "\033>",
    [CHANGED_INSERT] = "\033[4l",          [CHANGED_CURSOR] = "\033[0 q",
};

static void change(struct terminal_screen *screen, unsigned what, bool is_changed)
{
    screen->changed = is_changed ? screen->changed | 1u << what : screen->changed & ~(1u << what);
}

struct numbers {
    unsigned items[NUMBERS_MAX];
    size_t count;   /* an empty one is 0 */
    bool has_parts; /* "4:3" */
};

/* Digits, semicolons and colons. False: there is something else, or too much. */
static bool read_numbers(const char *text, size_t len, struct numbers *ret)
{
    *ret = (struct numbers){.count = len ? 1 : 0};
    for (size_t i = 0; i < len; i++) {
        unsigned *number = &ret->items[ret->count - 1];

        if (text[i] == ';' || text[i] == ':') {
            ret->has_parts |= text[i] == ':';
            if (ret->count++ == NUMBERS_MAX)
                return false;
        } else if (text[i] >= '0' && text[i] <= '9') {
            *number = *number * 10 + (unsigned)(text[i] - '0');
            if (*number > NUMBER_MAX)
                return false;
        } else {
            return false;
        }
    }
    return true;
}

static const struct mode *find_mode(unsigned number)
{
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
        if (modes[i].number == number)
            return &modes[i];
    return NULL;
}

/* ESC [ ? NUMBERS h, or l. Of several, those that are known. */
static int set_modes(struct terminal_screen *screen, const struct numbers *numbers, char final,
                     struct buf *out, struct error *err)
{
    for (size_t i = 0; i < numbers->count; i++) {
        const struct mode *mode = find_mode(numbers->items[i]);
        uint32_t bit;

        if (!mode)
            continue;
        bit = 1u << (mode - modes);
        if (mode->number == 1049) /* the cursor is where it was on the other screen */
            screen->is_in_line = false;
        if ((final == 'h') != mode->is_on && !mode->is_moment)
            screen->modes |= bit;
        else if (!mode->is_saved)
            screen->modes &= ~bit;
        if (buf_printf(out, err, "\033[?%u%c", mode->number, final) < 0)
            return -1;
    }
    return 0;
}

/* Sequences without a mark before their numbers: the letter, and how many numbers they may have.
 */
static bool is_drawing(const struct numbers *n, char final)
{
    static const char two[] = "ABCDEFGHIKLMPXZ@`abdef";

    if (n->has_parts && final != 'm')
        return false;
    switch (final) {
    case 'm':
        return true;
    case 'J': /* 3 erases what has scrolled out of sight */
        return n->count <= 1 && n->items[0] <= 2;
    case 'S':
    case 'T': /* with five numbers it stops the terminal until the mouse is moved */
        return n->count <= 1;
    case 'r':
        return n->count <= 2;
    case 's':
    case 'u':
        return n->count == 0;
    case 'h':
    case 'l':
        return n->count == 1 && n->items[0] == 4;
    default:
        return n->count <= 2 && memchr(two, final, sizeof(two) - 1);
    }
}

static void note_drawing(struct terminal_screen *screen, const struct numbers *n, char final)
{
    /* For good: a style that is saved with the cursor may come back after it was reset. */
    if (final == 'm' && (n->count > 1 || n->items[0] != 0))
        change(screen, CHANGED_STYLE, true);
    if (final == 'r')
        change(screen, CHANGED_REGION, true);
    if (final == 'h' || final == 'l')
        change(screen, CHANGED_INSERT, final == 'h');
}

/* The sequence is held, without ESC [ and with its last byte. */
static int end_control(struct terminal_screen *screen, struct buf *out, struct error *err)
{
    const char *text = screen->held;
    size_t len = screen->n_held - 1;
    char final = text[len];
    struct numbers numbers;

    screen->state = SCREEN_TEXT;
    screen->n_held = 0;
    if (len && *text == '?' && (final == 'h' || final == 'l'))
        return read_numbers(text + 1, len - 1, &numbers)
                   ? set_modes(screen, &numbers, final, out, err)
                   : 0;
    if (final == 'q' && len && text[len - 1] == ' ' && read_numbers(text, len - 1, &numbers) &&
        numbers.count <= 1 && numbers.items[0] <= 6) {
        change(screen, CHANGED_CURSOR, numbers.items[0] != 0);
        return buf_printf(out, err, "\033[%u q", numbers.items[0]);
    }
    if (final == 'p' && len == 1 && *text == '!')
        return buf_add_str(out, "\033[!p", err);
    if (!read_numbers(text, len, &numbers) || !is_drawing(&numbers, final))
        return 0;
    note_drawing(screen, &numbers, final);
    return buf_add_str(out, "\033[", err) < 0 ? -1 : buf_add(out, text, len + 1, err);
}

/* ESC and one or more bytes, which are held. */
static int end_escape(struct terminal_screen *screen, struct buf *out, struct error *err)
{
    static const char plain[] = "78DEM=>";
    char first = screen->held[0], last = screen->held[screen->n_held - 1];
    bool is_charset = screen->n_held == 2 && (first == '(' || first == ')') &&
                      (last == 'B' || last == '0' || last == 'A');
    bool is_plain = screen->n_held == 1 && memchr(plain, first, sizeof(plain) - 1);
    size_t len = screen->n_held;

    screen->state = SCREEN_TEXT;
    screen->n_held = 0;
    if (!is_charset && !is_plain)
        return 0;
    if (is_charset)
        change(screen, CHANGED_CHARSET, true);
    if (first == '=' || first == '>')
        change(screen, CHANGED_KEYPAD, first == '=');
    return buf_add(out, "\033", 1, err) < 0 ? -1 : buf_add(out, screen->held, len, err);
}

/* --- text --- */

static int pass_control(struct terminal_screen *screen, char c, struct buf *out, struct error *err)
{
    if (c == ESCAPE) {
        screen->state = SCREEN_ESCAPE;
        return 0;
    }
    if (!c || !strchr("\a\b\t\n\r\016\017", c))
        return 0;
    if (c == '\n' || c == '\r')
        screen->is_in_line = false;
    if (c == '\016')
        change(screen, CHANGED_CHARSET, true);
    return buf_add(out, &c, 1, err);
}

/* Bytes of one character, as far as they have come. */
static int pass_character(struct terminal_screen *screen, struct buf *out, struct error *err)
{
    uint32_t c = 0;
    int n = utf8_decode(screen->held, screen->n_held, &c);

    if (n == UTF8_PARTIAL)
        return 0;
    screen->n_held = 0;
    if (n == UTF8_INVALID)
        return buf_add_str(out, REPLACEMENT, err);
    return utf8_is_harmless(c) ? buf_add(out, screen->held, (size_t)n, err) : 0;
}

static int pass_text(struct terminal_screen *screen, char c, struct buf *out, struct error *err)
{
    bool is_ascii = (unsigned char)c < 0x80;

    /* A character that was cut short, by another or by its own kind. */
    if (screen->n_held && (is_ascii || ((unsigned char)c & 0xc0) != 0x80)) {
        screen->n_held = 0;
        if (buf_add_str(out, REPLACEMENT, err) < 0)
            return -1;
    }
    if (is_ascii && ((unsigned char)c < 0x20 || c == DELETE))
        return pass_control(screen, c, out, err);
    screen->is_in_line = true;
    if (is_ascii)
        return buf_add(out, &c, 1, err);
    screen->held[screen->n_held++] = c;
    return pass_character(screen, out, err);
}

/* --- sequences, byte by byte --- */

static void begin_string(struct terminal_screen *screen)
{
    screen->state = SCREEN_STRING;
    screen->n_held = 0;
    screen->n_string = 0;
}

static int take_escape(struct terminal_screen *screen, char c, struct buf *out, struct error *err)
{
    if (screen->n_held == 0 && c == '[') {
        screen->state = SCREEN_CONTROL;
        return 0;
    }
    if (screen->n_held == 0 && strchr("]PX^_", c)) {
        begin_string(screen);
        return 0;
    }
    screen->held[screen->n_held++] = c;
    if (c >= 0x20 && c < 0x30 && screen->n_held < 4)
        return 0;
    return end_escape(screen, out, err);
}

static int take_control(struct terminal_screen *screen, char c, struct buf *out, struct error *err)
{
    bool is_last = c >= 0x40 && c <= 0x7e;

    if (screen->n_held == TERMINAL_SEQUENCE_MAX)
        screen->state = SCREEN_OVERLONG;
    if (screen->state == SCREEN_OVERLONG) {
        screen->n_held = 0;
        screen->state = is_last ? SCREEN_TEXT : SCREEN_OVERLONG;
        return 0;
    }
    screen->held[screen->n_held++] = c;
    return is_last ? end_control(screen, out, err) : 0;
}

/* The console of Linux has two without an end: ESC ] R, and ESC ] P with seven digits. */
static void take_string(struct terminal_screen *screen, char c)
{
    bool is_first = screen->n_string++ == 0;

    if (c == '\a' || (is_first && c == 'R') || screen->n_string > STRING_MAX)
        screen->state = SCREEN_TEXT;
    else if (is_first && c == 'P')
        screen->state = SCREEN_PALETTE;
    else if (screen->state == SCREEN_PALETTE && screen->n_string == 8)
        screen->state = SCREEN_TEXT;
}

/* Bytes that end whatever sequence they stand in. */
static bool ends_sequence(const struct terminal_screen *screen, char c)
{
    if (c == CANCEL || c == SUBSTITUTE || c == ESCAPE)
        return true;
    /* A control character or another alphabet in the middle: it was none. */
    return screen->state != SCREEN_STRING && screen->state != SCREEN_PALETTE &&
           ((unsigned char)c < 0x20 || (unsigned char)c >= 0x80);
}

static int take(struct terminal_screen *screen, char c, struct buf *out, struct error *err)
{
    if (screen->state == SCREEN_STRING_ESCAPE) {
        screen->state = c == '\\' ? SCREEN_TEXT : SCREEN_ESCAPE;
        if (c == '\\')
            return 0;
    }
    if (screen->state == SCREEN_TEXT)
        return pass_text(screen, c, out, err);
    if (c == ESCAPE && screen->state == SCREEN_STRING) {
        screen->state = SCREEN_STRING_ESCAPE;
        return 0;
    }
    if (ends_sequence(screen, c)) {
        screen->state = SCREEN_TEXT;
        screen->n_held = 0;
        return pass_text(screen, c, out, err);
    }
    switch (screen->state) {
    case SCREEN_ESCAPE:
        return take_escape(screen, c, out, err);
    case SCREEN_CONTROL:
    case SCREEN_OVERLONG:
        return take_control(screen, c, out, err);
    default:
        take_string(screen, c);
        return 0;
    }
}

int terminal_screen_feed(struct terminal_screen *screen, const char *data, size_t len,
                         struct buf *out, struct error *err)
{
    for (size_t i = 0; i < len;) {
        size_t plain = i;

        while (screen->state == SCREEN_TEXT && !screen->n_held && plain < len &&
               data[plain] >= 0x20 && data[plain] < DELETE)
            plain++;
        if (plain > i && buf_add(out, data + i, plain - i, err) < 0)
            return -1;
        screen->is_in_line |= plain > i;
        i = plain;
        if (i < len && take(screen, data[i++], out, err) < 0)
            return -1;
    }
    return 0;
}

int terminal_screen_finish(struct terminal_screen *screen, struct buf *out, struct error *err)
{
    bool had_reports = false;

    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        if (!(screen->modes >> i & 1))
            continue;
        had_reports |= modes[i].has_reports;
        screen->is_in_line &= modes[i].number != 1049;
        if (buf_printf(out, err, "\033[?%u%c", modes[i].number, modes[i].is_on ? 'h' : 'l') < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(undone); i++)
        if ((screen->changed >> i & 1) && buf_add_str(out, undone[i], err) < 0)
            return -1;
    if (screen->is_in_line && buf_add_str(out, "\r\n", err) < 0)
        return -1;
    *screen = (struct terminal_screen){0};
    return had_reports;
}
