/* Expands placeholders in the name of the output. */
#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"

#define HOSTNAME_BYTES 256

const char *record_find_rank(void)
{
	static const char *const variables[] = { "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "RANK", "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *rank = secure_getenv(variables[i]);
		if (rank && *rank && strspn(rank, "0123456789") == strlen(rank))
			return rank;
	}
	return NULL;
}

static void print_hostname(FILE *out)
{
	char name[HOSTNAME_BYTES];

	if (gethostname(name, sizeof name) != 0)
		strlcpy(name, "unknown", sizeof name);
	name[sizeof name - 1] = '\0';
	fputs(name, out);
}

epp_status *record_expand_name(const char *pattern, char **name)
{
	size_t bytes;
	epp_status *status = NULL;

	*name = NULL;
	FILE *out = open_memstream(name, &bytes);
	if (!out)
		return epp_status_no_memory();
	while (*pattern && !status) {
		if (strncmp(pattern, "%pid%", 5) == 0) {
			fprintf(out, "%ld", (long)getpid());
			pattern += 5;
		} else if (strncmp(pattern, "%hostname%", 10) == 0) {
			print_hostname(out);
			pattern += 10;
		} else if (strncmp(pattern, "%rank%", 6) == 0) {
			const char *rank = record_find_rank();
			if (rank)
				fputs(rank, out);
			else
				status = epp_status_create(
				    EPP_NOT_FOUND, "%%rank%%: none of PMIX_RANK, PMI_RANK, OMPI_COMM_WORLD_RANK, RANK "
						   "and SLURM_PROCID is a number");
			pattern += 6;
		} else {
			pattern += strncmp(pattern, "%%", 2) == 0;
			fputc(*pattern++, out);
		}
	}
	if (fclose(out) != 0 && !status)
		status = epp_status_no_memory();
	if (status) {
		free(*name);
		*name = NULL;
	}
	return status;
}
