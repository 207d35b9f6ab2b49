/* Loaded before the C library (LD_PRELOAD): every read of a file below $SLOW_READS_DIR takes $SLOW_READS_MS longer, as on
   a file system whose data is far away. TensorFlow reads local files with pread, Python with read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void wait_if_slow(int fd) {
  const char *directory = getenv("SLOW_READS_DIR"), *milliseconds = getenv("SLOW_READS_MS");
  char link[64], path[4096];
  if (!directory || !milliseconds) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return;
  path[size] = 0;
  if (!strncmp(path, directory, strlen(directory))) usleep(1000 * atoi(milliseconds));
}

#define SLOW_PREAD(name, offset_type)                                                  \
  ssize_t name(int fd, void *buffer, size_t count, offset_type offset) {               \
    static ssize_t (*next)(int, void *, size_t, offset_type);                          \
    if (!next) next = dlsym(RTLD_NEXT, #name);                                         \
    wait_if_slow(fd);                                                                  \
    return next(fd, buffer, count, offset);                                            \
  }

ssize_t read(int fd, void *buffer, size_t count) {
  static ssize_t (*next)(int, void *, size_t);
  if (!next) next = dlsym(RTLD_NEXT, "read");
  wait_if_slow(fd);
  return next(fd, buffer, count);
}

SLOW_PREAD(pread, off_t)
SLOW_PREAD(pread64, off64_t)
