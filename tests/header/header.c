/* SPDX-License-Identifier: BSD-3-Clause */
/* The public header must stand alone, twice, and compile as C99, C11 and C++ without a warning. */
#include "resplit.h"
#include "resplit.h"

typedef char version_is_defined[(RESPLIT_VERSION_MAJOR + RESPLIT_VERSION_MINOR + RESPLIT_VERSION_PATCH) >= 0 ? 1 : -1];
