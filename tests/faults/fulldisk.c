/* Preloaded into PostgreSQL: while the file $FULL_DISK exists, no regular file can grow ("No space left on device").
   What has its blocks already can still be overwritten, as on a disk that is full. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int refused(int fd, off_t end)
{
    const char *flag = getenv("FULL_DISK");
    struct stat file;

    if (flag == NULL || access(flag, F_OK) != 0 || fstat(fd, &file) != 0)
        return 0;
    if (!S_ISREG(file.st_mode) || end <= file.st_size)
        return 0;
    errno = ENOSPC;
    return 1;
}

static size_t total(const struct iovec *parts, int count)
{
    size_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t bytes)
{
    off_t at = lseek(fd, 0, SEEK_CUR);

    return at >= 0 && refused(fd, at + bytes) ? -1 : REAL(write)(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    return refused(fd, at + bytes) ? -1 : REAL(pwrite)(fd, data, bytes, at);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at)
{
    return refused(fd, at + bytes) ? -1 : REAL(pwrite64)(fd, data, bytes, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    return refused(fd, at + total(parts, count)) ? -1 : REAL(pwritev)(fd, parts, count, at);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    return refused(fd, at + total(parts, count)) ? -1 : REAL(pwritev64)(fd, parts, count, at);
}

int posix_fallocate(int fd, off_t at, off_t bytes)
{
    return refused(fd, at + bytes) ? ENOSPC : REAL(posix_fallocate)(fd, at, bytes);
}

int posix_fallocate64(int fd, off64_t at, off64_t bytes)
{
    return refused(fd, at + bytes) ? ENOSPC : REAL(posix_fallocate64)(fd, at, bytes);
}
