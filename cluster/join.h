/* belljar cluster join: makes a cluster, adds machines to it, and writes the settings of each.
 *
 * The first machine makes an authority and keeps it (DIR/ca). For every other machine it makes one
 * file with all that this machine needs; that file is a secret until it has been used. Nothing
 * listens for machines that want to join.
 */
#pragma once

int cluster_join(int argc, char **argv);
