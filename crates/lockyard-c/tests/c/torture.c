/* Each lock, and the condition variable, under threads. Compiled as C11 and as C++17. */
#include "check.h"

/* Bounded by operations. A spinlock in order nearly stops with more threads than CPUs. */
enum { ROUNDS = 3000, ROUNDS_IN_ORDER = 150 };

/* Data that the lock protects, without atomics: a sanitizer sees a lock that does not exclude. */
#define TORTURE(kind, init, rounds)                                             \
  static struct {                                                               \
    ly_##kind##_t lock;                                                         \
    long sum;                                                                   \
    intptr_t owner;                                                             \
  } kind = {init, 0, -1};                                                       \
  static void *kind##_body(void *argument) {                                    \
    intptr_t me = (intptr_t)argument;                                           \
    for (int i = 0; i < rounds; i++) {                                          \
      if (i % 3 == 0) {                                                         \
        while (!ly_##kind##_trylock(&kind.lock)) sched_yield();                 \
      } else {                                                                  \
        ly_##kind##_lock(&kind.lock);                                           \
      }                                                                         \
      CHECK(kind.owner == -1);                                                  \
      kind.owner = me;                                                          \
      kind.sum++;                                                               \
      CHECK(kind.owner == me);                                                  \
      kind.owner = -1;                                                          \
      ly_##kind##_unlock(&kind.lock);                                           \
      sched_yield();                                                            \
    }                                                                           \
    return NULL;                                                                \
  }                                                                             \
  static void kind##_torture(void) {                                            \
    in_threads(kind##_body);                                                    \
    CHECK(kind.sum == (long)THREADS * rounds);                                  \
    CHECK(!ly_##kind##_is_locked(&kind.lock));                                  \
    ly_##kind##_destroy(&kind.lock);                                            \
    ly_##kind##_init(&kind.lock);                                               \
    CHECK(ly_##kind##_trylock(&kind.lock));                                     \
    CHECK(ly_##kind##_is_locked(&kind.lock));                                   \
    ly_##kind##_unlock(&kind.lock);                                             \
    printf(#kind " ");                                                          \
  }

TORTURE(mutex, LY_MUTEX_INIT, ROUNDS)
TORTURE(qspin, LY_QSPIN_INIT, ROUNDS_IN_ORDER)
TORTURE(ticket, LY_TICKET_INIT, ROUNDS_IN_ORDER)
TORTURE(tas, LY_TAS_INIT, ROUNDS)
TORTURE(pvqspin, LY_PVQSPIN_INIT, ROUNDS)
TORTURE(pvticket, LY_PVTICKET_INIT, ROUNDS)

/* Timed and fair operations, where a lock has them. */
#define TIMED(kind, init, release)                                              \
  static ly_##kind##_t kind##_timed = init;                                     \
  static long kind##_timed_sum;                                                 \
  static void *kind##_timed_body(void *unused) {                                \
    (void)unused;                                                               \
    for (int i = 0; i < ROUNDS / 4; i++) {                                      \
      while (!ly_##kind##_timedlock(&kind##_timed, i % 2 ? 20000 : 1000000000)) \
        sched_yield();                                                          \
      kind##_timed_sum++;                                                       \
      release(&kind##_timed);                                                   \
      sched_yield();                                                            \
    }                                                                           \
    return NULL;                                                                \
  }                                                                             \
  static void kind##_timed_torture(void) {                                      \
    in_threads(kind##_timed_body);                                              \
    CHECK(kind##_timed_sum == (long)THREADS * (ROUNDS / 4));                    \
    ly_##kind##_lock(&kind##_timed);                                            \
    CHECK(!ly_##kind##_timedlock(&kind##_timed, 2000000));                      \
    release(&kind##_timed);                                                     \
  }

TIMED(mutex, LY_MUTEX_INIT, ly_mutex_unlock_fair)
TIMED(tas, LY_TAS_INIT, ly_tas_unlock)
TIMED(pvqspin, LY_PVQSPIN_INIT, ly_pvqspin_unlock_fair)

/* A bounded queue: each of two producers puts numbers in, each of two consumers takes them out. */
enum { SIZE = 4, NUMBERS = 2000 };
static struct {
  ly_mutex_t mutex;
  ly_cond_t not_empty, not_full;
  int entries[SIZE];
  int first, count;
  long long taken;
} queue = {LY_MUTEX_INIT, LY_COND_INIT, LY_COND_INIT, {0, 0, 0, 0}, 0, 0, 0};

static void *queue_body(void *argument) {
  int produces = (intptr_t)argument % 2 == 0;
  for (int i = 1; i <= NUMBERS; i++) {
    ly_mutex_lock(&queue.mutex);
    if (produces) {
      while (queue.count == SIZE) ly_cond_wait(&queue.not_full, &queue.mutex);
      queue.entries[(queue.first + queue.count++) % SIZE] = i;
      ly_cond_signal(&queue.not_empty);
    } else {
      while (queue.count == 0)
        (void)ly_cond_timedwait(&queue.not_empty, &queue.mutex, 100000000);
      queue.taken += queue.entries[queue.first];
      queue.first = (queue.first + 1) % SIZE;
      queue.count--;
      ly_cond_signal(&queue.not_full);
    }
    ly_mutex_unlock(&queue.mutex);
  }
  return NULL;
}

/* All wait for one broadcast. */
static ly_mutex_t gate = LY_MUTEX_INIT;
static ly_cond_t opened = LY_COND_INIT;
static int waiting, open_;

static void *gate_body(void *argument) {
  ly_mutex_lock(&gate);
  if ((intptr_t)argument == 0) {
    while (waiting < THREADS - 1) {
      ly_mutex_unlock(&gate);
      sched_yield();
      ly_mutex_lock(&gate);
    }
    open_ = 1;
    CHECK(ly_cond_broadcast(&opened) == THREADS - 1);
  } else {
    waiting++;
    while (!open_) ly_cond_wait(&opened, &gate);
  }
  ly_mutex_unlock(&gate);
  return NULL;
}

static void cond_torture(void) {
  in_threads(queue_body);
  CHECK(queue.count == 0);
  CHECK(queue.taken == 2LL * NUMBERS * (NUMBERS + 1) / 2);
  in_threads(gate_body);
  CHECK(!ly_cond_signal(&opened));
  CHECK(ly_cond_broadcast(&opened) == 0);
  ly_mutex_lock(&gate);
  CHECK(!ly_cond_timedwait(&opened, &gate, 1000000));
  CHECK(ly_mutex_is_locked(&gate));
  ly_mutex_unlock(&gate);
  ly_cond_destroy(&opened);
  ly_mutex_destroy(&gate);
  printf("cond\n");
}

int main(void) {
  mutex_torture();
  qspin_torture();
  ticket_torture();
  tas_torture();
  pvqspin_torture();
  pvticket_torture();
  mutex_timed_torture();
  tas_timed_torture();
  pvqspin_timed_torture();
  cond_torture();
  return 0;
}
