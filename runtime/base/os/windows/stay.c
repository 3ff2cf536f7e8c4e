/* A DLL that has this file is not unloaded, as libraries with the flag nodelete are not on Linux: threads that end call its
 * destructors, and its helper thread runs its code. */
#include "base/os/windows/win32.h"

__attribute__((constructor)) static void stay(void)
{
	HMODULE self;
	GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
	                   (const wchar_t *)(void *)stay, &self);
}
