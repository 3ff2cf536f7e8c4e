/* The section of constants in assembly, for files that are embedded in an object file. */
#ifndef EPPROF_RUNTIME_BASE_OS_SECTION_H
#define EPPROF_RUNTIME_BASE_OS_SECTION_H

#ifdef _WIN32
#define OS_CONSTANTS_BEGIN ".section .rdata,\"dr\"\n"
#define OS_CONSTANTS_END ".text\n"
#else
#define OS_CONSTANTS_BEGIN ".pushsection .rodata\n"
#define OS_CONSTANTS_END ".popsection\n"
#endif

#endif
