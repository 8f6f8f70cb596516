/* `belljar cluster token`: the tokens of all machines. */
#pragma once

int cluster_token(int argc, char **argv);
