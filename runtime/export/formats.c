/* The table of all formats, for libepprof-trace.  Bridges link formats_xspace.c in its place. */
#include "export/writer.h"

const struct export_writer *const export_writers[] = { &export_chrome,   &export_ort,       &export_svg,
	                                               &export_csv,      &export_ndjson,    &export_sqlite,
	                                               &export_perfetto, &export_kineto,    &export_xspace,
	                                               &export_parquet,  &export_html,      &export_flame,
	                                               &export_otlp,     &export_otlp_proto };
const size_t export_writers_count = sizeof export_writers / sizeof *export_writers;
