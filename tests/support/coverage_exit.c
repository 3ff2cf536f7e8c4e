/* Linked into each program and library of `make coverage` with ld's option --wrap=_exit: a process that ends with _exit
 * writes its counters too, as each case of `epprof conform` does. */
void __gcov_dump(void); /* of <gcov.h>, which clang does not have */
_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);

void __wrap__exit(int code)
{
	__gcov_dump();
	__real__exit(code);
}
