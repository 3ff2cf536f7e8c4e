/* Whether a session has graphs inside the nodes of its graph. */
#include "ort_graph.h"

#include <stdlib.h>

static OrtStatus *look(const OrtApi *api, const OrtGraph *graph, bool *has_inner)
{
	size_t count = 0;
	OrtStatus *status = api->Graph_GetNumNodes(graph, &count);
	if (status || !count)
		return status;
	const OrtNode **nodes = calloc(count, sizeof(*nodes));
	if (!nodes)
		return api->CreateStatus(ORT_FAIL, "out of memory");
	status = api->Graph_GetNodes(graph, nodes, count);
	for (size_t i = 0; i < count && !status; i++) {
		size_t inner = 0;
		status = api->Node_GetNumSubgraphs(nodes[i], &inner);
		*has_inner |= inner > 0;
	}
	free(nodes);
	return status;
}

void ort_graphs_look(enum ort_graphs *graphs, const struct ort_host *host, const OrtGraph *graph)
{
	bool has_inner = false;
	OrtStatus *status = look(host->api, graph, &has_inner);
	if (status)
		host->api->ReleaseStatus(status);
	if (status || has_inner)
		*graphs = ORT_GRAPHS_SEVERAL;
	else if (*graphs == ORT_GRAPHS_UNKNOWN)
		*graphs = ORT_GRAPHS_ONE;
}
