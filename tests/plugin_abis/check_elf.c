/* The look at a library before dlopen: cut at any length, and with headers that lie. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "plugins/elf.h"

static char bytes[8192];
static size_t needed;

/* A header, three program headers at `at`, and segments that end at 5000 and 8000. */
static ElfW(Phdr) * make(size_t at)
{
	ElfW(Ehdr) *head = (ElfW(Ehdr) *)(void *)bytes;
	ElfW(Phdr) *parts = (ElfW(Phdr) *)(void *)(bytes + at);
	memset(bytes, 0, sizeof(bytes));
	memcpy(head->e_ident, ELFMAG, SELFMAG);
	head->e_phoff = at;
	head->e_phnum = 3;
	head->e_phentsize = sizeof(ElfW(Phdr));
	parts[0] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_offset = 0, .p_filesz = 5000 };
	/* Notes are not mapped for themselves. */
	parts[1] = (ElfW(Phdr)){ .p_type = PT_NOTE, .p_offset = 1 << 30, .p_filesz = 1 };
	parts[2] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_offset = 6000, .p_filesz = 2000 };
	needed = 8000;
	return parts;
}

static epp_status *check(size_t kept)
{
	int fd = memfd_create("library", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, kept, 0), (ssize_t)kept);
	epp_status *status = elf_check(fd, kept);
	close(fd);
	return status;
}

START_TEST(a_library_that_is_whole_passes)
{
	make(sizeof(ElfW(Ehdr)));
	check_ok(check(needed));
	check_ok(check(sizeof(bytes)));
}
END_TEST

START_TEST(every_cut_is_noticed)
{
	make(sizeof(ElfW(Ehdr)));
	for (size_t kept = 0; kept < 4; kept++)
		check_fails(EPP_INCOMPATIBLE, check(kept));
	for (size_t kept = 4; kept < needed; kept++)
		check_fails(EPP_CORRUPT, check(kept));
	/* The program headers may also be what stands last. */
	make(7504);
	needed = 8000;
	for (size_t kept = 7000; kept < needed; kept++)
		check_fails(EPP_CORRUPT, check(kept));
}
END_TEST

START_TEST(headers_that_lie_are_noticed)
{
	ElfW(Ehdr) *head = (ElfW(Ehdr) *)(void *)bytes;
	ElfW(Phdr) *parts = make(sizeof(*head));
	head->e_phoff = (ElfW(Off)) - 1;
	check_fails(EPP_CORRUPT, check(sizeof(bytes)));
	make(sizeof(*head));
	head->e_phnum = 65535;
	check_fails(EPP_CORRUPT, check(sizeof(bytes)));
	make(sizeof(*head));
	head->e_phentsize = 1;
	check_fails(EPP_INCOMPATIBLE, check(sizeof(bytes)));
	make(sizeof(*head));
	parts[0].p_filesz = (ElfW(Xword)) - 1;
	check_fails(EPP_CORRUPT, check(sizeof(bytes)));
	make(sizeof(*head));
	parts[2].p_offset = (ElfW(Off)) - 1;
	check_fails(EPP_CORRUPT, check(sizeof(bytes)));
	make(sizeof(*head));
	parts[1].p_type = PT_DYNAMIC;
	check_fails(EPP_CORRUPT, check(sizeof(bytes)));
}
END_TEST

START_TEST(another_kind_of_file_is_told)
{
	memset(bytes, '#', sizeof(bytes));
	check_fails(EPP_INCOMPATIBLE, check(sizeof(bytes)));
	check_fails(EPP_IO, elf_check(-1, sizeof(bytes)));
}
END_TEST

static Suite *elf_suite(void)
{
	Suite *suite = suite_create("elf");
	TCase *tests = tcase_create("elf");
	tcase_add_test(tests, a_library_that_is_whole_passes);
	tcase_add_test(tests, every_cut_is_noticed);
	tcase_add_test(tests, headers_that_lie_are_noticed);
	tcase_add_test(tests, another_kind_of_file_is_told);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(elf_suite)
