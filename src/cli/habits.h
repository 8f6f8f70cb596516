/* Options and commands of other tools that people type here, and what to type instead. */
#pragma once

/* The hint for an unknown option of `belljar COMMAND`, "-v" or "--volume"; NULL: it is no habit. */
const char *habit_option(const char *command, const char *option);

/* The hint for an unknown command; NULL: it is no habit. */
const char *habit_command(const char *word);
