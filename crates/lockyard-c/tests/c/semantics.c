/* What the header's beginning says about fork, signals, the end of threads and timeouts. */
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static ly_mutex_t mutex = LY_MUTEX_INIT;
static ly_qspin_t qspin = LY_QSPIN_INIT;
static ly_pvqspin_t pvqspin = LY_PVQSPIN_INIT;

/* A child uses locks that were free, and a lock that its own thread held. */
static void forks(void) {
  ly_qspin_lock(&qspin);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    ly_qspin_unlock(&qspin);
    ly_qspin_lock(&qspin);
    ly_mutex_lock(&mutex);
    ly_pvqspin_lock(&pvqspin);
    ly_pvqspin_unlock(&pvqspin);
    ly_mutex_unlock(&mutex);
    ly_qspin_unlock(&qspin);
    _exit(7);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK(ly_qspin_is_locked(&qspin));
  ly_qspin_unlock(&qspin);
}

/* A handler takes a spinlock that the interrupted code does not hold. */
static volatile sig_atomic_t handled;
static void handler(int signal) {
  (void)signal;
  ly_qspin_lock(&qspin);
  handled = handled + 1;
  ly_qspin_unlock(&qspin);
}

static void signals(void) {
  /* The thread has entered a domain before. */
  ly_reclaim_t *domain = ly_reclaim_create();
  CHECK(domain != NULL);
  ly_reclaim_guard_t guard;
  ly_reclaim_enter(domain, &guard);
  ly_reclaim_leave(&guard);
  ly_reclaim_destroy(domain);
  CHECK(signal(SIGUSR1, handler) != SIG_ERR);
  for (int i = 0; i < 100; i++) {
    ly_mutex_lock(&mutex);
    CHECK(raise(SIGUSR1) == 0);
    ly_mutex_unlock(&mutex);
  }
  CHECK(handled == 100);
}

/* Destructors of thread-specific data take locks, in whatever order they run. */
static pthread_key_t key;
static int ended;
static void at_exit(void *value) {
  ly_mutex_lock(&mutex);
  ly_pvqspin_lock(&pvqspin);
  ly_qspin_lock(&qspin);
  ended++;
  ly_qspin_unlock(&qspin);
  ly_pvqspin_unlock(&pvqspin);
  ly_mutex_unlock(&mutex);
  /* Once more, in a later round of destructors. */
  if ((intptr_t)value < 3) CHECK(pthread_setspecific(key, (void *)((intptr_t)value + 1)) == 0);
}
static void *exits(void *unused) {
  (void)unused;
  CHECK(pthread_setspecific(key, (void *)1) == 0);
  ly_qspin_lock(&qspin);
  ly_qspin_unlock(&qspin);
  return NULL;
}

/* A negative number that becomes a timeout has expired: no wait, but a free lock is taken. */
static void timeouts(void) {
  static ly_tas_t tas = LY_TAS_INIT;
  static ly_cond_t cond = LY_COND_INIT;
  const uint64_t expired[] = {0, (uint64_t)-1, (uint64_t)-1000000000, (uint64_t)INT64_MAX + 1};
  alarm(60); /* a wait for ever ends the program */
  for (size_t i = 0; i < sizeof expired / sizeof *expired; i++) {
    CHECK(ly_mutex_timedlock(&mutex, expired[i]));
    CHECK(ly_tas_timedlock(&tas, expired[i]));
    CHECK(ly_pvqspin_timedlock(&pvqspin, expired[i]));
    CHECK(!ly_mutex_timedlock(&mutex, expired[i]));
    CHECK(!ly_tas_timedlock(&tas, expired[i]));
    CHECK(!ly_pvqspin_timedlock(&pvqspin, expired[i]));
    ly_pvqspin_unlock(&pvqspin);
    ly_tas_unlock(&tas);
    CHECK(!ly_cond_timedwait(&cond, &mutex, expired[i]));
    ly_mutex_unlock(&mutex);
  }
  alarm(0);
}

/* The longest timeout does not expire while another thread holds the lock for a moment. */
static void *holds(void *unused) {
  for (int i = 0; i < 100; i++) {
    CHECK(ly_mutex_timedlock(&mutex, INT64_MAX));
    ended++;
    sched_yield();
    ly_mutex_unlock(&mutex);
  }
  return unused;
}

int main(void) {
  forks();
  signals();
  CHECK(pthread_key_create(&key, at_exit) == 0);
  in_threads(exits);
  CHECK(ended == THREADS * 3);
  timeouts();
  ended = 0;
  in_threads(holds);
  CHECK(ended == THREADS * 100);
  printf("fork signals exit timeouts\n");
  return 0;
}
