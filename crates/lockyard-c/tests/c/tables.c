/* Counts, reclamation and tables, under threads. Compiled as C11 and as C++17. */

/* Inside the tables are spinlocks in order, which nearly stop with more threads than CPUs. */
#define THREADS 2
#include "check.h"

#include <errno.h>

enum { ROUNDS = 1000 };

/* An object with a lockref, found in a static until it is dead. */
static struct {
  ly_lockref_t life;
  int data;
} entry = {LY_LOCKREF_INIT(1), 7};

static void *lockref_body(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(ly_lockref_get_not_dead(&entry.life));
    CHECK(entry.data == 7);
    if (i % 3 == 0) {
      while (ly_lockref_put_return(&entry.life) == LY_LOCKREF_REFUSED) sched_yield();
    } else if (i % 3 == 1) {
      CHECK(ly_lockref_put_or_lock(&entry.life));
    } else {
      CHECK(ly_lockref_put_not_zero(&entry.life));
    }
    if (i % 16 == 0) {
      ly_lockref_lock(&entry.life);
      CHECK(ly_lockref_is_locked(&entry.life));
      ly_lockref_unlock(&entry.life);
    }
  }
  return NULL;
}

static void lockrefs(void) {
  in_threads(lockref_body);
  CHECK(ly_lockref_count(&entry.life) == 1);
  CHECK(ly_lockref_get_not_zero(&entry.life));
  ly_lockref_get(&entry.life);
  CHECK(ly_lockref_put_not_zero(&entry.life) && ly_lockref_put_return(&entry.life) == 1);
  CHECK(ly_lockref_trylock(&entry.life));
  CHECK(!ly_lockref_trylock(&entry.life));
  CHECK(ly_lockref_put_return(&entry.life) == LY_LOCKREF_REFUSED);
  ly_lockref_set_count(&entry.life, 5);
  CHECK(ly_lockref_count(&entry.life) == 5);
  ly_lockref_set_count(&entry.life, 1);
  ly_lockref_unlock(&entry.life);
  CHECK(!ly_lockref_put_or_lock(&entry.life));
  entry.data = 8;
  ly_lockref_mark_dead(&entry.life);
  ly_lockref_unlock(&entry.life);
  CHECK(!ly_lockref_get_not_dead(&entry.life));
  CHECK(ly_lockref_count(&entry.life) == LY_LOCKREF_DEAD);
  ly_lockref_destroy(&entry.life);
}

/* Objects whose last reference frees them. */
typedef struct {
  ly_pageref_t references;
  long sums[THREADS];
} page_t;
static page_t *page;

static void *pageref_body(void *argument) {
  int me = (int)(intptr_t)argument;
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(ly_pageref_get_not_zero(&page->references));
    page->sums[me]++;
    CHECK(!ly_pageref_put(&page->references));
  }
  page_t *mine = page;
  if (ly_pageref_put(&mine->references)) {
    long sum = 0;
    for (int i = 0; i < THREADS; i++) sum += mine->sums[i];
    CHECK(sum == (long)THREADS * ROUNDS);
    free(mine);
  }
  return NULL;
}

static void pagerefs(void) {
  static ly_pageref_t one = LY_PAGEREF_INIT(1);
  CHECK(ly_pageref_try_freeze(&one, 1));
  CHECK(!ly_pageref_get_not_zero(&one) && ly_pageref_references(&one) == LY_PAGEREF_FROZEN);
  ly_pageref_unfreeze(&one, 2);
  ly_pageref_get(&one);
  CHECK(ly_pageref_references(&one) == 3 && !ly_pageref_try_freeze(&one, 2));
  page = (page_t *)calloc(1, sizeof *page);
  CHECK(page != NULL);
  ly_pageref_init(&page->references, THREADS);
  in_threads(pageref_body);
}

/* A pointer that threads read and replace. */
typedef struct {
  ly_reclaim_head_t head;
  long value, copy;
} node_t;
static ly_reclaim_t *domain;
static node_t *newest;
static long freed;

static void free_node(ly_reclaim_head_t *head) {
  node_t *node = (node_t *)(void *)((char *)head - offsetof(node_t, head));
  CHECK(node->value == node->copy);
  node->copy = -1;
  free(node);
  __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}

static node_t *new_node(long value) {
  node_t *node = (node_t *)malloc(sizeof *node);
  CHECK(node != NULL);
  node->value = node->copy = value;
  return node;
}

/* Retires another as it is freed. */
static void free_link(ly_reclaim_head_t *head) {
  node_t *node = (node_t *)(void *)((char *)head - offsetof(node_t, head));
  if (node->value > 1) ly_reclaim_retire(domain, &new_node(node->value - 1)->head, free_link);
  free_node(head);
}

static void *reclaim_body(void *argument) {
  ly_reclaim_guard_t guard, inner;
  for (long i = 0; i < ROUNDS; i++) {
    ly_reclaim_enter(domain, &guard);
    node_t *seen = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
    CHECK(seen->value == seen->copy);
    if (i % 8 == 0) {
      ly_reclaim_enter(domain, &inner);
      ly_reclaim_leave(&inner);
      ly_reclaim_quiescent(&guard);
    }
    ly_reclaim_leave(&guard);
    if ((intptr_t)argument % 2 == 0) {
      node_t *old = __atomic_exchange_n(&newest, new_node(i), __ATOMIC_ACQ_REL);
      if (i % 2 == 0) {
        ly_reclaim_retire(domain, &old->head, free_node);
      } else {
        ly_reclaim_retire_later(domain, &old->head, free_node);
      }
    }
  }
  return NULL;
}

static void reclamation(void) {
  domain = ly_reclaim_create();
  CHECK(domain != NULL && ly_reclaim_reserve(domain, 4));
  newest = new_node(-1);
  in_threads(reclaim_body);
  ly_reclaim_synchronize(domain);
  CHECK(ly_reclaim_try_synchronize(domain, 10));
  (void)ly_reclaim_collect(domain);
  ly_reclaim_barrier(domain);
  CHECK(ly_reclaim_pending(domain) == 0 && freed == (THREADS / 2) * ROUNDS);
  ly_reclaim_guard_t guard;
  ly_reclaim_enter(domain, &guard);
  CHECK(!ly_reclaim_try_synchronize(domain, 3));
  ly_reclaim_leave(&guard);
  ly_reclaim_retire(domain, &newest->head, free_node);
  ly_reclaim_retire(domain, &new_node(9)->head, free_link);
  ly_reclaim_destroy(domain);
  CHECK(freed == (THREADS / 2) * ROUNDS + 1 + 9);
  ly_reclaim_destroy(NULL);
}

static ly_stats_t *stats;
static void *stats_body(void *argument) {
  ly_counts_t counts;
  memset(&counts, 0, sizeof counts);
  counts.packets = 1;
  counts.bytes = 100;
  counts.flags = 1u << (intptr_t)argument;
  for (int i = 1; i <= ROUNDS; i++) {
    counts.last_used = (uint64_t)i;
    ly_stats_update(stats, &counts);
  }
  return NULL;
}

static void counters(void) {
  stats = ly_stats_create();
  CHECK(stats != NULL);
  in_threads(stats_body);
  ly_counts_t sum = ly_stats_read(stats);
  CHECK(sum.packets == (uint64_t)THREADS * ROUNDS && sum.bytes == 100 * sum.packets);
  CHECK(sum.last_used == ROUNDS && sum.flags == (1u << THREADS) - 1);
  CHECK(ly_stats_take(stats).packets == sum.packets && ly_stats_read(stats).packets == 0);
  ly_stats_destroy(stats);
}

static ly_ids_t *ids;
static long dropped;
static void drop_object(void *value) {
  free(value);
  __atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
}

static uint32_t shared_id;
static void *ids_body(void *unused) {
  (void)unused;
  ly_ids_entry_t entry;
  for (int i = 0; i < ROUNDS; i++) {
    /* An object of its own comes and goes, and one that all have is changed under its lock. */
    long *own = (long *)malloc(sizeof *own);
    CHECK(own != NULL);
    *own = i;
    uint32_t id;
    CHECK(ly_ids_insert(ids, own, &id) == 0);
    long *found = (long *)ly_ids_find(ids, shared_id, &entry);
    CHECK(found != NULL && ly_ids_id(&entry) == shared_id);
    ++*found;
    ly_ids_release(&entry);
    if (i % 2 == 0) {
      CHECK(ly_ids_find(ids, id, &entry) == own);
      CHECK(ly_ids_remove_found(&entry) == own);
    } else {
      CHECK(ly_ids_remove(ids, id) == own);
    }
    CHECK(*own == i);
    free(own);
  }
  return NULL;
}

static void identifiers(void) {
  ids = ly_ids_create(16, drop_object);
  CHECK(ids != NULL);
  long *shared = (long *)calloc(1, sizeof *shared);
  CHECK(shared != NULL && ly_ids_insert(ids, shared, &shared_id) == 0 && shared_id == 0);
  in_threads(ids_body);
  CHECK(*shared == (long)THREADS * ROUNDS && ly_ids_count(ids) == 1);
  ly_ids_entry_t entry;
  CHECK(ly_ids_find(ids, 1, &entry) == NULL && ly_ids_remove(ids, 1) == NULL);
  uint32_t id;
  CHECK(ly_ids_insert(ids, NULL, &id) == EINVAL);
  for (uint32_t i = 1; i < 16; i++)
    CHECK(ly_ids_insert(ids, malloc(1), &id) == 0 && id == i);
  CHECK(ly_ids_insert(ids, &id, &id) == ENOSPC && ly_ids_count(ids) == 16);
  dropped = 0;
  ly_ids_destroy(ids);
  CHECK(dropped == 16);
}

static ly_endpoint_t endpoint(uint8_t last, uint16_t port) {
  ly_endpoint_t end;
  memset(&end, 0, sizeof end);
  end.family = LY_IPV4;
  end.address[0] = 10;
  end.address[3] = last;
  end.port = port;
  return end;
}

static ly_tuple_t tuple_of(uint8_t client, uint16_t port) {
  ly_tuple_t tuple;
  memset(&tuple, 0, sizeof tuple);
  tuple.protocol = 6;
  tuple.source = endpoint(client, port);
  tuple.destination = endpoint(200, 443);
  return tuple;
}

static ly_tuple_t reversed(ly_tuple_t tuple) {
  ly_endpoint_t source = tuple.source;
  tuple.source = tuple.destination;
  tuple.destination = source;
  return tuple;
}

static ly_conns_t *conns;
static void *conns_body(void *argument) {
  uint8_t me = (uint8_t)(intptr_t)argument;
  for (int i = 0; i < ROUNDS; i++) {
    ly_tuple_t tuple = tuple_of(me, (uint16_t)(i % 64));
    ly_conn_t conn, copy;
    int *value = (int *)malloc(sizeof *value);
    CHECK(value != NULL);
    *value = me;
    int error = ly_conns_insert(conns, &tuple, value, (uint64_t)i + 10, &conn);
    if (error == EEXIST) free(value);
    CHECK(error == 0 || error == EEXIST);
    CHECK(*(int *)ly_conn_value(&conn) == me);
    ly_conn_clone(&conn, &copy);
    ly_conn_release(&conn);
    (void)ly_conn_renew(&copy, (uint64_t)i + 20);
    CHECK(*(int *)ly_conn_value(&copy) == me);
    ly_conn_release(&copy);
    ly_tuple_t back = reversed(tuple);
    bool is_reply = false;
    if (ly_conns_find(conns, &back, &conn, &is_reply)) {
      CHECK(is_reply && *(int *)ly_conn_value(&conn) == me);
      if (i % 5 == 0) (void)ly_conns_remove(conns, &tuple);
      CHECK(*(int *)ly_conn_value(&conn) == me);
      ly_conn_release(&conn);
    }
    if (i % 100 == 0) (void)ly_conns_expire(conns, (uint64_t)i, SIZE_MAX);
  }
  return NULL;
}

static void connections(void) {
  CHECK(ly_conns_create(28, NULL) == NULL);
  conns = ly_conns_create(4, drop_object);
  CHECK(conns != NULL);
  in_threads(conns_body);
  ly_tuple_t tuple = tuple_of(100, 1);
  ly_conn_t conn;
  CHECK(!ly_conns_find(conns, &tuple, &conn, NULL));
  size_t all = ly_conns_count(conns);
  CHECK(ly_conns_expire(conns, UINT64_MAX - 1, SIZE_MAX) == all && ly_conns_count(conns) == 0);
  CHECK(ly_conns_insert(conns, &tuple, malloc(1), UINT64_MAX, &conn) == 0);
  ly_conn_release(&conn);
  CHECK(ly_conns_expire(conns, UINT64_MAX, SIZE_MAX) == 0);
  ly_conns_destroy(conns);
}

static ly_bufs_t *bufs;
static int fill(uint32_t group, uint64_t block, void *argument, void **value) {
  if (group == 9) return *(int *)argument;
  uint64_t *contents = (uint64_t *)malloc(sizeof *contents);
  CHECK(contents != NULL);
  *contents = block + 1;
  *value = contents;
  return 0;
}

static void *bufs_body(void *unused) {
  (void)unused;
  for (uint64_t i = 0; i < ROUNDS; i++) {
    ly_buf_t buf, copy;
    uint64_t block = i * 7 % 32;
    int error = ly_bufs_get(bufs, 0, block, fill, NULL, &buf);
    CHECK(error == 0);
    CHECK(*(uint64_t *)ly_buf_value(&buf) == block + 1);
    ly_buf_clone(&buf, &copy);
    ly_buf_release(&buf);
    if (i % 50 == 0) (void)ly_bufs_remove(bufs, 0, block);
    if (i % 90 == 0) (void)ly_bufs_reclaim(bufs, 4);
    CHECK(*(uint64_t *)ly_buf_value(&copy) == block + 1);
    ly_buf_release(&copy);
  }
  return NULL;
}

static void buffers(void) {
  bufs = ly_bufs_create(16, drop_object);
  CHECK(bufs != NULL);
  in_threads(bufs_body);
  CHECK(ly_bufs_count(bufs) <= 16);
  ly_buf_t buf;
  int own = 77;
  CHECK(ly_bufs_get(bufs, 9, 0, fill, &own, &buf) == 77);
  CHECK(ly_bufs_get(bufs, 9, 0, NULL, NULL, &buf) == EINVAL);
  CHECK(!ly_bufs_find(bufs, 9, 0, &buf));
  (void)ly_bufs_reclaim(bufs, SIZE_MAX);
  CHECK(ly_bufs_count(bufs) == 0);
  ly_buf_t kept[16];
  for (uint32_t i = 0; i < 16; i++) CHECK(ly_bufs_get(bufs, 1, i, fill, NULL, &kept[i]) == 0);
  CHECK(ly_bufs_get(bufs, 1, 16, fill, NULL, &buf) == ENOSPC);
  CHECK(ly_bufs_find(bufs, 1, 3, &buf));
  ly_buf_release(&buf);
  for (int i = 0; i < 16; i++) ly_buf_release(&kept[i]);
  ly_bufs_destroy(bufs);
}

int main(void) {
  CHECK(strcmp(ly_version(), LY_VERSION) == 0);
  lockrefs();
  pagerefs();
  reclamation();
  counters();
  identifiers();
  /* Again and again: only sometimes a call frees what another thread made meanwhile. */
  for (int i = 0; i < 20; i++) connections();
  buffers();
  printf("lockref pageref reclaim stats ids conns bufs\n");
  return 0;
}
