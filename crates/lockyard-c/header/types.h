
#if UINTPTR_MAX != UINT64_MAX
#error "lockyard is for 64-bit systems"
#endif

/* The version of this header; ly_version is that of the library. */
#define LY_VERSION "@VERSION@"

#ifdef __cplusplus
#define LY_NOEXCEPT noexcept
#else
#define LY_NOEXCEPT
#endif

#if defined(__GNUC__) || defined(__clang__)
#define LY_MUST_USE __attribute__((warn_unused_result))
#else
#define LY_MUST_USE
#endif

/* Static initialisers. */
#define LY_MUTEX_INIT { 0 }
#define LY_COND_INIT { { 0, 0, 0 } }
#define LY_QSPIN_INIT { 0 }
#define LY_TICKET_INIT { 0 }
#define LY_TAS_INIT { 0 }
#define LY_PVQSPIN_INIT { 0, 0 }
#define LY_PVTICKET_INIT { 0 }
/* A free lock, and `count` references, at most 2^30. */
#define LY_LOCKREF_INIT(count) { (count) }
/* From 1 to 2^30 references. */
#define LY_PAGEREF_INIT(references) { (references) }

struct ly_reclaim_head_t;
