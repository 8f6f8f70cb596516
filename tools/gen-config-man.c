/* Fills the table of options into a manual page: gen-config-man TEMPLATE. The line "@OPTIONS@" of
 * the template is replaced by a paragraph for each row of src/base/config.c, so that the page
 * cannot drift from the program.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/limits.h"

/* Text for scdoc, to which underscores and asterisks mean emphasis. */
static void print_plain(const char *text)
{
    for (; *text; text++) {
        if (strchr("_*\\#", *text))
            putchar('\\');
        putchar(*text);
    }
}

static int print_option(const struct config *config, const struct config_option *option)
{
    cleanup_error struct error err = {0};
    char variable[128];
    struct buf takes;

    buf_init(&takes, KIB);
    if (config_describe(config, option, &takes, &err) < 0) {
        fprintf(stderr, "gen-config-man: %s: %s\n", option->name, err.message);
        buf_done(&takes);
        return -1;
    }
    config_variable(option, variable, sizeof(variable));

    printf("*");
    print_plain(option->name);
    printf("*");
    if (option->flag) {
        printf(", flag *--");
        print_plain(option->flag);
        printf("*");
    }
    printf("\n\t");
    print_plain(option->help);
    printf(".++\nTakes ");
    print_plain(buf_str(&takes));
    printf("; default: ");
    print_plain(*option->fallback ? option->fallback : "empty");
    printf(". Variable: ");
    print_plain(variable);
    for (size_t i = 0; i < ARRAY_SIZE(option->aliases) && option->aliases[i]; i++) {
        printf(", ");
        print_plain(option->aliases[i]);
    }
    printf(".\n\n");
    buf_done(&takes);
    return 0;
}

static int print_options(void)
{
    struct config *config = config_new();
    size_t count;
    const struct config_option *options = config_options(&count);
    int result = config ? 0 : -1;

    for (size_t i = 0; result == 0 && i < count; i++)
        result = print_option(config, &options[i]);
    config_free(config);
    return result;
}

int main(int argc, char **argv)
{
    cleanup_fclose FILE *template = argc == 2 ? fopen(argv[1], "re") : NULL;
    cleanup_free char *line = NULL;
    size_t size = 0;

    if (!template) {
        fprintf(stderr, "usage: gen-config-man TEMPLATE\n");
        return 64;
    }
    while (getline(&line, &size, template) >= 0) {
        if (strcmp(line, "@OPTIONS@\n") != 0)
            fputs(line, stdout);
        else if (print_options() < 0)
            return 1;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
