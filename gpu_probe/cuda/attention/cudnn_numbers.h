// Numbers of cuDNN's backend interface, from cudnn_graph.h of cuDNN 9.19.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_NUMBERS_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_NUMBERS_H_

namespace sextant::probe::cudnn {

// cudnnStatus_t: each thousand is a kind of error.
inline constexpr int kNotSupported = 3000;

// cudnnBackendDescriptorType_t.
inline constexpr int kPointwise = 0;
inline constexpr int kEngineConfig = 3;
inline constexpr int kEngineHeuristics = 4;
inline constexpr int kExecutionPlan = 5;
inline constexpr int kPointwiseOperation = 13;
inline constexpr int kOperationGraph = 15;
inline constexpr int kVariantPack = 16;
inline constexpr int kTensor = 17;
inline constexpr int kMatmul = 18;
inline constexpr int kMatmulOperation = 19;
inline constexpr int kReduction = 21;
inline constexpr int kReductionOperation = 22;
inline constexpr int kReshapeOperation = 31;
inline constexpr int kKernelCache = 34;

// cudnnBackendAttributeName_t.
inline constexpr int kPointwiseMode = 0;
inline constexpr int kPointwisePrecision = 1;
inline constexpr int kPointwiseAxis = 9;
inline constexpr int kHeuristicsMode = 200;
inline constexpr int kHeuristicsGraph = 201;
inline constexpr int kHeuristicsResults = 202;
inline constexpr int kHeuristicsDevice = 204;
inline constexpr int kPlanHandle = 400;
inline constexpr int kPlanConfig = 401;
inline constexpr int kPlanWorkspaceSize = 402;
inline constexpr int kPlanKernelCache = 406;
inline constexpr int kPlanDevice = 407;
inline constexpr int kPointwiseOperationWhat = 750;
inline constexpr int kPointwiseOperationX = 751;
inline constexpr int kPointwiseOperationB = 752;
inline constexpr int kPointwiseOperationY = 753;
inline constexpr int kPointwiseOperationT = 758;
inline constexpr int kGraphHandle = 800;
inline constexpr int kGraphOperations = 801;
inline constexpr int kGraphDynamicShapes = 803;
inline constexpr int kTensorAlignment = 900;
inline constexpr int kTensorType = 901;
inline constexpr int kTensorSizes = 902;
inline constexpr int kTensorStrides = 903;
inline constexpr int kTensorId = 906;
inline constexpr int kTensorIsVirtual = 907;
inline constexpr int kTensorIsByValue = 908;
inline constexpr int kPackIds = 1000;
inline constexpr int kPackPointers = 1001;
inline constexpr int kPackWorkspace = 1003;
inline constexpr int kMatmulPrecision = 1500;
inline constexpr int kMatmulOperationA = 1520;
inline constexpr int kMatmulOperationB = 1521;
inline constexpr int kMatmulOperationC = 1522;
inline constexpr int kMatmulOperationWhat = 1523;
inline constexpr int kReductionOperator = 1600;
inline constexpr int kReductionPrecision = 1601;
inline constexpr int kReductionOperationX = 1610;
inline constexpr int kReductionOperationY = 1611;
inline constexpr int kReductionOperationWhat = 1612;
inline constexpr int kReshapeOperationX = 2200;
inline constexpr int kReshapeOperationY = 2201;
inline constexpr int kKernelCacheGraph = 2400;

// cudnnBackendAttributeType_t.
inline constexpr int kOfHandle = 0;
inline constexpr int kOfDataType = 1;
inline constexpr int kOfBool = 2;
inline constexpr int kOfInt64 = 3;
inline constexpr int kOfPointer = 6;
inline constexpr int kOfHeuristicsMode = 8;
inline constexpr int kOfPointwiseMode = 14;
inline constexpr int kOfDescriptor = 15;
inline constexpr int kOfReduction = 18;

// cudnnDataType_t.
inline constexpr int kFloat = 0;
inline constexpr int kInt32 = 4;
inline constexpr int kBf16 = 9;
inline constexpr int kBool = 11;

// cudnnPointwiseMode_t.
inline constexpr int kAdd = 0;
inline constexpr int kMultiply = 1;
inline constexpr int kDivide = 6;
inline constexpr int kSubtract = 9;
inline constexpr int kExponential = 13;
inline constexpr int kLogarithm = 15;
inline constexpr int kIdentity = 21;
inline constexpr int kAtLeast = 303;
inline constexpr int kIndex = 501;
inline constexpr int kSelect = 601;

// cudnnReduceTensorOp_t.
inline constexpr int kReduceSum = 0;
inline constexpr int kReduceMax = 3;

// cudnnBackendHeurMode_t: the library's best heuristic.
inline constexpr int kHeuristicsBest = 3;

}  // namespace sextant::probe::cudnn

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_NUMBERS_H_
