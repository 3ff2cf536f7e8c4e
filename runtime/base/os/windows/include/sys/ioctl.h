/* The size of a terminal, for Windows; posix.c has it. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_SYS_IOCTL_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_SYS_IOCTL_H

#define TIOCGWINSZ 1

struct winsize {
	unsigned short ws_col;
};
/* `what` must be TIOCGWINSZ. */
int ioctl(int fd, int what, struct winsize *size);

#endif
