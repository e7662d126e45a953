// The part of hipBLAS that tests/gpu uses, by cuBLAS.
#pragma once

#include <cublas_v2.h>

using hipblasHandle_t = cublasHandle_t;
using hipblasStatus_t = cublasStatus_t;
using hipblasOperation_t = cublasOperation_t;
inline constexpr hipblasStatus_t HIPBLAS_STATUS_SUCCESS = CUBLAS_STATUS_SUCCESS;
inline constexpr hipblasOperation_t HIPBLAS_OP_N = CUBLAS_OP_N;

inline hipblasStatus_t hipblasCreate(hipblasHandle_t* handle) { return cublasCreate(handle); }
inline hipblasStatus_t hipblasDestroy(hipblasHandle_t handle) { return cublasDestroy(handle); }
inline hipblasStatus_t hipblasSetStream(hipblasHandle_t handle, cudaStream_t stream) {
  return cublasSetStream(handle, stream);
}
inline hipblasStatus_t hipblasSgemm(hipblasHandle_t handle, hipblasOperation_t a_operation,
                                    hipblasOperation_t b_operation, int m, int n, int k, const float* alpha,
                                    const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                                    int ldc) {
  return cublasSgemm(handle, a_operation, b_operation, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
