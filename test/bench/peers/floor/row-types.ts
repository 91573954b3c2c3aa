// The rows of the statements `restSearch` and `restInstance`.

/** The columns of the machine and its GPU model, and the block of GPUs. */
export type MachineRow = {
  machine_id: number
  host_id: number
  machine_gpus: number
  first_gpu: number
  num_gpus: number
  gpu_max_temp_celsius: number
  gpu_lanes: number
  gpu_display_active: boolean
  nvlink_gigabytes_per_second: number
  pci_generation: number
  pcie_gigabytes_per_second: number
  cuda_version: string | null
  driver_version: string
  cpu_name: string
  cpu_arch: string
  cpu_cores: number
  cpu_ghz: number
  cpu_ram_mb: number
  has_avx: boolean
  motherboard: string
  os_version: string | null
  disk_name: string
  free_disk_mb: number
  disk_read_megabytes_per_second: number
  download_mbps: number
  upload_mbps: number
  download_price_per_gb_nanos: number
  upload_price_per_gb_nanos: number
  public_ip: string
  static_ip: boolean
  free_ports: number
  city: string
  country: string
  datacenter: boolean
  vms_enabled: boolean
  verification: string
  reliability: number
  gpu_name: string
  vendor: 'nvidia' | 'amd'
  ram_mb: number
  memory_bandwidth_gigabytes_per_second: number
  max_power_watts: number
  tflops: number
  compute_capability: string | null
}

/** The columns that offers and instances share. */
type RentalRow = MachineRow & {
  id: number
  gpu_price_nanos: number
  disk_price_per_gb_month_nanos: number
  /** In seconds since 1970, as is `end`. */
  start: number
  end: number
  duration: number
}

export type RestOfferRow = RentalRow & { price_nanos: number; min_bid_nanos: number; dlperf: number; score: number }

export type RestInstanceRow = RentalRow & {
  label: string | null
  status: string
  target_state: string
  disk_mb: number
  launch: {
    image: string
    args: string[]
    env: { name: string; value: string }[]
    ports: { hostPort: number; containerPort: number }[]
    onStart: string | null
  }
  template_id: number | null
  template_hash: string | null
  interruptible: boolean
  disk_nanos: number
  dlperf_per_gpu: number
  holds_gpus: boolean
  host_port: number
  container_port: number
  protocol: string
  /** Null without a volume, as are its other columns. */
  mount_path: string | null
  volume_id: number
  size_mb: number
}
