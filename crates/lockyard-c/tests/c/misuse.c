/* Misuse, one kind a run: each must end the program with a message. Some only in debug builds. */
#include "check.h"

static ly_mutex_t mutex = LY_MUTEX_INIT, other = LY_MUTEX_INIT;
static ly_cond_t cond = LY_COND_INIT;
static ly_qspin_t qspin = LY_QSPIN_INIT;
static ly_ticket_t ticket = LY_TICKET_INIT;
static ly_tas_t tas = LY_TAS_INIT;
static ly_pvqspin_t pvqspin = LY_PVQSPIN_INIT;
static ly_pvticket_t pvticket = LY_PVTICKET_INIT;
static ly_lockref_t lockref = LY_LOCKREF_INIT(1);
static ly_pageref_t pageref = LY_PAGEREF_INIT(1);

/* Under the mutex, which the wait releases. */
static int is_waiting;

static void *waits(void *unused) {
  (void)unused;
  ly_mutex_lock(&mutex);
  is_waiting = 1;
  ly_cond_wait(&cond, &mutex);
  return NULL;
}

/* Starts a thread that waits, and returns when it does. */
static void wait_elsewhere(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
  for (int waits = 0; !waits;) {
    sched_yield();
    ly_mutex_lock(&mutex);
    waits = is_waiting;
    ly_mutex_unlock(&mutex);
  }
}

static void does_nothing(ly_reclaim_head_t *head) { (void)head; }

int main(int count, char **arguments) {
  CHECK(count == 2);
  const char *kind = arguments[1];
#define IF(name) if (strcmp(kind, name) == 0)
  IF("mutex-unlock") ly_mutex_unlock(&mutex);
  IF("mutex-unlock-fair") ly_mutex_unlock_fair(&mutex);
  IF("qspin-unlock") ly_qspin_unlock(&qspin);
  IF("ticket-unlock") ly_ticket_unlock(&ticket);
  IF("tas-unlock") ly_tas_unlock(&tas);
  IF("pvqspin-unlock") ly_pvqspin_unlock(&pvqspin);
  IF("pvqspin-unlock-fair") ly_pvqspin_unlock_fair(&pvqspin);
  IF("pvticket-unlock") ly_pvticket_unlock(&pvticket);
  IF("lockref-unlock") ly_lockref_unlock(&lockref);
  IF("lockref-mark-dead") ly_lockref_mark_dead(&lockref);
  IF("lockref-set-count") ly_lockref_set_count(&lockref, 1);
  IF("mutex-destroy") {
    ly_mutex_lock(&mutex);
    ly_mutex_destroy(&mutex);
  }
  IF("qspin-destroy") {
    ly_qspin_lock(&qspin);
    ly_qspin_destroy(&qspin);
  }
  IF("pvqspin-destroy") {
    ly_pvqspin_lock(&pvqspin);
    ly_pvqspin_destroy(&pvqspin);
  }
  IF("lockref-destroy") {
    ly_lockref_lock(&lockref);
    ly_lockref_destroy(&lockref);
  }
  IF("cond-destroy") {
    wait_elsewhere();
    ly_cond_destroy(&cond);
  }
  IF("cond-free-mutex") ly_cond_wait(&cond, &mutex);
  IF("cond-second-mutex") {
    wait_elsewhere();
    ly_mutex_lock(&other);
    ly_cond_wait(&cond, &other);
  }
  IF("null") ly_mutex_lock(NULL);
  IF("misaligned") ly_mutex_lock((ly_mutex_t *)(void *)((char *)&lockref + 1));
  IF("lockref-get-dead") {
    ly_lockref_lock(&lockref);
    ly_lockref_mark_dead(&lockref);
    ly_lockref_unlock(&lockref);
    ly_lockref_get(&lockref);
  }
  IF("lockref-revive") {
    ly_lockref_lock(&lockref);
    ly_lockref_mark_dead(&lockref);
    ly_lockref_set_count(&lockref, 1);
  }
  IF("lockref-init") ly_lockref_init(&lockref, UINT32_MAX);
  IF("pageref-freeze-zero") (void)!ly_pageref_try_freeze(&pageref, 0);
  IF("pageref-zero") ly_pageref_init(&pageref, 0);
  IF("pageref-put") {
    (void)!ly_pageref_put(&pageref);
    (void)!ly_pageref_put(&pageref);
  }
  IF("guard-twice") {
    ly_reclaim_guard_t guard;
    ly_reclaim_enter(ly_reclaim_create(), &guard);
    ly_reclaim_leave(&guard);
    ly_reclaim_leave(&guard);
  }
  IF("synchronize-inside") {
    ly_reclaim_guard_t guard;
    ly_reclaim_t *domain = ly_reclaim_create();
    ly_reclaim_enter(domain, &guard);
    ly_reclaim_synchronize(domain);
  }
  IF("retire-null") ly_reclaim_retire(ly_reclaim_create(), NULL, does_nothing);
  IF("entry-twice") {
    ly_ids_entry_t entry;
    uint32_t id;
    ly_ids_t *ids = ly_ids_create(0, NULL);
    CHECK(ly_ids_insert(ids, &id, &id) == 0 && ly_ids_find(ids, id, &entry) == &id);
    ly_ids_release(&entry);
    ly_ids_release(&entry);
  }
  IF("family") {
    ly_tuple_t tuple;
    memset(&tuple, 0, sizeof tuple);
    ly_conn_t conn;
    (void)!ly_conns_find(ly_conns_create(0, NULL), &tuple, &conn, NULL);
  }
  printf("survived\n");
  return 0;
}
