/* A build without the console: npm, or its packages, could not be had. */
#include "serve/console_files.h"

const struct console_file console_files[] = {{0}};
