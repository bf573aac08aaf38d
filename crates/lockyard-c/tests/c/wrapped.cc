// C++17: the types as members, and a mutex for the guards of the standard library.
#include <lockyard.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

class Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex &) = delete;
  Mutex &operator=(const Mutex &) = delete;
  ~Mutex() { ly_mutex_destroy(&mutex_); }
  void lock() noexcept { ly_mutex_lock(&mutex_); }
  bool try_lock() noexcept { return ly_mutex_trylock(&mutex_); }
  void unlock() noexcept { ly_mutex_unlock(&mutex_); }
  ly_mutex_t *get() noexcept { return &mutex_; }

 private:
  ly_mutex_t mutex_ = LY_MUTEX_INIT;
};

static_assert(noexcept(ly_mutex_lock(nullptr)), "functions are noexcept");
static_assert(std::is_standard_layout<ly_mutex_t>::value, "they are types of C");
static_assert(std::is_trivially_destructible<ly_cond_t>::value, "they are types of C");

static Mutex mutex;
static ly_cond_t changed = LY_COND_INIT;
static long sum;

static void check(bool holds, const char *what) {
  if (!holds) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([] {
      for (int round = 0; round < 1000; round++) {
        std::lock_guard<Mutex> guard(mutex);
        if (++sum == 4000) ly_cond_broadcast(&changed);
      }
    });
  }
  {
    std::unique_lock<Mutex> lock(mutex);
    while (sum < 4000) ly_cond_wait(&changed, mutex.get());
    check(lock.owns_lock() && !mutex.try_lock(), "the mutex is held after a wait");
  }
  for (auto &thread : threads) thread.join();
  // With the standard library's own condition variable, too.
  std::condition_variable_any any;
  std::unique_lock<Mutex> lock(mutex);
  check(!any.wait_for(lock, std::chrono::milliseconds(1), [] { return false; }), "no time passed");
  std::printf("%ld\n", sum);
}
