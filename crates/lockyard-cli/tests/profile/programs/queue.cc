// A queue between two threads, by the standard library of C++.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

static std::mutex queue_mutex;
static std::condition_variable filled;
static std::deque<int> items;

int main() {
    std::thread consumer([] {
        for (int taken = 0; taken < 1000; taken++) {
            std::unique_lock<std::mutex> guard(queue_mutex);
            filled.wait(guard, [] { return !items.empty(); });
            items.pop_front();
        }
    });
    for (int i = 0; i < 1000; i++) {
        {
            std::lock_guard<std::mutex> guard(queue_mutex);
            items.push_back(i);
        }
        filled.notify_one();
    }
    consumer.join();
}
