#include "client/memory_chart.h"
