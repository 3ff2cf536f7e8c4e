/* epprof: compile-time checks of the layout of ONNX Runtime's structs and tables.  They check this library's
 * declarations or, if the official headers were included first, the official ones.  A slot is the index of a pointer in
 * its table; ONNX Runtime and epprof use the same slots. */
#ifndef EPPROF_ABI_ORT_LAYOUT_H
#define EPPROF_ABI_ORT_LAYOUT_H

#include "epprof/abi/ort_ep_profiler.h"

#ifdef __cplusplus
#define EPP_ORT_ASSERT(condition, text) static_assert(condition, text)
#else
#define EPP_ORT_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define EPP_ORT_AT(type, member, slot) \
	EPP_ORT_ASSERT(offsetof(type, member) == (slot) * sizeof(void *), #type "::" #member " is not in slot " #slot)

EPP_ORT_AT(OrtEpProfilerImpl, ort_version_supported, 0);
EPP_ORT_AT(OrtEpProfilerImpl, Release, 1);
EPP_ORT_AT(OrtEpProfilerImpl, StartProfiling, 2);
EPP_ORT_AT(OrtEpProfilerImpl, StartEvent, 3);
EPP_ORT_AT(OrtEpProfilerImpl, StopEvent, 4);
EPP_ORT_AT(OrtEpProfilerImpl, EndProfiling, 5);
EPP_ORT_ASSERT(sizeof(OrtEpProfilerImpl) == 6 * sizeof(void *), "OrtEpProfilerImpl has 6 slots");

EPP_ORT_AT(OrtNodeComputeInfo, CreateState, 1);
EPP_ORT_AT(OrtNodeComputeInfo, Compute, 2);
EPP_ORT_AT(OrtNodeComputeInfo, ReleaseState, 3);
EPP_ORT_ASSERT(offsetof(OrtNodeFusionOptions, drop_constant_initializers) == 4, "a flag behind the version");

EPP_ORT_AT(OrtEp, GetName, 1);
EPP_ORT_AT(OrtEp, GetCapability, 2);
EPP_ORT_AT(OrtEp, Compile, 3);
EPP_ORT_AT(OrtEp, ReleaseNodeComputeInfos, 4);
EPP_ORT_AT(OrtEp, OnRunStart, 8);
EPP_ORT_AT(OrtEp, OnRunEnd, 9);
EPP_ORT_AT(OrtEp, IsConcurrentRunSupported, 14);
EPP_ORT_AT(OrtEp, Sync, 15);
EPP_ORT_AT(OrtEp, CreateProfiler, 16);

EPP_ORT_AT(OrtEpFactory, GetName, 1);
EPP_ORT_AT(OrtEpFactory, GetVendor, 2);
EPP_ORT_AT(OrtEpFactory, GetSupportedDevices, 3);
EPP_ORT_AT(OrtEpFactory, CreateEp, 4);
EPP_ORT_AT(OrtEpFactory, ReleaseEp, 5);
EPP_ORT_AT(OrtEpFactory, GetVendorId, 6);
EPP_ORT_AT(OrtEpFactory, GetVersion, 7);
EPP_ORT_AT(OrtEpFactory, CreateAllocator, 9);
EPP_ORT_AT(OrtEpFactory, ReleaseAllocator, 10);
EPP_ORT_AT(OrtEpFactory, CreateDataTransfer, 11);
EPP_ORT_AT(OrtEpFactory, IsStreamAware, 12);
EPP_ORT_AT(OrtEpFactory, CreateSyncStreamForDevice, 13);

EPP_ORT_AT(OrtApiBase, GetApi, 0);
EPP_ORT_AT(OrtApiBase, GetVersionString, 1);

EPP_ORT_AT(OrtApi, CreateStatus, 0);
EPP_ORT_AT(OrtApi, GetErrorCode, 1);
EPP_ORT_AT(OrtApi, GetErrorMessage, 2);
EPP_ORT_AT(OrtApi, CreateEnv, 3);
EPP_ORT_AT(OrtApi, CreateEnvWithCustomLogger, 4);
EPP_ORT_AT(OrtApi, CreateSession, 7);
EPP_ORT_AT(OrtApi, CreateSessionFromArray, 8);
EPP_ORT_AT(OrtApi, Run, 9);
EPP_ORT_AT(OrtApi, CreateSessionOptions, 10);
EPP_ORT_AT(OrtApi, CloneSessionOptions, 12);
EPP_ORT_AT(OrtApi, SetSessionExecutionMode, 13);
EPP_ORT_AT(OrtApi, EnableProfiling, 14);
EPP_ORT_AT(OrtApi, DisableProfiling, 15);
EPP_ORT_AT(OrtApi, CreateCustomOpDomain, 26);
EPP_ORT_AT(OrtApi, CustomOpDomain_Add, 27);
EPP_ORT_AT(OrtApi, SessionGetInputCount, 30);
EPP_ORT_AT(OrtApi, SessionGetOutputCount, 31);
EPP_ORT_AT(OrtApi, SessionGetInputTypeInfo, 33);
EPP_ORT_AT(OrtApi, SessionGetInputName, 36);
EPP_ORT_AT(OrtApi, SessionGetOutputName, 37);
EPP_ORT_AT(OrtApi, CreateRunOptions, 39);
EPP_ORT_AT(OrtApi, RunOptionsGetRunTag, 45);
EPP_ORT_AT(OrtApi, RunOptionsSetTerminate, 46);
EPP_ORT_AT(OrtApi, CreateTensorAsOrtValue, 48);
EPP_ORT_AT(OrtApi, GetTensorMutableData, 51);
EPP_ORT_AT(OrtApi, CastTypeInfoToTensorInfo, 55);
EPP_ORT_AT(OrtApi, GetTensorElementType, 60);
EPP_ORT_AT(OrtApi, GetDimensionsCount, 61);
EPP_ORT_AT(OrtApi, GetDimensions, 62);
EPP_ORT_AT(OrtApi, GetSymbolicDimensions, 63);
EPP_ORT_AT(OrtApi, GetTensorShapeElementCount, 64);
EPP_ORT_AT(OrtApi, GetTensorTypeAndShape, 65);
EPP_ORT_AT(OrtApi, CreateMemoryInfo, 68);
EPP_ORT_AT(OrtApi, CreateCpuMemoryInfo, 69);
EPP_ORT_AT(OrtApi, CompareMemoryInfo, 70);
EPP_ORT_AT(OrtApi, MemoryInfoGetName, 71);
EPP_ORT_AT(OrtApi, MemoryInfoGetId, 72);
EPP_ORT_AT(OrtApi, MemoryInfoGetMemType, 73);
EPP_ORT_AT(OrtApi, MemoryInfoGetType, 74);
EPP_ORT_AT(OrtApi, AllocatorFree, 76);
EPP_ORT_AT(OrtApi, GetAllocatorWithDefaultOptions, 78);
EPP_ORT_AT(OrtApi, KernelContext_GetInputCount, 88);
EPP_ORT_AT(OrtApi, KernelContext_GetOutputCount, 89);
EPP_ORT_AT(OrtApi, KernelContext_GetInput, 90);
EPP_ORT_AT(OrtApi, KernelContext_GetOutput, 91);
EPP_ORT_AT(OrtApi, ReleaseEnv, 92);
EPP_ORT_AT(OrtApi, ReleaseStatus, 93);
EPP_ORT_AT(OrtApi, ReleaseMemoryInfo, 94);
EPP_ORT_AT(OrtApi, ReleaseSession, 95);
EPP_ORT_AT(OrtApi, ReleaseValue, 96);
EPP_ORT_AT(OrtApi, ReleaseRunOptions, 97);
EPP_ORT_AT(OrtApi, ReleaseTypeInfo, 98);
EPP_ORT_AT(OrtApi, ReleaseTensorTypeAndShapeInfo, 99);
EPP_ORT_AT(OrtApi, ReleaseSessionOptions, 100);
EPP_ORT_AT(OrtApi, ReleaseCustomOpDomain, 101);
EPP_ORT_AT(OrtApi, SessionEndProfiling, 110);
EPP_ORT_AT(OrtApi, AddSessionConfigEntry, 130);
EPP_ORT_AT(OrtApi, CreateSessionWithPrepackedWeightsContainer, 168);
EPP_ORT_AT(OrtApi, CreateSessionFromArrayWithPrepackedWeightsContainer, 169);
EPP_ORT_AT(OrtApi, MemoryInfoGetDeviceType, 225);
EPP_ORT_AT(OrtApi, HasSessionConfigEntry, 237);
EPP_ORT_AT(OrtApi, GetSessionConfigEntry, 238);
EPP_ORT_AT(OrtApi, Logger_LogMessage, 247);
EPP_ORT_AT(OrtApi, Logger_GetLoggingSeverityLevel, 248);
EPP_ORT_AT(OrtApi, GetResizedStringTensorElementBuffer, 252);
EPP_ORT_AT(OrtApi, ReadOpAttr, 272);
EPP_ORT_AT(OrtApi, GetValueInfoName, 289);
EPP_ORT_AT(OrtApi, GetValueInfoTypeInfo, 290);
EPP_ORT_AT(OrtApi, GetModelEditorApi, 291);
EPP_ORT_AT(OrtApi, CreateKeyValuePairs, 295);
EPP_ORT_AT(OrtApi, AddKeyValuePair, 296);
EPP_ORT_AT(OrtApi, GetKeyValue, 297);
EPP_ORT_AT(OrtApi, GetKeyValuePairs, 298);
EPP_ORT_AT(OrtApi, RemoveKeyValuePair, 299);
EPP_ORT_AT(OrtApi, ReleaseKeyValuePairs, 300);
EPP_ORT_AT(OrtApi, RegisterExecutionProviderLibrary, 301);
EPP_ORT_AT(OrtApi, UnregisterExecutionProviderLibrary, 302);
EPP_ORT_AT(OrtApi, GetEpDevices, 303);
EPP_ORT_AT(OrtApi, SessionOptionsAppendExecutionProvider_V2, 304);
EPP_ORT_AT(OrtApi, SessionOptionsSetEpSelectionPolicy, 305);
EPP_ORT_AT(OrtApi, SessionOptionsSetEpSelectionPolicyDelegate, 306);
EPP_ORT_AT(OrtApi, HardwareDevice_Type, 307);
EPP_ORT_AT(OrtApi, HardwareDevice_VendorId, 308);
EPP_ORT_AT(OrtApi, HardwareDevice_Vendor, 309);
EPP_ORT_AT(OrtApi, HardwareDevice_DeviceId, 310);
EPP_ORT_AT(OrtApi, HardwareDevice_Metadata, 311);
EPP_ORT_AT(OrtApi, EpDevice_EpName, 312);
EPP_ORT_AT(OrtApi, EpDevice_EpVendor, 313);
EPP_ORT_AT(OrtApi, EpDevice_EpMetadata, 314);
EPP_ORT_AT(OrtApi, EpDevice_EpOptions, 315);
EPP_ORT_AT(OrtApi, EpDevice_Device, 316);
EPP_ORT_AT(OrtApi, GetEpApi, 317);
EPP_ORT_AT(OrtApi, CreateMemoryInfo_V2, 320);
EPP_ORT_AT(OrtApi, MemoryInfoGetDeviceMemType, 321);
EPP_ORT_AT(OrtApi, MemoryInfoGetVendorId, 322);
EPP_ORT_AT(OrtApi, ValueInfo_GetValueNumConsumers, 324);
EPP_ORT_AT(OrtApi, ValueInfo_GetInitializerValue, 326);
EPP_ORT_AT(OrtApi, ValueInfo_IsGraphOutput, 330);
EPP_ORT_AT(OrtApi, ValueInfo_IsConstantInitializer, 331);
EPP_ORT_AT(OrtApi, Graph_GetName, 333);
EPP_ORT_AT(OrtApi, Graph_GetNumInputs, 338);
EPP_ORT_AT(OrtApi, Graph_GetInputs, 339);
EPP_ORT_AT(OrtApi, Graph_GetNumOutputs, 340);
EPP_ORT_AT(OrtApi, Graph_GetOutputs, 341);
EPP_ORT_AT(OrtApi, Graph_GetNumInitializers, 342);
EPP_ORT_AT(OrtApi, Graph_GetInitializers, 343);
EPP_ORT_AT(OrtApi, Graph_GetNumNodes, 344);
EPP_ORT_AT(OrtApi, Graph_GetNodes, 345);
EPP_ORT_AT(OrtApi, Node_GetId, 348);
EPP_ORT_AT(OrtApi, Node_GetName, 349);
EPP_ORT_AT(OrtApi, Node_GetOperatorType, 350);
EPP_ORT_AT(OrtApi, Node_GetDomain, 351);
EPP_ORT_AT(OrtApi, Node_GetSinceVersion, 352);
EPP_ORT_AT(OrtApi, Node_GetNumInputs, 353);
EPP_ORT_AT(OrtApi, Node_GetInputs, 354);
EPP_ORT_AT(OrtApi, Node_GetNumOutputs, 355);
EPP_ORT_AT(OrtApi, Node_GetOutputs, 356);
EPP_ORT_AT(OrtApi, Node_GetNumAttributes, 359);
EPP_ORT_AT(OrtApi, Node_GetAttributes, 360);
EPP_ORT_AT(OrtApi, Node_GetAttributeByName, 361);
EPP_ORT_AT(OrtApi, OpAttr_GetType, 363);
EPP_ORT_AT(OrtApi, OpAttr_GetName, 364);
EPP_ORT_AT(OrtApi, Node_GetNumSubgraphs, 365);
EPP_ORT_AT(OrtApi, GetRunConfigEntry, 373);
EPP_ORT_AT(OrtApi, EpDevice_MemoryInfo, 374);
EPP_ORT_AT(OrtApi, GetTensorData, 378);
EPP_ORT_AT(OrtApi, GetSessionOptionsConfigEntries, 379);
EPP_ORT_AT(OrtApi, Session_GetEpGraphAssignmentInfo, 407);
EPP_ORT_AT(OrtApi, EpAssignedSubgraph_GetEpName, 408);
EPP_ORT_AT(OrtApi, EpAssignedSubgraph_GetNodes, 409);
EPP_ORT_AT(OrtApi, RunOptionsEnableProfiling, 415);
#if !defined(ORT_API_VERSION) || ORT_API_VERSION >= 28
EPP_ORT_AT(OrtApi, GetExperimentalFunction, 422);
#endif

EPP_ORT_AT(OrtEpApi, CreateEpDevice, 0);
EPP_ORT_AT(OrtEpApi, ReleaseEpDevice, 1);
EPP_ORT_AT(OrtEpApi, EpGraphSupportInfo_AddNodesToFuse, 2);
EPP_ORT_AT(OrtEpApi, EpGraphSupportInfo_AddSingleNode, 3);
EPP_ORT_AT(OrtEpApi, NodeComputeContext_NodeName, 4);
EPP_ORT_AT(OrtEpApi, EpDevice_AddAllocatorInfo, 5);
EPP_ORT_AT(OrtEpApi, MemoryInfo_GetMemoryDevice, 6);
EPP_ORT_AT(OrtEpApi, MemoryDevice_AreEqual, 8);
EPP_ORT_AT(OrtEpApi, MemoryDevice_GetDeviceType, 9);
EPP_ORT_AT(OrtEpApi, MemoryDevice_GetMemoryType, 10);
EPP_ORT_AT(OrtEpApi, MemoryDevice_GetVendorId, 11);
EPP_ORT_AT(OrtEpApi, MemoryDevice_GetDeviceId, 12);
EPP_ORT_AT(OrtEpApi, CreateHardwareDevice, 16);
EPP_ORT_AT(OrtEpApi, ReleaseHardwareDevice, 17);
EPP_ORT_AT(OrtEpApi, GetEnvConfigEntries, 49);
EPP_ORT_AT(OrtEpApi, CreateProfilingEvent, 65);
EPP_ORT_AT(OrtEpApi, ReleaseProfilingEvent, 66);
EPP_ORT_AT(OrtEpApi, ProfilingEvent_GetCategory, 67);
EPP_ORT_AT(OrtEpApi, ProfilingEvent_GetName, 68);
EPP_ORT_AT(OrtEpApi, ProfilingEvent_GetTimestampUs, 69);
EPP_ORT_AT(OrtEpApi, ProfilingEvent_GetDurationUs, 70);
EPP_ORT_AT(OrtEpApi, ProfilingEvent_GetArgValue, 71);
EPP_ORT_AT(OrtEpApi, ProfilingEventsContainer_AddEvents, 72);

#if !defined(ORT_API_VERSION) || ORT_API_VERSION == EPPROF_ORT_API_VERSION
EPP_ORT_ASSERT(sizeof(OrtApi) == EPPROF_ORT_API_SLOTS * sizeof(void *), "OrtApi of version 29");
EPP_ORT_AT(OrtEpApi, SessionOptionsGetWeightlessSourceModelBuffer, 73);
EPP_ORT_ASSERT(sizeof(OrtEpApi) == EPPROF_ORT_EP_API_SLOTS * sizeof(void *), "OrtEpApi of version 29");
EPP_ORT_ASSERT(sizeof(OrtEp) == 26 * sizeof(void *), "OrtEp of version 29");
EPP_ORT_ASSERT(sizeof(OrtEpFactory) == 21 * sizeof(void *), "OrtEpFactory of version 29");
#endif

#undef EPP_ORT_AT
#undef EPP_ORT_ASSERT

#endif
