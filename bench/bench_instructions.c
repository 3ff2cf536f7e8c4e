/* Counts the instructions of a pair of begin and end with valgrind: the only figure that does not depend on the load of
 * the machine.  This program runs itself twice under callgrind, which counts only inside the two functions; the
 * difference of the runs is the cost of the events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define FEW 10000u
#define MANY 60000u

int bench_spin(uint64_t count)
{
	epp_session *session;
	epp_name name = epp_name_intern("MatMul");
	epp_status *status = epp_session_create(&(epp_session_options){ .struct_size = sizeof(epp_session_options) },
	                                        &session);
	if (!status)
		status = epp_session_start(session);
	for (uint64_t i = 0; i < count && !status; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	bool failed = status != NULL;
	epp_status_destroy(status);
	epp_session_destroy(session);
	return failed;
}

/* Returns the N of the line "Collected : N" that callgrind prints at its end; -1: callgrind did not run. */
static double count_instructions(uint64_t events)
{
	char count[32], line[256], program[4096] = "";
	int output[2];
	double collected = -1;
	snprintf(count, sizeof(count), "--spin=%llu", (unsigned long long)events);
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0 || pipe(output))
		return -1;
	pid_t child = fork();
	if (child == 0) {
		dup2(output[1], STDERR_FILENO);
		close(output[0]);
		close(output[1]);
		execlp("valgrind", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
		       "--toggle-collect=epp_event_begin", "--toggle-collect=epp_event_end", program, count, (char *)NULL);
		_exit(127);
	}
	close(output[1]);
	FILE *lines = fdopen(output[0], "r");
	while (lines && fgets(line, sizeof(line), lines)) {
		const char *at = strstr(line, "Collected : ");
		if (at)
			collected = strtod(at + strlen("Collected : "), NULL);
	}
	if (lines)
		fclose(lines);
	else
		close(output[0]);
	int status = -1;
	if (child > 0)
		waitpid(child, &status, 0);
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? collected : -1;
}

void bench_instructions(struct bench *bench)
{
	double few = count_instructions(FEW), many = few < 0 ? -1 : count_instructions(MANY);
	if (few < 0 || many <= few)
		bench_skip(bench, "valgrind does not run here");
	else
		bench_report(
		    bench, &(struct bench_line){ .unit = "", .value = (many - few) / (MANY - FEW), .count = MANY - FEW });
}
