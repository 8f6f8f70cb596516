#include "admit/page_tokens.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/hex.h"

#define CODES   16
#define PAGES   64
#define OF_ONE  2 /* one caller has at most half of either */
#define NS_IN_S ((uint64_t)1000000000)

struct entry {
    unsigned number; /* 0: the place is free */
    uint8_t hash[SHA256_BYTES];
    struct caller *caller;
    unsigned generation; /* of the caller */
    uint64_t until_ns;
};

struct page_tokens {
    struct entry codes[CODES], pages[PAGES];
    unsigned last;
};

struct page_tokens *page_tokens_new(void)
{
    return calloc(1, sizeof(struct page_tokens));
}

void page_tokens_free(struct page_tokens *pages)
{
    if (pages)
        explicit_bzero(pages, sizeof(*pages));
    free(pages);
}

static bool lives(const struct entry *entry, uint64_t now_ns)
{
    return entry->number && now_ns < entry->until_ns && entry->caller->is_known &&
           entry->caller->generation == entry->generation;
}

/* A free place, or the oldest of the same caller where it has its share. NULL: others have all. */
static struct entry *make_room(struct entry *entries, size_t count, const struct caller *caller,
                               uint64_t now_ns)
{
    struct entry *oldest = NULL, *empty = NULL;
    size_t own = 0;

    for (size_t i = 0; i < count; i++) {
        struct entry *e = &entries[i];

        if (!lives(e, now_ns)) {
            empty = e;
        } else if (e->caller == caller) {
            own++;
            if (!oldest || e->until_ns < oldest->until_ns)
                oldest = e;
        }
    }
    return own >= count / OF_ONE ? oldest : empty;
}

static int add(struct page_tokens *pages, struct entry *entries, size_t count, const char *text,
               size_t len, struct caller *caller, uint64_t until_ns, uint64_t now_ns,
               struct error *err)
{
    struct entry *e = make_room(entries, count, caller, now_ns);

    if (!e) {
        error_set(err, E_BUSY, "too many consoles are open");
        return error_hint(err, "close one of them, or try again in a minute");
    }
    *e = (struct entry){.caller = caller, .generation = caller->generation, .until_ns = until_ns};
    sha256(text, len, e->hash);
    if (!++pages->last)
        pages->last = 1;
    e->number = pages->last;
    return 0;
}

static struct entry *find(struct entry *entries, size_t count, const uint8_t hash[SHA256_BYTES],
                          uint64_t now_ns)
{
    struct entry *found = NULL;

    for (size_t i = 0; i < count; i++)
        if (!sha256_differs(hash, entries[i].hash) && lives(&entries[i], now_ns))
            found = &entries[i];
    return found && !found->caller->is_shut_out ? found : NULL;
}

int page_code_make(struct page_tokens *pages, struct caller *caller, uint64_t now_ns,
                   char ret_code[PAGE_CODE_LEN + 1], struct error *err)
{
    unsigned char chance[PAGE_CODE_LEN / 2];

    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return error_errno(err, "getrandom");
    hex_write(chance, sizeof(chance), ret_code);
    explicit_bzero(chance, sizeof(chance));
    return add(pages, pages->codes, CODES, ret_code, PAGE_CODE_LEN, caller,
               now_ns + PAGE_CODE_S * NS_IN_S, now_ns, err);
}

int page_code_redeem(struct page_tokens *pages, struct span code, uint64_t now_ns,
                     char ret_token[TOKEN_LEN + 1], struct caller **ret_caller, struct error *err)
{
    uint8_t hash[SHA256_BYTES];
    struct entry *e;
    struct caller *caller;

    sha256(code.data, code.len, hash);
    e = code.len == PAGE_CODE_LEN ? find(pages->codes, CODES, hash, now_ns) : NULL;
    if (!e) {
        error_set(err, E_AUTH, "the code is unknown, used, or older than a minute");
        return error_hint(err, "run `belljar console` again");
    }
    caller = e->caller;
    *e = (struct entry){0};
    if (token_make(ret_token, err) < 0 ||
        add(pages, pages->pages, PAGES, ret_token, TOKEN_LEN, caller,
            now_ns + PAGE_TOKEN_S * NS_IN_S, now_ns, err) < 0)
        return -1;
    *ret_caller = caller;
    return 0;
}

struct caller *page_token_find(struct page_tokens *pages, const uint8_t hash[SHA256_BYTES],
                               uint64_t now_ns, unsigned *ret_number)
{
    const struct entry *e = find(pages->pages, PAGES, hash, now_ns);

    if (!e)
        return NULL;
    *ret_number = e->number;
    return e->caller;
}

bool page_token_lives(const struct page_tokens *pages, unsigned number, uint64_t now_ns)
{
    for (size_t i = 0; number && i < PAGES; i++)
        if (pages->pages[i].number == number)
            return lives(&pages->pages[i], now_ns);
    return false;
}

void page_token_end(struct page_tokens *pages, unsigned number)
{
    for (size_t i = 0; number && i < PAGES; i++)
        if (pages->pages[i].number == number)
            pages->pages[i] = (struct entry){0};
}
