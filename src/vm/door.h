/* Questions and orders of operators about the virtual machine of a server. */
#pragma once

#include "api/api.h"
#include "vm/keeper.h"

/* `door` lives as long as the keeper. */
void machine_door_init(struct machine_door *door, struct keeper *keeper);
