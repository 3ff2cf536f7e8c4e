/* Checks the file's header, then each program header: dlopen maps the segments of type PT_LOAD and then reads
 * PT_DYNAMIC.  A file that is truncated later, during the load, cannot be detected. */
#include "plugins/elf.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

static epp_status *read_at(int fd, uint64_t offset, void *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
		if (got < 0)
			return epp_status_errno(errno, "reading its headers");
		if (got == 0)
			return epp_status_create(EPP_CORRUPT, "the file is truncated in its headers");
		done += (size_t)got;
	}
	return NULL;
}

epp_status *elf_check(int fd, uint64_t bytes)
{
	ElfW(Ehdr) head;
	if (bytes < SELFMAG)
		return epp_status_create(EPP_INCOMPATIBLE, "not a shared library");
	EPP_TRY(read_at(fd, 0, head.e_ident, SELFMAG));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return epp_status_create(EPP_INCOMPATIBLE, "not a shared library");
	EPP_TRY(read_at(fd, 0, &head, sizeof(head)));
	if (head.e_phentsize != sizeof(ElfW(Phdr)))
		return epp_status_create(EPP_INCOMPATIBLE, "a library for another architecture");
	for (unsigned i = 0; i < head.e_phnum; i++) {
		ElfW(Phdr) part;
		if (head.e_phoff > bytes)
			return epp_status_create(EPP_CORRUPT, "the file is truncated in its headers");
		EPP_TRY(read_at(fd, head.e_phoff + i * sizeof(part), &part, sizeof(part)));
		if (part.p_type != PT_LOAD && part.p_type != PT_DYNAMIC)
			continue;
		if (part.p_offset > bytes || part.p_filesz > bytes - part.p_offset)
			return epp_status_create(EPP_CORRUPT, "the file is truncated: %llu bytes are missing",
			                         (unsigned long long)(part.p_offset + part.p_filesz - bytes));
	}
	return NULL;
}
