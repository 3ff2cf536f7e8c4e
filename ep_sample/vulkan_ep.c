/* The sample EP around a Vulkan device: accelerator.h's streams, buffers and commands as compute shaders and copies,
 * each in a command buffer between two timestamps.  The clock is ep_kit/clocks/vulkan.h; device_queue.c has the queues,
 * and ort_ep.c emits the events.
 *
 * Each engine has a timeline semaphore, whose value is the number of its commands that have ended.  Other commands and
 * the host wait for this value.  The device needs Vulkan 1.2 and VK_EXT_calibrated_timestamps.
 *
 * Environment:
 *   VULKAN_EP_DEVICE=N   the N-th device, from 0; else the first GPU, else the first device
 *   VULKAN_EP_TRUTH      set: CLOCK_MONOTONIC is read before each submission and after each end was seen, and the event
 *                        gets these times as args; for tests */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device_queue.h"
#include "ep_kit/clocks/vulkan.h"
#include "vulkan_kernels.h"

#define DEVICES_MAX 16
#define FAMILIES_MAX 16
#define BINDINGS_COUNT 3
#define GROUP_SIDE 8u

/* Its memory is visible to the host, for simplicity. */
struct accelerator_buffer {
	VkBuffer buffer;
	VkDeviceMemory memory;
	void *mapped;
	size_t bytes;
	atomic_uint references; /* one for the owner, and one for each queued command */
};

/* Objects that a command uses until it has ended. */
struct entry {
	VkCommandBuffer commands;
	VkDescriptorSet set; /* only on the compute streams */
	accelerator_buffer *buffers[BINDINGS_COUNT];
	void *to_host; /* target of a copy out, from the last buffer */
	size_t bytes;
};

struct engine {
	VkQueue queue;
	VkSemaphore ended;
	struct entry entries[DEVICE_QUEUE_COMMANDS];
};

struct accelerator {
	struct device_queues queues;
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice device;
	VkCommandPool command_pool;
	VkDescriptorPool descriptor_pool;
	VkDescriptorSetLayout set_layout;
	VkPipelineLayout layout;
	VkShaderModule module;
	/* NULL until the first kernel.  It is created then, because a driver may compile for long */
	VkPipeline pipelines[DEVICE_KERNELS_COUNT];
	VkQueryPool queries;
	uint32_t memory_type;
	struct epp_vulkan_clock clock;
	bool has_truth;
	struct engine engines[ACCELERATOR_STREAM_COUNT];
};

/* Device of the process, for buffers. */
static accelerator *the_device;

/* ---- buffers ---- */

size_t device_buffer_bytes(const accelerator_buffer *buffer)
{
	return buffer->bytes;
}

void accelerator_buffer_release(accelerator_buffer *buffer)
{
	if (buffer == NULL || atomic_fetch_sub(&buffer->references, 1) != 1)
		return;
	vkDestroyBuffer(the_device->device, buffer->buffer, NULL);
	vkFreeMemory(the_device->device, buffer->memory, NULL);
	free(buffer);
}

accelerator_result accelerator_buffer_create(size_t bytes, accelerator_buffer **buffer)
{
	const VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		                          .size = (bytes + 3) / 4 * 4,
		                          .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
		                                   VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT };
	VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkMemoryRequirements needs;
	if (buffer == NULL)
		return ACCELERATOR_BAD_ARGUMENT;
	*buffer = NULL;
	if (bytes == 0)
		return ACCELERATOR_BAD_ARGUMENT;
	VkDevice device = the_device->device;
	accelerator_buffer *made = calloc(1, sizeof(*made));
	if (made == NULL)
		return ACCELERATOR_OUT_OF_MEMORY;
	made->bytes = bytes;
	atomic_init(&made->references, 1);
	VkResult result = vkCreateBuffer(device, &info, NULL, &made->buffer);
	if (result == VK_SUCCESS) {
		vkGetBufferMemoryRequirements(device, made->buffer, &needs);
		memory.allocationSize = needs.size;
		memory.memoryTypeIndex = the_device->memory_type;
		result = vkAllocateMemory(device, &memory, NULL, &made->memory);
	}
	if (result == VK_SUCCESS)
		result = vkBindBufferMemory(device, made->buffer, made->memory, 0);
	if (result == VK_SUCCESS)
		result = vkMapMemory(device, made->memory, 0, VK_WHOLE_SIZE, 0, &made->mapped);
	if (result != VK_SUCCESS) {
		accelerator_buffer_release(made);
		return ACCELERATOR_OUT_OF_MEMORY;
	}
	memset(made->mapped, 0, bytes);
	*buffer = made;
	return ACCELERATOR_OK;
}

static accelerator_buffer *retained(accelerator_buffer *buffer)
{
	if (buffer)
		atomic_fetch_add(&buffer->references, 1);
	return buffer;
}

static void entry_release(struct entry *entry)
{
	for (unsigned i = 0; i < BINDINGS_COUNT; i++)
		accelerator_buffer_release(entry->buffers[i]);
	memset(entry->buffers, 0, sizeof(entry->buffers));
	entry->to_host = NULL;
}

/* ---- commands ---- */

/* The caller holds the lock. */
static VkResult pipeline_build(accelerator *device, accelerator_op op)
{
	const VkSpecializationMapEntry constant = { .size = sizeof(uint32_t) };
	const uint32_t value = op;
	const VkSpecializationInfo specialization = {
		.mapEntryCount = 1, .pMapEntries = &constant, .dataSize = sizeof(value), .pData = &value
	};
	const VkComputePipelineCreateInfo info = { .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		                                   .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
		                                              .stage = VK_SHADER_STAGE_COMPUTE_BIT,
		                                              .module = device->module,
		                                              .pName = "main",
		                                              .pSpecializationInfo = &specialization },
		                                   .layout = device->layout };
	if (device->pipelines[op])
		return VK_SUCCESS;
	return vkCreateComputePipelines(device->device, VK_NULL_HANDLE, 1, &info, NULL, &device->pipelines[op]);
}

static VkResult kernel_record(accelerator *device, struct entry *entry, const accelerator_command *command)
{
	const uint32_t sizes[] = { command->m, command->n, command->k };
	const uint32_t columns = command->op == ACCELERATOR_SOFTMAX ? 1 : command->n;
	VkDescriptorBufferInfo buffers[BINDINGS_COUNT];
	VkWriteDescriptorSet writes[BINDINGS_COUNT];
	VkResult result = pipeline_build(device, command->op);
	if (result != VK_SUCCESS)
		return result;
	for (uint32_t i = 0; i < BINDINGS_COUNT; i++) {
		/* The slot of b must be bound, also for a kernel without b, which does not read it. */
		const accelerator_buffer *bound = entry->buffers[i] ? entry->buffers[i] : entry->buffers[0];
		buffers[i] = (VkDescriptorBufferInfo){ .buffer = bound->buffer, .range = VK_WHOLE_SIZE };
		writes[i] = (VkWriteDescriptorSet){ .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
			                            .dstSet = entry->set,
			                            .dstBinding = i,
			                            .descriptorCount = 1,
			                            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
			                            .pBufferInfo = &buffers[i] };
	}
	vkUpdateDescriptorSets(device->device, BINDINGS_COUNT, writes, 0, NULL);
	vkCmdBindPipeline(entry->commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->pipelines[command->op]);
	vkCmdBindDescriptorSets(entry->commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->layout, 0, 1, &entry->set, 0,
	                        NULL);
	vkCmdPushConstants(entry->commands, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(sizes), sizes);
	vkCmdDispatch(entry->commands, (columns + GROUP_SIDE - 1) / GROUP_SIDE,
	              (command->m + GROUP_SIDE - 1) / GROUP_SIDE, 1);
	return VK_SUCCESS;
}

/* A copy goes through a staging buffer, which is the last buffer of the entry. */
static VkResult copy_record(struct entry *entry, const accelerator_command *command)
{
	const VkBufferCopy region = { .size = command->bytes };
	if (command->op == ACCELERATOR_FILL) {
		vkCmdFillBuffer(entry->commands, entry->buffers[0]->buffer, 0, (command->bytes + 3) / 4 * 4, 0);
		return VK_SUCCESS;
	}
	if (accelerator_buffer_create(command->bytes, &entry->buffers[2]) != ACCELERATOR_OK)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	bool is_in = command->op == ACCELERATOR_COPY_IN;
	if (is_in)
		memcpy(entry->buffers[2]->mapped, command->from_host, command->bytes);
	entry->to_host = is_in ? NULL : command->to_host;
	entry->bytes = command->bytes;
	vkCmdCopyBuffer(entry->commands, entry->buffers[is_in ? 2 : 0]->buffer, entry->buffers[is_in ? 0 : 2]->buffer,
	                1, &region);
	return VK_SUCCESS;
}

static uint32_t first_query(accelerator_stream stream, uint64_t number)
{
	return ((unsigned)stream * DEVICE_QUEUE_COMMANDS + device_slot(number)) * 2;
}

static VkResult command_record(accelerator *device, struct entry *entry, const accelerator_command *command, uint32_t query)
{
	const VkCommandBufferBeginInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		                                .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT };
	const VkMemoryBarrier for_host = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		                           .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
		                           .dstAccessMask = VK_ACCESS_HOST_READ_BIT };
	VkResult result = vkBeginCommandBuffer(entry->commands, &info);
	if (result != VK_SUCCESS)
		return result;
	vkCmdResetQueryPool(entry->commands, device->queries, query, 2);
	vkCmdWriteTimestamp(entry->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, device->queries, query);
	result = command->op < DEVICE_KERNELS_COUNT ? kernel_record(device, entry, command) : copy_record(entry, command);
	vkCmdWriteTimestamp(entry->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, device->queries, query + 1);
	vkCmdPipelineBarrier(entry->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
	                     &for_host, 0, NULL, 0, NULL);
	VkResult ended = vkEndCommandBuffer(entry->commands);
	return result ? result : ended;
}

/* Submits a command.  It begins after the previous commands of its engine, and after the commands of other engines for
 * which it must wait. */
static VkResult command_submit(accelerator *device, accelerator_stream stream, const struct entry *entry)
{
	const struct device_engine *queued = &device->queues.engines[stream];
	VkSemaphore semaphores[ACCELERATOR_STREAM_COUNT];
	VkPipelineStageFlags stages[ACCELERATOR_STREAM_COUNT];
	uint64_t values[ACCELERATOR_STREAM_COUNT], reached = queued->submitted_count + 1;
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT; i++) {
		semaphores[i] = device->engines[i].ended;
		stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
		values[i] = i == (unsigned)stream ? queued->submitted_count : queued->after[i];
	}
	const VkTimelineSemaphoreSubmitInfo timeline = { .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		                                         .waitSemaphoreValueCount = ACCELERATOR_STREAM_COUNT,
		                                         .pWaitSemaphoreValues = values,
		                                         .signalSemaphoreValueCount = 1,
		                                         .pSignalSemaphoreValues = &reached };
	const VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		                    .pNext = &timeline,
		                    .waitSemaphoreCount = ACCELERATOR_STREAM_COUNT,
		                    .pWaitSemaphores = semaphores,
		                    .pWaitDstStageMask = stages,
		                    .commandBufferCount = 1,
		                    .pCommandBuffers = &entry->commands,
		                    .signalSemaphoreCount = 1,
		                    .pSignalSemaphores = &device->engines[stream].ended };
	return vkQueueSubmit(device->engines[stream].queue, 1, &info, VK_NULL_HANDLE);
}

bool device_enqueue(accelerator *device, accelerator_stream stream, const accelerator_command *command,
                    accelerator_completion *completion)
{
	uint64_t number = device->queues.engines[stream].submitted_count, pair[3];
	struct entry *entry = &device->engines[stream].entries[device_slot(number)];
	bool is_kernel = command->op < DEVICE_KERNELS_COUNT;
	bool is_out = command->op == ACCELERATOR_COPY_OUT;
	entry->buffers[0] = retained(is_kernel || is_out ? command->a : command->out);
	entry->buffers[1] = is_kernel ? retained(command->b) : NULL;
	entry->buffers[2] = is_kernel ? retained(command->out) : NULL;
	VkResult result = command_record(device, entry, command, first_query(stream, number));
	if (epp_vulkan_clock_read(&device->clock, device_monotonic_ns, 1000000000, pair) == 0)
		completion->queue_ticks = pair[0];
	completion->true_before_ns = device->has_truth ? device_monotonic_ns() : 0;
	if (result == VK_SUCCESS)
		result = command_submit(device, stream, entry);
	if (result != VK_SUCCESS)
		entry_release(entry);
	return result == VK_SUCCESS;
}

void device_finish(accelerator *device, accelerator_stream stream, uint64_t number, accelerator_completion *completion)
{
	struct entry *entry = &device->engines[stream].entries[device_slot(number)];
	uint64_t ticks[2];
	if (vkGetQueryPoolResults(device->device, device->queries, first_query(stream, number), 2, sizeof(ticks), ticks,
	                          sizeof(*ticks), VK_QUERY_RESULT_64_BIT) == VK_SUCCESS) {
		completion->start_ticks = ticks[0];
		completion->end_ticks = ticks[1];
	}
	completion->true_after_ns = device->has_truth ? device_monotonic_ns() : 0;
	if (entry->to_host)
		memcpy(entry->to_host, entry->buffers[2]->mapped, entry->bytes);
	entry_release(entry);
}

bool device_wait(accelerator *device, accelerator_stream stream, uint64_t count)
{
	const VkSemaphoreWaitInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
		                           .semaphoreCount = 1,
		                           .pSemaphores = &device->engines[stream].ended,
		                           .pValues = &count };
	pthread_mutex_unlock(&device->queues.lock);
	VkResult result = vkWaitSemaphores(device->device, &info, UINT64_MAX);
	pthread_mutex_lock(&device->queues.lock);
	return result == VK_SUCCESS;
}

/* Nothing is needed here, because command_submit waits for the semaphores of all engines. */
bool device_wait_before_next(accelerator *device, accelerator_stream stream, accelerator_event event)
{
	(void)device, (void)stream, (void)event;
	return true;
}

/* ---- the device ---- */

/* Returns the device to use; VK_NULL_HANDLE: there is none. */
static VkPhysicalDevice device_choose(VkInstance instance)
{
	VkPhysicalDevice devices[DEVICES_MAX], chosen = NULL;
	VkPhysicalDeviceProperties properties;
	uint32_t count = DEVICES_MAX;
	const char *number = secure_getenv("VULKAN_EP_DEVICE");
	unsigned long wanted = number ? strtoul(number, NULL, 10) : 0;
	bool has_gpu = false;
	if (vkEnumeratePhysicalDevices(instance, &count, devices) < VK_SUCCESS)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		vkGetPhysicalDeviceProperties(devices[i], &properties);
		bool is_gpu = properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU;
		if (number ? i == wanted : !chosen || (is_gpu && !has_gpu)) {
			chosen = devices[i];
			has_gpu = is_gpu;
		}
	}
	return chosen;
}

/* Returns the number of queues of the first queue family that can compute and has timestamps; 0: there is none. */
static uint32_t family_choose(VkPhysicalDevice physical, uint32_t *family)
{
	VkQueueFamilyProperties families[FAMILIES_MAX];
	uint32_t count = FAMILIES_MAX;
	vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
	for (*family = 0; *family < count; ++*family) {
		if ((families[*family].queueFlags & VK_QUEUE_COMPUTE_BIT) && families[*family].timestampValidBits)
			return families[*family].queueCount;
	}
	return 0;
}

static bool memory_choose(accelerator *device)
{
	const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	VkPhysicalDeviceMemoryProperties memory;
	vkGetPhysicalDeviceMemoryProperties(device->physical, &memory);
	for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
		device->memory_type = i;
		if ((memory.memoryTypes[i].propertyFlags & wanted) == wanted)
			return true;
	}
	return false;
}

static VkResult logical_open(accelerator *device, uint32_t family, uint32_t queues_count)
{
	const char *const extension = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
	const float priorities[ACCELERATOR_STREAM_COUNT] = { 1, 1, 1 };
	const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		                                .queueFamilyIndex = family,
		                                .queueCount = queues_count,
		                                .pQueuePriorities = priorities };
	VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE
	};
	const VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		                          .pNext = &timeline,
		                          .queueCreateInfoCount = 1,
		                          .pQueueCreateInfos = &queue,
		                          .enabledExtensionCount = 1,
		                          .ppEnabledExtensionNames = &extension };
	VkResult result = vkCreateDevice(device->physical, &info, NULL, &device->device);
	for (uint32_t i = 0; i < ACCELERATOR_STREAM_COUNT && result == VK_SUCCESS; i++)
		vkGetDeviceQueue(device->device, family, i % queues_count, &device->engines[i].queue);
	return result;
}

static VkResult layout_create(accelerator *device)
{
	VkDescriptorSetLayoutBinding bindings[BINDINGS_COUNT];
	for (uint32_t i = 0; i < BINDINGS_COUNT; i++)
		bindings[i] = (VkDescriptorSetLayoutBinding){ .binding = i,
			                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
			                                      .descriptorCount = 1,
			                                      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT };
	const VkDescriptorSetLayoutCreateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		                                      .bindingCount = BINDINGS_COUNT,
		                                      .pBindings = bindings };
	const VkPushConstantRange sizes = { .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 3 * sizeof(uint32_t) };
	const VkPipelineLayoutCreateInfo layout = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		                                    .setLayoutCount = 1,
		                                    .pSetLayouts = &device->set_layout,
		                                    .pushConstantRangeCount = 1,
		                                    .pPushConstantRanges = &sizes };
	const VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		                                  .codeSize = sizeof(vulkan_kernels),
		                                  .pCode = vulkan_kernels };
	VkResult result = vkCreateDescriptorSetLayout(device->device, &set, NULL, &device->set_layout);
	if (result == VK_SUCCESS)
		result = vkCreatePipelineLayout(device->device, &layout, NULL, &device->layout);
	return result ? result : vkCreateShaderModule(device->device, &module, NULL, &device->module);
}

static VkResult pools_create(accelerator *device, uint32_t family)
{
	const uint32_t entries = ACCELERATOR_STREAM_COUNT * DEVICE_QUEUE_COMMANDS;
	const VkCommandPoolCreateInfo commands = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		                                   .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
		                                   .queueFamilyIndex = family };
	const VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, BINDINGS_COUNT * entries };
	const VkDescriptorPoolCreateInfo sets = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		                                  .maxSets = entries,
		                                  .poolSizeCount = 1,
		                                  .pPoolSizes = &size };
	const VkQueryPoolCreateInfo queries = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		                                .queryType = VK_QUERY_TYPE_TIMESTAMP,
		                                .queryCount = 2 * entries };
	VkResult result = vkCreateCommandPool(device->device, &commands, NULL, &device->command_pool);
	if (result == VK_SUCCESS)
		result = vkCreateDescriptorPool(device->device, &sets, NULL, &device->descriptor_pool);
	return result ? result : vkCreateQueryPool(device->device, &queries, NULL, &device->queries);
}

static VkResult engine_open(accelerator *device, struct engine *engine)
{
	const VkSemaphoreTypeCreateInfo timeline = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		                                     .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE };
	const VkSemaphoreCreateInfo semaphore = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &timeline };
	const VkCommandBufferAllocateInfo commands = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		                                       .commandPool = device->command_pool,
		                                       .commandBufferCount = 1 };
	const VkDescriptorSetAllocateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		                                  .descriptorPool = device->descriptor_pool,
		                                  .descriptorSetCount = 1,
		                                  .pSetLayouts = &device->set_layout };
	VkResult result = vkCreateSemaphore(device->device, &semaphore, NULL, &engine->ended);
	for (unsigned i = 0; i < DEVICE_QUEUE_COMMANDS && result == VK_SUCCESS; i++) {
		result = vkAllocateCommandBuffers(device->device, &commands, &engine->entries[i].commands);
		if (result == VK_SUCCESS)
			result = vkAllocateDescriptorSets(device->device, &set, &engine->entries[i].set);
	}
	return result;
}

static VkResult device_open(accelerator *device)
{
	uint32_t family, queues_count = family_choose(device->physical, &family);
	if (queues_count == 0 || !memory_choose(device))
		return VK_ERROR_FEATURE_NOT_PRESENT;
	if (queues_count > ACCELERATOR_STREAM_COUNT)
		queues_count = ACCELERATOR_STREAM_COUNT;
	VkResult result = logical_open(device, family, queues_count);
	if (result == VK_SUCCESS)
		result = layout_create(device);
	if (result == VK_SUCCESS)
		result = pools_create(device, family);
	for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT && result == VK_SUCCESS; i++)
		result = engine_open(device, &device->engines[i]);
	return result ? result : epp_vulkan_clock_open(&device->clock, device->physical, device->device, family);
}

void accelerator_destroy(accelerator *device)
{
	if (device == NULL)
		return;
	accelerator_synchronise(device);
	if (device->device) {
		for (unsigned i = 0; i < ACCELERATOR_STREAM_COUNT; i++)
			vkDestroySemaphore(device->device, device->engines[i].ended, NULL);
		for (unsigned i = 0; i < DEVICE_KERNELS_COUNT; i++)
			vkDestroyPipeline(device->device, device->pipelines[i], NULL);
		vkDestroyQueryPool(device->device, device->queries, NULL);
		vkDestroyDescriptorPool(device->device, device->descriptor_pool, NULL);
		vkDestroyCommandPool(device->device, device->command_pool, NULL);
		vkDestroyShaderModule(device->device, device->module, NULL);
		vkDestroyPipelineLayout(device->device, device->layout, NULL);
		vkDestroyDescriptorSetLayout(device->device, device->set_layout, NULL);
		vkDestroyDevice(device->device, NULL);
	}
	if (device->instance)
		vkDestroyInstance(device->instance, NULL);
	device_queues_deinit(&device->queues);
	free(device);
}

static const char *device_create(const accelerator_options *options, accelerator **device)
{
	const VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
		                                .apiVersion = VK_API_VERSION_1_2 };
	const VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		                            .pApplicationInfo = &application };
	const char *error = NULL;
	*device = NULL;
	accelerator *made = calloc(1, sizeof(*made));
	if (made == NULL)
		return "Vulkan EP: out of memory";
	device_queues_init(&made->queues, options);
	made->has_truth = secure_getenv("VULKAN_EP_TRUTH");
	if (vkCreateInstance(&info, NULL, &made->instance) != VK_SUCCESS)
		error = "Vulkan EP: no Vulkan";
	else if (!(made->physical = device_choose(made->instance)))
		error = "Vulkan EP: no Vulkan device";
	else if (device_open(made) != VK_SUCCESS)
		error = "Vulkan EP: the device cannot be opened";
	if (error) {
		accelerator_destroy(made);
		return error;
	}
	the_device = made;
	*device = made;
	return NULL;
}

/* [profiling] Sets the clock of the device, which takes one line, and options for the tests. */
static void clock_describe(accelerator *device, epp_ep_options *options)
{
	options->read_clocks = epp_vulkan_clock_read;
	options->clock = &device->clock;
	options->ticks_per_second = device->clock.ticks_per_second;
	options->clock_bits = device->clock.bits;
}

const struct sample_device_kind sample_device_kind = {
	.ep_name = "VulkanEP",
	.device_name = "Vulkan device",
	.has_softmax = true,
	.clock_describe = clock_describe,
	.create = device_create,
};
