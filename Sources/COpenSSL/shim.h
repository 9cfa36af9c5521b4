#pragma once
#include <openssl/evp.h>
#include "shim-issuing.h"
