// A load of several threads on one connection of SQLite, which serialises them by its mutexes. It
// counts the calls of these mutexes, so that a profile can be compared with them.
//
//   sqlite FILE [THREADS [OPERATIONS]]
//   sqlite -
//
// FILE may be :memory:. With - it ends when SQLite's mutexes are known, which takes a few of them
// without counting. Each thread adds to rows of its own and to rows of all, and reads its own
// back: a wrong answer ends the program. The last line is a JSON object. `answers` is a digest of
// the whole table at the end: it depends on the numbers above only.
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 200, SHARED = 10, MOST = 64 };

static sqlite3 *database;
static unsigned long threads = 4, operations = 40000;
static sqlite3_mutex_methods real;
static uint64_t enters_of_ended;
static _Thread_local uint64_t enters;

// SQLite calls these instead of its own functions. The first is a tail call, so that the call site
// in a profile is SQLite's.
static void enter(sqlite3_mutex *mutex) {
    enters++;
    real.xMutexEnter(mutex);
}

static int try_enter(sqlite3_mutex *mutex) {
    int result = real.xMutexTry(mutex);
    if (result == SQLITE_OK) enters++;
    return result;
}

static void must(int right, const char *what) {
    if (right) return;
    fprintf(stderr, "sqlite: %s: %s\n", what, database ? sqlite3_errmsg(database) : "no database");
    exit(1);
}

static uint64_t mix(uint64_t number) {
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

static sqlite3_stmt *prepare(const char *text) {
    sqlite3_stmt *statement = NULL;
    must(sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK, text);
    return statement;
}

static void add(sqlite3_stmt *statement, uint64_t key, uint64_t by) {
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)key);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)by);
    must(sqlite3_step(statement) == SQLITE_DONE, "an addition");
    sqlite3_reset(statement);
}

static void *run(void *argument) {
    uint64_t index = (uint64_t)(uintptr_t)argument, sums[ROWS] = {0};
    sqlite3_stmt *adds = prepare("INSERT INTO sums VALUES (?1, ?2)"
                                 " ON CONFLICT (key) DO UPDATE SET sum = sum + excluded.sum");
    sqlite3_stmt *reads = prepare("SELECT sum FROM sums WHERE key = ?1");
    for (uint64_t i = 0; i < operations / threads; i++) {
        uint64_t random = mix(index << 32 | i), row = random % ROWS, by = 1 + (random >> 48);
        if (random >> 8 & 1) {
            sums[row] += by;
            add(adds, (index + 1) * 1000 + row, by);
        } else {
            sqlite3_bind_int64(reads, 1, (sqlite3_int64)((index + 1) * 1000 + row));
            int found = sqlite3_step(reads);
            must(found == (sums[row] ? SQLITE_ROW : SQLITE_DONE), "a row");
            if (found == SQLITE_ROW)
                must((uint64_t)sqlite3_column_int64(reads, 0) == sums[row], "a wrong sum");
            sqlite3_reset(reads);
        }
        if (i % 8 == 0) add(adds, random % SHARED, 1);
    }
    sqlite3_finalize(adds);
    sqlite3_finalize(reads);
    __atomic_fetch_add(&enters_of_ended, enters, __ATOMIC_RELAXED);
    return NULL;
}

static uint64_t digest(void) {
    uint64_t digest = 0;
    sqlite3_stmt *check = prepare("PRAGMA integrity_check");
    must(sqlite3_step(check) == SQLITE_ROW, "integrity");
    must(strcmp((const char *)sqlite3_column_text(check, 0), "ok") == 0, "integrity");
    sqlite3_finalize(check);
    sqlite3_stmt *rows = prepare("SELECT key, sum FROM sums ORDER BY key");
    while (sqlite3_step(rows) == SQLITE_ROW)
        digest = mix(digest ^ mix((uint64_t)sqlite3_column_int64(rows, 0)) ^
                     (uint64_t)sqlite3_column_int64(rows, 1));
    sqlite3_finalize(rows);
    return digest;
}

int main(int count, char **arguments) {
    if (count > 2) threads = strtoul(arguments[2], NULL, 10);
    if (count > 3) operations = strtoul(arguments[3], NULL, 10);
    if (count < 2 || threads < 1 || threads > MOST || operations < 1) {
        fprintf(stderr, "sqlite FILE [THREADS [OPERATIONS]]: 1 to %d threads, 1 operation or "
                        "more\n", MOST);
        return 2;
    }
    must(sqlite3_threadsafe() == 1, "this SQLite is not serialised");
    sqlite3_config(SQLITE_CONFIG_SERIALIZED);
    must(sqlite3_config(SQLITE_CONFIG_GETMUTEX, &real) == SQLITE_OK, "the mutexes");
    if (!real.xMutexEnter) { // They are set by the initialisation.
        must(sqlite3_initialize() == SQLITE_OK, "the initialisation");
        sqlite3_shutdown();
        must(sqlite3_config(SQLITE_CONFIG_GETMUTEX, &real) == SQLITE_OK, "the mutexes");
    }
    if (strcmp(arguments[1], "-") == 0) return 0;
    sqlite3_mutex_methods counted = real;
    counted.xMutexEnter = enter, counted.xMutexTry = try_enter;
    must(sqlite3_config(SQLITE_CONFIG_MUTEX, &counted) == SQLITE_OK, "the counted mutexes");
    must(sqlite3_open_v2(arguments[1], &database,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                         NULL) == SQLITE_OK, "opening");
    must(sqlite3_exec(database,
                      "PRAGMA synchronous = off; DROP TABLE IF EXISTS sums;"
                      "CREATE TABLE sums (key INTEGER PRIMARY KEY, sum INTEGER NOT NULL)",
                      NULL, NULL, NULL) == SQLITE_OK, "the table");
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    pthread_t ids[MOST];
    for (unsigned long i = 0; i < threads; i++)
        must(pthread_create(&ids[i], NULL, run, (void *)(uintptr_t)i) == 0, "a thread");
    for (unsigned long i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    uint64_t answers = digest();
    must(sqlite3_close(database) == SQLITE_OK, "closing");
    printf("{\"operations\": %lu, \"seconds\": %.6f, \"rate\": %.0f, \"enters\": %" PRIu64
           ", \"answers\": \"%016" PRIx64 "\"}\n",
           operations, seconds, (double)operations / seconds, enters_of_ended + enters, answers);
    return 0;
}
