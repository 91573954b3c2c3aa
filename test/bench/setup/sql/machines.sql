-- Accounts, GPU models, machines, GPUs and offers. `bench.size` says how many, and `bench.models` lists the models.

-- Accounts 1 to 200 rent, accounts 201 to 300 host machines. Quotas and credit stand in no way.
INSERT INTO accounts (id, email, name, max_instances, max_loading, max_disk_gb, max_volumes)
SELECT i, format('account-%s@example.com', i), format('Account %s', i), 1000000, 1000000, 1000000000, 1000000
FROM generate_series(1, 300) i;
SELECT setval('accounts_id_seq', 300);

INSERT INTO ledger_entries (account_id, kind, amount_nanos, posted_at)
SELECT id, 'top_up', 1000000000000000, now() FROM accounts;

-- The key of account 7 is berth_bench0000007_ and its secret, 0007 ten times.
INSERT INTO api_keys (account_id, name, public_id, secret_hash, last_used_at)
SELECT id, 'bench', 'bench' || lpad(id::text, 7, '0'), sha256(repeat(lpad(id::text, 4, '0'), 10)::bytea), now()
FROM accounts ORDER BY id;

INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at)
SELECT id, 'bench', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA' || encode(sha256(id::text::bytea), 'base64'),
  'SHA256:' || rtrim(encode(sha256(id::text::bytea), 'base64'), '='), now() FROM accounts;

-- One public template, and one of each account that rents.
INSERT INTO templates (account_id, name, hash_id, public, settings, created_at, updated_at)
SELECT id, format('Template %s', id), md5(format('template %s', id)), id = 1,
  '{"env": [], "lab": false, "args": [], "mode": "sshDirect", "image": "ubuntu", "ports": [], "diskGb": null, "onStart": null,
    "hostname": null, "registry": null, "directory": null, "volumeHint": null}', now(), now()
FROM accounts WHERE id <= 200 ORDER BY id;

INSERT INTO gpu_models (name, vendor, ram_mb, memory_bandwidth_gigabytes_per_second, tflops, max_power_watts, compute_capability)
SELECT name, vendor, ram_mb, bandwidth, tflops, watts, capability FROM bench.models ORDER BY place;

INSERT INTO machines (host_id, gpu_model_id, num_gpus, dlperf_per_gpu, gpu_max_temp_celsius, gpu_display_active, gpu_lanes,
  nvlink_gigabytes_per_second, pci_generation, pcie_gigabytes_per_second, cuda_version, driver_version, cpu_name, cpu_arch,
  cpu_cores, cpu_ghz, cpu_ram_mb, has_avx, motherboard, os_version, disk_name, disk_read_megabytes_per_second, disk_mb,
  free_disk_mb, download_mbps, upload_mbps, public_ip, static_ip, first_port, last_port, free_ports, country, city, datacenter,
  vms_enabled, verification, reliability, gpu_nanos, min_bid_gpu_nanos, disk_price_per_gb_month_nanos,
  download_price_per_gb_nanos, upload_price_per_gb_nanos, listed_until)
SELECT 201 + i % 100, g.id, gpus.count, round((model.dlperf * (0.9 + 0.15 * bench.share('dlperf', i)))::numeric, 1),
  bench.whole('temperature', i, 28, 84), bench.share('display', i) < 0.1, 16, 0, 4,
  round((6 + 20 * bench.share('pcie', i))::numeric, 1),
  CASE WHEN model.vendor = 'nvidia' THEN bench.pick('cuda', i, '{12.2,12.4,12.8,13.0}') END,
  CASE WHEN model.vendor = 'nvidia' THEN bench.pick('driver', i, '{550.127.05,570.172.08,580.105.08}') ELSE '6.3.1' END,
  bench.pick('cpu', i, '{AMD Ryzen 9 7950X,AMD EPYC 9354,Intel Core i9-13900K,Intel Xeon Gold 6338}'), 'amd64',
  16 * bench.whole('cores', i, 1, 12), round((3 + 2 * bench.share('ghz', i))::numeric, 2), 32000 * bench.whole('ram', i, 1, 32), true,
  bench.pick('motherboard', i, '{X670E,H13SSL-N,Z790}'), bench.pick('os', i, '{20.04,22.04,24.04}'),
  bench.pick('disk', i, '{Samsung SSD 990 PRO 2TB,WD_BLACK SN850X 4TB,nvme}'), bench.whole('disk speed', i, 500, 7000),
  disk.mb, disk.mb, round((100 + 9900 * bench.share('down', i))::numeric, 1), round((100 + 9000 * bench.share('up', i))::numeric, 1),
  format('198.18.%s.%s', i / 256 % 256, i % 256), bench.share('static', i) < 0.5, 20000, 20099, 100,
  bench.pick('country', i, '{US,US,US,CA,DE,FR,GB,SE,NO,JP,KR,AU}'), bench.pick('city', i, '{North,South,East,West}'),
  bench.share('datacenter', i) < 0.4, bench.share('vms', i) < 0.3,
  (CASE WHEN trust < 0.8 THEN 'verified' WHEN trust < 0.98 THEN 'unverified' ELSE 'deverified' END)::verification,
  round((0.9 + 0.0999 * bench.share('reliability', i))::numeric, 4), price.nanos,
  greatest(price.nanos * bench.whole('bid', i, 40, 75) / 100000000 * 1000000, 1000000),
  bench.whole('disk price', i, 5, 35) * 10000000::bigint, traffic.nanos, traffic.nanos,
  now() + bench.whole('listed until', i, 30, 365) * interval '1 day'
FROM bench.size CROSS JOIN LATERAL generate_series(1, machines) i
CROSS JOIN LATERAL (SELECT bench.share('model', i) AS share, bench.share('count', i) AS count_share,
  bench.share('trust', i) AS trust) random
JOIN bench.models model ON random.share >= model.low AND random.share < model.high
JOIN gpu_models g ON g.name = model.name
CROSS JOIN LATERAL (SELECT CASE WHEN count_share < 0.4 THEN 1 WHEN count_share < 0.62 THEN 2 WHEN count_share < 0.8 THEN 4
  ELSE 8 END AS count) gpus
CROSS JOIN LATERAL (SELECT 1000 * bench.whole('disk size', i, 200, 8000) AS mb) disk
CROSS JOIN LATERAL (SELECT greatest(2, round(1000 * model.dollars * (0.8 + 0.5 * bench.share('price', i))))::bigint * 1000000 AS nanos) price
CROSS JOIN LATERAL (SELECT bench.whole('traffic', i, 0, 20) * 1000000::bigint AS nanos) traffic
ORDER BY i;

INSERT INTO gpus (machine_id, index) SELECT id, index FROM machines CROSS JOIN LATERAL generate_series(0, num_gpus - 1) index;
INSERT INTO offer_kinds (gpu_model_id, num_gpus)
SELECT DISTINCT gpu_model_id, b.num_gpus FROM machines m JOIN bench.blocks b ON b.of_gpus = m.num_gpus ORDER BY 1, 2;
SELECT bench.update_offers(array_agg(id)) FROM machines;
