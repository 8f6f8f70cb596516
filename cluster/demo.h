/* belljar cluster demo: three machines on one, with a server of the bus, an engine, a node and a
 * gateway each. Programs and sessions run, one machine and one server are killed, and what was lost
 * is said. */
#pragma once

int cluster_demo(int argc, char **argv);
