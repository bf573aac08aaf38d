// A bounded queue between producers and consumers, by the standard library of C++. It counts its
// own acquisitions and waits, so that a profile can be compared with them.
//
//   queue [PRODUCERS [CONSUMERS [ITEMS [ROOM]]]]
//
// The last line is a JSON object. `answers` is a digest of the items that were taken: it depends on
// the numbers above only.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex queue_mutex;
static std::condition_variable not_full, not_empty;
static std::deque<uint64_t> items;
static size_t room;
static bool finished;

// Counts of one thread. They are added up when all have ended.
struct Counts {
    uint64_t locks = 0, waits = 0, taken = 0, answers = 0;
};

static uint64_t mix(uint64_t number) {
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

static void produce(uint64_t first, uint64_t end, Counts &counts) {
    for (uint64_t item = first; item < end; item++) {
        std::unique_lock<std::mutex> guard(queue_mutex);
        counts.locks++;
        while (items.size() >= room) {
            counts.waits++;
            not_full.wait(guard);
        }
        items.push_back(item);
        guard.unlock();
        not_empty.notify_one();
    }
}

static void consume(Counts &counts) {
    for (;;) {
        std::unique_lock<std::mutex> guard(queue_mutex);
        counts.locks++;
        while (items.empty() && !finished) {
            counts.waits++;
            not_empty.wait(guard);
        }
        if (items.empty()) return;
        uint64_t item = items.front();
        items.pop_front();
        guard.unlock();
        not_full.notify_one();
        counts.taken++;
        counts.answers += mix(item + 1);
    }
}

static uint64_t number(int count, char **arguments, int at, uint64_t otherwise) {
    uint64_t value = at < count ? strtoull(arguments[at], nullptr, 10) : otherwise;
    if (value == 0) {
        fprintf(stderr, "queue [PRODUCERS [CONSUMERS [ITEMS [ROOM]]]]: numbers of at least 1\n");
        exit(2);
    }
    return value;
}

int main(int count, char **arguments) {
    uint64_t producers = number(count, arguments, 1, 2), consumers = number(count, arguments, 2, 2);
    uint64_t each = number(count, arguments, 3, 100000) / producers;
    room = number(count, arguments, 4, 64);
    std::vector<Counts> counts(producers + consumers);
    std::vector<std::thread> made, took;
    auto began = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < producers; i++)
        made.emplace_back(produce, i * each, (i + 1) * each, std::ref(counts[i]));
    for (uint64_t i = 0; i < consumers; i++)
        took.emplace_back(consume, std::ref(counts[producers + i]));
    for (auto &thread : made) thread.join();
    Counts all;
    {
        std::lock_guard<std::mutex> guard(queue_mutex);
        all.locks++;
        finished = true;
    }
    not_empty.notify_all();
    for (auto &thread : took) thread.join();
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - began;
    for (auto &of : counts) {
        all.locks += of.locks, all.waits += of.waits;
        all.taken += of.taken, all.answers += of.answers;
    }
    printf("{\"items\": %llu, \"rate\": %.0f, \"locks\": %llu, \"waits\": %llu, "
           "\"answers\": \"%016llx\"}\n",
           (unsigned long long)all.taken, (double)all.taken / time.count(),
           (unsigned long long)all.locks, (unsigned long long)all.waits,
           (unsigned long long)all.answers);
    return all.taken == producers * each ? 0 : 1;
}
