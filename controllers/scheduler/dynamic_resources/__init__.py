"""Devices for claims: which of those that ResourceSlices tell of a ResourceClaim gets on a node.

devices      slices and their devices, read once
pools        the slices of a node, as pools that are whole and of the newest generation
requests     what a claim asks for
selectors    CEL over devices, compiled once
constraints  attributes that the devices of a claim share, or that differ
capacity     how much of a device that several may use a request takes
counters     what devices of a pool take from each other
allocated    what is taken already
allocator    the search: a device for every request, the first that works
results      what is found, as a claim's status has it
tracking     allocations the informer does not show yet
binding      writing an allocation, and waiting until the devices are ready

Pure but for the last. Facts: staging/src/k8s.io/dynamic-resource-allocation/structured (v1.36).
"""
