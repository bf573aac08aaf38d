/* For the thread sanitizer: with `locked` there is no race; without, there are races that it must
 * report, and an inversion of locks. So the header neither hides races nor invents them. */
#include "check.h"

static ly_mutex_t mutex = LY_MUTEX_INIT;
static ly_ticket_t first = LY_TICKET_INIT, second = LY_TICKET_INIT;
static ly_lockref_t lockref = LY_LOCKREF_INIT(1);
static pthread_barrier_t all;
static long sum;
static int kind;

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
  return NULL;
}

int main(int count, char **arguments) {
  CHECK(count == 2);
  static const char *const kinds[] = {"locked", "late", "referenced", "inverted"};
  for (kind = 0; kind < 4 && strcmp(kinds[kind], arguments[1]) != 0; kind++) {
  }
  CHECK(kind < 4);
  CHECK(pthread_barrier_init(&all, NULL, THREADS) == 0);
  in_threads(body);
  printf("ended\n");
  return 0;
}
