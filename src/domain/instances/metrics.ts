// What a container uses of its machine.

/** What a running container uses at an instant. Null is what the machine does not say. */
export type ContainerStats = {
  instanceId: bigint
  /** CPU cores in use, on average since the time before: 1.5 is one and a half. */
  cpuCores: number | null
  memoryBytes: number | null
  /** What the container has written to its own disk, without volumes. */
  diskBytes: number | null
  /** Network traffic since the container started. */
  receivedBytes: number | null
  sentBytes: number | null
  /** By the index that the instance itself gives its GPUs. */
  gpus: GpuStats[]
}

export type GpuStats = {
  /** Percent of the time in which the GPU was busy, 0 to 100. */
  utilization: number | null
  memoryMb: number | null
}
