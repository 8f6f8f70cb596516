/* belljar cluster status, drain and undrain: what the machines of a cluster say of themselves, and
 * the order to take no more work. */
#pragma once

int cluster_status(int argc, char **argv);
int cluster_drain(int argc, char **argv);
int cluster_undrain(int argc, char **argv);
