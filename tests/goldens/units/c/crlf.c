#include "a.h"
/* one */
// two
int f(
    int a)
{
    return a;
}

#define X 1
#define Y(a) \
    a

int g(void);
