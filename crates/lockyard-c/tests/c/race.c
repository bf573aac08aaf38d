/* For the thread sanitizer: with `locked` and `dropped` there is no race; with the others there are
 * races that it must report, and an inversion of locks. So the header neither hides races nor
 * invents them. */
#include "check.h"

#include <unistd.h>

static ly_mutex_t mutex = LY_MUTEX_INIT;
static ly_ticket_t first = LY_TICKET_INIT, second = LY_TICKET_INIT;
static ly_lockref_t lockref = LY_LOCKREF_INIT(1);
static ly_lockref_t dropped = LY_LOCKREF_INIT(2);
static int step; /* Relaxed: it orders nothing. */
static pthread_barrier_t all;
static long sum;
static int kind;

static void go(int next) { __atomic_store_n(&step, next, __ATOMIC_RELAXED); }
static void wait_for(int wanted) {
  while (__atomic_load_n(&step, __ATOMIC_RELAXED) != wanted) sched_yield();
}

/* One thread writes and drops a reference while another holds the lock. The last reference orders
 * the third thread after the first. */
static void drop(intptr_t me) {
  if (me == 0) {
    ly_lockref_lock(&dropped);
    go(1);
    (void)usleep(100000);
    ly_lockref_unlock(&dropped);
  } else if (me == 1) {
    wait_for(1);
    sum++;
    CHECK(ly_lockref_put_not_zero(&dropped));
    go(2);
  } else if (me == 2) {
    wait_for(2);
    int64_t left;
    while ((left = ly_lockref_put_return(&dropped)) == LY_LOCKREF_REFUSED) sched_yield();
    CHECK(left == 0);
    sum++;
  }
}

static void *body(void *argument) {
  intptr_t me = (intptr_t)argument;
  for (int i = 0; i < 1000; i++) {
    if (kind == 0) {
      ly_mutex_lock(&mutex);
      sum++;
      ly_mutex_unlock(&mutex);
    } else if (kind == 1) {
      /* The release is before the write. */
      ly_mutex_lock(&mutex);
      ly_mutex_unlock(&mutex);
      sum++;
    }
  }
  if (kind == 2) {
    /* A reference is no lock: all have one, and then all write. */
    CHECK(ly_lockref_get_not_dead(&lockref));
    (void)pthread_barrier_wait(&all);
    sum++;
    CHECK(ly_lockref_put_not_zero(&lockref));
  }
  if (kind == 3) {
    /* One thread after the other, so that it only could end in a deadlock. */
    ly_mutex_lock(&mutex);
    ly_ticket_lock(me % 2 ? &first : &second);
    ly_ticket_lock(me % 2 ? &second : &first);
    ly_ticket_unlock(&first);
    ly_ticket_unlock(&second);
    ly_mutex_unlock(&mutex);
  }
  if (kind == 4) drop(me);
  return NULL;
}

int main(int count, char **arguments) {
  CHECK(count == 2);
  static const char *const kinds[] = {"locked", "late", "referenced", "inverted", "dropped"};
  for (kind = 0; kind < 5 && strcmp(kinds[kind], arguments[1]) != 0; kind++) {
  }
  CHECK(kind < 5);
  CHECK(pthread_barrier_init(&all, NULL, THREADS) == 0);
  in_threads(body);
  printf("ended\n");
  return 0;
}
