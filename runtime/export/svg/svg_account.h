/* The account of a trace in its pictures: what was lost in words, all of it as metadata. */
#ifndef EPPROF_RUNTIME_EXPORT_SVG_SVG_ACCOUNT_H
#define EPPROF_RUNTIME_EXPORT_SVG_SVG_ACCOUNT_H

#include "export/writer.h"

/* The inside of a text element: "none lost", or how many, with a title that says whose and why. */
epp_status *svg_write_lost(struct export_run *run) EPP_MUST_CHECK;
/* A metadata element with an object of JSON: "facts", and "ledger", an array with an object for each producer. */
epp_status *svg_write_account(struct export_run *run) EPP_MUST_CHECK;

#endif
