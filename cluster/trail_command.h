/* belljar cluster trails: the signed heads of the nodes' audit trails, as the bus has them. */
#pragma once

int cluster_trails(int argc, char **argv);
