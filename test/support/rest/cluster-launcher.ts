// Recorded requests of a cluster launcher on the Python SDK.

export const profile = {
  agent: 'vastai-sdk/0.2.5',
  headers: { 'Accept-Encoding': 'gzip, deflate', Accept: '*/*', Connection: 'keep-alive' },
  bodyHeaders: { 'Content-Type': 'application/json' },
}

/** The search before a rental. */
export const search = {
  ...{ chunked: { eq: true }, georegion: { eq: true }, geolocation: { eq: 'US' }, disk_space: { gte: '80' } },
  ...{ num_gpus: { eq: '1' }, gpu_name: { eq: 'RTX 4090' }, cpu_ram: { gte: 24000.0 } },
  ...{ datacenter: { eq: true }, hosting_type: { gte: '1' }, rentable: { eq: true }, order: [['score', 'desc']] },
}

/** The body of the rental. */
export const launch = {
  ...{
    client_id: 'me',
    image: 'vastai/base:0.0.2',
    env: '-e A=1 -p 80:80',
    price: null,
    disk: 80,
    label: 'sky-1-head',
  },
  ...{ extra: null, onstart: 'touch ~/.no_auto_tmux', runtype: 'ssh_direc ssh_proxy', force: false, user: null },
}

export const list =
  '/api/v1/instances/?order_by=%5B%7B%22col%22%3A%20%22id%22%2C%20%22dir%22%3A%20%22asc%22%7D%5D&limit=25'
