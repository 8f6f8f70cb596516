/* Any bytes as a SKILL.md. A head that is accepted has a name that can be imported, and a text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "store/front_matter.h"
#include "store/skill.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct front_matter matter = {0};
    struct error err = {0};
    char key[STORE_NAME_MAX + 1];

    if (front_matter_read((struct span){(const char *)data, len}, &matter, &err) < 0) {
        if (err.code != E_INVALID || !err.message || matter.name)
            abort();
    } else if (strlen(matter.name) > FRONT_MATTER_NAME_MAX || !*matter.description ||
               strlen(matter.description) > FRONT_MATTER_DESCRIPTION_MAX ||
               utf8_valid(matter.description, strlen(matter.description)) !=
                   strlen(matter.description)) {
        abort();
    } else if (skill_key(matter.name, key, NULL) == 0 && strchr(key, '-')) {
        abort();
    }
    free(matter.name);
    free(matter.description);
    error_done(&err);
    return 0;
}
