// Answers like those of the GraphQL servers: the rows of the statements, nested.

type OfferRow = {
  id: number
  num_gpus: number
  price_nanos: number
  dlperf: number
  score: number
  gpu_name: string
  ram_mb: number
  machine_id: number
  country: string
  city: string
  cpu_cores: number
  cpu_ram_mb: number
  free_disk_mb: number
  download_mbps: number
  reliability: number
  verification: string
}

export function offersOf(rows: OfferRow[]) {
  return rows.map(row => ({
    id: row.id,
    numGpus: row.num_gpus,
    priceNanos: row.price_nanos,
    dlperf: row.dlperf,
    score: row.score,
    gpu: { name: row.gpu_name, ramMb: row.ram_mb },
    machine: {
      id: row.machine_id,
      country: row.country,
      city: row.city,
      cpuCores: row.cpu_cores,
      cpuRamMb: row.cpu_ram_mb,
      freeDiskMb: row.free_disk_mb,
      downloadMbps: row.download_mbps,
      reliability: row.reliability,
      verification: row.verification,
    },
  }))
}

type InstanceRow = {
  id: number
  label: string | null
  status: string
  num_gpus: number
  price_nanos: number
  created_at: Date
  offer_id: number
  offer_gpus: number
  offer_price_nanos: number
  machine_id: number
  country: string
  cpu_name: string
  cpu_cores: number
  gpu_name: string
  template_id: number | null
  template_name: string
  mount_path: string | null
  volume_id: number
  volume_name: string
  size_mb: number
}

/** An instance has a row for each of its volumes, or one. */
export function instancesOf(rows: InstanceRow[]) {
  const instances: ReturnType<typeof instanceOf>[] = []
  for (const row of rows) {
    const last = instances.at(-1)
    const instance = last?.id === row.id ? last : instanceOf(row)
    if (instance !== last) instances.push(instance)
    if (row.mount_path === null) continue
    const volume = { id: row.volume_id, name: row.volume_name, sizeMb: row.size_mb }
    instance.volumes.push({ mountPath: row.mount_path, volume })
  }
  return instances
}

type Mount = { mountPath: string; volume: { id: number; name: string; sizeMb: number } }

function instanceOf(row: InstanceRow) {
  return {
    id: row.id,
    label: row.label,
    status: row.status,
    numGpus: row.num_gpus,
    priceNanos: row.price_nanos,
    createdAt: row.created_at,
    offer: { id: row.offer_id, numGpus: row.offer_gpus, priceNanos: row.offer_price_nanos },
    machine: {
      id: row.machine_id,
      country: row.country,
      cpuName: row.cpu_name,
      cpuCores: row.cpu_cores,
      gpu: { name: row.gpu_name },
    },
    template: row.template_id === null ? null : { id: row.template_id, name: row.template_name },
    volumes: [] as Mount[],
  }
}
