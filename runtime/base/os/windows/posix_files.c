/* Files of POSIX with paths in UTF-8. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/os/os.h"
#include "base/os/windows/win32.h"

#define SHARED (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
#define TICKS_PER_S 10000000
#define UNIX_EPOCH_S INT64_C(11644473600) /* 1970 in seconds since 1601, the origin of times in Windows */
#define BLOCK_BYTES 512
#define NAMES_MAX 1000u

/* Converts the result of a Windows function: 0 for success; else -1, with errno set from the last error of Windows. */
static int result(bool succeeded)
{
	if (succeeded)
		return 0;
	errno = windows_errno();
	return -1;
}

/* ---- opening ---- */

static HANDLE open_handle(const char *path, DWORD access, DWORD how, DWORD flags)
{
	wchar_t *wide = windows_wide(strcmp(path, "/dev/null") == 0 ? "NUL" : path);
	if (!wide)
		return INVALID_HANDLE_VALUE;
	HANDLE file = CreateFileW(wide, access, SHARED, NULL, how, flags, NULL);
	free(wide);
	if (file == INVALID_HANDLE_VALUE)
		errno = windows_errno();
	return file;
}

int libc_open(const char *path, int flags, ...)
{
	const DWORD access[] = { GENERIC_READ, GENERIC_WRITE, GENERIC_READ | GENERIC_WRITE };
	DWORD how = flags & O_EXCL ? CREATE_NEW : flags & O_CREAT ? OPEN_ALWAYS : OPEN_EXISTING;

	if (flags & O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (flags & O_NOFOLLOW && os_file_is_link(path)) {
		errno = ELOOP;
		return -1;
	}
	HANDLE file = open_handle(path, access[flags & (O_WRONLY | O_RDWR)], how, FILE_ATTRIBUTE_NORMAL);
	if (file == INVALID_HANDLE_VALUE)
		return -1;
	int fd = _open_osfhandle((intptr_t)file, _O_BINARY | _O_NOINHERIT);
	if (fd < 0)
		CloseHandle(file);
	else if (flags & O_TRUNC)
		os_file_set_size(fd, 0);
	return fd;
}

FILE *libc_fdopen(int fd, const char *mode)
{
	char binary[8];
	snprintf(binary, sizeof(binary), "%.1s%sb", mode, strchr(mode, '+') ? "+" : "");
	return _fdopen(fd, binary);
}

FILE *libc_fopen(const char *path, const char *mode)
{
	int flags = strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
	int fd = libc_open(path, flags | (*mode == 'r' ? 0 : O_CREAT) | (*mode == 'w' ? O_TRUNC : 0));
	FILE *file = fd < 0 ? NULL : libc_fdopen(fd, mode);
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* ---- about files ---- */

static int describe(HANDLE file, struct libc_stat *about)
{
	BY_HANDLE_FILE_INFORMATION found;
	FILE_STANDARD_INFO sizes;

	*about = (struct libc_stat){ .st_nlink = 1 };
	DWORD type = GetFileType(file);
	if (type != FILE_TYPE_DISK) {
		about->st_mode = type == FILE_TYPE_PIPE ? S_IFIFO : S_IFCHR;
		return result(type != FILE_TYPE_UNKNOWN);
	}
	if (!GetFileInformationByHandle(file, &found))
		return result(false);
	bool is_folder = found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
	int64_t ticks = (int64_t)((uint64_t)found.ftLastWriteTime.dwHighDateTime << 32 |
	                          found.ftLastWriteTime.dwLowDateTime);
	about->st_mode = (mode_t)(is_folder ? S_IFDIR | 0700 : S_IFREG | 0600);
	about->st_dev = found.dwVolumeSerialNumber;
	about->st_ino = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow;
	about->st_nlink = found.nNumberOfLinks;
	about->st_size = (int64_t)((uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow);
	about->st_mtim = (struct timespec){ ticks / TICKS_PER_S - UNIX_EPOCH_S, (long)(ticks % TICKS_PER_S * 100) };
	if (GetFileInformationByHandleEx(file, FileStandardInfo, &sizes, sizeof(sizes)))
		about->st_blocks = ((uint64_t)sizes.AllocationSize.QuadPart + BLOCK_BYTES - 1) / BLOCK_BYTES;
	return 0;
}

/* Windows has no permission to execute, because the extension of the name decides.  So X_OK is answered as F_OK: the
 * file exists. */
int libc_access(const char *path, int what)
{
	HANDLE file = open_handle(path,
	                          what & W_OK   ? GENERIC_WRITE
	                          : what & R_OK ? GENERIC_READ
	                                        : FILE_READ_ATTRIBUTES,
	                          OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
	if (file == INVALID_HANDLE_VALUE)
		return -1;
	CloseHandle(file);
	return 0;
}

int libc_fstat(int fd, struct libc_stat *about)
{
	return describe((HANDLE)_get_osfhandle(fd), about);
}

int libc_stat(const char *path, struct libc_stat *about)
{
	HANDLE file = open_handle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
	if (file == INVALID_HANDLE_VALUE)
		return -1;
	int code = describe(file, about);
	CloseHandle(file);
	return code;
}

int libc_lstat(const char *path, struct libc_stat *about)
{
	if (!os_file_is_link(path))
		return libc_stat(path, about);
	*about = (struct libc_stat){ .st_mode = S_IFLNK, .st_nlink = 1 };
	return 0;
}

int fcntl(int fd, int what)
{
	(void)what;
	return _get_osfhandle(fd) == -1 ? -1 : 0;
}

/* ---- reading and writing ---- */

ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
	return os_file_read_at(fd, to, bytes, (uint64_t)at);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	int error = os_file_write_at(fd, from, bytes, (uint64_t)at);
	if (!error)
		return (ssize_t)bytes;
	errno = error;
	return -1;
}

ssize_t getline(char **line, size_t *room, FILE *file)
{
	size_t used = 0;
	for (int c = 0; c != '\n' && (c = getc(file)) != EOF;) {
		if (used + 2 > *room) {
			char *larger = realloc(*line, used * 2 + 128);
			if (!larger)
				return -1;
			*line = larger;
			*room = used * 2 + 128;
		}
		(*line)[used++] = (char)c;
		(*line)[used] = '\0';
	}
	return used ? (ssize_t)used : -1;
}

/* ---- names ---- */

char *libc_realpath(const char *path, char *resolved)
{
	static const wchar_t local[] = L"\\\\?\\", network[] = L"\\\\?\\UNC\\";
	wchar_t found[MAX_PATH + 8], *from = found;
	HANDLE file = open_handle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
	if (file == INVALID_HANDLE_VALUE)
		return NULL;
	DWORD count = GetFinalPathNameByHandleW(file, found, MAX_PATH + 8, 0);
	CloseHandle(file);
	if (!count || count >= MAX_PATH + 8) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	if (!wcsncmp(found, network, wcslen(network)))
		*(from += wcslen(network) - 2) = L'\\';
	else if (!wcsncmp(found, local, wcslen(local)))
		from += wcslen(local);
	for (wchar_t *at = from; *at; at++)
		*at = *at == L'\\' ? L'/' : *at;
	char *text = resolved ? resolved : malloc(PATH_MAX * 3);
	if (text && windows_narrow(from, text, resolved ? PATH_MAX : PATH_MAX * 3))
		return text;
	if (!resolved)
		free(text);
	errno = text ? ENAMETOOLONG : ENOMEM;
	return NULL;
}

char *libc_basename(const char *path)
{
	return (char *)os_path_name(path);
}

int libc_unlink(const char *path)
{
	int error = os_file_remove(path);
	if (error)
		errno = error;
	return error ? -1 : 0;
}

int libc_rmdir(const char *path)
{
	wchar_t *wide = windows_wide(path);
	int code = wide ? result(RemoveDirectoryW(wide)) : -1;
	free(wide);
	return code;
}

int libc_mkdir(const char *path, mode_t mode)
{
	(void)mode;
	wchar_t *wide = windows_wide(path);
	int code = wide ? result(CreateDirectoryW(wide, NULL)) : -1;
	free(wide);
	return code;
}

static int move(const char *from, const char *to, DWORD flags)
{
	wchar_t *wide_from = windows_wide(from), *wide_to = wide_from ? windows_wide(to) : NULL;
	int code = wide_to ? result(MoveFileExW(wide_from, wide_to, flags)) : -1;
	free(wide_from);
	free(wide_to);
	return code;
}

int libc_rename(const char *from, const char *to)
{
	return move(from, to, MOVEFILE_REPLACE_EXISTING);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
	(void)from_folder, (void)to_folder;
	return move(from, to, flags & RENAME_NOREPLACE ? 0 : MOVEFILE_REPLACE_EXISTING);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
	(void)from_folder, (void)from, (void)to_folder, (void)to, (void)flags;
	errno = ENOSYS;
	return -1;
}

int link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Fills in the last six letters of a path until `make` succeeds. */
static int make_unique(char *path, int (*make)(const char *path))
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	char *end = path + strlen(path);
	uint8_t number[16];

	for (unsigned i = 0; i < NAMES_MAX && os_random(number); i++) {
		for (int at = 1; at <= 6; at++)
			end[-at] = letters[number[at] % 32];
		int made = make(path);
		if (made >= 0 || errno != EEXIST)
			return made;
	}
	errno = EEXIST;
	return -1;
}

static int make_folder(const char *path)
{
	return libc_mkdir(path, 0700);
}

char *mkdtemp(char *path)
{
	return make_unique(path, make_folder) < 0 ? NULL : path;
}

int mkostemp(char *path, int flags)
{
	(void)flags;
	return make_unique(path, os_file_create);
}

/* ---- texts as files: a temporary file, whose contents become the text when it is closed ---- */

struct text_file {
	FILE *file;
	char **text;
	size_t *bytes;
	LIST_ENTRY(text_file) link;
};

static pthread_mutex_t text_files_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, text_file) text_files = LIST_HEAD_INITIALIZER(text_files);

FILE *open_memstream(char **text, size_t *bytes)
{
	char path[MAX_PATH * 3];
	struct text_file *made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	snprintf(path, sizeof(path), "%s/epprof.XXXXXX", secure_getenv("TMPDIR"));
	int fd = mkostemp(path, 0);
	*made = (struct text_file){ .file = fd < 0 ? NULL : libc_fdopen(fd, "w+"), .text = text, .bytes = bytes };
	if (fd >= 0)
		libc_unlink(path);
	if (!made->file) {
		if (fd >= 0)
			close(fd);
		free(made);
		return NULL;
	}
	pthread_mutex_lock(&text_files_lock);
	LIST_INSERT_HEAD(&text_files, made, link);
	pthread_mutex_unlock(&text_files_lock);
	return made->file;
}

static bool take_text(const struct text_file *from)
{
	long bytes = fseek(from->file, 0, SEEK_END) == 0 ? ftell(from->file) : -1;
	char *text = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
	if (!text)
		return false;
	rewind(from->file);
	if (fread(text, 1, (size_t)bytes, from->file) != (size_t)bytes) {
		free(text);
		return false;
	}
	text[bytes] = '\0';
	*from->text = text;
	*from->bytes = (size_t)bytes;
	return true;
}

int libc_fclose(FILE *file)
{
	struct text_file *found;
	bool taken = true;

	pthread_mutex_lock(&text_files_lock);
	LIST_FOREACH(found, &text_files, link)
		if (found->file == file)
			break;
	if (found)
		LIST_REMOVE(found, link);
	pthread_mutex_unlock(&text_files_lock);
	if (found)
		taken = take_text(found);
	free(found);
	return (fclose)(file) == 0 && taken ? 0 : EOF;
}
