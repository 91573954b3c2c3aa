import { createRandom } from '../../../prisma/seeded-random.ts'
import type { Fleet } from './fleets.ts'
import { floorRequest, restRequest } from './requests.ts'
import { type Search, searches, searchValues } from './search.ts'
import { defineWorkload, endless, type Workload } from './workload.ts'

const rows = 20

/** The search of W1 over REST, where a row has every column. */
export function restSearchWorkload(accounts: number): Workload {
  return defineWorkload<Search>({
    id: 'W6',
    title: `REST search with 6 filters by price, ${rows} rows`,
    inputs: run => searches(run, accounts),
    maxStatements: 2,
    ways: {
      Berth: {
        request: search => restRequest('POST', 'bundles/', search.account, restSearch(search)),
        rows: (answer: { offers: object[] }) => answer.offers.map(withoutDuration),
        expects: '{"offers":[',
      },
      floor: {
        request: search => floorRequest('/rest/search', searchValues(search, rows)),
        rows: (answer: { offers: object[] }) => answer.offers.map(withoutDuration),
        expects: '{"offers":[',
      },
    },
  })
}

function restSearch({ gpuNames, minGpuRamMb, minGpus, minReliability, maxPriceNanos }: Search) {
  return {
    gpu_name: { in: gpuNames },
    gpu_ram: { gte: minGpuRamMb },
    num_gpus: { gte: minGpus },
    reliability: { gte: minReliability },
    dph_total: { lte: maxPriceNanos / 1e9 },
    verified: { eq: true },
    order: [['dph_total', 'asc']],
    limit: rows,
  }
}

/** One instance over REST, with every column. */
export function restInstanceWorkload(fleets: Fleet[]): Workload {
  return defineWorkload<{ account: number; id: number }>({
    id: 'W7',
    title: 'one instance over REST',
    inputs: run =>
      endless(index => {
        const random = createRandom(7, run, index)
        const { account, ids } = random.pick(fleets)
        return { account, id: random.pick(ids) }
      }),
    maxStatements: 2,
    ways: {
      Berth: {
        request: ({ account, id }) => restRequest('GET', `instances/${id}/`, account),
        rows: rowOf,
        expects: '{"instances":{',
      },
      floor: {
        request: ({ account, id }) => floorRequest('/rest/instance', [id, account]),
        rows: rowOf,
        expects: '{"instances":{',
      },
    },
  })
}

/** What the instance uses changes with time, and the floor has none of it. */
const measured = new Set(['gpu_util', 'cpu_util', 'mem_limit', 'mem_usage', 'vmem_usage', 'disk_usage', 'disk_util'])

function rowOf(answer: { instances: object }) {
  const facts = Object.entries(answer.instances).filter(([name]) => !measured.has(name))
  return withoutDuration(Object.fromEntries(facts))
}

/** The seconds from now to the end. */
function withoutDuration(row: object) {
  return { ...row, duration: undefined }
}
