const machineColumns = `m.id AS machine_id, m.host_id, m.num_gpus AS machine_gpus, m.gpu_max_temp_celsius, m.gpu_lanes,
  m.gpu_display_active, m.nvlink_gigabytes_per_second, m.pci_generation, m.pcie_gigabytes_per_second, m.cuda_version,
  m.driver_version, m.cpu_name, m.cpu_arch, m.cpu_cores, m.cpu_ghz, m.cpu_ram_mb, m.has_avx, m.motherboard, m.os_version,
  m.disk_name, m.free_disk_mb, m.disk_read_megabytes_per_second, m.download_mbps, m.upload_mbps, m.download_price_per_gb_nanos,
  m.upload_price_per_gb_nanos, m.public_ip, m.static_ip, m.free_ports, m.city, m.country, m.datacenter, m.vms_enabled,
  m.verification, m.reliability, g.name AS gpu_name, g.vendor, g.ram_mb, g.memory_bandwidth_gigabytes_per_second,
  g.max_power_watts, g.tflops, g.compute_capability`

const fromSearch = `FROM peer.search_offers($1, $2, $3, $4, $5, $6) o
  JOIN machines m ON m.id = o.machine_id JOIN gpu_models g ON g.id = o.gpu_model_id ORDER BY o.price_nanos, o.id`

export const statements = {
  search: `SELECT o.id, o.num_gpus, o.price_nanos, o.dlperf, o.score, g.name AS gpu_name, g.ram_mb, o.machine_id, m.country, m.city,
    m.cpu_cores, m.cpu_ram_mb, m.free_disk_mb, m.download_mbps, m.reliability, m.verification ${fromSearch}`,

  instances: `SELECT i.id, i.label, i.status, i.num_gpus, i.gpu_price_nanos + i.disk_nanos AS price_nanos, i.created_at,
    o.id AS offer_id, o.num_gpus AS offer_gpus, o.price_nanos AS offer_price_nanos, m.id AS machine_id, m.country, m.cpu_name,
    m.cpu_cores, g.name AS gpu_name, t.id AS template_id, t.name AS template_name, a.mount_path, v.id AS volume_id,
    v.name AS volume_name, v.size_mb
    FROM (
      SELECT * FROM instances WHERE account_id = $1 AND destroyed_at IS NULL ORDER BY id DESC LIMIT 50
    ) i JOIN offers o ON o.id = i.offer_id JOIN machines m ON m.id = i.machine_id JOIN gpu_models g ON g.id = m.gpu_model_id
    LEFT JOIN templates t ON t.id = i.template_id AND t.deleted_at IS NULL
    LEFT JOIN volume_attachments a ON a.instance_id = i.id AND a.released_at IS NULL LEFT JOIN volumes v ON v.id = a.volume_id
    ORDER BY i.id DESC, a.mount_path`,

  rent: 'SELECT id FROM peer.rent_offer($1, $2, $3)',
  label: 'SELECT peer.label_instances($1, $2, $3) AS count',
  targetState: 'SELECT peer.set_target_state($1, $2, $3) AS count',

  restSearch: `SELECT ${machineColumns}, o.id, o.first_gpu, o.num_gpus, o.gpu_price_nanos, o.price_nanos, o.min_bid_nanos,
    o.disk_price_per_gb_month_nanos, o.dlperf, o.score, extract(epoch FROM o.listed_at)::float8 AS start,
    extract(epoch FROM o.listed_until)::float8 AS "end", extract(epoch FROM o.listed_until - now())::float8 AS duration ${fromSearch}`,

  restInstance: `SELECT ${machineColumns}, i.id, i.label, i.status, i.target_state, i.first_gpu, i.num_gpus, i.disk_mb, i.launch,
    i.template_id, i.template_hash, i.interruptible, i.gpu_price_nanos, i.disk_nanos, i.disk_price_per_gb_month_nanos,
    m.dlperf_per_gpu, extract(epoch FROM i.created_at)::float8 AS start, extract(epoch FROM i.ends_at)::float8 AS "end",
    extract(epoch FROM i.ends_at - now())::float8 AS duration,
    (SELECT 1 FROM gpus u WHERE u.machine_id = i.machine_id AND u.holder_id = i.id LIMIT 1) IS NOT NULL AS holds_gpus,
    b.host_port, b.container_port, b.protocol, a.mount_path, v.id AS volume_id, v.size_mb
    FROM instances i JOIN machines m ON m.id = i.machine_id JOIN gpu_models g ON g.id = m.gpu_model_id
    LEFT JOIN port_bindings b ON b.instance_id = i.id AND b.machine_id = i.machine_id
    LEFT JOIN volume_attachments a ON a.instance_id = i.id AND a.released_at IS NULL LEFT JOIN volumes v ON v.id = a.volume_id
    WHERE i.id = $1 AND i.account_id = $2 ORDER BY a.mount_path`,
}
