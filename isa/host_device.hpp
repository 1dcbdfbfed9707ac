/// One macro marks the functions that host and device share.
#pragma once

#ifdef __CUDACC__
#define BITMMA_HD __host__ __device__
#else
#define BITMMA_HD
#endif
