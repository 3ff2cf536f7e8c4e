#version 450
// The kernels of vulkan_ep.c, one for each value of `op`, which is an accelerator_op.
// `make vulkan-kernels` writes vulkan_kernels.h with glslangValidator (Debian's glslang-tools).
layout(local_size_x = 8, local_size_y = 8) in;
layout(constant_id = 0) const uint op = 0;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) buffer Out { float result[]; };
layout(push_constant) uniform Sizes { uint m, n, k; };

void main()
{
	uint row = gl_GlobalInvocationID.y, column = gl_GlobalInvocationID.x;
	uint at = row * n + column;
	if (row >= m || column >= n)
		return;
	if (op == 0) {
		float sum = 0;
		for (uint i = 0; i < k; i++)
			sum += a[row * k + i] * b[i * n + column];
		result[at] = sum;
	} else if (op == 1) {
		result[at] = a[at] + b[column];
	} else if (op == 2) {
		result[at] = max(a[at], 0.0);
	} else if (column == 0) {
		float most = a[at], sum = 0;
		for (uint i = 1; i < n; i++)
			most = max(most, a[at + i]);
		for (uint i = 0; i < n; i++)
			sum += exp(a[at + i] - most);
		for (uint i = 0; i < n; i++)
			result[at + i] = exp(a[at + i] - most) / sum;
	}
}
