#include "engine/removed_modules.h"

#include <string.h>

#include "base/cleanup.h"

/* clang-format off */
static const struct removed_module modules[] = {
    {"aifc",        "3.13", "`wave`, or a package such as `soundfile`"},
    {"asynchat",    "3.12", "`asyncio`"},
    {"asyncore",    "3.12", "`asyncio`"},
    {"audioop",     "3.13", "`numpy`, or the package `audioop-lts`"},
    {"cgi",         "3.13", "`urllib.parse.parse_qs` and `email.message`"},
    {"cgitb",       "3.13", "`traceback`"},
    {"chunk",       "3.13", "`struct`"},
    {"crypt",       "3.13", "`hashlib.scrypt`"},
    {"distutils",   "3.12", "`setuptools`, `shutil` or `sysconfig`"},
    {"imghdr",      "3.13", "`PIL.Image.open(FILE).format`, or the first bytes of the file"},
    {"imp",         "3.12", "`importlib`"},
    {"lib2to3",     "3.13", "`ast`, or the package `libcst`"},
    {"mailcap",     "3.13", "`mimetypes`"},
    {"msilib",      "3.13", "a package of another kind: it was for Windows"},
    {"nis",         "3.13", "`pwd` and `grp`"},
    {"nntplib",     "3.13", "`socket` and `ssl`"},
    {"ossaudiodev", "3.13", "a package such as `soundfile`"},
    {"pipes",       "3.13", "`subprocess`, and `shlex.quote`"},
    {"smtpd",       "3.12", "the package `aiosmtpd`"},
    {"sndhdr",      "3.13", "`wave`, or the first bytes of the file"},
    {"spwd",        "3.13", "`pwd`"},
    {"sunau",       "3.13", "`wave`, or a package such as `soundfile`"},
    {"telnetlib",   "3.13", "`socket`"},
    {"uu",          "3.13", "`base64`, or `binascii.a2b_uu` and `binascii.b2a_uu`"},
    {"xdrlib",      "3.13", "`struct`"},
};
/* clang-format on */

const struct removed_module *removed_module_in(struct span message)
{
    static const char begin[] = "No module named '";
    struct span name = {message.data + sizeof(begin) - 1, 0};

    if (message.len < sizeof(begin) || memcmp(message.data, begin, sizeof(begin) - 1) != 0)
        return NULL;
    while (name.len < message.len - sizeof(begin) + 1 && !strchr(".'", name.data[name.len]))
        name.len++;
    for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
        if (span_is(name, modules[i].name))
            return &modules[i];
    return NULL;
}
