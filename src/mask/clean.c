/* The one place that makes clean text. */
#define CLEAN_TEXT_MAKER
#include <string.h>

#include "base/cleanup.h"
#include "mask/internal.h"
#include "mask/masker.h"

struct clean_text masker_clean(const char *data, size_t len)
{
    return (struct clean_text){.masked_data = data, .masked_len = len};
}

struct clean_text masker_pass_unmasked(const char *data, size_t len)
{
    return masker_clean(data, len);
}

bool masker_recent_find(const struct masker_recent *recent, const char *text,
                        struct clean_text *ret_text)
{
    for (size_t i = 0; i < ARRAY_SIZE(recent->texts); i++)
        if (*text && strcmp(recent->texts[i], text) == 0) {
            *ret_text = masker_clean(recent->texts[i], strlen(recent->texts[i]));
            return true;
        }
    return false;
}

void masker_recent_keep(struct masker_recent *recent, struct clean_text text)
{
    char *to = recent->texts[recent->next % ARRAY_SIZE(recent->texts)];
    size_t len = clean_len(text);

    if (!len || len >= MASKER_RECENT_SIZE || memchr(clean_data(text), '\0', len))
        return;
    memcpy(to, clean_data(text), len);
    to[len] = '\0';
    recent->next++;
}
