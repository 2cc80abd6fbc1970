/* Loaded before the C library (LD_PRELOAD): writes down everything that changes files below a folder, and fails on
 * demand.
 *
 *   CHAOS_ROOT   the folder
 *   CHAOS_LOG    a file that gets one record for each change, in their order; none if it is not set
 *
 * A record: kind (1 byte), lengths of two paths (4 + 4), offset (8), length of data (8), the paths, the data.
 * A path is absolute. What memory maps write is not seen: of an index, SQLite's shared memory alone is written so, and
 * that need not survive.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_length;
static int record = -1;

/* What fails: the calls of some kinds, after so many of them have passed, so many times. */
static int fail_with, fail_after, fail_times;
static const char *fail_kinds = "";

__attribute__((constructor)) static void begin(void) {
    root = getenv("CHAOS_ROOT");
    root_length = root ? strlen(root) : 0;
    const char *log = getenv("CHAOS_LOG");
    if (log) record = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int below(const char *path) {
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The path of a descriptor; 0 if it is not below the folder. */
static int path_of(int descriptor, char *path) {
    char link[64];
    if (!root_length || descriptor == record) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int resolve(int folder, const char *name, char *path) {
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else if (folder == AT_FDCWD) {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof here)) return 0;
        snprintf(path, PATH_MAX, "%.2000s/%.2000s", here, name);
    } else {
        char base[PATH_MAX];
        if (!path_of(folder, base)) return 0;
        snprintf(path, PATH_MAX, "%.2000s/%.2000s", base, name);
    }
    return below(path);
}

static void put(char kind, const char *path, const char *other, uint64_t offset, const struct iovec *data, int pieces) {
    if (record < 0) return;
    uint64_t length = 0;
    for (int n = 0; n < pieces; n++) length += data[n].iov_len;
    uint32_t lengths[2] = {(uint32_t)strlen(path), (uint32_t)strlen(other)};
    uint64_t numbers[2] = {offset, length};
    pthread_mutex_lock(&turn);
    syscall(SYS_write, record, &kind, 1);
    syscall(SYS_write, record, lengths, sizeof lengths);
    syscall(SYS_write, record, numbers, sizeof numbers);
    syscall(SYS_write, record, path, lengths[0]);
    syscall(SYS_write, record, other, lengths[1]);
    for (int n = 0; n < pieces; n++) syscall(SYS_write, record, data[n].iov_base, data[n].iov_len);
    pthread_mutex_unlock(&turn);
}

static int fails(char kind) {
    if (!fail_with || !strchr(fail_kinds, kind)) return 0;
    int now = 0;
    pthread_mutex_lock(&turn);
    if (fail_after > 0) fail_after--;
    else if (fail_times != 0) { now = 1; if (fail_times > 0) fail_times--; }
    pthread_mutex_unlock(&turn);
    if (now) errno = fail_with;
    return now;
}

/* --- for the process itself, by its name ---------------------------------------------------------------------------*/

void chaos_mark(uint64_t number) { put('M', "", "", number, NULL, 0); }

void chaos_fail(const char *kinds, int with, int after, int times) {
    fail_kinds = strdup(kinds);
    fail_after = after;
    fail_times = times;
    fail_with = with;
}

/* --- what is watched: W write, T truncate, S sync, C create, R rename, U unlink, D make a folder; r read ------------*/

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int opened(const char *path, int flags, int result, int was_there) {
    if (result >= 0 && (flags & O_CREAT) && !was_there) put('C', path, "", 0, NULL, 0);
    else if (result >= 0 && (flags & O_TRUNC)) put('T', path, "", 0, NULL, 0);
    return result;
}

static int open_at(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (!resolve(folder, name, path)) return (int)syscall(SYS_openat, folder, name, flags, mode);
    int was_there = !faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW);
    if ((flags & O_CREAT) && !was_there && fails('C')) return -1;
    long result = syscall(SYS_openat, folder, name, flags, mode);
    return opened(path, flags, (int)result, was_there);
}

#define MODE(flags) ({ mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); \
    mode = va_arg(rest, mode_t); va_end(rest); } mode; })

int open(const char *name, int flags, ...) { return open_at(AT_FDCWD, name, flags, MODE(flags)); }
int open64(const char *name, int flags, ...) { return open_at(AT_FDCWD, name, flags | O_LARGEFILE, MODE(flags)); }
int openat(int folder, const char *name, int flags, ...) { return open_at(folder, name, flags, MODE(flags)); }
int openat64(int folder, const char *name, int flags, ...) { return open_at(folder, name, flags, MODE(flags)); }
int creat(const char *name, mode_t mode) { return open_at(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int __open_2(const char *name, int flags) { return open_at(AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return open_at(AT_FDCWD, name, flags, 0); }
int __openat_2(int folder, const char *name, int flags) { return open_at(folder, name, flags, 0); }
int __openat64_2(int folder, const char *name, int flags) { return open_at(folder, name, flags, 0); }

static FILE *stream(const char *symbol, const char *name, const char *mode) {
    char path[PATH_MAX];
    FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, symbol);
    int watched = resolve(AT_FDCWD, name, path), was_there = watched && !access(name, F_OK);
    FILE *result = real(name, mode);
    if (watched && result && mode[0] == 'w') put(was_there ? 'T' : 'C', path, "", 0, NULL, 0);
    return result;
}
FILE *fopen(const char *name, const char *mode) { return stream("fopen", name, mode); }
FILE *fopen64(const char *name, const char *mode) { return stream("fopen64", name, mode); }

ssize_t write(int descriptor, const void *data, size_t length) {
    char path[PATH_MAX];
    if (!path_of(descriptor, path)) return syscall(SYS_write, descriptor, data, length);
    if (fails('W')) return -1;
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    if (fcntl(descriptor, F_GETFL) & O_APPEND) { struct stat now; fstat(descriptor, &now); offset = now.st_size; }
    ssize_t done = syscall(SYS_write, descriptor, data, length);
    struct iovec piece = {(void *)data, done > 0 ? (size_t)done : 0};
    if (done > 0) put('W', path, "", (uint64_t)offset, &piece, 1);
    return done;
}

ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t offset) {
    char path[PATH_MAX];
    int watched = path_of(descriptor, path);
    if (watched && fails('W')) return -1;
    ssize_t done = syscall(SYS_pwrite64, descriptor, data, length, offset);
    struct iovec piece = {(void *)data, done > 0 ? (size_t)done : 0};
    if (watched && done > 0) put('W', path, "", (uint64_t)offset, &piece, 1);
    return done;
}
ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
    return pwrite64(descriptor, data, length, offset);
}

ssize_t writev(int descriptor, const struct iovec *data, int pieces) {
    ssize_t total = 0;
    for (int n = 0; n < pieces; n++) {
        ssize_t done = write(descriptor, data[n].iov_base, data[n].iov_len);
        if (done < 0) return total ? total : -1;
        total += done;
        if ((size_t)done < data[n].iov_len) break;
    }
    return total;
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    REAL(size_t, "fwrite", const void *, size_t, size_t, FILE *);
    char path[PATH_MAX];
    if (!path_of(fileno(file), path)) return real(data, size, count, file);
    if (fails('W')) return 0;
    off_t offset = ftello(file);
    size_t done = real(data, size, count, file);
    struct iovec piece = {(void *)data, done * size};
    if (done) put('W', path, "", (uint64_t)offset, &piece, 1);
    return done;
}

ssize_t read(int descriptor, void *data, size_t length) {
    char path[PATH_MAX];
    if (fail_with && path_of(descriptor, path) && fails('r')) return -1;
    return syscall(SYS_read, descriptor, data, length);
}
ssize_t pread64(int descriptor, void *data, size_t length, off64_t offset) {
    char path[PATH_MAX];
    if (fail_with && path_of(descriptor, path) && fails('r')) return -1;
    return syscall(SYS_pread64, descriptor, data, length, offset);
}
ssize_t pread(int descriptor, void *data, size_t length, off_t offset) {
    return pread64(descriptor, data, length, offset);
}

int ftruncate64(int descriptor, off64_t length) {
    char path[PATH_MAX];
    int watched = path_of(descriptor, path);
    if (watched && fails('T')) return -1;
    int result = (int)syscall(SYS_ftruncate, descriptor, length);
    if (watched && !result) put('T', path, "", (uint64_t)length, NULL, 0);
    return result;
}
int ftruncate(int descriptor, off_t length) { return ftruncate64(descriptor, length); }

static int synced(int descriptor, long number) {
    char path[PATH_MAX];
    int watched = path_of(descriptor, path);
    if (watched && fails('S')) return -1;
    int result = (int)syscall(number, descriptor);
    if (watched && !result) put('S', path, "", 0, NULL, 0);
    return result;
}
int fsync(int descriptor) { return synced(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return synced(descriptor, SYS_fdatasync); }

static int renamed(int from, const char *old, int to, const char *new, unsigned flags) {
    char path[PATH_MAX], other[PATH_MAX];
    int watched = resolve(from, old, path), also = resolve(to, new, other);
    if (watched && fails('R')) return -1;
    int result = (int)syscall(SYS_renameat2, from, old, to, new, flags);
    if (watched && also && !result) put('R', path, other, 0, NULL, 0);
    return result;
}
int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return renamed(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    return renamed(from, old, to, new, flags);
}

static int unlinked(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    int watched = resolve(folder, name, path);
    int result = (int)syscall(SYS_unlinkat, folder, name, flags);
    if (watched && !result) put('U', path, "", 0, NULL, 0);
    return result;
}
int unlink(const char *name) { return unlinked(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinked(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int folder, const char *name, int flags) { return unlinked(folder, name, flags); }
int remove(const char *name) {
    return !unlinked(AT_FDCWD, name, 0) ? 0 : errno == EISDIR ? unlinked(AT_FDCWD, name, AT_REMOVEDIR) : -1;
}

static int made(int folder, const char *name, mode_t mode) {
    char path[PATH_MAX];
    int watched = resolve(folder, name, path);
    if (watched && fails('D')) return -1;
    int result = (int)syscall(SYS_mkdirat, folder, name, mode);
    if (watched && !result) put('D', path, "", 0, NULL, 0);
    return result;
}
int mkdir(const char *name, mode_t mode) { return made(AT_FDCWD, name, mode); }
int mkdirat(int folder, const char *name, mode_t mode) { return made(folder, name, mode); }
