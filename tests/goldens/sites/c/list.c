/* Declarators, macros, conditions, labels, designated initialisers. */
#include <stdio.h>
#include LIST_HEADER
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LIMIT 8
#if defined(LIMIT) && LIMIT > 4
typedef unsigned long word;
#elif OTHER
typedef int word;
#endif

struct node { struct node *next, *prev; int values[LIMIT], (*compare)(const void *left, size_t); uint8_t bits : 3; };
typedef struct { struct node *head; word größe; } list, *list_ref;
typedef int (*callback)(list_ref self, void *data);
enum state { IDLE = 1, BUSY = IDLE << 1 };
union value { int i; float f; };
extern int counter, table[LIMIT][2];
static list *make(int count, callback each, char *names[]);
void (*handler(int signal, void (*next)(int)))(int);

static list *make(int count, callback each, char *names[])
{
    list made = { .head = NULL, .größe = MAX(count, LIMIT) }, *result = &made;
    const char *text = "é"; int (*local)(list_ref, void *) = each, total = 0;
    for (int i = 0; i < count; i++) { total += each(result, names[i]); table[i][0] = i; }
    result->head->next = (struct node *)malloc(sizeof(struct node)); result->größe--; *text = 'x'; counter = total;
    (*local)(&made, (void *)text); result->head->compare(text, sizeof(list)); enum state s = BUSY;
    if (total > LIMIT) goto fail;
#ifdef DEBUG
    fprintf(stderr, "ü %d", __LINE__ + s);
#endif
    switch (s) { case IDLE: return ((union value){ .i = 1 }).i ? result : (list *)0; default: break; }
fail:
    return offsetof(list, head) ? result : NULL;
}
