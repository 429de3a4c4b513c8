/* What the preprocessor splits can't be parsed as a whole. */

int first(void) { return 1; }

#if defined(A)
int split_header(int a)
#else
int split_header(long a)
#endif
{
    return 0;
}

int inside_conditional(void)
{
#ifdef A
    if (1) {
#else
    if (2) {
#endif
    }
    return 0;
}

#ifdef A
struct choice {
#else
union choice {
#endif
    int a;
};

int last(void) { return 1; }
