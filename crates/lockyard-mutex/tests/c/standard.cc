// Mutexes and condition variables of the C++ standard library.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static long queue_sum() {
    std::mutex mutex;
    std::condition_variable not_empty, not_full;
    std::deque<int> queue;
    long sum = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++) {
        threads.emplace_back([&] {
            for (int i = 0; i < 5000; i++) {
                std::unique_lock lock(mutex);
                not_full.wait(lock, [&] { return queue.size() < 4; });
                queue.push_back(i);
                not_empty.notify_one();
            }
        });
        threads.emplace_back([&] {
            for (int i = 0; i < 5000; i++) {
                std::unique_lock lock(mutex);
                not_empty.wait(lock, [&] { return !queue.empty(); });
                sum += queue.front();
                queue.pop_front();
                not_full.notify_one();
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    return sum;
}

int main() {
    std::timed_mutex timed;
    std::recursive_mutex recursive;
    std::recursive_timed_mutex both;
    std::condition_variable_any any;
    std::scoped_lock locks(timed, recursive, both);
    std::lock_guard again(recursive);
    bool timed_out = true, locked = true;
    std::thread([&] {
        timed_out = !timed.try_lock_for(20ms) && !both.try_lock_until(std::chrono::system_clock::now() + 20ms);
        locked = recursive.try_lock();
        std::recursive_mutex own;
        std::unique_lock lock(own);
        timed_out = timed_out && any.wait_for(lock, 10ms) == std::cv_status::timeout;
    }).join();
    std::once_flag once;
    int calls = 0;
    for (int i = 0; i < 3; i++)
        std::call_once(once, [&] { calls++; });
    std::printf("%ld %d %d %d\n", queue_sum(), timed_out, locked, calls);
}
