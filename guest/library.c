#include "guest/library.h"

void library_register(void)
{
    PyImport_FrozenModules = library_modules;
}
