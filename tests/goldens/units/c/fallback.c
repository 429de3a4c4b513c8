/*
 * The preprocessor splits two functions, so that little parses with every branch read.
 */
#ifndef FALLBACK_C
#define FALLBACK_C

/* Before. */
int first(void) { return 1; }

int split_body(int a)
{
#ifdef FEATURE
    if (a) {
#elif defined(OTHER) \
    && OTHER
    if (a > 1) {
#else
    if (a > 2) {
#endif
        return a;
    }
    return 0;
}

#if 0
int never(void) { return 0; }
#else
int always(void) { return 1; }
#endif

#if FEATURE
int split_header(int a)
#else
int split_header(long a)
#endif
{
    return first() + split_body(1);
}

#ifdef FEATURE
/* Kept. */
struct choice {
#  ifdef DEEPER
    int deeper;
#  else
    long deeper;
#  endif
#else
union choice {
#endif
    int a;
};

/* The text is long enough for the fallback to be worth trying: it is, from a thousand bytes in errors
 * on. Functions below are whole, and are only found when the ones above don't upset what follows.
 */
static int whole_1(int a, int b) { return a + b; }
static int whole_2(int a, int b) { return a - b; }
static int whole_3(int a, int b) { return a * b; }

#ifdef FEATURE
int in_feature(void) { return 1; }
#else
int hidden_by_the_fallback(void) { return 1; }
#endif

int last(void) { return whole_1(1, 2) + whole_2(3, 4) + whole_3(5, 6); }

#endif /* FALLBACK_C */
