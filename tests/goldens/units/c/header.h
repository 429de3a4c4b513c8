#ifndef HEADER_H
#define HEADER_H 1
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/** Opens.
 * @param path where
 */
API_EXTERN handle_t *open_handle(
    const char *path,
    int flags
);

int close_handle(handle_t *); /* trailing */
void set_callback(handle_t *h, void (*callback)(void *), void *data);
extern int global_variable;
extern const char *const names[];

typedef struct handle handle_t;
struct handle {
    int fd;
};

static inline int is_open(const handle_t *h)
{
    return h->fd >= 0;
}

#define HANDLE_INIT { .fd = -1 }
#define with_handle(h) for (int once = 1; once; once = 0)

#ifdef __cplusplus
}
#endif
#endif
