/** How a container engine is reached: by a gateway, or by the agent on its host. */
export type Engine = {
  /** `unix:///path/to/socket`, or `tcp://host:port` with TLS. */
  url: string
  /** PEM texts. Null for a socket. */
  tls: EngineTls | null
  /**
   * Marks the containers and volumes that belong to this machine. An engine may run others: of another Berth, or of the
   * host.
   */
  mark: string
  /** How containers get GPUs. With `none` they get none: such a machine is for trying Berth out. */
  gpuAccess: GpuAccess
  /** The UUID of each GPU, by its index; empty with `none`. */
  gpuUuids: readonly string[]
}

/** The authority that signed the engine's certificate, and the certificate and key of the gateway. */
export type EngineTls = { ca: string; cert: string; key: string }

/** Through the Container Device Interface, through the NVIDIA runtime, or not at all. */
export const gpuAccesses = ['cdi', 'nvidia', 'none'] as const
export type GpuAccess = (typeof gpuAccesses)[number]

/** The engine of a machine, as gateways know it. Without an address, the host's agent reaches it. */
export type MachineEngine = Omit<Engine, 'url'> & { url: string | null }
