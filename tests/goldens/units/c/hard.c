/*
 * Licence.
 */

#include <stdio.h>
#include "local/header.h"
#include CONFIG_HEADER
# include <sys/types.h> /* spaced */

#ifndef HARD_C
#define HARD_C

#define LIMIT 10
#define STRING "a" \
    "b"
/* A function-like one. */
#define MAX(a, b) \
    ((a) > (b) ? (a) : (b))
#define EMPTY()
#define foreach(x) for (x = 0; x < 10; x++)
#undef LIMIT

/* A struct. */
struct point {
    int x, y;
    struct nested { int a; } inner;
    union { int i; float f; } anonymous;
    int (*callback)(int);
    enum colour { RED, GREEN = 2 } colour;
    unsigned bits : 3;
};

// Typedef'ed, with a tag of another name.
typedef struct client_s {
    int fd;
} client, *client_ptr;

/* Typedef'ed, equal. */
typedef struct same { int a; } same;

/* Without a tag. */
typedef struct {
    int a;
} untagged;
typedef union { int a; float b; } number;
typedef enum { ONE, TWO } count;
typedef enum mode { READ, WRITE } mode_t;
typedef enum level { LOW, HIGH } level;
typedef unsigned long long u64;
typedef u64 table[16][2];
typedef int (*compare)(const void *, const void *);
typedef int handler(struct point *p);
typedef struct opaque opaque;
typedef struct opaque *opaque_ptr;
typedef char *(*(*deep)(int))[3];

struct forward;
enum { ANONYMOUS_A, ANONYMOUS_B };
union value { long l; double d; };

static struct config { int a; } config = { .a = 1 };
static const struct point origin = {
    .x = 0,
    .callback = NULL,
    [LIMIT] = { 1 },
};
struct { int a; } variable;
int counter, *pointer, array[3];
int (*function_pointer)(int) = NULL;
static int (*handlers[])(int) = { NULL };

/* Prototypes. */
int declared(int a, char *b);
extern void *allocate(size_t size) __attribute__((malloc));
static inline int forward_declared(void);
int two(void), protos(int);
void (*returns_pointer(int sig))(int);
char **pointers(void);
void never(void) __attribute__((noreturn, cold));

/**
 * Documented.
 */
int
main(int argc, char **argv)
{
    int local_prototype(int);
    struct local { int a; };
#define LOCAL_MACRO 1
    foreach(x) {
        printf("no unit");
    }
    FOR_EACH(a, b) { printf("no unit"); }
    if (argc) { return 0; } else { return 1; }
}

static inline const char *name_of(enum colour c) { return "x"; }
unsigned long long int *const star(void) { return 0; }
char ***three_stars(void) { return 0; }
struct point make_point(int x, int y) { return (struct point){ .x = x, .y = y }; }

/* K&R. */
int old_style(a, b)
    int a;
    char *b;
{
    return a;
}
implicit_int(a) { return a; }
no_arguments() { return 1; }

/* Returns a pointer to a function. */
void (*signal_(int sig, void (*func)(int)))(int)
{
    return func;
}
int (parenthesized)(int a) { return a; }

__attribute__((constructor)) static void attributed(void) {}
static void __attribute__((unused)) between(void) {}
EXPORT_API int with_macro(void) { return 1; }
EXPORT(int) with_call(void) { return 1; }
void WINAPI convention(void) {}
static INLINE int two_macros(int a) { return a; }
[[nodiscard]] int c23(void) { return 1; }

TEST(simple) { int x; }
TEST(Suite, named) { int x; }
SYSCALL_DEFINE3(open_file, const char __user *, filename, int, flags)
{
    return 0;
}
MODULE_LICENSE("GPL");
EXPORT_SYMBOL(declared);
DEFINE_MUTEX(lock);
BENCHMARK(fast) {
    return 0;
}

#ifdef FEATURE
int conditional(int a)
{
    return a;
}
#else
int conditional(int a) { return -a; }
#endif

int variadic(const char *format, ...) { return 0; }
int arrays(int a[static 10], int n, int m[n][n]) { return 0; }
_Noreturn void stops(void) { for (;;); }
static _Bool generic(int x) { return _Generic(x, int: 1, default: 0); }
int gnu_nested(int a) {
    int nested_function(int b) { return b; }
    return ({ int y = nested_function(a); y; });
}

/* apart */

void apart(void) {}
void one(void) {} void same_line(void) {}
asm(".globl x");
_Static_assert(1, "x");

#endif /* HARD_C */
