/* What the test programs share: checks that stay in every build, and threads. */
#ifndef CHECK_H
#define CHECK_H

#include <lockyard.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                             \
  do {                                                                          \
    if (!(what)) {                                                              \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

/* A program may say how many threads it wants. */
#ifndef THREADS
#define THREADS 4
#endif

/* Runs `body` in THREADS threads, with their numbers, and waits for them. */
static inline void in_threads(void *(*body)(void *)) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

#endif
