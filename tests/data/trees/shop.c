#include <stdio.h>
#include "shop.h"
#define SQUARE(x) ((x) * (x))

struct item {
    const char *name;
    int (*price)(const struct item *self);
};
typedef struct { int x, y; } point;
enum color { RED, GREEN };
union any { int i; float f; };
int declared(int a);

/* int in_comment(void) { return 0; } */
static const char *const words[] = {"int in_string(void) {"};

static inline int total(const struct item *items, unsigned count, ...)
{
    int sum = 0;

    for (unsigned i = 0; i < count; i++)
        if (items[i].price)
            sum += items[i].price(&items[i]) + SQUARE(2);
    return sum;
}

char *(*chosen(int which))(char *, int)
{
    switch (which) {
    case 1:
        return strncpy_like;
    default:
        return NULL;
    }
}

int main(void)
{
    struct item item = {.name = "item"};
    printf("%d\n", total(&item, 1));
    return 0;
}
