#if defined(__SANITIZE_THREAD__)
#define LY_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LY_THREAD_SANITIZER 1
#endif
#endif

#ifdef LY_THREAD_SANITIZER
/*
 * What the thread sanitizer must know: which calls take and release a lock, and which calls order
 * memory. Tables, domains and all memory that the library allocates count as one object, so a race
 * between two of them may be missed; none is invented.
 */
#include <sanitizer/tsan_interface.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LY_TSAN_LOCK_(kind)                                                                 \
  static inline void ly_tsan_##kind##_init(ly_##kind##_t *lock) LY_NOEXCEPT {               \
    ly_##kind##_init(lock);                                                                 \
    __tsan_mutex_create(lock, 0);                                                           \
  }                                                                                         \
  static inline void ly_tsan_##kind##_destroy(ly_##kind##_t *lock) LY_NOEXCEPT {            \
    ly_##kind##_destroy(lock);                                                              \
    __tsan_mutex_destroy(lock, 0);                                                          \
  }                                                                                         \
  static inline void ly_tsan_##kind##_lock(ly_##kind##_t *lock) LY_NOEXCEPT {               \
    __tsan_mutex_pre_lock(lock, 0);                                                         \
    ly_##kind##_lock(lock);                                                                 \
    __tsan_mutex_post_lock(lock, 0, 0);                                                     \
  }                                                                                         \
  static inline bool ly_tsan_##kind##_trylock(ly_##kind##_t *lock) LY_NOEXCEPT {            \
    __tsan_mutex_pre_lock(lock, __tsan_mutex_try_lock);                                     \
    return ly_tsan_tried_(lock, ly_##kind##_trylock(lock));                                 \
  }                                                                                         \
  static inline void ly_tsan_##kind##_unlock(ly_##kind##_t *lock) LY_NOEXCEPT {             \
    __tsan_mutex_pre_unlock(lock, 0);                                                       \
    ly_##kind##_unlock(lock);                                                               \
    __tsan_mutex_post_unlock(lock, 0);                                                      \
  }
#define LY_TSAN_TIMED_(kind)                                                                \
  static inline bool ly_tsan_##kind##_timedlock(ly_##kind##_t *lock,                        \
                                                uint64_t nanoseconds) LY_NOEXCEPT {         \
    __tsan_mutex_pre_lock(lock, __tsan_mutex_try_lock);                                     \
    return ly_tsan_tried_(lock, ly_##kind##_timedlock(lock, nanoseconds));                  \
  }
#define LY_TSAN_FAIR_(kind)                                                                 \
  static inline void ly_tsan_##kind##_unlock_fair(ly_##kind##_t *lock) LY_NOEXCEPT {        \
    __tsan_mutex_pre_unlock(lock, 0);                                                       \
    ly_##kind##_unlock_fair(lock);                                                          \
    __tsan_mutex_post_unlock(lock, 0);                                                      \
  }

static inline bool ly_tsan_tried_(void *lock, bool taken) LY_NOEXCEPT {
  __tsan_mutex_post_lock(
      lock, __tsan_mutex_try_lock | (taken ? 0u : __tsan_mutex_try_lock_failed), 0);
  return taken;
}

LY_TSAN_LOCK_(mutex)
LY_TSAN_TIMED_(mutex)
LY_TSAN_FAIR_(mutex)
LY_TSAN_LOCK_(qspin)
LY_TSAN_LOCK_(ticket)
LY_TSAN_LOCK_(tas)
LY_TSAN_TIMED_(tas)
LY_TSAN_LOCK_(pvqspin)
LY_TSAN_TIMED_(pvqspin)
LY_TSAN_FAIR_(pvqspin)
LY_TSAN_LOCK_(pvticket)
#undef LY_TSAN_LOCK_
#undef LY_TSAN_TIMED_
#undef LY_TSAN_FAIR_

static inline void ly_tsan_cond_wait(ly_cond_t *cond, ly_mutex_t *mutex) LY_NOEXCEPT {
  __tsan_mutex_pre_unlock(mutex, 0);
  __tsan_mutex_post_unlock(mutex, 0);
  __tsan_mutex_pre_lock(mutex, 0);
  ly_cond_wait(cond, mutex);
  __tsan_mutex_post_lock(mutex, 0, 0);
}
static inline bool ly_tsan_cond_timedwait(ly_cond_t *cond, ly_mutex_t *mutex,
                                          uint64_t nanoseconds) LY_NOEXCEPT {
  __tsan_mutex_pre_unlock(mutex, 0);
  __tsan_mutex_post_unlock(mutex, 0);
  __tsan_mutex_pre_lock(mutex, 0);
  bool notified = ly_cond_timedwait(cond, mutex, nanoseconds);
  __tsan_mutex_post_lock(mutex, 0, 0);
  return notified;
}

/*
 * The sanitizer's release of a mutex replaces what other threads released at the address of the
 * mutex meanwhile. So the count has an address of its own. A lock acquires what puts released, and
 * gets acquire what an unlock released.
 */
static inline void *ly_tsan_count_(void *lockref) LY_NOEXCEPT {
#ifdef __cplusplus
  return static_cast<char *>(lockref) + 4;
#else
  return (char *)lockref + 4;
#endif
}
static inline void ly_tsan_lockref_lock(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_mutex_pre_lock(lockref, 0);
  ly_lockref_lock(lockref);
  __tsan_mutex_post_lock(lockref, 0, 0);
  __tsan_acquire(ly_tsan_count_(lockref));
}
static inline bool ly_tsan_lockref_trylock(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_mutex_pre_lock(lockref, __tsan_mutex_try_lock);
  bool taken = ly_tsan_tried_(lockref, ly_lockref_trylock(lockref));
  if (taken) __tsan_acquire(ly_tsan_count_(lockref));
  return taken;
}
static inline void ly_tsan_lockref_unlock(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_release(ly_tsan_count_(lockref));
  __tsan_mutex_pre_unlock(lockref, 0);
  ly_lockref_unlock(lockref);
  __tsan_mutex_post_unlock(lockref, 0);
}
static inline bool ly_tsan_lockref_get_not_zero(ly_lockref_t *lockref) LY_NOEXCEPT {
  bool got = ly_lockref_get_not_zero(lockref);
  if (got) __tsan_acquire(ly_tsan_count_(lockref));
  return got;
}
static inline bool ly_tsan_lockref_get_not_dead(ly_lockref_t *lockref) LY_NOEXCEPT {
  bool got = ly_lockref_get_not_dead(lockref);
  if (got) __tsan_acquire(ly_tsan_count_(lockref));
  return got;
}
static inline int64_t ly_tsan_lockref_put_return(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_release(ly_tsan_count_(lockref));
  int64_t left = ly_lockref_put_return(lockref);
  if (left == 0) __tsan_acquire(ly_tsan_count_(lockref));
  return left;
}
static inline bool ly_tsan_lockref_put_not_zero(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_release(ly_tsan_count_(lockref));
  return ly_lockref_put_not_zero(lockref);
}
static inline bool ly_tsan_lockref_put_or_lock(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_release(ly_tsan_count_(lockref));
  __tsan_mutex_pre_lock(lockref, __tsan_mutex_try_lock);
  bool taken = ly_tsan_tried_(lockref, !ly_lockref_put_or_lock(lockref));
  if (taken) __tsan_acquire(ly_tsan_count_(lockref));
  return !taken;
}

static inline bool ly_tsan_pageref_get_not_zero(ly_pageref_t *pageref) LY_NOEXCEPT {
  bool got = ly_pageref_get_not_zero(pageref);
  if (got) __tsan_acquire(pageref);
  return got;
}
static inline bool ly_tsan_pageref_put(ly_pageref_t *pageref) LY_NOEXCEPT {
  __tsan_release(pageref);
  bool last = ly_pageref_put(pageref);
  if (last) __tsan_acquire(pageref);
  return last;
}
static inline bool ly_tsan_pageref_try_freeze(ly_pageref_t *pageref,
                                              uint32_t expected) LY_NOEXCEPT {
  bool frozen = ly_pageref_try_freeze(pageref, expected);
  if (frozen) __tsan_acquire(pageref);
  return frozen;
}
static inline void ly_tsan_pageref_unfreeze(ly_pageref_t *pageref,
                                            uint32_t references) LY_NOEXCEPT {
  __tsan_release(pageref);
  ly_pageref_unfreeze(pageref, references);
}

/*
 * Tables and domains: each call, and each function that they call, orders one address. A call does
 * so on both sides. The sanitizer sees what the library itself allocates and frees, so the library
 * orders that too, by the same hook.
 */
static inline void ly_tsan_hook_(void *address, bool is_after) LY_NOEXCEPT {
  if (is_after) {
    __tsan_release(address);
  } else {
    __tsan_acquire(address);
  }
}
static inline void ly_tsan_both_(void) LY_NOEXCEPT {
  void *address = ly_hook_(ly_tsan_hook_);
  __tsan_acquire(address);
  __tsan_release(address);
}

#define LY_TSAN_0_(name, parameters, arguments)                                             \
  static inline void ly_tsan_##name parameters LY_NOEXCEPT {                                \
    ly_tsan_both_();                                                                        \
    ly_##name arguments;                                                                    \
    ly_tsan_both_();                                                                        \
  }
#define LY_TSAN_1_(type, name, parameters, arguments)                                       \
  static inline type ly_tsan_##name parameters LY_NOEXCEPT {                                \
    ly_tsan_both_();                                                                        \
    type result = ly_##name arguments;                                                      \
    ly_tsan_both_();                                                                        \
    return result;                                                                          \
  }

LY_TSAN_0_(reclaim_destroy, (ly_reclaim_t *domain), (domain))
LY_TSAN_0_(reclaim_leave, (ly_reclaim_guard_t *guard), (guard))
LY_TSAN_0_(reclaim_quiescent, (ly_reclaim_guard_t *guard), (guard))
LY_TSAN_0_(reclaim_retire,
           (ly_reclaim_t *domain, ly_reclaim_head_t *head, ly_reclaim_free_fn free),
           (domain, head, free))
LY_TSAN_0_(reclaim_retire_later,
           (ly_reclaim_t *domain, ly_reclaim_head_t *head, ly_reclaim_free_fn free),
           (domain, head, free))
LY_TSAN_0_(reclaim_synchronize, (ly_reclaim_t *domain), (domain))
LY_TSAN_1_(bool, reclaim_try_synchronize, (ly_reclaim_t *domain, uint32_t looks),
           (domain, looks))
LY_TSAN_0_(reclaim_barrier, (ly_reclaim_t *domain), (domain))
LY_TSAN_1_(size_t, reclaim_collect, (ly_reclaim_t *domain), (domain))
LY_TSAN_0_(ids_destroy, (ly_ids_t *ids), (ids))
LY_TSAN_1_(int, ids_insert, (ly_ids_t *ids, void *value, uint32_t *id), (ids, value, id))
LY_TSAN_1_(void *, ids_find, (ly_ids_t *ids, uint32_t id, ly_ids_entry_t *entry),
           (ids, id, entry))
LY_TSAN_0_(ids_release, (ly_ids_entry_t *entry), (entry))
LY_TSAN_1_(void *, ids_remove_found, (ly_ids_entry_t *entry), (entry))
LY_TSAN_1_(void *, ids_remove, (ly_ids_t *ids, uint32_t id), (ids, id))
LY_TSAN_0_(conns_destroy, (ly_conns_t *conns), (conns))
LY_TSAN_1_(int, conns_insert,
           (ly_conns_t *conns, const ly_tuple_t *tuple, void *value, uint64_t deadline,
            ly_conn_t *conn),
           (conns, tuple, value, deadline, conn))
LY_TSAN_1_(bool, conns_find,
           (ly_conns_t *conns, const ly_tuple_t *tuple, ly_conn_t *conn, bool *is_reply),
           (conns, tuple, conn, is_reply))
LY_TSAN_1_(bool, conns_remove, (ly_conns_t *conns, const ly_tuple_t *tuple), (conns, tuple))
LY_TSAN_1_(size_t, conns_expire, (ly_conns_t *conns, uint64_t now, size_t buckets),
           (conns, now, buckets))
LY_TSAN_0_(conn_release, (ly_conn_t *conn), (conn))
LY_TSAN_0_(bufs_destroy, (ly_bufs_t *bufs), (bufs))
LY_TSAN_1_(int, bufs_get,
           (ly_bufs_t *bufs, uint32_t group, uint64_t block, ly_fill_fn fill, void *argument,
            ly_buf_t *buf),
           (bufs, group, block, fill, argument, buf))
LY_TSAN_1_(bool, bufs_find, (ly_bufs_t *bufs, uint32_t group, uint64_t block, ly_buf_t *buf),
           (bufs, group, block, buf))
LY_TSAN_1_(bool, bufs_remove, (ly_bufs_t *bufs, uint32_t group, uint64_t block),
           (bufs, group, block))
LY_TSAN_1_(size_t, bufs_reclaim, (ly_bufs_t *bufs, size_t buffers), (bufs, buffers))
LY_TSAN_0_(buf_release, (ly_buf_t *buf), (buf))
#undef LY_TSAN_0_
#undef LY_TSAN_1_

#ifdef __cplusplus
}
#endif

#define ly_mutex_init ly_tsan_mutex_init
#define ly_mutex_destroy ly_tsan_mutex_destroy
#define ly_mutex_lock ly_tsan_mutex_lock
#define ly_mutex_trylock ly_tsan_mutex_trylock
#define ly_mutex_unlock ly_tsan_mutex_unlock
#define ly_mutex_timedlock ly_tsan_mutex_timedlock
#define ly_mutex_unlock_fair ly_tsan_mutex_unlock_fair
#define ly_qspin_init ly_tsan_qspin_init
#define ly_qspin_destroy ly_tsan_qspin_destroy
#define ly_qspin_lock ly_tsan_qspin_lock
#define ly_qspin_trylock ly_tsan_qspin_trylock
#define ly_qspin_unlock ly_tsan_qspin_unlock
#define ly_ticket_init ly_tsan_ticket_init
#define ly_ticket_destroy ly_tsan_ticket_destroy
#define ly_ticket_lock ly_tsan_ticket_lock
#define ly_ticket_trylock ly_tsan_ticket_trylock
#define ly_ticket_unlock ly_tsan_ticket_unlock
#define ly_tas_init ly_tsan_tas_init
#define ly_tas_destroy ly_tsan_tas_destroy
#define ly_tas_lock ly_tsan_tas_lock
#define ly_tas_trylock ly_tsan_tas_trylock
#define ly_tas_unlock ly_tsan_tas_unlock
#define ly_tas_timedlock ly_tsan_tas_timedlock
#define ly_pvqspin_init ly_tsan_pvqspin_init
#define ly_pvqspin_destroy ly_tsan_pvqspin_destroy
#define ly_pvqspin_lock ly_tsan_pvqspin_lock
#define ly_pvqspin_trylock ly_tsan_pvqspin_trylock
#define ly_pvqspin_unlock ly_tsan_pvqspin_unlock
#define ly_pvqspin_timedlock ly_tsan_pvqspin_timedlock
#define ly_pvqspin_unlock_fair ly_tsan_pvqspin_unlock_fair
#define ly_pvticket_init ly_tsan_pvticket_init
#define ly_pvticket_destroy ly_tsan_pvticket_destroy
#define ly_pvticket_lock ly_tsan_pvticket_lock
#define ly_pvticket_trylock ly_tsan_pvticket_trylock
#define ly_pvticket_unlock ly_tsan_pvticket_unlock
#define ly_cond_wait ly_tsan_cond_wait
#define ly_cond_timedwait ly_tsan_cond_timedwait
#define ly_lockref_lock ly_tsan_lockref_lock
#define ly_lockref_trylock ly_tsan_lockref_trylock
#define ly_lockref_unlock ly_tsan_lockref_unlock
#define ly_lockref_get_not_zero ly_tsan_lockref_get_not_zero
#define ly_lockref_get_not_dead ly_tsan_lockref_get_not_dead
#define ly_lockref_put_return ly_tsan_lockref_put_return
#define ly_lockref_put_not_zero ly_tsan_lockref_put_not_zero
#define ly_lockref_put_or_lock ly_tsan_lockref_put_or_lock
#define ly_pageref_get_not_zero ly_tsan_pageref_get_not_zero
#define ly_pageref_put ly_tsan_pageref_put
#define ly_pageref_try_freeze ly_tsan_pageref_try_freeze
#define ly_pageref_unfreeze ly_tsan_pageref_unfreeze
#define ly_reclaim_destroy ly_tsan_reclaim_destroy
#define ly_reclaim_leave ly_tsan_reclaim_leave
#define ly_reclaim_quiescent ly_tsan_reclaim_quiescent
#define ly_reclaim_retire ly_tsan_reclaim_retire
#define ly_reclaim_retire_later ly_tsan_reclaim_retire_later
#define ly_reclaim_synchronize ly_tsan_reclaim_synchronize
#define ly_reclaim_barrier ly_tsan_reclaim_barrier
#define ly_ids_destroy ly_tsan_ids_destroy
#define ly_ids_release ly_tsan_ids_release
#define ly_conns_destroy ly_tsan_conns_destroy
#define ly_conn_release ly_tsan_conn_release
#define ly_bufs_destroy ly_tsan_bufs_destroy
#define ly_buf_release ly_tsan_buf_release
#define ly_reclaim_try_synchronize ly_tsan_reclaim_try_synchronize
#define ly_reclaim_collect ly_tsan_reclaim_collect
#define ly_ids_insert ly_tsan_ids_insert
#define ly_ids_find ly_tsan_ids_find
#define ly_ids_remove_found ly_tsan_ids_remove_found
#define ly_ids_remove ly_tsan_ids_remove
#define ly_conns_insert ly_tsan_conns_insert
#define ly_conns_find ly_tsan_conns_find
#define ly_conns_remove ly_tsan_conns_remove
#define ly_conns_expire ly_tsan_conns_expire
#define ly_bufs_get ly_tsan_bufs_get
#define ly_bufs_find ly_tsan_bufs_find
#define ly_bufs_remove ly_tsan_bufs_remove
#define ly_bufs_reclaim ly_tsan_bufs_reclaim
#endif /* LY_THREAD_SANITIZER */
