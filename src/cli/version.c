/* belljar version: which Belljar this is and what is in it. */
#include <stdio.h>
#include <stdlib.h>

#include <event2/event.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "wire/message.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER "address"
#else
#define SANITIZER "none"
#endif

static int help(void)
{
    (void)printf("usage: belljar version [--build] [--json]\n\n"
                 "Show the version of Belljar.\n\n"
                 "  --build  also show the compiler, libraries and built-in directories\n"
                 "  --json   print JSON\n\n"
                 "example:\n"
                 "  belljar version --build\n");
    return 0;
}

static int version_json(void)
{
    cleanup_error struct error err = {0};
    cleanup_json json_t *object =
        json_pack("{s:s, s:i, s:s, s:{s:s, s:s}, s:s, s:s, s:s}", "version", BELLJAR_VERSION,
                  "wire", WIRE_VERSION, "compiler", COMPILER, "libraries", "libevent",
                  event_get_version(), "jansson", jansson_version_str(), "sanitizer", SANITIZER,
                  "libexecdir", BELLJAR_LIBEXECDIR, "datadir", BELLJAR_DATADIR);

    return cmd_print_json(object, &err) < 0 ? cmd_fail(&err) : 0;
}

static void print_build(void)
{
    (void)printf("wire        %d\n", WIRE_VERSION);
    (void)printf("compiler    %s\n", COMPILER);
    (void)printf("libevent    %s\n", event_get_version());
    (void)printf("jansson     %s\n", jansson_version_str());
    (void)printf("sanitizer   %s\n", SANITIZER);
    (void)printf("libexecdir  %s\n", BELLJAR_LIBEXECDIR);
    (void)printf("datadir     %s\n", BELLJAR_DATADIR);
}

int cmd_version(int argc, char **argv)
{
    static const struct option options[] = {
        {"build", no_argument, NULL, 'b'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    bool has_build = false, is_json = false;
    const struct cmd_place places[] = {
        {'b', .flag = &has_build},
        {'j', .flag = &is_json},
    };
    int r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    if (optind < argc)
        return cmd_bad_argument("version", argv[optind]);
    if (is_json)
        return version_json();
    (void)printf("belljar %s\n", BELLJAR_VERSION);
    if (has_build)
        print_build();
    return 0;
}
