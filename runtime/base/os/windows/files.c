/* The files and the memory of os.h. Paths are UTF-8. A file that is open may be read, renamed and removed by others, as
 * on Linux, but one that is mapped cannot be made shorter. */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/os/windows/win32.h"

#define LOCK_AT \
	(UINT64_C(1) << 62) /* the offset of the byte that is locked: behind the end of every file, because
                                       other processes cannot read a locked byte */
#define PART_BYTES (1u << 30)
#define ZEROS_BYTES ((size_t)64 << 10)
#define SHARED (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static HANDLE handle_of(int fd)
{
	return (HANDLE)_get_osfhandle(fd);
}

/* Returns a descriptor of a handle. If the handle is invalid, returns -1 and sets errno from the last error of
 * Windows. */
static int descriptor_of(HANDLE file)
{
	if (file == INVALID_HANDLE_VALUE) {
		errno = windows_errno();
		return -1;
	}
	int fd = _open_osfhandle((intptr_t)file, _O_BINARY | _O_NOINHERIT);
	if (fd < 0)
		CloseHandle(file);
	return fd;
}

static bool is_link(HANDLE file)
{
	FILE_ATTRIBUTE_TAG_INFO about;
	return GetFileInformationByHandleEx(file, FileAttributeTagInfo, &about, sizeof(about)) &&
	       about.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT && about.ReparseTag == IO_REPARSE_TAG_SYMLINK;
}

/* Opens a file. If `follows` is false and the path is a link, fails with ELOOP. */
static int open_path(const char *path, DWORD access, DWORD how, bool follows)
{
	wchar_t *wide = windows_wide(path);
	if (!wide)
		return -1;
	HANDLE file = CreateFileW(wide, access, SHARED, NULL, how,
	                          follows ? FILE_ATTRIBUTE_NORMAL : FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	free(wide);
	if (file != INVALID_HANDLE_VALUE && !follows && is_link(file)) {
		CloseHandle(file);
		errno = ELOOP;
		return -1;
	}
	return descriptor_of(file);
}

int os_file_open(const char *path, bool follows)
{
	return open_path(path, GENERIC_READ, OPEN_EXISTING, follows);
}

int os_file_open_again(int fd)
{
	return descriptor_of(ReOpenFile(handle_of(fd), GENERIC_READ, SHARED, 0));
}

/* Always fails: a folder need not be synced, because Windows keeps the names in it itself. */
int os_file_open_folder_of(const char *path)
{
	(void)path;
	errno = ENOTSUP;
	return -1;
}

int os_file_create(const char *path)
{
	return open_path(path, GENERIC_READ | GENERIC_WRITE, CREATE_NEW, true);
}

/* `mode` is ignored, because the file gets the access rights of its folder. */
int os_file_open_output(const char *path, bool overwrite, mode_t mode)
{
	(void)mode;
	return open_path(path, GENERIC_READ | GENERIC_WRITE, overwrite ? OPEN_ALWAYS : CREATE_NEW, false);
}

bool os_file_is_link(const char *path)
{
	wchar_t *wide = windows_wide(path);
	HANDLE file = wide ? CreateFileW(wide, FILE_READ_ATTRIBUTES, SHARED, NULL, OPEN_EXISTING,
	                                 FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS, NULL)
	                   : INVALID_HANDLE_VALUE;
	free(wide);
	bool is = file != INVALID_HANDLE_VALUE && is_link(file);
	if (file != INVALID_HANDLE_VALUE)
		CloseHandle(file);
	return is;
}

static OVERLAPPED position(uint64_t at)
{
	return (OVERLAPPED){ .Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32) };
}

static DWORD part_of(size_t bytes)
{
	return bytes < PART_BYTES ? (DWORD)bytes : PART_BYTES;
}

int os_file_lock(int fd)
{
	OVERLAPPED where = position(LOCK_AT);
	bool locked = LockFileEx(handle_of(fd), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &where);
	return locked ? 0 : windows_errno();
}

bool os_file_is_locked(int fd)
{
	OVERLAPPED where = position(LOCK_AT);
	if (!LockFileEx(handle_of(fd), LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &where))
		return windows_errno() == EWOULDBLOCK;
	UnlockFileEx(handle_of(fd), 0, 1, 0, &where);
	return false;
}

int64_t os_file_read_at(int fd, void *to, size_t bytes, uint64_t at)
{
	size_t done = 0;
	while (done < bytes) {
		OVERLAPPED where = position(at + done);
		DWORD part = 0;
		if (!ReadFile(handle_of(fd), (uint8_t *)to + done, part_of(bytes - done), &part, &where)) {
			if (done || GetLastError() == ERROR_HANDLE_EOF)
				break;
			errno = windows_errno();
			return -1;
		}
		if (!part)
			break;
		done += part;
	}
	return (int64_t)done;
}

int os_file_write_at(int fd, const void *from, size_t bytes, uint64_t at)
{
	for (const uint8_t *next = from; bytes;) {
		OVERLAPPED where = position(at);
		DWORD part = 0;
		if (!WriteFile(handle_of(fd), next, part_of(bytes), &part, &where))
			return windows_errno();
		if (!part)
			return ENOSPC;
		next += part;
		at += part;
		bytes -= part;
	}
	return 0;
}

int os_file_write_zeros(int fd, size_t bytes, uint64_t at)
{
	static uint8_t zeros[ZEROS_BYTES];
	int error = 0;
	while (bytes && !error) {
		size_t part = bytes < ZEROS_BYTES ? bytes : ZEROS_BYTES;
		error = os_file_write_at(fd, zeros, part, at);
		at += part;
		bytes -= part;
	}
	return error;
}

bool os_file_size(int fd, uint64_t *bytes)
{
	LARGE_INTEGER size;
	if (!GetFileSizeEx(handle_of(fd), &size)) {
		errno = windows_errno();
		return false;
	}
	*bytes = (uint64_t)size.QuadPart;
	return true;
}

static bool describe(int fd, BY_HANDLE_FILE_INFORMATION *about)
{
	return GetFileType(handle_of(fd)) == FILE_TYPE_DISK && GetFileInformationByHandle(handle_of(fd), about);
}

bool os_file_is_regular(int fd)
{
	BY_HANDLE_FILE_INFORMATION about;
	return describe(fd, &about) && !(about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY);
}

bool os_file_is_folder(int fd)
{
	BY_HANDLE_FILE_INFORMATION about;
	return describe(fd, &about) && about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
}

bool os_file_has_second_name(int fd)
{
	BY_HANDLE_FILE_INFORMATION about;
	return describe(fd, &about) && !(about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) && about.nNumberOfLinks > 1;
}

int os_file_set_size(int fd, uint64_t bytes)
{
	FILE_END_OF_FILE_INFO end = { .EndOfFile.QuadPart = (LONGLONG)bytes };
	return SetFileInformationByHandle(handle_of(fd), FileEndOfFileInfo, &end, sizeof(end)) ? 0 : windows_errno();
}

int os_file_sync(int fd)
{
	if (FlushFileBuffers(handle_of(fd)))
		return 0;
	errno = windows_errno();
	return -1;
}

int os_file_remove(const char *path)
{
	wchar_t *wide = windows_wide(path);
	int error = !wide ? errno : DeleteFileW(wide) ? 0 : windows_errno();
	free(wide);
	return error;
}

static void remove_all(wchar_t *path)
{
	WIN32_FIND_DATAW entry;
	const size_t length = wcslen(path);
	DWORD attributes = GetFileAttributesW(path);

	if (attributes == INVALID_FILE_ATTRIBUTES || !(attributes & FILE_ATTRIBUTE_DIRECTORY)) {
		DeleteFileW(path);
		return;
	}
	/* If the path is a link to a folder, only the link is removed, and not the contents of the folder. */
	bool has_room = !(attributes & FILE_ATTRIBUTE_REPARSE_POINT) && length + 2 < MAX_PATH;
	HANDLE search = has_room ? FindFirstFileW(wcscat(path, L"\\*"), &entry) : INVALID_HANDLE_VALUE;
	bool more = search != INVALID_HANDLE_VALUE;
	for (; more; more = FindNextFileW(search, &entry)) {
		path[length + 1] = L'\0';
		if (wcscmp(entry.cFileName, L".") != 0 && wcscmp(entry.cFileName, L"..") != 0 &&
		    length + 1 + wcslen(entry.cFileName) < MAX_PATH)
			remove_all(wcscat(path, entry.cFileName));
	}
	if (search != INVALID_HANDLE_VALUE)
		FindClose(search);
	path[length] = L'\0';
	RemoveDirectoryW(path);
}

void os_file_remove_all(const char *path)
{
	wchar_t room[MAX_PATH], *wide = windows_wide(path);
	if (wide && wcslen(wide) < MAX_PATH)
		remove_all(wcscpy(room, wide));
	free(wide);
}

/* A file that is not sparse has disk space for all of its bytes, so it only has to be long enough. */
int os_file_reserve(int fd, uint64_t at, uint64_t bytes)
{
	uint64_t size;
	if (!os_file_size(fd, &size))
		return errno;
	return size < at + bytes ? os_file_set_size(fd, at + bytes) : 0;
}

int os_file_reserve_behind(int fd, uint64_t at, uint64_t bytes)
{
	(void)fd, (void)at, (void)bytes;
	return EOPNOTSUPP;
}

/* Does nothing. A hole would make the file sparse, and a store into its mapping could then fail. */
void os_file_punch(int fd, uint64_t at, uint64_t bytes)
{
	(void)fd, (void)at, (void)bytes;
}

void os_file_write_back(int fd, uint64_t at, uint64_t bytes)
{
	(void)fd, (void)at, (void)bytes;
}

int os_file_free_bytes(int fd, uint64_t *bytes)
{
	wchar_t path[MAX_PATH + 1];
	ULARGE_INTEGER room;
	*bytes = UINT64_MAX;
	DWORD count = GetFinalPathNameByHandleW(handle_of(fd), path, MAX_PATH, FILE_NAME_NORMALIZED);
	wchar_t *folder_end = count && count < MAX_PATH ? wcsrchr(path, L'\\') : NULL;
	if (!folder_end)
		return 0; /* the free space is unknown */
	folder_end[1] = L'\0';
	if (GetDiskFreeSpaceExW(path, &room, NULL, NULL))
		*bytes = room.QuadPart;
	return 0;
}

bool os_file_is_on_disk(int fd)
{
	(void)fd;
	return true;
}

bool os_file_is_unsafe_to_map(int fd)
{
	(void)fd;
	return false;
}

bool os_path_is_absolute(const char *path)
{
	bool has_drive = path[0] && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
	return has_drive || (path[0] == '\\' && path[1] == '\\');
}

void os_path_copy(const void *path, char *text, size_t bytes)
{
	int count = WideCharToMultiByte(CP_UTF8, 0, path, -1, text, (int)bytes, NULL, NULL);
	text[count ? bytes - 1 : 0] = '\0';
}

const char *os_path_name(const char *path)
{
	const char *name = path;
	for (const char *at = path; *at; at++)
		if (*at == '/' || *at == '\\' || (*at == ':' && at == path + 1))
			name = at + 1;
	return name;
}

const char *os_folder_in_memory(void)
{
	return NULL;
}

/* ---- memory ---- */

size_t os_page_bytes(void)
{
	SYSTEM_INFO about;
	GetSystemInfo(&about);
	return about.dwPageSize;
}

void *os_memory_map(size_t bytes)
{
	return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void *os_memory_map_file(int fd, size_t bytes)
{
	HANDLE mapping = CreateFileMappingW(handle_of(fd), NULL, PAGE_READWRITE, (DWORD)((uint64_t)bytes >> 32),
	                                    (DWORD)bytes, NULL);
	void *at = mapping ? MapViewOfFile(mapping, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, bytes) : NULL;
	if (!at)
		errno = windows_errno();
	if (mapping)
		CloseHandle(mapping); /* the view keeps the mapping open */
	return at;
}

void os_memory_unmap(void *at, size_t bytes)
{
	(void)bytes;
	if (!UnmapViewOfFile(at))
		VirtualFree(at, 0, MEM_RELEASE);
}

/* Releases only whole pages, because Windows would also release the rest of a page. The pages are committed again, and
 * are then zero. */
void os_memory_release(void *at, size_t bytes)
{
	const size_t page = os_page_bytes(), over = (uintptr_t)at % page, before = over ? page - over : 0;
	size_t whole_bytes = bytes < before ? 0 : (bytes - before) / page * page;
	char *whole = (char *)at + before;
	if (!whole_bytes || !VirtualFree(whole, whole_bytes, MEM_DECOMMIT) ||
	    !VirtualAlloc(whole, whole_bytes, MEM_COMMIT, PAGE_READWRITE)) {
		memset(at, 0, bytes);
		return;
	}
	memset(at, 0, before);
	memset(whole + whole_bytes, 0, bytes - before - whole_bytes);
}

/* Makes pages present by an atomic OR with 0, because other threads may store into them meanwhile. */
int os_memory_populate(void *at, size_t bytes)
{
	const size_t page = os_page_bytes();
	for (size_t i = 0; i < bytes; i += page - ((uintptr_t)at + i) % page)
		__atomic_fetch_or((uint8_t *)at + i, 0, __ATOMIC_RELAXED);
	return 0;
}

size_t os_memory_copy(uintptr_t address, void *copy, size_t bytes)
{
	SIZE_T done = 0;
	ReadProcessMemory(GetCurrentProcess(), (const void *)address, copy, bytes, &done);
	return done;
}

void *os_memory_aligned(size_t alignment, size_t bytes)
{
	return _aligned_malloc(bytes, alignment);
}

void os_memory_free(void *at)
{
	_aligned_free(at);
}
