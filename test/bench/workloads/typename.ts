import { floorRequest, graphqlRequest } from './requests.ts'
import { defineWorkload, endless, type Workload } from './workload.ts'

const query = '{ __typename }'
const answer = '{"data":{"__typename":"Query"}'

/** The least that a GraphQL request costs. Berth still authenticates it. */
export function typenameWorkload(accounts: number): Workload {
  const rows = ({ data }: { data: object }) => data
  return defineWorkload<number>({
    id: 'W8',
    title: '{ __typename }',
    inputs: run => endless(index => 1 + ((run + index) % accounts)),
    maxStatements: 1,
    ways: {
      Berth: { request: account => graphqlRequest(query, {}, account), rows, expects: answer },
      PostGraphile: { request: () => graphqlRequest(query, {}), rows, expects: answer },
      floor: { request: () => floorRequest('/typename', []), rows, expects: answer },
    },
  })
}
