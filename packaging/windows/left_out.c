/* Functions of parts that the library for Windows leaves out: they do nothing. */
#include "control/server.h"
#include "storage/window/window.h"

void control_start(void)
{
}

void control_end(void)
{
}

void control_fork_child(void)
{
}

void window_shrink(struct window *window, bool durable)
{
	(void)window, (void)durable;
}
