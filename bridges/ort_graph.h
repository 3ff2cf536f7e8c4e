/* What a session's graphs tell of its events. */
#ifndef EPPROF_BRIDGES_ORT_GRAPH_H
#define EPPROF_BRIDGES_ORT_GRAPH_H

#include "ort.h"

/* ONNX Runtime shows a session's graph before the session runs, again whenever it has inlined something, and the graphs inside
 * its nodes, as of an If or a Loop.  The indexes of nodes are unique in a graph, and in no more. */
enum ort_graphs { ORT_GRAPHS_UNKNOWN, ORT_GRAPHS_ONE, ORT_GRAPHS_SEVERAL };

/* Looks at one more; what cannot be read is taken for several. */
void ort_graphs_look(enum ort_graphs *graphs, const struct ort_host *host, const OrtGraph *graph);

#endif
