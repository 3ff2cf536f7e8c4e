/* The process and the machine of os.h. */
#include <cpuid.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/os/windows/win32.h"

#define NS_PER_TICK 100
#define UNIX_EPOCH_TICKS UINT64_C(116444736000000000) /* 1970 in ticks since 1601, the origin of times in Windows */

bool os_random(uint8_t number[16])
{
	unsigned part;
	for (unsigned i = 0; i < 16; i += sizeof(part)) {
		if (rand_s(&part))
			return false;
		memcpy(number + i, &part, sizeof(part));
	}
	return true;
}

bool os_host_name(char *name, size_t bytes)
{
	wchar_t wide[256];
	DWORD count = sizeof(wide) / sizeof(*wide);
	return GetComputerNameExW(ComputerNameDnsHostname, wide, &count) && windows_narrow(wide, name, bytes);
}

/* Leaves `id` unchanged, because Windows has no such number. */
void os_boot_id(uint8_t id[16])
{
	(void)id;
}

bool os_process_start(uint32_t pid, uint64_t *unix_ns)
{
	FILETIME start, end, kernel, user;
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, pid);
	if (!process)
		return false;
	/* A process that has ended keeps its number while a handle of it is open. */
	bool runs = WaitForSingleObject(process, 0) == WAIT_TIMEOUT &&
	            GetProcessTimes(process, &start, &end, &kernel, &user);
	CloseHandle(process);
	if (runs)
		*unix_ns = (((uint64_t)start.dwHighDateTime << 32 | start.dwLowDateTime) - UNIX_EPOCH_TICKS) * NS_PER_TICK;
	return runs;
}

static char program[256];

static void find_program(void)
{
	wchar_t path[MAX_PATH];
	if (!GetModuleFileNameW(NULL, path, MAX_PATH))
		return;
	path[MAX_PATH - 1] = L'\0';
	wchar_t *slash = wcsrchr(path, L'\\'), *file = slash ? slash + 1 : path;
	wchar_t *ending = wcsrchr(file, L'.');
	if (ending && !_wcsicmp(ending, L".exe"))
		*ending = L'\0';
	if (!windows_narrow(file, program, sizeof(program)))
		program[0] = '\0';
}

const char *os_program(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_program);
	return program;
}

/* ---- the environment, which Windows has in UTF-16 ---- */

/* A value of a variable in UTF-8. It is never freed, even if the variable changes, because callers may still use it. */
struct value {
	struct value *next;
	const char *name; /* points into `text`, as `value` does */
	const char *value;
	char text[];
};

static pthread_mutex_t values_lock = PTHREAD_MUTEX_INITIALIZER;
static struct value *values;

static struct value *make_value(const char *name, const wchar_t *wide)
{
	int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
	size_t name_bytes = strlen(name) + 1;
	struct value *made = bytes > 0 ? malloc(sizeof(*made) + name_bytes + (size_t)bytes) : NULL;
	if (!made)
		return NULL;
	memcpy(made->text, name, name_bytes);
	made->name = made->text;
	made->value = made->text + name_bytes;
	WideCharToMultiByte(CP_UTF8, 0, wide, -1, made->text + name_bytes, bytes, NULL, NULL);
	return made;
}

/* Returns a stored value that is equal, and frees the new one; or stores the new one and returns it. */
static const char *keep_value(struct value *made)
{
	pthread_mutex_lock(&values_lock);
	struct value *known = values;
	while (known && (strcmp(known->name, made->name) != 0 || strcmp(known->value, made->value) != 0))
		known = known->next;
	if (!known) {
		made->next = values;
		values = made;
	}
	pthread_mutex_unlock(&values_lock);
	if (!known)
		return made->value;
	free(made);
	return known->value;
}

/* Checks no rights, because Windows has no setuid programs, whose environment a user with fewer rights sets. */
const char *os_variable(const char *name)
{
	wchar_t *wide_name = windows_wide(name);
	DWORD room = wide_name ? GetEnvironmentVariableW(wide_name, NULL, 0) : 0; /* with the NUL */
	wchar_t *wide = room ? calloc(room, sizeof(*wide)) : NULL;
	struct value *made = NULL;
	/* Another thread may have made the value longer since its size was read. The variable then counts as not
	 * set. */
	if (wide && GetEnvironmentVariableW(wide_name, wide, room) < room)
		made = make_value(name, wide);
	free(wide);
	free(wide_name);
	return made ? keep_value(made) : NULL;
}

bool os_counter_is_sound(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && d & 1u << 8;
}

static void (*exit_function)(void);

static int call_exit_function(void)
{
	exit_function();
	return 0;
}

/* Registers with the C libraries that the program may use: the one whose exit the program calls then calls the
 * function. atexit would register in this DLL, whose functions Windows calls after it has ended all other threads. */
void os_at_exit(void (*end)(void))
{
	static const struct {
		const wchar_t *library;
		const char *name;
	} functions[] = { { L"ucrtbase.dll", "_crt_atexit" }, { L"msvcrt.dll", "_onexit" } };
	exit_function = end;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *(*add)(int (*function)(void)) = NULL;
		HMODULE library = GetModuleHandleW(functions[i].library);
		FARPROC found = library ? GetProcAddress(library, functions[i].name) : NULL;
		memcpy(&add, &found, sizeof(found));
		if (add)
			add(call_exit_function);
	}
}

void os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	(void)prepare, (void)parent, (void)child;
}
