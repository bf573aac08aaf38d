/* Sizes and alignments. src/abi.rs has the same numbers. Compiled as C11 and as C++17. */
#include <lockyard.h>

#include <stddef.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#define _Alignof alignof
#endif

#define IS(type, size, alignment)                                               \
  _Static_assert(sizeof(type) == (size), "size of " #type);                     \
  _Static_assert(_Alignof(type) == (alignment), "alignment of " #type)

IS(ly_mutex_t, 4, 4);
IS(ly_cond_t, 24, 8);
IS(ly_qspin_t, 4, 4);
IS(ly_ticket_t, 4, 4);
IS(ly_tas_t, 4, 4);
IS(ly_pvqspin_t, 8, 4);
IS(ly_pvticket_t, 4, 4);
IS(ly_lockref_t, 8, 8);
IS(ly_pageref_t, 4, 4);
IS(ly_reclaim_guard_t, 48, 8);
IS(ly_reclaim_head_t, 32, 8);
IS(ly_counts_t, 32, 8);
IS(ly_ids_entry_t, 80, 8);
IS(ly_endpoint_t, 20, 2);
IS(ly_tuple_t, 44, 2);
IS(ly_conn_t, 24, 8);
IS(ly_buf_t, 24, 8);

_Static_assert(offsetof(ly_counts_t, flags) == 24, "flags");
_Static_assert(offsetof(ly_tuple_t, destination) == 20, "destination");
_Static_assert(offsetof(ly_tuple_t, protocol) == 40, "protocol");
_Static_assert(offsetof(ly_endpoint_t, port) == 16, "port");
_Static_assert(offsetof(ly_endpoint_t, family) == 18, "family");
_Static_assert(offsetof(ly_reclaim_head_t, free_) == 24, "free");
_Static_assert(offsetof(ly_pvqspin_t, token_) == 4, "token");

/* Every initialiser is a constant, and those of zeros are zeros. */
static ly_mutex_t mutex = LY_MUTEX_INIT;
static ly_cond_t cond = LY_COND_INIT;
static ly_qspin_t qspin = LY_QSPIN_INIT;
static ly_ticket_t ticket = LY_TICKET_INIT;
static ly_tas_t tas = LY_TAS_INIT;
static ly_pvqspin_t pvqspin = LY_PVQSPIN_INIT;
static ly_pvticket_t pvticket = LY_PVTICKET_INIT;
static ly_lockref_t lockref = LY_LOCKREF_INIT(3);
static ly_pageref_t pageref = LY_PAGEREF_INIT(3);

int main(void) {
  int wrong = 0;
  wrong += mutex.word_ != 0 || cond.words_[0] != 0 || cond.words_[1] != 0 || cond.words_[2] != 0;
  wrong += qspin.word_ != 0 || ticket.word_ != 0 || tas.word_ != 0;
  wrong += pvqspin.word_ != 0 || pvqspin.token_ != 0 || pvticket.word_ != 0;
  wrong += ly_lockref_count(&lockref) != 3 || ly_pageref_references(&pageref) != 3;
  ly_lockref_t made;
  ly_lockref_init(&made, 3);
  wrong += made.word_ != lockref.word_;
  ly_pageref_t page;
  ly_pageref_init(&page, 3);
  wrong += page.word_ != pageref.word_;
  return wrong;
}
